//! What engines leave on a machine when they are stopped: mounts, and the emptied cgroups above their
//! containers'. What was there before stays.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::privilege;
use crate::process::capture;

/// The cgroups that hold the containers of each engine, the inner ones first.
const PARENTS: [&str; 3] = ["docker", "libpod_parent/conmon", "libpod_parent"];

/// What is to be removed in the end.
pub(super) struct Left {
    folder: PathBuf,
    /// Places of cgroups that were not there before.
    cgroups: Vec<PathBuf>,
}

impl Left {
    /// Looks before the engines start, which then may mount what they want below `folder`.
    pub(super) fn before(folder: &Path) -> Result<Self> {
        let places = mounts()?.into_iter().filter(|mount| mount.is_cgroup);
        let places = places.flat_map(|mount| PARENTS.map(|parent| mount.place.join(parent)));
        let cgroups = places.filter(|place| !place.exists()).collect();
        Ok(Self { folder: folder.to_owned(), cgroups })
    }

    /// Unmounts and removes it.
    pub(super) fn remove(&self) -> Result<()> {
        let ours =
            mounts()?.into_iter().rev().filter(|mount| mount.place.starts_with(&self.folder));
        for mount in ours {
            capture(privilege::as_root("umount").arg(&mount.place))?;
        }
        for place in self.cgroups.iter().filter(|place| place.exists()) {
            capture(privilege::as_root("rmdir").arg(place))?;
        }
        Ok(())
    }
}

/// A mounted file system.
#[derive(Debug, PartialEq)]
struct Mount {
    place: PathBuf,
    is_cgroup: bool,
}

fn mounts() -> Result<Vec<Mount>> {
    Ok(parse(&fs::read_to_string("/proc/self/mounts").context("read /proc/self/mounts")?))
}

fn parse(text: &str) -> Vec<Mount> {
    let mount = |line: &str| {
        let mut fields = line.split(' ');
        let (place, kind) = (fields.nth(1)?, fields.next()?);
        Some(Mount { place: place.into(), is_cgroup: ["cgroup", "cgroup2"].contains(&kind) })
    };
    text.lines().filter_map(mount).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cgroup_trees_are_told_from_other_mounts() {
        let text = "cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\ncgroup /cg/cpu cgroup rw,cpu 0 0\n\
                    overlay /tmp/x/podman/root/overlay overlay rw 0 0\n";
        let found: Vec<_> = parse(text).into_iter().map(|mount| mount.is_cgroup).collect();
        assert_eq!(found, [true, true, false]);
        assert_eq!(parse(text)[1].place, Path::new("/cg/cpu"));
    }
}
