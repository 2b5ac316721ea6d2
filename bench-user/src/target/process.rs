//! A started process and its cgroup, to their common end.

use std::io;
use std::process::Child;

use rustix::process::{Signal, kill_process_group};

use super::Exit;
use super::cgroup::OwnCgroup;
use super::oom::OomKills;
use super::spawn::pid_of;
use super::watch::Watch;

/// How long a target may take to end by itself after SIGTERM, ns.
const GRACE_NS: u64 = 3_000_000_000;

/// A process that we started, in a cgroup that we made. Dropping it ends both.
#[derive(Debug)]
pub struct Started {
    child: Child,
    pid: u32,
    cgroup: OwnCgroup,
    watch: Watch,
    oom: OomKills,
    exit: Option<Exit>,
    /// When it was let go on into its program, `CLOCK_MONOTONIC` ns; 0 before.
    pub(super) released_ns: u64,
}

impl Started {
    /// Takes over the child and the cgroup made for it.
    ///
    /// # Errors
    /// When the kernel gives no descriptor for the process; it is killed then.
    pub(super) fn new(mut child: Child, cgroup: OwnCgroup) -> io::Result<Self> {
        match Watch::open(child.id()) {
            Ok(watch) => {
                let oom = OomKills::watch(cgroup.controllers().get("memory"));
                let pid = child.id();
                Ok(Self { child, pid, cgroup, watch, oom, exit: None, released_ns: 0 })
            }
            Err(error) => {
                child.kill().and_then(|()| child.wait())?;
                Err(error)
            }
        }
    }

    pub(super) const fn child(&self) -> &Child {
        &self.child
    }

    /// Its pid. After its end the number may become another process's.
    #[must_use]
    pub const fn pid(&self) -> u32 {
        self.pid
    }

    /// Its cgroup.
    #[must_use]
    pub const fn cgroup(&self) -> &OwnCgroup {
        &self.cgroup
    }

    /// When it was let go on into its program, `CLOCK_MONOTONIC` ns.
    #[must_use]
    pub const fn released_ns(&self) -> u64 {
        self.released_ns
    }

    /// How the main process ended, if it has; never blocks.
    pub fn poll_exit(&mut self) -> Option<Exit> {
        self.note_exit(false);
        self.exit.clone()
    }

    /// Waits until the main process ends, at most `ns` nanoseconds. What it started may run on.
    pub fn exits_within(&mut self, ns: u64) -> Option<Exit> {
        if let Err(error) = self.watch.ends_within(ns) {
            log::warn!("cannot wait for process {}: {error}", self.pid());
        }
        self.poll_exit()
    }

    /// Asks the process and its group to end, kills what is still in the cgroup after a grace
    /// period, and removes the cgroup.
    #[must_use]
    pub fn stop(mut self) -> Exit {
        self.end();
        self.exit.clone().unwrap_or_else(|| Exit::of_stranger(self.oom.happened()))
    }

    fn end(&mut self) {
        if self.poll_exit().is_none() {
            // Nobody has waited for the leader, so its group cannot be another one by now.
            // Before the `execve` there is nobody to understand SIGTERM.
            let is_program = self.released_ns != 0;
            if is_program && let Err(e) = kill_process_group(pid_of(&self.child), Signal::TERM) {
                log::debug!("SIGTERM to {}: {e}", self.pid());
            }
            let ended = is_program && self.watch.ends_within(GRACE_NS).unwrap_or(false);
            if !ended && let Err(error) = self.child.kill() {
                log::debug!("SIGKILL to {}: {error}", self.pid());
            }
            if let Err(error) = self.child.wait() {
                log::debug!("wait for {}: {error}", self.pid());
            }
            self.note_exit(true);
        }
        if let Err(error) = self.cgroup.remove() {
            log::warn!("{error}");
        }
    }

    fn note_exit(&mut self, by_us: bool) {
        if self.exit.is_some() {
            return;
        }
        match self.child.try_wait() {
            Ok(Some(status)) => {
                self.exit = Some(Exit::of_child(status, self.oom.happened(), by_us));
            }
            Ok(None) => {}
            Err(error) => log::debug!("wait for {}: {error}", self.pid()),
        }
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        self.end();
    }
}
