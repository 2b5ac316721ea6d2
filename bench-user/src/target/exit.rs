//! How a process ended, in words that a person knows.

use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::ExitStatus;

use super::{ControllerDir, Exit};
use crate::measured::Measured;

impl Exit {
    /// The end of a child of ours.
    #[must_use]
    pub fn of_child(status: ExitStatus, oom_killed: Measured<bool>, by_us: bool) -> Self {
        Self { code: status.code(), signal: status.signal().map(signal_name), oom_killed, by_us }
    }

    /// The end of a process that is not our child: the kernel tells its parent how it ended.
    #[must_use]
    pub const fn of_stranger(oom_killed: Measured<bool>) -> Self {
        Self { code: None, signal: None, oom_killed, by_us: false }
    }
}

impl std::fmt::Display for Exit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.code, &self.signal) {
            (Some(code), _) => write!(f, "exit code {code}")?,
            (None, Some(signal)) => write!(f, "killed by {signal}")?,
            (None, None) => f.write_str("ended, its exit code is known to its parent only")?,
        }
        if self.oom_killed.value() == Some(&true) {
            f.write_str(", out of memory (the kernel's OOM killer)")?;
        }
        Ok(())
    }
}

/// `SIGKILL`; a real-time signal by its number.
fn signal_name(number: i32) -> String {
    nix::sys::signal::Signal::try_from(number)
        .map_or_else(|_| format!("signal {number}"), |signal| signal.as_str().to_owned())
}

/// The OOM kills of a cgroup since this was made.
#[derive(Debug, Clone)]
pub(super) struct OomKills {
    file: Measured<PathBuf>,
    before: u64,
}

impl OomKills {
    /// Begins to watch the files of a memory controller.
    pub(super) fn watch(memory: Option<&ControllerDir>) -> Self {
        let name = |is_v1| if is_v1 { "memory.oom_control" } else { "memory.events" };
        let file = match memory {
            Some(place) => Measured::Value(place.path.join(name(place.is_v1))),
            None => Measured::unavailable("the target's cgroup has no memory controller"),
        };
        let mut kills = Self { file, before: 0 };
        kills.before = kills.total().value().copied().unwrap_or(0);
        kills
    }

    /// Whether there was one.
    pub(super) fn happened(&self) -> Measured<bool> {
        self.total().map(|total| total > self.before)
    }

    fn total(&self) -> Measured<u64> {
        let file = match self.file.as_result() {
            Ok(file) => file,
            Err(why) => return Measured::unavailable(why),
        };
        match fs::read_to_string(file) {
            Ok(text) => match oom_kill(&text) {
                Some(kills) => Measured::Value(kills),
                None => Measured::unavailable(format!("{} has no oom_kill", file.display())),
            },
            Err(error) => Measured::unavailable(format!("{}: {error}", file.display())),
        }
    }
}

/// The `oom_kill` line, which v1 (since 4.13) and v2 spell alike.
fn oom_kill(text: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_told_by_code_or_by_the_name_of_the_signal() {
        let exit = |raw| {
            Exit::of_child(ExitStatus::from_raw(raw), Measured::Value(false), false).to_string()
        };
        assert_eq!(exit(3 << 8), "exit code 3");
        assert_eq!(exit(11), "killed by SIGSEGV");
        assert_eq!(exit(40), "killed by signal 40");
    }

    #[test]
    fn oom_kills_are_read_from_both_kinds_of_file() {
        assert_eq!(oom_kill("oom_kill_disable 0\nunder_oom 0\noom_kill 2\n"), Some(2));
        assert_eq!(oom_kill("low 0\noom 5\noom_kill 1\noom_group_kill 0\n"), Some(1));
        assert_eq!(oom_kill("oom_kill_disable 0\nunder_oom 0\n"), None);
    }

    #[test]
    fn only_kills_after_the_watch_began_count() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("memory.events");
        fs::write(&file, "oom_kill 1\n").unwrap();
        let place = ControllerDir { path: dir.path().to_owned(), is_v1: false };
        let kills = OomKills::watch(Some(&place));
        assert_eq!(kills.happened(), Measured::Value(false));
        fs::write(&file, "oom_kill 2\n").unwrap();
        assert_eq!(kills.happened(), Measured::Value(true));
        fs::remove_file(&file).unwrap();
        assert!(kills.happened().why().unwrap().contains("memory.events"));
        assert!(OomKills::watch(None).happened().value().is_none());
    }
}
