//! Syscalls explained: from a call's enter to its return (`--explain=syscalls`).

use super::SYSCALL_SLOTS;
use crate::hist::bucket;

/// Index of calls through the 32-bit entry, whose numbers belong to another table.
pub const COMPAT: u32 = 512;

/// Index of numbers outside the table.
pub const UNKNOWN: u32 = 513;

/// So many indexes: the numbers of the machine's own table, then [`COMPAT`] and [`UNKNOWN`].
pub const CALL_SLOTS: usize = SYSCALL_SLOTS + 2;

/// Threads whose call in flight can be known at once.
pub const IN_FLIGHT_SLOTS: u32 = 32_768;

/// Different syscalls that are timed; the figures of one take 4.5 KiB on every CPU. A runtime
/// with its start uses 40 to 70 of them.
pub const TIMED_SLOTS: u32 = 128;

/// Different syscalls whose bytes or events are entered.
pub const AMOUNT_SLOTS: u32 = 48;

/// Different pairs of a syscall and its error.
pub const ERROR_SLOTS: u32 = 1024;

/// A write that moves fewer bytes is small: what a TCP segment carries on Ethernet with
/// timestamps (1500 - 20 - 32).
pub const SMALL_WRITE: u64 = 1448;

/// The first bucket of [`CallTimes::latency`]: it holds everything below 33 ns too, which is less
/// than the hooks themselves take.
pub const FIRST_LATENCY: usize = bucket(32);

/// Buckets of a latency: the last one begins at 2^40 ns, 18 minutes, and holds all above.
pub const LATENCY_BUCKETS: usize = bucket(1 << 40) - FIRST_LATENCY + 1;

/// Buckets of an amount: the last one begins at 2^26, 64 MiB, and holds all above.
pub const AMOUNT_BUCKETS: usize = bucket(1 << 26) + 1;

/// Names of the maps.
pub mod maps {
    /// Hash from the address of a `task_struct` to its [`super::Call`].
    pub const CALLS: &str = "CALLS";
    /// Array of what is special about each call, a [`super::kinds`] for every index.
    pub const CALL_KINDS: &str = "CALL_KINDS";
    /// Per-CPU array of one [`super::CallCounts`].
    pub const CALL_COUNTS: &str = "CALL_COUNTS";
    /// Per-CPU hash from an index to [`super::CallTimes`].
    pub const CALL_TIMES: &str = "CALL_TIMES";
    /// Per-CPU hash from an index to [`super::CallAmounts`].
    pub const CALL_AMOUNTS: &str = "CALL_AMOUNTS";
    /// Per-CPU hash from [`super::error_key`] to how often.
    pub const CALL_ERRORS: &str = "CALL_ERRORS";
}

/// Names of the programs.
pub mod programs {
    /// `sys_enter` as a BTF tracepoint.
    pub const CALLS_ENTER: &str = "calls_enter";
    /// `raw_syscalls:sys_enter` as a classic tracepoint.
    pub const CALLS_ENTER_TP: &str = "calls_enter_tp";
    /// `sys_exit` as a BTF tracepoint.
    pub const CALLS_EXIT: &str = "calls_exit";
    /// `raw_syscalls:sys_exit` as a classic tracepoint.
    pub const CALLS_EXIT_TP: &str = "calls_exit_tp";
    /// `sched_switch` as a BTF tracepoint: time off the CPU.
    pub const CALLS_SWITCH: &str = "calls_switch";
}

/// Names of the read-only globals, beside those of the switch program: `__state`, without which
/// time off the CPU is not kept apart, and `run_delay`, without which waiting for a CPU is not.
pub mod globals {
    /// In `pt_regs`: `orig_ax` (x86) or `syscallno` (arm64), or [`super::super::globals::NO_OFFSET`].
    pub const CALL_NUMBER: &str = "CALL_NUMBER";
}

/// What is special about a call.
pub mod kinds {
    /// Nothing.
    pub const PLAIN: u32 = 0;
    /// It does not return: `exit`, `exit_group`.
    pub const NEVER_RETURNS: u32 = 1;
    /// It returns in the child too: `clone`, `clone3`, `fork`, `vfork`.
    pub const FORKS: u32 = 2;
    /// What stands for its result is not one: `rt_sigreturn` puts the interrupted registers back.
    pub const NO_RESULT: u32 = 3;
    /// Its result is how many things it brought: events, messages, submissions.
    pub const EVENTS: u32 = 4;
    /// Its result is how many bytes it moved.
    pub const BYTES: u32 = 5;
    /// The same, and fewer than [`super::SMALL_WRITE`] are worth counting.
    pub const WRITES: u32 = 6;
}

