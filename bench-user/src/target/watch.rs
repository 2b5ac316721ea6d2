//! Whether a process has ended, without polling `/proc` and without mistaking a reused pid.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::clock;

/// A process that is held by a descriptor, ours or not.
#[derive(Debug)]
pub(super) struct Watch(OwnedFd);

impl Watch {
    /// Takes hold of a process.
    ///
    /// # Errors
    /// When there is no such process.
    pub(super) fn open(pid: u32) -> io::Result<Self> {
        let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or(Errno::SRCH)?;
        Ok(Self(pidfd_open(pid, PidfdFlags::empty())?))
    }

    /// Whether it has ended; a child that nobody has waited for has.
    ///
    /// # Errors
    /// When the kernel cannot be asked.
    pub(super) fn has_ended(&self) -> io::Result<bool> {
        self.ends_within(0)
    }

    /// Waits until it ends, at most `ns` nanoseconds; whether it has ended.
    ///
    /// # Errors
    /// When the kernel cannot be asked.
    pub(super) fn ends_within(&self, ns: u64) -> io::Result<bool> {
        let deadline = clock::now_ns().saturating_add(ns);
        loop {
            let left = deadline.saturating_sub(clock::now_ns());
            let mut fds = [PollFd::from_borrowed_fd(self.0.as_fd(), PollFlags::IN)];
            match poll(&mut fds, Some(&clock::timespec(left))) {
                Ok(ready) => return Ok(ready > 0),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_has_ended_when_it_is_dead_and_not_before() {
        let mut child = std::process::Command::new("cat")
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let watch = Watch::open(child.id()).unwrap();
        assert!(!watch.has_ended().unwrap());
        child.kill().unwrap();
        assert!(watch.ends_within(60_000_000_000).unwrap());
        child.wait().unwrap();
        assert!(watch.has_ended().unwrap(), "also once it was waited for");
    }

    #[test]
    fn there_is_no_process_beyond_the_largest_pid() {
        assert!(Watch::open(4_194_305).is_err());
        assert!(Watch::open(0).is_err() && Watch::open(u32::MAX).is_err());
    }
}
