//! Whose run a cgroup belongs to, written in its name, so that a later run can tell a leftover.

use std::fs;
use std::os::unix::fs::MetadataExt as _;

use procfs::ProcError;
use procfs::process::{ProcState, Process};

/// The directory under every tree's root that holds the cgroups of all runs.
pub(super) const PARENT: &str = "bench-user";

/// Ends the name of a cgroup whose processes are strangers', never to be killed by us. The sign
/// cannot be in a target's own name.
pub(super) const ADOPTED: &str = "+adopted";

/// Names the cgroups of our own run: `RUN-PID-STARTTICKS`. A pid alone may be reused.
///
/// # Errors
/// When our own `/proc` entry cannot be read.
pub(super) fn run_dir(run_id: &str) -> Result<String, ProcError> {
    let stat = Process::myself()?.stat()?;
    Ok(format!("{}-{}-{}", file_name(run_id), stat.pid, stat.starttime))
}

/// Names the owner of what an engine keeps for us: `WORD-PID-STARTTICKS-PIDNAMESPACE-BOOT`. An
/// engine's socket may be mounted where pids mean something else, or lead to another machine.
///
/// It can be the tag of an image where `word` has no character that is none in a tag.
///
/// # Errors
/// When `/proc` cannot be read.
pub fn mark(word: &str) -> Result<String, ProcError> {
    Ok(format!("{}-{}", run_dir(word)?, pid_space()?))
}

/// The owner of a mark, as `WORD-PID-STARTTICKS`, when it has ended; `None` when it lives, when it
/// ran where pids are not ours, and when the mark is not of our making.
pub(super) fn dead_owner(mark: &str) -> Option<&str> {
    let owner = mark.strip_suffix(&pid_space().ok()?)?.strip_suffix('-')?;
    (owner_is_dead(owner) == Some(true)).then_some(owner)
}

/// Where a pid means what it means here: `PIDNAMESPACE-BOOT`. The first namespace has the same
/// number on every machine.
fn pid_space() -> Result<String, ProcError> {
    let namespace = fs::metadata("/proc/self/ns/pid")?.ino();
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id")?;
    Ok(format!("{namespace}-{}", boot.trim().replace('-', "")))
}

/// Whether the process that a run directory is named after has ended; `None` for a name that is
/// not of our making.
///
/// Pids are those of our own pid namespace: run the tool in one namespace per machine, or it
/// takes the live run of another one for a leftover.
pub(super) fn owner_is_dead(run_dir: &str) -> Option<bool> {
    let mut parts = run_dir.rsplitn(3, '-');
    let ticks: u64 = parts.next()?.parse().ok()?;
    let pid: i32 = parts.next()?.parse().ok()?;
    parts.next()?;
    Some(match Process::new(pid).and_then(|p| p.stat()) {
        Ok(stat) => {
            let ended = matches!(stat.state(), Ok(ProcState::Zombie | ProcState::Dead));
            ended || stat.starttime != ticks
        }
        Err(ProcError::NotFound(_)) => true,
        // What cannot be looked at is left alone.
        Err(_) => false,
    })
}

/// `name` as a directory or file name: bytes besides letters, digits, `-` and `_` become `%XX`.
///
/// A dot too: the kernel's own files in a cgroup have one, so no name can collide with them.
pub(super) fn file_name(name: &str) -> String {
    use std::fmt::Write as _;
    // The two files of a v1 cgroup without a dot.
    let collides = matches!(name, "tasks" | "notify_on_release");
    let mut safe = String::with_capacity(name.len());
    for (i, byte) in name.bytes().enumerate() {
        if (byte.is_ascii_alphanumeric() || b"-_".contains(&byte)) && !(collides && i == 0) {
            safe.push(char::from(byte));
        } else {
            write!(safe, "%{byte:02X}").expect("writing to a string cannot fail");
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_run_is_alive_and_an_older_process_with_our_pid_is_not() {
        let ours = run_dir("2026-run").unwrap();
        assert_eq!(owner_is_dead(&ours), Some(false), "{ours}");
        let (rest, ticks) = ours.rsplit_once('-').unwrap();
        let older = format!("{rest}-{}", ticks.parse::<u64>().unwrap() - 1);
        assert_eq!(owner_is_dead(&older), Some(true));
        assert_eq!(owner_is_dead("x-4194305-1"), Some(true), "beyond the largest pid");
    }

    #[test]
    fn only_owners_whose_pids_are_ours_can_be_known_to_be_dead() {
        let ours = mark("1").unwrap();
        assert_eq!(dead_owner(&ours), None, "{ours}");
        let is_in_a_tag = |c: char| c.is_ascii_alphanumeric() || c == '-';
        assert!(ours.len() <= 128 && ours.chars().all(is_in_a_tag), "{ours}");
        let space = pid_space().unwrap();
        assert_eq!(dead_owner(&format!("1-4194305-1-{space}")), Some("1-4194305-1"));
        let (namespace, boot) = space.split_once('-').unwrap();
        assert_eq!(dead_owner(&format!("1-4194305-1-1-{boot}")), None, "another namespace");
        assert_eq!(dead_owner(&format!("1-4194305-1-{namespace}-0")), None, "another boot");
        for mark in ["latest", "1-4194305-1", &space, &format!("1-{space}")] {
            assert_eq!(dead_owner(mark), None, "{mark}");
        }
    }

    #[test]
    fn directories_of_other_makers_are_nobodys() {
        for name in ["", "web", "web-1", "a-b-c"] {
            assert_eq!(owner_is_dead(name), None, "{name}");
        }
    }

    #[test]
    fn names_are_safe_and_stay_different() {
        assert_eq!(file_name("bun-1_4"), "bun-1_4");
        assert_eq!(file_name("../a b"), "%2E%2E%2Fa%20b");
        assert_eq!(file_name("cpu.max"), "cpu%2Emax");
        assert_eq!(file_name("tasks"), "%74asks");
    }
}
