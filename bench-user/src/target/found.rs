//! A target that runs already: its cgroup and main process, by pid, cgroup or systemd unit.
//!
//! The path always comes from `/proc/PID/cgroup` or from who made the cgroup; it is never built
//! from an id, because the layouts of engines and init systems differ.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::adopt::Adopted;
use super::cgroup::{CONTROLLERS, CgroupError, words};
use super::{ControllerDir, NO_V2, TargetError};
use crate::host::{CgroupKind, CgroupTrees, has_own_cgroup_namespace, kind_of, processes_below};
use crate::measured::Measured;
use crate::plan::TargetSpec;

/// What was found.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) cgroup: Measured<PathBuf>,
    pub(super) main_pid: Option<u32>,
    /// Set when its processes were moved.
    pub(super) adopted: Option<Adopted>,
}

impl Found {
    /// No cgroup and no process: an address alone.
    pub(super) const fn nowhere(cgroup: Measured<PathBuf>) -> Self {
        Self::new(cgroup, None)
    }

    const fn new(cgroup: Measured<PathBuf>, main_pid: Option<u32>) -> Self {
        Self { cgroup, main_pid, adopted: None }
    }
}

/// A running process and its whole cgroup.
///
/// # Errors
/// When there is no such process, its cgroup holds ourselves, or it cannot be adopted.
pub(super) fn by_pid(
    pid: u32,
    spec: &TargetSpec,
    run_id: &str,
    trees: &CgroupTrees,
) -> Result<Found, TargetError> {
    let Some(mount) = &trees.v2 else {
        return Ok(Found::new(Measured::unavailable(NO_V2), Some(pid)));
    };
    let places = trees.of_process(pid).map_err(|error| match error {
        procfs::ProcError::NotFound(_) => TargetError::NoProcess(pid),
        other => CgroupError::from(other).into(),
    })?;
    let Some(dir) = places.v2.as_deref().map(whole_container) else {
        let why = places.outside.map_or(NO_V2.into(), |path| outside(pid, &path));
        return Ok(Found::new(Measured::unavailable(why), Some(pid)));
    };
    let too_wide = if dir == mount.as_path() {
        None
    } else if holds_us(dir, trees)? {
        Some(TargetError::TooWide(dir.to_owned(), HOLDS_US, OWN_CGROUP))
    } else {
        return Ok(Found::new(Measured::Value(dir.to_owned()), Some(pid)));
    };
    if spec.adopt {
        let adopted = Adopted::adopt(pid, mount, run_id, &spec.name, trees)?;
        let cgroup = Measured::Value(adopted.dir().to_owned());
        return Ok(Found { cgroup, main_pid: Some(pid), adopted: Some(adopted) });
    }
    match too_wide {
        Some(error) => Err(error),
        None => Ok(Found::new(
            Measured::unavailable(format!(
                "process {pid} is in the root of the cgroup v2 tree, with all others that have no \
                 cgroup of their own; `--adopt` (in a plan `adopt = true`) moves it into one"
            )),
            Some(pid),
        )),
    }
}

/// Why a process that is not in what is mounted cannot be watched.
fn outside(pid: u32, path: &str) -> String {
    format!(
        "process {pid} is in the cgroup {path}, outside of the part of the cgroup v2 tree that is \
         mounted here: {HOST_NAMESPACE}"
    )
}

const HOST_NAMESPACE: &str = "run bench-user in the host's cgroup namespace (`nsenter -t 1 -C -m`, \
                              or a container with `--cgroupns=host` and /sys/fs/cgroup mounted)";
const HOLDS_US: &str = "holds bench-user itself, which would be counted too";
const OWN_CGROUP: &str = "start the target in a cgroup of its own, or use `adopt`";
const BELOW: &str = "name the target's own directory below it, or give the target by `pid`";

