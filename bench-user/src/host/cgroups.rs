//! The cgroup trees of the machine and the place of a process in them.
//!
//! Found by file-system type, never by a built path: v2 alone, v2 beside v1 (hybrid) and v1
//! alone are all met in practice, and a process may sit at different places of different trees.
//! From inside a cgroup namespace, paths are relative to its root (`reach.rs`).

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use procfs::ProcError;
use procfs::process::{MountInfo, Process};

use super::delegation::is_kept_by_processes;
use super::reach::{Place, Reach};

/// File-system types as statfs(2) gives them (`linux/magic.h`).
const CGROUP_SUPER_MAGIC: u64 = 0x0027_e0eb;
const CGROUP2_SUPER_MAGIC: u64 = 0x6367_7270;

/// What kind of tree a directory belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CgroupKind {
    /// A v1 controller's tree: the kernel side can count nothing by such a directory.
    V1,
    /// The v2 tree.
    V2,
    /// No cgroup directory.
    Neither,
}

/// Which kind of tree `dir` belongs to, by its file system.
///
/// # Errors
/// When `dir` cannot be looked at.
pub fn kind_of(dir: &Path) -> io::Result<CgroupKind> {
    Ok(match u64::try_from(rustix::fs::statfs(dir)?.f_type) {
        Ok(CGROUP_SUPER_MAGIC) => CgroupKind::V1,
        Ok(CGROUP2_SUPER_MAGIC) => CgroupKind::V2,
        _ => CgroupKind::Neither,
    })
}

/// The processes of a cgroup and of all cgroups below it, ascending; processes of a foreign pid
/// namespace, which the kernel shows as 0, are left out.
///
/// # Errors
/// When the list of `dir` itself cannot be read; a cgroup below it that vanishes meanwhile is no
/// error.
pub fn processes_below(dir: &Path) -> io::Result<Vec<u32>> {
    let text = fs::read_to_string(dir.join("cgroup.procs"))?;
    let mut pids: Vec<u32> =
        text.lines().filter_map(|line| line.parse().ok()).filter(|pid| *pid != 0).collect();
    for child in children(dir) {
        // Threaded children have no list of their own: their processes are in the parent's.
        pids.extend(processes_below(&child).unwrap_or_default());
    }
    pids.sort_unstable();
    pids.dedup();
    Ok(pids)
}

/// The cgroups right below `dir`; none when it cannot be read.
#[must_use]
pub fn children(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    entries.filter(|e| e.file_type().is_ok_and(|t| t.is_dir())).map(|e| e.path()).collect()
}

/// Where the trees are mounted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CgroupTrees {
    /// Mount point of the v2 tree.
    pub v2: Option<PathBuf>,
    /// Mount points of v1 trees by controller (`cpu`, `memory`, `name=systemd`, ...).
    pub v1: BTreeMap<String, PathBuf>,
    /// What part of its tree each mount point shows.
    reach: BTreeMap<PathBuf, Reach>,
}

/// The directories of one process.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CgroupPlaces {
    /// In the v2 tree.
    pub v2: Option<PathBuf>,
    /// In v1 trees, by controller.
    pub v1: BTreeMap<String, PathBuf>,
    /// Its path in the v2 tree, where that lies outside of what is mounted.
    pub outside: Option<String>,
}

