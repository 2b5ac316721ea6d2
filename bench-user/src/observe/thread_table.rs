//! What a window says of each thread: plain data, as the record keeps it.
//!
//! On a CPU, waiting for one and blocked add up to the time that a thread lived inside the
//! window. Each edge is off by as much as the kernel's books are behind: for a thread on a CPU
//! one timer tick at most (its time since the last tick looks blocked, or is in the window
//! although it was before it); for one that waits the same, or the whole of its present wait
//! where the task iterator cannot be had.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::measured::Measured;

/// One thread in the window.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Thread {
    /// Thread id in the host's pid namespace.
    pub tid: u32,
    /// Process id.
    pub pid: u32,
    /// Thread name.
    pub comm: String,
    /// Name of the process's first thread; empty where it was never seen.
    #[serde(default)]
    pub process: String,
    /// What it is, where that is not a thread that the program itself started.
    #[serde(default)]
    pub kind: Option<ThreadKind>,
    /// Share of the window on a CPU, 0..=1.
    pub oncpu_ratio: f64,
    /// Share of the window waiting for a CPU, 0..=1.
    pub runq_ratio: f64,
    /// Share of the window blocked, 0..=1.
    #[serde(default)]
    pub blocked_ratio: Measured<f64>,
    /// Time on a CPU, ns.
    pub oncpu_ns: u64,
    /// Time waiting for a CPU, ns.
    pub runq_ns: u64,
    /// Time neither on a CPU nor waiting for one, ns: `lived_ns` less these two, at least zero.
    #[serde(default)]
    pub blocked_ns: Measured<u64>,
    /// Time that it existed inside the window, ns: to its last switch where it ended.
    #[serde(default)]
    pub lived_ns: Measured<u64>,
    /// Switches that it had to make.
    pub switches_voluntary: u64,
    /// Switches that it was made to make.
    pub switches_involuntary: u64,
    /// It ended inside the window.
    pub exited: bool,
}

/// Threads that the kernel starts for a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ThreadKind {
    /// Does what io_uring cannot do at once (`iou-wrk-PID`): work without a syscall of its own.
    IoUringWorker,
    /// Takes submissions of an io_uring (`iou-sqp-PID`), so that submitting needs no syscall.
    IoUringSqpoll,
}

impl ThreadKind {
    /// By the name that the kernel gives it (io_uring/io-wq.c and io_uring/sqpoll.c, since 5.12).
    #[must_use]
    pub fn of(comm: &str) -> Option<Self> {
        if comm.starts_with("iou-wrk-") {
            Some(Self::IoUringWorker)
        } else if comm.starts_with("iou-sqp-") {
            Some(Self::IoUringSqpoll)
        } else {
            None
        }
    }

    /// For people.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::IoUringWorker => "io_uring worker",
            Self::IoUringSqpoll => "io_uring poller",
        }
    }
}

/// All threads of one name that ended inside the window, digits at the end of the name aside: a
/// server that starts one for each request is readable so, and none is left out.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct EndedGroup {
    /// The name, with `*` for digits at its end.
    pub name: String,
    /// How many there were.
    pub threads: u64,
    /// Time on a CPU, ns.
    pub oncpu_ns: u64,
    /// Time waiting for a CPU, ns.
    pub runq_ns: u64,
    /// Time that they lived inside the window, ns, together.
    pub lived_ns: Measured<u64>,
    /// Switches that they had to make.
    pub switches_voluntary: u64,
    /// Switches that they were made to make.
    pub switches_involuntary: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_of_io_uring_are_known_by_their_names() {
        assert_eq!(ThreadKind::of("iou-wrk-1234"), Some(ThreadKind::IoUringWorker));
        assert_eq!(ThreadKind::of("iou-sqp-1234"), Some(ThreadKind::IoUringSqpoll));
        assert_eq!(ThreadKind::of("my-iou-wrk-1"), None);
    }
}