/// A cgroup v2 directory.
///
/// # Errors
/// When it is none, or holds ourselves or the whole machine.
pub(super) fn by_cgroup(dir: &Path, trees: &CgroupTrees) -> Result<Found, TargetError> {
    let no = |what: &'static str| {
        let mut hint = trees.v2.as_ref().map_or_else(
            || format!(" ({NO_V2})"),
            |mount| format!(", which is at {}", mount.display()),
        );
        if has_own_cgroup_namespace() {
            hint += &format!("; we are in a cgroup namespace of our own: {HOST_NAMESPACE}");
        }
        TargetError::NotV2(dir.to_owned(), what, hint)
    };
    let dir = dir.canonicalize().map_err(|_absent| no("not there"))?;
    match kind_of(&dir) {
        Ok(CgroupKind::V2) => {}
        Ok(CgroupKind::V1) => {
            return Err(no("in a cgroup v1 tree, by which the kernel side cannot count"));
        }
        Ok(CgroupKind::Neither) | Err(_) => return Err(no("no cgroup directory")),
    }
    if trees.v2.as_deref() == Some(&dir) {
        return Err(TargetError::TooWide(dir, "is the root of the tree, the whole machine", BELOW));
    }
    if holds_us(&dir, trees)? {
        return Err(TargetError::TooWide(dir, HOLDS_US, BELOW));
    }
    let first = processes_below(&dir).ok().and_then(|pids| pids.first().copied());
    Ok(Found::new(Measured::Value(dir), first))
}

/// A systemd unit.
///
/// # Errors
/// When systemd does not run here or has no such running unit.
pub(super) fn by_unit(unit: &str, trees: &CgroupTrees) -> Result<Found, TargetError> {
    let no = |why: &str| TargetError::Unit(unit.to_owned(), why.to_owned());
    if !Path::new("/run/systemd/system").is_dir() {
        return Err(no("systemd is not the init of this machine; name a pid or a container"));
    }
    let output = Command::new("systemctl")
        .args(["show", "-p", "ControlGroup,MainPID", "--", unit])
        .output()
        .map_err(|e| no(&format!("systemctl does not start: {e}")))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let (path, main_pid) = parse_unit(&text);
    let Some(path) = path else {
        return Err(no(
            "it does not run; start it with `systemctl start` or see `systemctl list-units`",
        ));
    };
    let Some(mount) = &trees.v2 else {
        return Ok(Found::new(Measured::unavailable(NO_V2), main_pid));
    };
    let mut found = by_cgroup(&mount.join(path.trim_start_matches('/')), trees)?;
    found.main_pid = main_pid.or(found.main_pid);
    Ok(found)
}

/// The lines of `systemctl show`; an inactive unit has an empty group and pid 0.
fn parse_unit(text: &str) -> (Option<&str>, Option<u32>) {
    let value = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
    let path = value("ControlGroup").filter(|path| !path.is_empty());
    let pid = value("MainPID").and_then(|pid| pid.parse().ok()).filter(|pid| *pid != 0);
    (path, pid)
}

/// The cgroup of the whole container that `leaf` is in: podman's scope puts the first process
/// into a child `container`, and processes of `exec` may sit beside it.
fn whole_container(leaf: &Path) -> &Path {
    let name = |dir: &Path| dir.file_name().and_then(|n| n.to_str()).map(str::to_owned);
    match leaf.parent() {
        Some(scope)
            if name(leaf).as_deref() == Some("container")
                && name(scope)
                    .is_some_and(|n| n.starts_with("libpod-") && n.ends_with(".scope")) =>
        {
            scope
        }
        _ => leaf,
    }
}

fn holds_us(dir: &Path, trees: &CgroupTrees) -> Result<bool, TargetError> {
    let ours = trees.of_process(std::process::id()).map_err(CgroupError::from)?;
    Ok(ours.v2.is_some_and(|our_dir| our_dir.starts_with(dir)))
}

