//! Whether a cgroup of the v2 tree can hand its controllers down.

use std::fs;
use std::path::Path;

/// A v2 cgroup has processes of its own and so cannot hand controllers down: enabled in its
/// `cgroup.subtree_control`, they make it the root of a threaded subtree, and no process can enter
/// a cgroup below it (kernel/cgroup/cgroup.c, `cgroup_is_valid_domain`). The root of the tree can;
/// the root of a cgroup namespace, which a container sees in its place, is a cgroup like others.
#[must_use]
pub fn is_kept_by_processes(dir: &Path) -> bool {
    // All but the root of the tree have a type.
    dir.join("cgroup.type").exists()
        // A list that cannot be read is that of a threaded cgroup.
        && fs::read_to_string(dir.join("cgroup.procs")).map_or(true, |text| !text.is_empty())
}
