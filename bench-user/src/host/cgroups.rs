//! The cgroup trees of the machine and the place of a process in them.
//!
//! Found by file-system type, never by a built path: v2 alone, v2 beside v1 (hybrid) and v1
//! alone are all met in practice, and a process may sit at different places of different trees.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use procfs::ProcError;
use procfs::process::Process;

/// Where the trees are mounted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CgroupTrees {
    /// Mount point of the v2 tree.
    pub v2: Option<PathBuf>,
    /// Mount points of v1 trees by controller (`cpu`, `memory`, `name=systemd`, ...).
    pub v1: BTreeMap<String, PathBuf>,
}

/// The directories of one process.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CgroupPlaces {
    /// In the v2 tree.
    pub v2: Option<PathBuf>,
    /// In v1 trees, by controller.
    pub v1: BTreeMap<String, PathBuf>,
}

impl CgroupTrees {
    /// Looks at our own mount table.
    ///
    /// # Errors
    /// When `/proc/self/mountinfo` cannot be read.
    pub fn discover() -> Result<Self, ProcError> {
        let mut trees = Self::default();
        for mount in Process::myself()?.mountinfo()? {
            // A bind mount of a part of the tree would make every path below it wrong.
            if mount.root != "/" && !mount.root.starts_with("/..") {
                continue;
            }
            match mount.fs_type.as_str() {
                "cgroup2" => {
                    trees.v2.get_or_insert(mount.mount_point);
                }
                "cgroup" => {
                    for option in mount.super_options.into_iter().map(named_option) {
                        if is_controller(&option) {
                            trees.v1.entry(option).or_insert_with(|| mount.mount_point.clone());
                        }
                    }
                }
                _ => {}
            }
        }
        Ok(trees)
    }

    /// `v2`, `hybrid`, `v1` or `none`.
    #[must_use]
    pub fn mode(&self) -> &'static str {
        match (self.v2.is_some(), self.v1.is_empty()) {
            (true, true) => "v2",
            (true, false) => "hybrid",
            (false, false) => "v1",
            (false, true) => "none",
        }
    }

    /// The directories that a process is in.
    ///
    /// # Errors
    /// When `/proc/PID/cgroup` cannot be read: the process has ended, or is not ours to see.
    pub fn of_process(&self, pid: u32) -> Result<CgroupPlaces, ProcError> {
        let pid = i32::try_from(pid).map_err(|e| ProcError::Other(e.to_string()))?;
        let mut places = CgroupPlaces::default();
        for line in Process::new(pid)?.cgroups()? {
            if line.hierarchy == 0 {
                places.v2 = self.v2.as_deref().map(|mount| below(mount, &line.pathname));
            } else {
                for controller in line.controllers {
                    if let Some(mount) = self.v1.get(&controller) {
                        places.v1.insert(controller, below(mount, &line.pathname));
                    }
                }
            }
        }
        Ok(places)
    }
}

/// `/proc/PID/cgroup` paths begin with a slash, which would replace the mount point.
fn below(mount: &Path, path: &str) -> PathBuf {
    mount.join(path.trim_start_matches('/'))
}

fn named_option((name, value): (String, Option<String>)) -> String {
    match value {
        Some(value) => format!("{name}={value}"),
        None => name,
    }
}

/// The mount options of a v1 tree are its controllers and a few flags.
fn is_controller(option: &str) -> bool {
    !matches!(
        option,
        "rw" | "ro" | "xattr" | "clone_children" | "noprefix" | "favordynmods" | "cpuset_v2_mode"
    ) && !option.starts_with("release_agent=")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_proc_stay_below_the_mount() {
        assert_eq!(below(Path::new("/sys/fs/cgroup"), "/"), Path::new("/sys/fs/cgroup/"));
        assert_eq!(below(Path::new("/cg"), "/docker/abc"), Path::new("/cg/docker/abc"));
    }

    #[test]
    fn flags_of_a_v1_mount_are_no_controllers() {
        assert!(is_controller("cpu") && is_controller("name=systemd"));
        assert!(!is_controller("rw") && !is_controller("release_agent=/x"));
    }

    #[test]
    fn our_own_process_has_a_place_in_every_tree() {
        let trees = CgroupTrees::discover().unwrap();
        let places = trees.of_process(std::process::id()).unwrap();
        assert_eq!(places.v2.is_some(), trees.v2.is_some());
        assert!(places.v2.is_none_or(|dir| dir.is_dir()));
        assert!(places.v1.values().all(|dir| dir.is_dir()));
    }
}