impl CgroupTrees {
    /// Looks at our own mount table.
    ///
    /// # Errors
    /// When `/proc/self/mountinfo` cannot be read.
    pub fn discover() -> Result<Self, ProcError> {
        let mut trees = Self::default();
        let mut mounts = Process::myself()?.mountinfo()?.0;
        // The widest comes first and stays: a bind mount of a part of a tree is the last choice.
        let reach_of = |mount: &MountInfo| Reach::of(&mount.root);
        mounts.sort_by(|a, b| {
            let (a, b) = (reach_of(a), reach_of(b));
            b.is_wider_than(&a).cmp(&a.is_wider_than(&b))
        });
        for mount in mounts {
            let reach = reach_of(&mount);
            match mount.fs_type.as_str() {
                "cgroup2" => {
                    trees.v2.get_or_insert(mount.mount_point.clone());
                }
                "cgroup" => {
                    for option in mount.super_options.into_iter().map(named_option) {
                        if is_controller(&option) {
                            trees.v1.entry(option).or_insert_with(|| mount.mount_point.clone());
                        }
                    }
                }
                _ => continue,
            }
            trees.reach.entry(mount.mount_point).or_insert(reach);
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

    /// Every mount point once, the v2 tree first.
    #[must_use]
    pub fn mounts(&self) -> Vec<&Path> {
        let mut mounts: Vec<&Path> = self.v2.iter().map(PathBuf::as_path).collect();
        for mount in self.v1.values() {
            if !mounts.contains(&mount.as_path()) {
                mounts.push(mount);
            }
        }
        mounts
    }

    /// Whether a cgroup of ours can have this controller.
    #[must_use]
    pub fn can_limit(&self, controller: &str) -> bool {
        let has_it = |mount: &PathBuf| {
            let text = fs::read_to_string(mount.join("cgroup.controllers")).unwrap_or_default();
            text.split_whitespace().any(|one| one == controller) && !is_kept_by_processes(mount)
        };
        self.v1.contains_key(controller) || self.v2.as_ref().is_some_and(has_it)
    }

    /// The directories that a process is in.
    ///
    /// # Errors
    /// When `/proc/PID/cgroup` cannot be read: the process has ended, or is not ours to see.
    pub fn of_process(&self, pid: u32) -> Result<CgroupPlaces, ProcError> {
        let number = i32::try_from(pid).map_err(|e| ProcError::Other(e.to_string()))?;
        let mut places = CgroupPlaces::default();
        for line in Process::new(number)?.cgroups()? {
            if line.hierarchy == 0 {
                let Some(mount) = &self.v2 else { continue };
                places.v2 = self.directory(mount, &line.pathname, pid);
                places.outside = places.v2.is_none().then_some(line.pathname);
            } else {
                for controller in line.controllers {
                    let dir = self
                        .v1
                        .get(&controller)
                        .and_then(|mount| self.directory(mount, &line.pathname, pid));
                    places.v1.extend(dir.map(|dir| (controller, dir)));
                }
            }
        }
        Ok(places)
    }

    /// The directory of the cgroup that a process is in by this path of `/proc/PID/cgroup`.
    fn directory(&self, mount: &Path, path: &str, pid: u32) -> Option<PathBuf> {
        match self.reach.get(mount).cloned().unwrap_or_default().place(path) {
            Place::Below(path) => Some(mount.join(path)),
            // The names of the levels between are not told: it is where the process is listed.
            Place::Under(levels, path) => {
                let mut above = vec![mount.to_owned()];
                for _ in 0..levels {
                    above = above.iter().flat_map(|dir| children(dir)).collect();
                }
                above.into_iter().map(|dir| dir.join(&path)).find(|dir| lists(dir, pid))
            }
            Place::Outside => None,
        }
    }
}

/// A cgroup has this process itself.
fn lists(dir: &Path, pid: u32) -> bool {
    // In a threaded subtree the processes are listed by its root alone.
    ["cgroup.procs", "cgroup.threads"].iter().any(|file| {
        let text = fs::read_to_string(dir.join(file)).unwrap_or_default();
        text.lines().any(|line| line.parse() == Ok(pid))
    })
}

/// We are in a cgroup namespace of our own, and not in the one that the machine was booted with
/// (its inode is `PROC_CGROUP_INIT_INO`, include/linux/proc_ns.h, since Linux 4.6).
#[must_use]
pub fn has_own_cgroup_namespace() -> bool {
    let link = fs::read_link("/proc/self/ns/cgroup").unwrap_or_default();
    let link = link.to_string_lossy().into_owned();
    link.starts_with("cgroup:") && link != "cgroup:[4026531835]"
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
    fn flags_of_a_v1_mount_are_no_controllers() {
        assert!(is_controller("cpu") && is_controller("name=systemd"));
        assert!(!is_controller("rw") && !is_controller("release_agent=/x"));
    }

    #[test]
    fn a_plain_folder_is_no_cgroup_and_our_own_one_holds_us() {
        assert_eq!(kind_of(Path::new("/proc")).unwrap(), CgroupKind::Neither);
        let trees = CgroupTrees::discover().unwrap();
        let us = std::process::id();
        if let Some(dir) = trees.of_process(us).unwrap().v2 {
            assert_eq!(kind_of(&dir).unwrap(), CgroupKind::V2);
            assert!(processes_below(&dir).unwrap().contains(&us));
        }
        for dir in trees.v1.values() {
            assert_eq!(kind_of(dir).unwrap(), CgroupKind::V1);
        }
    }

    /// Of a container's own cgroup, the namespace's root, and of the tree's root.
    #[test]
    fn controllers_come_from_the_root_and_from_cgroups_without_processes() {
        let dir = tempfile::tempdir().unwrap();
        let put = |file: &str, text: &str| fs::write(dir.path().join(file), text).unwrap();
        put("cgroup.controllers", "cpu memory\n");
        put("cgroup.procs", "1\n");
        let trees = CgroupTrees { v2: Some(dir.path().to_owned()), ..CgroupTrees::default() };
        assert!(trees.can_limit("cpu") && !trees.can_limit("cpuset"));
        put("cgroup.type", "domain\n");
        assert!(!trees.can_limit("cpu"));
        put("cgroup.procs", "");
        assert!(trees.can_limit("cpu"));
    }

    #[test]
    fn trees_that_share_a_mount_are_listed_once() {
        let v1 = ["cpu", "cpuacct"].map(|c| (c.to_owned(), PathBuf::from("/cg/cpu,cpuacct")));
        let trees =
            CgroupTrees { v2: Some("/cg/unified".into()), v1: v1.into(), ..CgroupTrees::default() };
        assert_eq!(trees.mounts(), [Path::new("/cg/unified"), Path::new("/cg/cpu,cpuacct")]);
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
