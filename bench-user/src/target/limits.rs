//! The limits of a command's cgroup, in the files of v1 or v2.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::cgroup::CgroupError;
use super::{ControllerDir, write_file};
use crate::plan::TargetSpec;
use crate::units::Bytes;

/// Length of an enforcement period of the CPU quota, µs: the kernel's own default.
const PERIOD_US: u32 = 100_000;

/// What a command may use; `None` is no limit.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Limits {
    /// CPU quota, in CPUs.
    pub cpus: Option<f64>,
    /// CPUs that it may run on, as `"0-3,6"`.
    pub cpuset: Option<String>,
    /// Memory, bytes.
    pub memory: Option<Bytes>,
}

impl Limits {
    /// Those of a target in the plan.
    #[must_use]
    pub fn of(spec: &TargetSpec) -> Self {
        Self { cpus: spec.cpus, cpuset: spec.cpuset.clone(), memory: spec.memory }
    }
}

/// Writes the limits to the controllers' files.
///
/// # Errors
/// When there is no such controller, or the kernel refuses the value.
pub(super) fn apply(
    limits: &Limits,
    controllers: &BTreeMap<String, ControllerDir>,
) -> Result<(), CgroupError> {
    let set = |what, controller, v1: &str, v2: &str, value: (String, String)| {
        let place =
            controllers.get(controller).ok_or(CgroupError::NoController(what, controller))?;
        let (name, value) = if place.is_v1 { (v1, value.0) } else { (v2, value.1) };
        write_limit(what, place.path.join(name), value)
    };
    if let Some(cpus) = limits.cpus {
        let quota = quota_us(cpus);
        let v2 = format!("{quota} {PERIOD_US}");
        set("CPU quota", "cpu", "cpu.cfs_quota_us", "cpu.max", (quota.to_string(), v2))?;
    }
    if let Some(cpus) = &limits.cpuset {
        set("CPU set", "cpuset", "cpuset.cpus", "cpuset.cpus", (cpus.clone(), cpus.clone()))?;
    }
    if let Some(Bytes(bytes)) = limits.memory {
        let value = (bytes.to_string(), bytes.to_string());
        set("memory", "memory", "memory.limit_in_bytes", "memory.max", value)?;
    }
    Ok(())
}

/// Fills the CPUs and memory nodes of a new v1 cpuset and of our directories above it from the
/// root's: they start empty, and no task can enter an empty one.
///
/// # Errors
/// When a file cannot be read or written.
pub(super) fn inherit_cpuset(mount: &Path, leaf: &Path) -> Result<(), CgroupError> {
    let mut ours: Vec<&Path> =
        leaf.ancestors().take_while(|dir| dir.starts_with(mount) && *dir != mount).collect();
    ours.reverse();
    for dir in ours {
        for name in ["cpuset.cpus", "cpuset.mems"] {
            let file = dir.join(name);
            let made = |e| CgroupError::Make(file.clone(), e);
            if fs::read_to_string(&file).map_err(made)?.trim().is_empty() {
                let above = fs::read_to_string(mount.join(name)).map_err(made)?;
                write_limit("CPU set", file, above.trim().to_owned())?;
            }
        }
    }
    Ok(())
}

fn write_limit(what: &'static str, file: PathBuf, value: String) -> Result<(), CgroupError> {
    write_file(&file, &value).map_err(|source: io::Error| CgroupError::Limit {
        what,
        value,
        file,
        source,
    })
}

/// The quota of `cpus` CPUs in one period, µs.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a negative or huge number saturates, and the kernel refuses it"
)]
fn quota_us(cpus: f64) -> u64 {
    (cpus * f64::from(PERIOD_US)).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(is_v1: bool) -> (tempfile::TempDir, BTreeMap<String, ControllerDir>) {
        let dir = tempfile::tempdir().unwrap();
        for name in ["cpu.cfs_quota_us", "cpu.max", "cpuset.cpus", "memory.limit_in_bytes"] {
            fs::write(dir.path().join(name), "").unwrap();
        }
        fs::write(dir.path().join("memory.max"), "").unwrap();
        let place = ControllerDir { path: dir.path().to_owned(), is_v1 };
        let controllers = ["cpu", "cpuset", "memory"].map(|c| (c.to_owned(), place.clone()));
        (dir, controllers.into())
    }

    const ALL: fn() -> Limits =
        || Limits { cpus: Some(0.5), cpuset: Some("0-1".into()), memory: Some(Bytes(16 << 20)) };

    #[test]
    fn limits_go_to_the_files_of_the_controllers_own_kind_of_tree() {
        let written = |is_v1| {
            let (dir, controllers) = files(is_v1);
            apply(&ALL(), &controllers).unwrap();
            ["cpu.cfs_quota_us", "cpu.max", "cpuset.cpus", "memory.limit_in_bytes", "memory.max"]
                .map(|name| fs::read_to_string(dir.path().join(name)).unwrap())
        };
        assert_eq!(written(true), ["50000", "", "0-1", "16777216", ""]);
        assert_eq!(written(false), ["", "50000 100000", "0-1", "", "16777216"]);
    }

    #[test]
    fn a_limit_without_its_controller_is_an_error_and_no_limit_needs_none() {
        assert!(apply(&Limits::default(), &BTreeMap::new()).is_ok());
        let error = apply(&ALL(), &BTreeMap::new()).unwrap_err().to_string();
        assert!(error.contains("CPU quota") && error.contains("`cpu`"), "{error}");
    }

    #[test]
    fn a_refused_value_is_said_with_its_file() {
        let (dir, controllers) = files(true);
        fs::remove_file(dir.path().join("memory.limit_in_bytes")).unwrap();
        let error = apply(&ALL(), &controllers).unwrap_err().to_string();
        assert!(error.contains("16777216") && error.contains("limit_in_bytes"), "{error}");
    }
}