/// A thread and the call that it is in, or was in last.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Call {
    /// When it was entered, ns of `CLOCK_MONOTONIC`.
    pub since_ns: u64,
    /// When the thread went off the CPU, ns; 0 while it is on one.
    pub off_since_ns: u64,
    /// Time off the CPU in this call, up to the last switch to the thread, ns.
    pub off_ns: u64,
    /// `sched_info.run_delay` when the thread first went off the CPU in this call, ns.
    pub run_delay_ns: u64,
    /// Which call.
    pub index: u32,
    /// One of [`kinds`].
    pub kind: u32,
    /// 1 from its enter to its return.
    pub in_flight: u32,
    /// 1 when it has had to wait for something.
    pub has_blocked: u32,
}

/// Calls on one CPU, since the probes were attached. Each word has one program that adds to it.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct CallCounts {
    /// Entered, by index.
    pub entered: [u64; CALL_SLOTS],
    /// Returned, and the enter was seen.
    pub returned: u64,
    /// Entered, of the kind that does not return.
    pub never_return: u64,
    /// Entered while the same thread's call before had not returned.
    pub replaced: u64,
    /// Entered, but there was no room to remember it.
    pub calls_full: u64,
    /// The thread ended inside its call.
    pub died: u64,
    /// A child's return from the call that made it: one enter, two returns.
    pub child_returns: u64,
    /// Returned, and no enter was seen.
    pub no_enter: u64,
    /// Returned under another number than it was entered with, other than -1.
    pub renumbered: u64,
    /// Returned, but there was no room for its times.
    pub times_full: u64,
    /// Returned, but there was no room for its amount.
    pub amounts_full: u64,
    /// Failed, but there was no room for its error.
    pub errors_full: u64,
    /// Returned after a wait, and how much of that was for a CPU could not be read.
    pub runq_unknown: u64,
    /// The test whether a thread is ours failed at an enter.
    pub enter_filter_failed: u64,
    /// The test whether a thread is ours failed at a return.
    pub exit_filter_failed: u64,
}

/// Returned calls of one index, on one CPU.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct CallTimes {
    /// How many.
    pub returned: u64,
    /// From enter to return, ns, summed.
    pub sum_ns: u64,
    /// Of it, not on a CPU.
    pub off_ns: u64,
    /// Of that, waiting for a CPU.
    pub runq_ns: u64,
    /// From enter to return, ns, by [`bucket`] from [`FIRST_LATENCY`] on.
    pub latency: [u64; LATENCY_BUCKETS],
}

/// What returned calls of one index brought, on one CPU; only calls that did not fail.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct CallAmounts {
    /// Bytes or events, summed.
    pub sum: u64,
    /// Calls that brought fewer than [`SMALL_WRITE`] bytes, but some.
    pub small: u64,
    /// By [`bucket`] of the amount.
    pub amounts: [u64; AMOUNT_BUCKETS],
}

/// Key of an error: which call, and the errno.
#[must_use]
#[inline(always)]
pub const fn error_key(index: u32, errno: u32) -> u32 {
    index << 16 | errno
}

const _: () = {
    assert!(size_of::<Call>() == 48);
    assert!(size_of::<CallCounts>() == (CALL_SLOTS + 14) * 8 && COMPAT as usize == SYSCALL_SLOTS);
    assert!(size_of::<CallTimes>() == (LATENCY_BUCKETS + 4) * 8 && LATENCY_BUCKETS == 561);
    assert!(size_of::<CallAmounts>() == (AMOUNT_BUCKETS + 2) * 8 && AMOUNT_BUCKETS == 369);
};

#[cfg(feature = "user")]
mod pod {
    use super::{Call, CallAmounts, CallCounts, CallTimes};

    // SAFETY: `repr(C)`, integers only, no padding (the sizes are asserted above): every byte
    // pattern is a value.
    unsafe impl aya::Pod for Call {}
    // SAFETY: as above.
    unsafe impl aya::Pod for CallCounts {}
    // SAFETY: as above.
    unsafe impl aya::Pod for CallTimes {}
    // SAFETY: as above.
    unsafe impl aya::Pod for CallAmounts {}
}
