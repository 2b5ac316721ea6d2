//! Cgroups of our own in the v2 tree, removed when they go out of scope.

use std::path::{Path, PathBuf};
use std::{fs, process};

use anyhow::{Context, Result};

/// A cgroup that we made.
pub(crate) struct Cgroup(PathBuf);

impl Cgroup {
    /// Makes one whose name holds our pid, so that it cannot be anybody else's.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub(crate) fn create(mount: &Path, name: &str) -> Result<Self> {
        let path = mount.join(format!("bench-xtask-{}-{name}", process::id()));
        fs::create_dir(&path).with_context(|| format!("make the cgroup {}", path.display()))?;
        Ok(Self(path))
    }

    /// Its directory.
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Moves a process, with all its threads, into it.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub(crate) fn admit(&self, pid: u32) -> Result<()> {
        fs::write(self.0.join("cgroup.procs"), pid.to_string())
            .with_context(|| format!("move process {pid} to {}", self.0.display()))
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir(&self.0) {
            eprintln!("warning: {} is left behind: {error}", self.0.display());
        }
    }
}

/// Where the v2 tree is mounted: also beside v1 trees, found by its type.
///
/// # Errors
/// When it is not mounted.
pub(crate) fn mount() -> Result<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mounts").context("read /proc/self/mounts")?;
    parse_mount(&mounts)
        .context("no cgroup v2 tree is mounted: `mount -t cgroup2 none DIRECTORY` mounts it")
}

fn parse_mount(mounts: &str) -> Option<PathBuf> {
    mounts.lines().find_map(|line| {
        let mut fields = line.split_whitespace();
        let (_device, place, kind) = (fields.next()?, fields.next()?, fields.next()?);
        (kind == "cgroup2").then(|| PathBuf::from(place))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_v2_tree_is_found_by_type_not_by_place() {
        let hybrid = "cgroup /sys/fs/cgroup/cpu cgroup rw 0 0\n\
                      cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n";
        assert_eq!(parse_mount(hybrid), Some(PathBuf::from("/sys/fs/cgroup/unified")));
        assert_eq!(parse_mount("cgroup /sys/fs/cgroup/cpu cgroup rw 0 0\n"), None);
    }
}
