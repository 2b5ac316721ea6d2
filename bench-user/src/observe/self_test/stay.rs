//! A short stay of this process in an empty cgroup of its own, and the way back.

use std::path::{Path, PathBuf};

use crate::host::CgroupTrees;

/// The name of the cgroup that is made for it, in every tree.
pub(super) fn name() -> String {
    format!("bench-doctor-trial-{}", std::process::id())
}

/// This process in the cgroup; dropping it goes back and removes the cgroup.
#[derive(Debug)]
pub(super) struct Stay {
    /// Its directory in the v2 tree.
    pub(super) v2: PathBuf,
    /// That of the tree which has `perf_event`, where it is another.
    pub(super) perf: Option<PathBuf>,
    /// Where we came from, by the directory that we are in.
    homes: Vec<(PathBuf, PathBuf)>,
}

impl Stay {
    /// Goes into it.
    ///
    /// # Errors
    /// Why not, as a sentence.
    pub(super) fn enter() -> Result<Self, String> {
        let cannot = |e: procfs::ProcError| format!("the cgroups cannot be looked up: {e}");
        let trees = CgroupTrees::discover().map_err(cannot)?;
        let ours = trees.of_process(std::process::id()).map_err(cannot)?;
        let mount = trees.v2.as_deref().ok_or("no cgroup v2 tree is mounted")?;
        let home = ours.v2.ok_or("our own place in the cgroup v2 tree cannot be seen")?;
        let mut stay = Self { v2: mount.join(name()), perf: None, homes: Vec::new() };
        stay.go(&stay.v2.clone(), home)?;
        if let (Some(mount), Some(home)) =
            (trees.v1.get("perf_event"), ours.v1.get("perf_event").cloned())
        {
            let dir = mount.join(name());
            stay.go(&dir, home)?;
            stay.perf = Some(dir);
        }
        Ok(stay)
    }

    fn go(&mut self, dir: &Path, home: PathBuf) -> Result<(), String> {
        std::fs::create_dir(dir)
            .map_err(|e| format!("no cgroup can be made at {}: {e}", dir.display()))?;
        self.homes.push((dir.to_owned(), home));
        move_to(dir).map_err(|e| format!("{} cannot be entered: {e}", dir.display()))
    }
}

impl Drop for Stay {
    fn drop(&mut self) {
        for (dir, home) in self.homes.iter().rev() {
            if let Err(e) = move_to(home).and_then(|()| std::fs::remove_dir(dir)) {
                log::warn!("{} stays: {e}; `rmdir` it when we have ended", dir.display());
            }
        }
    }
}

fn move_to(dir: &Path) -> std::io::Result<()> {
    std::fs::write(dir.join("cgroup.procs"), std::process::id().to_string())
}
