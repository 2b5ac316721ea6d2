//! Tries of the cgroup trees: in cgroups made for the try and removed when it is over.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use perf_event::events::{Event, Hardware};
use rustix::io::Errno;

use super::Tried;
use crate::host::{CgroupTrees, counters, is_kept_by_processes, topology};

/// The trees, and an empty cgroup of ours in the v2 tree or why there is none.
pub(super) struct Scratch {
    trees: CgroupTrees,
    v2: Result<Made, String>,
}

/// A directory that is removed when it is dropped.
struct Made(PathBuf);

impl Drop for Made {
    fn drop(&mut self) {
        // Nothing ever entered it, so nothing can keep it; on a failure there is no one to tell.
        std::fs::remove_dir(&self.0).ok();
    }
}

/// The name of every cgroup that a try makes.
pub(super) fn scratch_name() -> String {
    format!("bench-doctor-{}", std::process::id())
}

fn make_below(mount: &Path) -> Result<Made, String> {
    let dir = mount.join(scratch_name());
    std::fs::create_dir(&dir)
        .map(|()| Made(dir))
        .map_err(|e| format!("no cgroup can be made in {}: {e}", mount.display()))
}

impl Scratch {
    pub(super) fn make() -> Self {
        let (trees, v2) = match CgroupTrees::discover() {
            Ok(trees) => {
                let v2 = match &trees.v2 {
                    Some(mount) => make_below(mount),
                    None => Err("no cgroup v2 tree is mounted".into()),
                };
                (trees, v2)
            }
            Err(e) => (CgroupTrees::default(), Err(format!("the mounts cannot be read: {e}"))),
        };
        Self { trees, v2 }
    }

    /// For tries that need a cgroup; that there is none is said once, by [`v2`].
    fn dir(&self) -> Result<&Path, (String, String)> {
        match &self.v2 {
            Ok(made) => Ok(&made.0),
            Err(_) => Err((
                "could not be tried without a cgroup of our own".into(),
                "see cgroup v2 above".into(),
            )),
        }
    }
}

pub(super) fn v2(scratch: &Scratch) -> Tried {
    let remedy = "run it with sudo where a cgroup2 file system is mounted and writable \
                  (`mount -t cgroup2 none /sys/fs/cgroup/unified` beside v1 trees)";
    match &scratch.v2 {
        Ok(_) => Ok(format!("a cgroup can be made ({} mode)", scratch.trees.mode())),
        Err(why) => Err((why.clone(), remedy.into())),
    }
}

pub(super) fn perf_hardware(scratch: &Scratch) -> Tried {
    count(scratch, Event::Hardware(Hardware::CPU_CYCLES))
}

fn count(scratch: &Scratch, event: Event) -> Tried {
    let perf_v1 = scratch.trees.v1.get("perf_event").map(|mount| make_below(mount)).transpose();
    let perf_v1 = perf_v1.map_err(|why| (why, "run it with sudo".to_owned()))?;
    let dir = match &perf_v1 {
        Some(made) => &*made.0,
        None => scratch.dir()?,
    };
    // Almost every machine keeps CPU 0 online, but not all must.
    let cpu = topology::online_cpus().map_or(0, |cpus| cpus.first().copied().unwrap_or(0));
    let counter = File::open(dir)
        .and_then(|cgroup| counters::open_on_cgroup(event.clone(), &cgroup, cpu))
        .and_then(|mut counter| counter.read());
    match counter {
        Ok(_) => Ok("can be counted on a cgroup".into()),
        Err(e) => Err((
            counters::why_not(&event, &e),
            "use a machine whose PMU is visible; all else works".into(),
        )),
    }
}

pub(super) fn pressure(scratch: &Scratch) -> Tried {
    let path = scratch.dir()?.join("cpu.pressure");
    let has_totals = |text: String| {
        if text.contains("total=") { Ok(()) } else { Err(io::Error::other("it shows no totals")) }
    };
    match std::fs::read_to_string(&path).and_then(has_totals) {
        Ok(()) => Ok("is kept for cgroups".into()),
        Err(e) => Err((
            format!("cpu.pressure cannot be read: {e}"),
            if Errno::from_io_error(&e) == Some(Errno::OPNOTSUPP) {
                "boot with psi=1".into()
            } else {
                "use a kernel with CONFIG_PSI, 5.2 or newer".into()
            },
        )),
    }
}