/// Where the files of each controller are for a cgroup that we did not make, and notes on what
/// is left out.
///
/// A v1 directory stands for the target only when it holds exactly the same processes.
pub(super) fn controllers_of(
    found: &Found,
    trees: &CgroupTrees,
) -> (BTreeMap<String, ControllerDir>, Vec<String>) {
    let (mut controllers, mut notes) = (BTreeMap::new(), Vec::new());
    let Some(dir) = found.cgroup.value() else {
        let pid = found.main_pid.filter(|_| trees.v2.is_none());
        return (pid.map_or(controllers, |pid| of_v1_alone(pid, trees)), notes);
    };
    for controller in words(&dir.join("cgroup.controllers")) {
        if CONTROLLERS.contains(&controller.as_str()) {
            controllers.insert(controller, ControllerDir { path: dir.clone(), is_v1: false });
        }
    }
    let places = found.main_pid.and_then(|pid| trees.of_process(pid).ok()).unwrap_or_default();
    for (controller, path) in places.v1 {
        if !CONTROLLERS.contains(&controller.as_str()) {
            continue;
        }
        if have_same_processes(dir, &path) {
            controllers.insert(controller, ControllerDir { path, is_v1: true });
        } else {
            notes.push(format!(
                "{controller}: not measured, {} holds other processes than the target's",
                path.display()
            ));
        }
    }
    (controllers, notes)
}

/// On a machine without a v2 tree: the v1 cgroups that a process is in, unless they hold the whole
/// machine or us. There is no v2 directory then that they could differ from.
fn of_v1_alone(pid: u32, trees: &CgroupTrees) -> BTreeMap<String, ControllerDir> {
    let places = trees.of_process(pid).unwrap_or_default().v1.into_iter();
    let is_own = |controller: &str, path: &Path| {
        CONTROLLERS.contains(&controller)
            && trees.v1.get(controller).is_none_or(|mount| mount != path)
            && processes_below(path).is_ok_and(|pids| !pids.contains(&std::process::id()))
    };
    places
        .filter(|(controller, path)| is_own(controller, path))
        .map(|(controller, path)| (controller, ControllerDir { path, is_v1: true }))
        .collect()
}

/// Looked at a few times: a process that comes or goes between the two lists is no difference.
fn have_same_processes(a: &Path, b: &Path) -> bool {
    (0..3).any(|_| match (processes_below(a), processes_below(b)) {
        (Ok(a), Ok(b)) => a == b,
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn podmans_inner_cgroup_stands_for_its_scope_and_nothing_else_does() {
        let whole = |path| whole_container(Path::new(path)).to_str().unwrap();
        let scope = "/cg/machine.slice/libpod-0a1b.scope";
        assert_eq!(whole("/cg/machine.slice/libpod-0a1b.scope/container"), scope);
        assert_eq!(whole(scope), scope);
        for other in ["/cg/docker/0a1b", "/cg/my.scope/container", "/cg/container", "/"] {
            assert_eq!(whole(other), other);
        }
    }

    #[test]
    fn an_inactive_unit_has_no_group_and_no_pid() {
        let running = "MainPID=42\nControlGroup=/system.slice/web.service\n";
        assert_eq!(parse_unit(running), (Some("/system.slice/web.service"), Some(42)));
        assert_eq!(parse_unit("ControlGroup=\nMainPID=0\n"), (None, None));
    }

    #[test]
    fn folders_that_are_no_v2_cgroup_are_refused_by_what_they_are() {
        let trees = CgroupTrees::discover().unwrap();
        let error = |dir: &Path| by_cgroup(dir, &trees).unwrap_err().to_string();
        assert!(error(Path::new("/nowhere")).contains("not there"));
        assert!(error(Path::new("/proc")).contains("no cgroup directory"));
        for dir in trees.v1.values() {
            assert!(error(dir).contains("v1"));
        }
        if let Some(root) = &trees.v2 {
            assert!(error(root).contains("whole machine"));
        }
    }
}
