//! What threads waited in while they were off the CPU.

use std::collections::BTreeMap;

use bench_ebpf::abi::offcpu::{COMPAT, OTHER, PAGE_FAULT, STOPPED, UNKNOWN, WORKER};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::distribution::Distribution;

/// What a thread can be blocked in that is no syscall, and the name of it in the record.
pub const WAITS_WITHOUT_SYSCALL: [(u32, &str); 6] = [
    (PAGE_FAULT, "page_fault"),
    (COMPAT, "compat32"),
    (STOPPED, "stopped"),
    (WORKER, "worker"),
    (UNKNOWN, "unknown"),
    (OTHER, "other"),
];

/// Where the threads' time went, and what they waited in, from the kernel's books at every switch
/// (`task_struct.sched_info`) and the syscall in the saved user registers.
///
/// The parts of a thread add up to its time in the window. A page fault inside a syscall counts
/// as that syscall.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct OffCpu {
    /// All threads together.
    #[serde(flatten)]
    pub split: TimeSplit,
    /// Blocked time by what was waited in: a syscall's name; `page_fault` (blocked outside a
    /// syscall, nearly always in a page fault); `stopped` by a signal or a debugger; `worker`
    /// (a thread of the kernel that works for the process, as io_uring's); `compat32`, `unknown`,
    /// and `other` for the reasons of a thread beyond its first eight.
    pub by_reason: BTreeMap<String, Blocked>,
    /// Waits of threads that had left able to run while their quota was used up, of those that
    /// ended in the window, ns.
    pub throttled_waits_ns: Distribution,
    /// Threads alive at the end of the window, those with most time on a CPU or waiting for one
    /// first; the first 256.
    pub threads: Vec<OffCpuThread>,
    /// The other threads alive at the end.
    pub rest: ThreadsSplit,
    /// Threads that ended inside the window.
    pub ended: ThreadsSplit,
    /// What spoils these figures, by cause; absent causes are zero.
    pub lost: BTreeMap<String, u64>,
}

/// Time of threads in the window, split; the parts add up to `observed_ns`, `throttled` being a
/// part of `run_queue`.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct TimeSplit {
    /// Their time in the window, ns: its length for each thread that lived through it.
    pub observed_ns: u64,
    /// On a CPU, interrupts and stolen time included.
    pub on_cpu: Share,
    /// Able to run and waiting for a CPU, by the kernel's books.
    pub run_queue: Share,
    /// Of that, what was waited by threads that had left able to run while their quota was used
    /// up: until they ran again.
    pub throttled: Share,
    /// Waiting for something else.
    pub blocked: Share,
    /// Off the CPU though able to run, and not in the kernel's books of waits: preempted on the
    /// way to sleep, or on the move between two CPUs.
    pub unbooked: Share,
}

/// A part of the time.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Share {
    /// How long, ns.
    pub ns: u64,
    /// As a share of the whole that the block names first, 0..=1.
    pub ratio: f64,
}

impl Share {
    /// A part of a whole.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "times stay far below 2^53 ns")]
    pub fn of(ns: u64, whole: u64) -> Self {
        Self { ns, ratio: if whole == 0 { 0.0 } else { ns as f64 / whole as f64 } }
    }
}

/// Time blocked for one reason.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Blocked {
    /// Waits that ended in the window.
    pub count: u64,
    /// The same per second of the window.
    pub per_sec: f64,
    /// Blocked inside the window, waits that were still open at its edges included, ns.
    pub ns: u64,
    /// As a share of all threads' time, 0..=1.
    pub ratio: f64,
    /// Length of the waits that ended in the window, ns, to 1/32; those of more than 23
    /// reasons on one CPU are under `other`.
    pub waits_ns: Distribution,
}

/// A thread that was alive at the end of the window.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct OffCpuThread {
    /// Thread id in the first pid namespace.
    pub tid: u32,
    /// Process id.
    pub pid: u32,
    /// Thread name.
    pub comm: String,
    /// Where its time went.
    #[serde(flatten)]
    pub split: TimeSplit,
    /// What it was blocked in, by the names of the block.
    pub by_reason: BTreeMap<String, Share>,
    /// What it was blocked in at the end of the window; `null` where it was not.
    pub still: Option<StillBlocked>,
}

/// A wait that was open at the end of the window.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct StillBlocked {
    /// What is waited in.
    pub reason: String,
    /// For how long so far, ns: at least this, where it had begun before the probes came.
    pub ns: u64,
}

/// Several threads together.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ThreadsSplit {
    /// How many.
    pub threads: u64,
    /// Where their time went.
    #[serde(flatten)]
    pub split: TimeSplit,
}
