//! Whether the kernel's OOM killer ended a process of a cgroup.
//!
//! The cgroup's own counter says it, while the cgroup is there. A container's goes with its last
//! process, and an engine may say "no" of one that was killed (Podman 4.3 on cgroup v1 does): there
//! the kernel's log answers, in which the OOM killer names the process and its cgroup.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;

use rustix::fs::OFlags;
use rustix::io::Errno;

use super::ControllerDir;
use crate::measured::Measured;

/// The longest record of the kernel's log, bytes (`CONSOLE_EXT_LOG_MAX`).
const RECORD_BYTES: usize = 8192;

/// The OOM kills of a cgroup since this was made.
#[derive(Debug)]
pub(super) struct OomKills {
    file: Measured<PathBuf>,
    before: u64,
    log: Option<KernelLog>,
}

impl OomKills {
    /// Begins to watch the files of a memory controller.
    pub(super) fn watch(memory: Option<&ControllerDir>) -> Self {
        let mut kills = Self { file: counter(memory), before: 0, log: None };
        kills.before = kills.counted().value().copied().unwrap_or(0);
        kills
    }

    /// The same for a cgroup that may go before it is asked; what the log has said since it was
    /// opened then counts.
    pub(super) fn with_log(self, log: KernelLog) -> Self {
        Self { log: Some(log), ..self }
    }

    /// Goes on with the files of a cgroup that was made since, and with its first process.
    pub(super) fn attend(&mut self, memory: Option<&ControllerDir>, pid: Option<u32>) {
        self.file = counter(memory);
        if let Some(log) = &mut self.log {
            log.pid = pid;
        }
    }

    /// Whether there was one.
    pub(super) fn happened(&mut self) -> Measured<bool> {
        let counted = self.counted().map(|total| total > self.before);
        match (&counted, &mut self.log) {
            (Measured::Unavailable { .. }, Some(log)) => log.tells_of_a_kill(),
            _ => counted,
        }
    }

    fn counted(&self) -> Measured<u64> {
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

/// The file that has the counter.
fn counter(memory: Option<&ControllerDir>) -> Measured<PathBuf> {
    let name = |is_v1| if is_v1 { "memory.oom_control" } else { "memory.events" };
    match memory {
        Some(place) => Measured::Value(place.path.join(name(place.is_v1))),
        None => Measured::unavailable("the target's cgroup has no memory controller"),
    }
}

/// The `oom_kill` line, which v1 (since 4.13) and v2 spell alike.
fn oom_kill(text: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok())
}

/// What the kernel logs from now on about one container.
#[derive(Debug)]
pub(super) struct KernelLog {
    file: io::Result<File>,
    /// The container's id: engines put it into the name of the cgroup.
    id: String,
    /// Its first process, once it is known.
    pid: Option<u32>,
    kill: bool,
    /// Records were written over before they were read.
    has_gaps: bool,
}

impl KernelLog {
    /// Begins at its end; `pid` is the container's first process, where there is one yet.
    pub(super) fn open(id: &str, pid: Option<u32>) -> Self {
        let nonblock = OFlags::NONBLOCK.bits().cast_signed();
        let file = OpenOptions::new().read(true).custom_flags(nonblock).open("/dev/kmsg");
        let file = file.and_then(|mut file| file.seek(SeekFrom::End(0)).map(|_| file));
        Self { file, id: id.to_owned(), pid, kill: false, has_gaps: false }
    }

    fn tells_of_a_kill(&mut self) -> Measured<bool> {
        let file = match &mut self.file {
            Ok(file) => file,
            Err(error) => return Measured::unavailable(format!("/dev/kmsg: {error}")),
        };
        let mut record = vec![0; RECORD_BYTES];
        loop {
            match file.read(&mut record) {
                Ok(0) => break,
                Ok(length) => {
                    let text = String::from_utf8_lossy(&record[..length]);
                    self.kill |= is_kill(&text, &self.id, self.pid);
                }
                Err(e) if Errno::from_io_error(&e) == Some(Errno::PIPE) => self.has_gaps = true,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Measured::unavailable(format!("/dev/kmsg: {error}")),
            }
        }
        if !self.kill && self.has_gaps {
            return Measured::unavailable("the kernel's log was written over before it was read");
        }
        Measured::Value(self.kill)
    }
}

/// Whether a record tells of a kill in the cgroup that is named by `id`, or of this process. The
/// first kind is left out where there are many; the second names no cgroup.
fn is_kill(record: &str, id: &str, pid: Option<u32>) -> bool {
    let cgroup = record
        .split_once("oom-kill:")
        .and_then(|(_, facts)| facts.split(',').find_map(|fact| fact.strip_prefix("task_memcg=")));
    let killed = record.split_once("Killed process ").and_then(|(_, rest)| {
        let digits = rest.split(' ').next()?;
        digits.parse::<u32>().ok()
    });
    cgroup.is_some_and(|path| path.contains(id)) || (killed.is_some() && killed == pid)
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let mut kills = OomKills::watch(Some(&place));
        assert_eq!(kills.happened(), Measured::Value(false));
        fs::write(&file, "oom_kill 2\n").unwrap();
        assert_eq!(kills.happened(), Measured::Value(true));
        fs::remove_file(&file).unwrap();
        assert!(kills.happened().why().unwrap().contains("memory.events"));
        assert!(OomKills::watch(None).happened().value().is_none());
    }

    #[test]
    fn a_kill_is_known_by_its_cgroup_or_by_its_process() {
        let by_cgroup = "6,504,506040844,-;oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),\
                         cpuset=libpod-9a23,mems_allowed=0,oom_memcg=/libpod_parent/libpod-9a23,\
                         task_memcg=/libpod_parent/libpod-9a23,task=tail,pid=13066,uid=0";
        assert!(is_kill(by_cgroup, "9a23", None));
        assert!(!is_kill(by_cgroup, "77ff", Some(1)));
        // Whose limit was reached says not whose process was killed.
        let of_another =
            by_cgroup.replace("task_memcg=/libpod_parent/libpod-9a23", "task_memcg=/b");
        assert!(!is_kill(&of_another, "9a23", None));
        let by_pid = "3,505,506040861,-;Memory cgroup out of memory: Killed process 13066 (tail) \
                      total-vm:34928kB, anon-rss:32384kB, UID:0 pgtables:112kB oom_score_adj:0";
        assert!(is_kill(by_pid, "9a23", Some(13066)) && !is_kill(by_pid, "9a23", Some(1306)));
        assert!(!is_kill(by_pid, "9a23", None) && !is_kill("6,1,2,-;eth0 is up", "eth0", None));
    }
}
