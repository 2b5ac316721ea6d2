//! What threads wait in while they are off the CPU.

use crate::gap::{Books, Left};

/// Reasons that are told apart: every syscall of the table, and the few below.
pub const REASONS: usize = super::SYSCALL_SLOTS + 8;

/// Blocked outside a syscall: nearly always in a page fault.
pub const PAGE_FAULT: u32 = 512;
/// It could have gone on: preempted, or it yielded.
pub const RUNNABLE: u32 = 513;
/// As [`RUNNABLE`], while its group's quota was used up.
pub const THROTTLED: u32 = 514;
/// In a syscall of the 32-bit table.
pub const COMPAT: u32 = 515;
/// Stopped by a signal or a debugger.
pub const STOPPED: u32 = 516;
/// A thread of the kernel that works for the process (io_uring), which makes no syscalls.
pub const WORKER: u32 = 517;
/// In a syscall whose number is outside the table.
pub const UNKNOWN: u32 = 518;
/// Reasons of a thread beyond its first [`SLOTS`].
pub const OTHER: u32 = 519;

/// Stopped by us until the target is released, which is no time of its own and is not counted.
pub const HELD: u32 = 520;

/// Reasons that each thread has a slot for.
pub const SLOTS: usize = 8;

/// Reasons that each CPU has a histogram for, beside the first, which holds the others.
pub const HISTOGRAMS: u32 = 24;

/// Names of the maps.
pub mod maps {
    /// Hash from the address of a `task_struct` to [`super::Entry`].
    pub const THREADS: &str = "OFFCPU";
    /// Per-CPU array of one [`super::Counts`].
    pub const COUNTS: &str = "OFFCPU_COUNTS";
    /// Per-CPU array of [`super::HISTOGRAMS`] histograms.
    pub const HISTOGRAMS: &str = "OFFCPU_HIST";
}

/// Names of the programs.
pub mod programs {
    /// `sched_switch` as a BTF tracepoint.
    pub const SWITCH: &str = "offcpu_switch";
    /// Iterator over all tasks.
    pub const TASKS: &str = "offcpu_tasks";
}

/// Names of the read-only globals; offsets in bytes.
pub mod globals {
    /// 1: `bpf_task_pt_regs` is there (5.15 and later).
    pub const HAS_PT_REGS: &str = "HAS_PT_REGS";
    /// From the start of a kernel stack to its saved user registers, where it is not.
    pub const STACK_REGS: &str = "STACK_REGS";
    /// The number of the syscall in the saved user registers.
    pub const REGS_CALL: &str = "REGS_CALL";
    /// 1: that is 32 bits wide.
    pub const CALL_IS_32: &str = "CALL_IS_32";
    /// `task_struct.stack`.
    pub const TASK_STACK: &str = "TASK_STACK";
    /// `task_struct.flags`.
    pub const TASK_FLAGS: &str = "TASK_FLAGS";
    /// `task_struct.on_cpu`.
    pub const TASK_ON_CPU: &str = "TASK_ON_CPU";
    /// 1: what is stopped when the probes come is [`super::HELD`].
    pub const STARTS_HELD: &str = "STARTS_HELD";
}

/// Times that something was waited for, and how long.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Waits {
    /// How often.
    pub count: u64,
    /// Together, ns.
    pub ns: u64,
}

/// Waits for one reason.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Slot {
    /// Number of the syscall, or one of the constants above; free while `waits.count` is 0.
    pub reason: u64,
    /// The waits.
    pub waits: Waits,
}

/// The account of a thread, up to its last switch away.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Entry {
    /// Odd while the probe writes.
    pub version: u64,
    /// When the account was opened, `CLOCK_MONOTONIC`, ns: two of one address differ in it.
    pub opened: u64,
    /// Its last switch away.
    pub left: Left,
    /// What it left for.
    pub reason: u64,
    /// On a CPU, ns.
    pub on_cpu: u64,
    /// Waited for a CPU, ns, by the kernel's books.
    pub run_queue: u64,
    /// Of that, what it waited after it had left because the quota was used up, ns.
    pub throttled: u64,
    /// Off the CPU though it could have gone on, and not in the kernel's books, ns.
    pub unbooked: u64,
    /// Blocked, by reason.
    pub slots: [Slot; SLOTS],
    /// Blocked for reasons that found no slot.
    pub other: Waits,
}

/// One CPU's account.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Counts {
    /// Blocked time of threads that have ended, by reason.
    pub ended_by_reason: [Waits; REASONS],
    /// Threads that have ended.
    pub ended: u64,
    /// Their time on a CPU, ns.
    pub ended_on_cpu: u64,
    /// Their wait for a CPU, ns.
    pub ended_run_queue: u64,
    /// Of that, throttled, ns.
    pub ended_throttled: u64,
    /// Their unbooked time, ns.
    pub ended_unbooked: u64,
    /// Stretches in which the thread was outside of the target: they are in no account.
    pub absences: u64,
    /// Accounts whose address had gone to another thread.
    pub reset: u64,
    /// The hash of threads was full.
    pub threads_full: u64,
    /// The test whether a thread is ours failed.
    pub filter_failed: u64,
    /// Histograms in use.
    pub histograms: u64,
    /// Histogram of each reason on this CPU; 0: the one of the others, or none yet.
    pub histogram_of: [u8; REASONS],
}

/// A thread as the iterator shows it; an [`Entry`] follows.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    /// Address of its `task_struct`.
    pub task: u64,
    /// Thread id in the first pid namespace.
    pub tid: u32,
    /// Process id there.
    pub tgid: u32,
    /// Name.
    pub comm: [u8; 16],
    /// 1: it has left the target's cgroup.
    pub is_outside: u64,
    /// Its books now.
    pub now: Books,
    /// Since when it has been waiting for a CPU by the scheduler's clock, ns; 0: it is not.
    pub last_queued: u64,
    /// 1: it is on a CPU.
    pub on_cpu: u64,
}

const _: () = {
    assert!(size_of::<Left>() == 56);
    assert!(HELD as usize == REASONS);
    assert!(size_of::<Entry>() == 16 + 56 + 5 * 8 + SLOTS * 24 + 16);
    // Within what a per-CPU value may be.
    assert!(size_of::<Counts>() == REASONS * 16 + 10 * 8 + REASONS && REASONS.is_multiple_of(8));
    assert!(size_of::<Record>() == 40 + 56 + 16);
};

#[cfg(feature = "user")]
mod pod {
    use super::{Counts, Entry, Record};

    // SAFETY: `repr(C)`, integers only, no padding (the sizes are asserted above): every byte
    // pattern is a value.
    unsafe impl aya::Pod for Counts {}
    // SAFETY: as above.
    unsafe impl aya::Pod for Entry {}
    // SAFETY: as above.
    unsafe impl aya::Pod for Record {}
}
