//! Controllers of the v2 tree on their way down to a cgroup of ours.

use std::path::Path;

use super::cgroup::{CONTROLLERS, words};
use super::write_file;
use crate::host::is_kept_by_processes;

/// Hands every controller of the v2 root down to `leaf`. A refusal shows in the leaf's own
/// `cgroup.controllers`, which is what counts, and is an error only for a limit that needs it.
pub(super) fn controllers(leaf: &Path, mount: &Path) {
    let mut above: Vec<&Path> =
        leaf.ancestors().skip(1).take_while(|dir| dir.starts_with(mount)).collect();
    above.reverse();
    for dir in above {
        if is_kept_by_processes(dir) {
            return;
        }
        let enabled = words(&dir.join("cgroup.subtree_control"));
        for controller in words(&dir.join("cgroup.controllers")) {
            if CONTROLLERS.contains(&controller.as_str()) && !enabled.contains(&controller) {
                let file = dir.join("cgroup.subtree_control");
                if let Err(error) = write_file(&file, &format!("+{controller}")) {
                    log::debug!("{}: +{controller}: {error}", file.display());
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::cgroup::OwnCgroup;
    use super::super::limits::Limits;
    use super::*;
    use crate::host::CgroupTrees;

    /// A tree of files as they look in a container: its own cgroup, with processes, is at the top.
    fn container() -> tempfile::TempDir {
        let mount = tempfile::tempdir().unwrap();
        for (file, text) in [
            ("cgroup.controllers", "cpu\n"),
            ("cgroup.subtree_control", ""),
            ("cgroup.type", "domain\n"),
            ("cgroup.procs", "1\n"),
        ] {
            fs::write(mount.path().join(file), text).unwrap();
        }
        mount
    }

    #[test]
    fn a_cgroup_with_processes_keeps_its_controllers() {
        let mount = container();
        let leaf = mount.path().join("run/target");
        controllers(&leaf, mount.path());
        assert_eq!(words(&mount.path().join("cgroup.subtree_control")), [""; 0]);
        fs::write(mount.path().join("cgroup.procs"), "").unwrap();
        controllers(&leaf, mount.path());
        assert_eq!(words(&mount.path().join("cgroup.subtree_control")), ["+cpu"]);
    }

    #[test]
    fn a_limit_there_is_refused_with_the_way_out() {
        let mount = container();
        let mut trees = CgroupTrees::default();
        trees.v2 = Some(mount.path().to_owned());
        let limits = Limits { cpus: Some(0.5), ..Limits::default() };
        let error = OwnCgroup::create(&trees, "run", "a", &limits).unwrap_err().to_string();
        assert!(error.contains("CPU quota") && error.contains("limit the container"), "{error}");
        let without = OwnCgroup::create(&trees, "run", "a", &Limits::default()).unwrap();
        assert!(without.v2().value().is_some() && without.controllers().is_empty());
    }
}
