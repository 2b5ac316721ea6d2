//! Cgroups for tests: made in the v2 tree and beside each controller, removed when dropped.
//!
//! Never changes what it did not make: on v2 it uses only controllers that are already
//! delegated to the children of the root.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context as _, Result};
use bench_user::host::CgroupTrees;
use bench_user::measured::Measured;
use bench_user::target::ControllerDir;
use libtest_mimic::{Completion, Failed, Trial};

use crate::workload::Workload;

/// A test that cannot run here; the reason is shown and it counts as ignored.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct CannotRun(pub(crate) String);

/// A known-answer test, ignored with the reason where it returns [`CannotRun`].
pub(crate) fn trial(name: &str, test: impl FnOnce() -> Result<()> + Send + 'static) -> Trial {
    Trial::ignorable_test(name, move || match test() {
        Ok(()) => Ok(Completion::Completed),
        Err(e) => match e.downcast_ref::<CannotRun>() {
            Some(why) => Ok(Completion::ignored_with(why)),
            None => Err(Failed::from(format!("{e:#}"))),
        },
    })
}

/// By how much bounds are wider that leave room for instructions to run: an emulated CPU takes
/// longer for them, and books as its own what its host's scheduler takes away.
pub(crate) fn room() -> u64 {
    std::env::var("BENCH_TEST_ROOM").map_or(1, |text| text.parse().expect("a whole number"))
}

/// As much work as proves the same in bearable time: less of it where everything takes longer.
pub(crate) fn amount(n: u64) -> u64 {
    n / room()
}

/// The value, or the reason as an error.
pub(crate) fn measured<T>(value: &Measured<T>) -> Result<&T> {
    value.as_result().map_err(|why| anyhow::anyhow!("{why}"))
}

/// A cgroup of this test alone.
pub(crate) struct Place {
    /// Its directory in the v2 tree.
    pub(crate) v2: PathBuf,
    /// Its directories of other controllers, by controller.
    pub(crate) controllers: BTreeMap<String, ControllerDir>,
}

impl Place {
    /// Makes one in the v2 tree, and one for each of `controllers` in the tree that owns it.
    pub(crate) fn new(controllers: &[&str]) -> Result<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("bench-test-{}-{n}", std::process::id());
        let trees = CgroupTrees::discover()?;
        let root =
            trees.v2.as_ref().ok_or_else(|| CannotRun("no cgroup v2 tree is mounted".into()))?;
        let mut place = Self { v2: root.join(&name), controllers: BTreeMap::new() };
        std::fs::create_dir(&place.v2).with_context(|| format!("make {}", place.v2.display()))?;
        let delegated = std::fs::read_to_string(root.join("cgroup.subtree_control"))?;
        for &controller in controllers {
            let dir = match trees.v1.get(controller) {
                Some(mount) => ControllerDir { path: mount.join(&name), is_v1: true },
                None if delegated.split_whitespace().any(|c| c == controller) => {
                    ControllerDir { path: place.v2.clone(), is_v1: false }
                }
                None => {
                    let why = format!("the {controller} controller is in no tree for new cgroups");
                    return Err(CannotRun(why).into());
                }
            };
            if dir.is_v1 && !dir.path.exists() {
                std::fs::create_dir(&dir.path)?;
            }
            place.controllers.insert(controller.into(), dir);
        }
        Ok(place)
    }

    /// Moves a process into it, in every tree.
    pub(crate) fn take_in(&self, pid: u32) -> Result<()> {
        for dir in self.dirs() {
            let procs = dir.join("cgroup.procs");
            std::fs::write(&procs, pid.to_string())
                .with_context(|| format!("write {pid} to {}", procs.display()))?;
        }
        Ok(())
    }

    /// Starts workloads and moves each into it, at rest.
    pub(crate) fn take_in_all<const N: usize>(&self, specs: [&str; N]) -> Result<Vec<Workload>> {
        let start = |spec| {
            let workload = Workload::start(spec)?;
            self.take_in(workload.pid())?;
            Ok(workload)
        };
        specs.into_iter().map(start).collect()
    }

    /// A cgroup inside the v2 one, with a process in it.
    pub(crate) fn child_with(&self, pid: u32) -> Result<PathBuf> {
        let child = self.v2.join("child");
        std::fs::create_dir(&child)?;
        std::fs::write(child.join("cgroup.procs"), pid.to_string())?;
        Ok(child)
    }

    /// Writes a setting of a controller: v1's `(file, text)` or v2's.
    pub(crate) fn set(&self, controller: &str, v1: (&str, &str), v2: (&str, &str)) -> Result<()> {
        let dir = self.controllers.get(controller).context("made with this controller")?;
        let (file, text) = if dir.is_v1 { v1 } else { v2 };
        let path = dir.path.join(file);
        std::fs::write(&path, text).with_context(|| format!("write {}", path.display()))
    }

    fn dirs(&self) -> impl Iterator<Item = &Path> {
        let v1 = self.controllers.values().filter(|dir| dir.is_v1).map(|dir| &*dir.path);
        std::iter::once(&*self.v2).chain(v1)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // The processes are reaped before: a workload that is still in here is declared after
        // its place and so dropped first. What is left over shows as a directory.
        for child in bench_user::host::children(&self.v2) {
            std::fs::remove_dir(child).ok();
        }
        for dir in self.dirs() {
            std::fs::remove_dir(dir).ok();
        }
    }
}