/// A controller and a limit to try it with: file and value on v1, file and value on v2.
pub(super) struct Controller {
    pub(super) name: &'static str,
    v1: (&'static str, &'static str),
    v2: (&'static str, &'static str),
}

const HALF_A_GIB: &str = "536870912";

/// Those whose limits and figures a run uses.
pub(super) const CONTROLLERS: [Controller; 4] = [
    Controller { name: "cpu", v1: ("cpu.cfs_quota_us", "50000"), v2: ("cpu.max", "50000 100000") },
    Controller { name: "cpuset", v1: ("cpuset.cpus", "0"), v2: ("cpuset.cpus", "0") },
    Controller {
        name: "memory",
        v1: ("memory.limit_in_bytes", HALF_A_GIB),
        v2: ("memory.max", HALF_A_GIB),
    },
    Controller { name: "pids", v1: ("pids.max", "1000"), v2: ("pids.max", "1000") },
];

/// Sets a limit in a new cgroup and reads it back. On v2 a controller that the root does not give
/// to new cgroups is left as it is: to enable it would stay behind.
pub(super) fn controller(controller: &Controller, scratch: &Scratch) -> Tried {
    let name = controller.name;
    if let Some(mount) = scratch.trees.v1.get(name) {
        let made = make_below(mount).map_err(|why| (why, "run it with sudo".to_owned()))?;
        set(&made.0, controller.v1)?;
        return Ok(format!("takes a limit, in the v1 tree at {}", mount.display()));
    }
    let root = scratch.trees.v2.as_deref().unwrap_or(Path::new(""));
    let list = |file: &str| -> io::Result<bool> {
        let text = std::fs::read_to_string(root.join(file))?;
        Ok(text.split_whitespace().any(|controller| controller == name))
    };
    match (list("cgroup.controllers"), list("cgroup.subtree_control")) {
        (Ok(true), Ok(true)) => {
            set(scratch.dir()?, controller.v2)?;
            Ok("takes a limit, in the v2 tree".into())
        }
        (Ok(true), _) if is_kept_by_processes(root) => Err((
            format!(
                "{} holds processes of its own and hands it to no cgroup of ours",
                root.display()
            ),
            "leave limits out, or move those processes into a cgroup below it first".into(),
        )),
        (Ok(true), _) => Ok("in the v2 tree, to be enabled for new cgroups".into()),
        _ => Err((
            "no cgroup tree has it".into(),
            format!("use a kernel with the {name} controller, and do not turn it off at boot"),
        )),
    }
}

fn set(dir: &Path, (file, limit): (&str, &str)) -> Result<(), (String, String)> {
    let path = dir.join(file);
    let kept = std::fs::write(&path, limit).and_then(|()| std::fs::read_to_string(&path));
    match kept {
        Ok(kept) if kept.trim() == limit => Ok(()),
        Ok(kept) => Err((
            format!("{} holds `{}` and not `{limit}`", path.display(), kept.trim()),
            "see what limits the cgroups above it".into(),
        )),
        Err(e) => Err((
            format!("{} takes no limit: {e}", path.display()),
            "run it with sudo, where the cgroup trees are writable".into(),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_controller_that_stops_above_us_is_not_to_be_enabled() {
        let dir = tempfile::tempdir().unwrap();
        let put = |file: &str, text: &str| std::fs::write(dir.path().join(file), text).unwrap();
        put("cgroup.controllers", "cpu\n");
        put("cgroup.subtree_control", "");
        put("cgroup.type", "domain\n");
        put("cgroup.procs", "");
        let mut trees = CgroupTrees::default();
        trees.v2 = Some(dir.path().to_owned());
        let scratch = Scratch { trees, v2: Err(String::new()) };
        assert!(controller(&CONTROLLERS[0], &scratch).unwrap().contains("to be enabled"));
        put("cgroup.procs", "1\n");
        let (why, _remedy) = controller(&CONTROLLERS[0], &scratch).unwrap_err();
        assert!(why.contains("processes of its own"), "{why}");
    }
}
