//! What the ledger knows of one thread, and how a sample shows it.

use bench_ebpf::abi::{Books, ThreadEntry};

use crate::observe::sample::Thread;

/// A thread of the ledger.
#[derive(Debug, Clone)]
pub(super) struct Known {
    pub(super) pid: u32,
    pub(super) comm: String,
    /// CPUs that it may run on, as a list; empty where procfs never showed it.
    pub(super) cpus_allowed: String,
    /// What it had when it was first known: not ours to count.
    pub(super) base: Books,
    pub(super) now: Books,
    /// How often its id had been taken over, once the probe has shown it.
    pub(super) takeovers: Option<u64>,
    /// Neither source showed it at the last reading.
    pub(super) missing: bool,
}

/// With what it added in the window.
pub(super) fn thread(
    tid: u32,
    known: &Known,
    added: Books,
    exited: bool,
    window_ns: u64,
) -> Thread {
    #[expect(clippy::cast_precision_loss, reason = "a window is far below 2^53 ns")]
    let ratio = |ns: u64| if window_ns == 0 { 0.0 } else { ns as f64 / window_ns as f64 };
    Thread {
        tid,
        pid: known.pid,
        comm: known.comm.clone(),
        oncpu_ratio: ratio(added.sum_exec),
        runq_ratio: ratio(added.run_delay),
        oncpu_ns: added.sum_exec,
        runq_ns: added.run_delay,
        switches_voluntary: added.nvcsw,
        switches_involuntary: added.nivcsw,
        exited,
    }
}

pub(super) fn comm_of(entry: &ThreadEntry) -> String {
    let end = entry.comm.iter().position(|b| *b == 0).unwrap_or(entry.comm.len());
    String::from_utf8_lossy(&entry.comm[..end]).into_owned()
}
