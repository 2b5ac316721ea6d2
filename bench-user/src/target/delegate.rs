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

    use super::*;

    /// A tree of files as they look in a container: its own cgroup stands at the top.
    #[test]
    fn a_cgroup_with_processes_keeps_its_controllers() {
        let mount = tempfile::tempdir().unwrap();
        let put = |file: &str, text: &str| fs::write(mount.path().join(file), text).unwrap();
        let leaf = mount.path().join("run/target");
        put("cgroup.controllers", "cpu\n");
        put("cgroup.subtree_control", "");
        put("cgroup.type", "domain\n");
        put("cgroup.procs", "1\n");
        controllers(&leaf, mount.path());
        assert_eq!(words(&mount.path().join("cgroup.subtree_control")), [""; 0]);
        put("cgroup.procs", "");
        controllers(&leaf, mount.path());
        assert_eq!(words(&mount.path().join("cgroup.subtree_control")), ["+cpu"]);
    }
}
