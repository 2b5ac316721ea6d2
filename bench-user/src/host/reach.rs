//! Where a path of `/proc/PID/cgroup` lies below a mounted cgroup tree.
//!
//! Both that path and the root that `/proc/self/mountinfo` gives for the mount are seen from the
//! root of our cgroup namespace. Outside of a namespace of our own the one is absolute and the
//! other `/`. Inside (`unshare -C`, most containers) a path that leads out of it begins with
//! `/..`, and so does the root of a mount that was made before; a mount of only a part of a tree
//! has the path of that part:
//!
//! ```text
//!  root of the mount   path of the process     directory below the mount point
//!  /                   /web                    web
//!  /../..              /../../web              web
//!  /../..              /child                  ?/?/child: the names above us are not shown
//!  /docker/0a          /docker/0a/child        child
//!  /                   /../web                 none: outside of what is mounted
//! ```

use std::path::{Path, PathBuf};

/// Which part of a tree a mount shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Reach {
    /// So many levels above the root of our cgroup namespace.
    above: usize,
    /// And then down to here.
    part: PathBuf,
}

/// Where a cgroup is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    /// At this path below the mount point.
    Below(PathBuf),
    /// At this path below one of the directories so many levels below the mount point.
    Under(usize, PathBuf),
    /// Not in what is mounted.
    Outside,
}

impl Reach {
    /// Of a mount with this root.
    pub(super) fn of(root: &str) -> Self {
        let (above, part) = split(root);
        Self { above, part }
    }

    /// It shows more of the tree than the other.
    pub(super) fn is_wider_than(&self, other: &Self) -> bool {
        let depth = |reach: &Self| reach.part.components().count();
        (self.above, depth(other)) > (other.above, depth(self))
    }

    /// Where the cgroup of this path is.
    pub(super) fn place(&self, path: &str) -> Place {
        let (above, rest) = split(path);
        if above == self.above {
            return match rest.strip_prefix(&self.part) {
                Ok(rest) => Place::Below(rest.to_owned()),
                Err(_elsewhere) => Place::Outside,
            };
        }
        // Only a mount of a whole tree reaches levels whose names are not told.
        match self.above.checked_sub(above) {
            Some(levels) if self.part == Path::new("") => Place::Under(levels, rest),
            _ => Place::Outside,
        }
    }
}

/// Leading `..`, and what follows.
fn split(path: &str) -> (usize, PathBuf) {
    let mut above = 0;
    let mut rest = path.trim_start_matches('/');
    while let Some(after) = rest.strip_prefix("..").filter(|r| r.is_empty() || r.starts_with('/')) {
        above += 1;
        rest = after.trim_start_matches('/');
    }
    (above, PathBuf::from(rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(root: &str, path: &str, expected: Place) {
        assert_eq!(Reach::of(root).place(path), expected, "{path} in a mount of {root}");
    }

    fn below(path: &str) -> Place {
        Place::Below(path.into())
    }

    #[test]
    fn outside_of_a_namespace_the_path_is_that_below_the_mount() {
        check("/", "/", below(""));
        check("/", "/docker/abc", below("docker/abc"));
        check("/", "/..hidden/x", below("..hidden/x"));
    }

    #[test]
    fn inside_of_one_the_levels_above_are_taken_off_or_unknown() {
        check("/../..", "/../../web", below("web"));
        check("/../..", "/../..", below(""));
        check("/../..", "/child", Place::Under(2, "child".into()));
        check("/../..", "/../x", Place::Under(1, "x".into()));
        check("/", "/../web", Place::Outside);
        check("/..", "/../../web", Place::Outside);
    }

    #[test]
    fn a_mount_of_a_part_shows_that_part() {
        check("/docker/0a", "/docker/0a/child", below("child"));
        check("/docker/0a", "/docker/0a", below(""));
        check("/docker/0a", "/docker/0abc", Place::Outside);
        check("/docker/0a", "/", Place::Outside);
    }

    #[test]
    fn the_widest_mount_is_the_one_that_reaches_furthest_up() {
        let order = ["/../..", "/..", "/", "/docker", "/docker/0a"].map(Reach::of);
        for pair in order.windows(2) {
            assert!(pair[0].is_wider_than(&pair[1]) && !pair[1].is_wider_than(&pair[0]));
            assert!(!pair[0].is_wider_than(&pair[0]));
        }
    }
}
