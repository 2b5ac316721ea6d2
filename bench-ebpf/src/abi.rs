//! Map values, names and constants that both sides share.
//!
//! Every type is `repr(C)`, made of `u64` and `u32` without padding, so a value means the same
//! bytes on both sides; the sizes are asserted below.

use crate::hist::BUCKETS;

pub mod calls;
/// Stacks on the CPU and off it.
pub mod stacks;
pub mod uring;

/// Syscall numbers that have a slot of their own; x86_64 and aarch64 use fewer than 480 in 2026.
pub const SYSCALL_SLOTS: usize = 512;

/// Threads that can be in the books at once, unless the loader asks for more.
pub const THREAD_SLOTS: u32 = 16_384;

/// `task_struct.thread_info.status` of x86: the present syscall came through the 32-bit entry
/// (arch/x86/include/asm/thread_info.h, `TS_COMPAT`).
pub const TS_COMPAT: u32 = 2;

/// `task_struct.__state`: the thread is switched away from for the last time
/// (include/linux/sched.h, `TASK_DEAD`; the same value since 4.14).
pub const TASK_DEAD: u32 = 0x80;

/// Names of the maps.
pub mod maps {
    /// Cgroup array of one: the target's directory.
    pub const TARGET: &str = "TARGET";
    /// Per-CPU array of one [`super::SyscallCounts`].
    pub const SYSCALLS: &str = "SYSCALLS";
    /// Per-CPU array of one [`super::SchedCounts`].
    pub const SCHED: &str = "SCHED";
    /// Hash from [`super::ThreadKey`] to [`super::ThreadEntry`].
    pub const THREADS: &str = "THREADS";
}

/// Names of the programs.
pub mod programs {
    /// `sys_enter` as a BTF tracepoint.
    pub const SYS_ENTER_BTF: &str = "sys_enter";
    /// `raw_syscalls:sys_enter` as a classic tracepoint.
    pub const SYS_ENTER_CLASSIC: &str = "sys_enter_tp";
    /// `sched_switch` as a BTF tracepoint.
    pub const SCHED_SWITCH: &str = "sched_switch";
}

/// Names of the read-only globals, set before loading; an offset is in bytes from the start of
/// `task_struct`.
pub mod globals {
    /// `thread_info.status`, or [`NO_COMPAT`] where the kernel knows no 32-bit calls.
    pub const COMPAT_STATUS: &str = "COMPAT_STATUS";
    /// 1 where the kernel has the helper `bpf_get_current_task_btf` (5.11), else 0.
    pub const HAS_TYPED_TASK: &str = "HAS_TYPED_TASK";
    /// `__state` (`state` before 5.14).
    pub const STATE: &str = "STATE";
    /// `start_boottime`.
    pub const START_BOOTTIME: &str = "START_BOOTTIME";
    /// `sched_info.run_delay`.
    pub const RUN_DELAY: &str = "RUN_DELAY";
    /// `sched_info.pcount`.
    pub const PCOUNT: &str = "PCOUNT";
    /// `se.sum_exec_runtime`.
    pub const SUM_EXEC: &str = "SUM_EXEC";
    /// `nvcsw`.
    pub const NVCSW: &str = "NVCSW";
    /// `nivcsw`.
    pub const NIVCSW: &str = "NIVCSW";
    /// Boot time in ns from which on a thread's whole life is ours to count.
    pub const WATCHING_SINCE: &str = "WATCHING_SINCE";
    /// Value of [`COMPAT_STATUS`] that switches the test off.
    pub const NO_COMPAT: u32 = u32::MAX;
}

/// Syscalls of the target, on one CPU, since the probes were attached.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct SyscallCounts {
    /// By the number of the machine's own table.
    pub by_number: [u64; SYSCALL_SLOTS],
    /// Through the 32-bit entry, whose numbers belong to another table.
    pub compat: u64,
    /// Numbers outside the table.
    pub unknown: u64,
    /// The test whether a thread is ours failed.
    pub filter_failed: u64,
}

/// Switches away from the target's threads, on one CPU, since the probes were attached.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct SchedCounts {
    /// Waits for a CPU in ns, by [`crate::hist::bucket`], entered when the stint that followed
    /// the wait ended.
    pub waits: [u64; BUCKETS],
    /// Switches seen.
    pub switches: u64,
    /// A thread whose past was unknown was seen for the first time: no wait is entered.
    pub first_sights: u64,
    /// More than one stint since the thread was last seen: their waits cannot be told apart and
    /// are not entered.
    pub merged: u64,
    /// An id was taken over by another thread, whose books go on from there.
    pub reset: u64,
    /// The hash of threads was full.
    pub threads_full: u64,
    /// The test whether a thread is ours failed.
    pub filter_failed: u64,
}

/// A thread: ids are used again, so its start belongs to its name.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ThreadKey {
    /// Thread id in the host's pid namespace.
    pub tid: u64,
    /// `start_boottime`, ns.
    pub start_ns: u64,
}

/// The kernel's own books of a thread.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Books {
    /// Waited for a CPU, ns (`sched_info.run_delay`).
    pub run_delay: u64,
    /// Put on a CPU, times (`sched_info.pcount`).
    pub pcount: u64,
    /// On a CPU, ns (`se.sum_exec_runtime`).
    pub sum_exec: u64,
    /// Voluntary switches (`nvcsw`).
    pub nvcsw: u64,
    /// Involuntary switches (`nivcsw`).
    pub nivcsw: u64,
}

/// What is kept of a thread.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThreadEntry {
    /// 1 after the last switch: nothing here will change any more.
    pub ended: u32,
    /// Process id in the host's pid namespace.
    pub tgid: u32,
    /// Where its `task_struct` lies: an exec by another thread than the first hands the first
    /// one's id and start to another task.
    pub task: u64,
    /// How often that has happened to this id.
    pub takeovers: u64,
    /// When it was first seen; zero for a thread that was born in the target while we watch.
    pub first: Books,
    /// When it was last switched away from.
    pub last: Books,
    /// Name when it was first seen, or when it ended.
    pub comm: [u8; 16],
}

const _: () = {
    // A per-CPU value may be 32 KiB at most (mm/percpu, PCPU_MIN_UNIT_SIZE).
    assert!(size_of::<SyscallCounts>() == (SYSCALL_SLOTS + 3) * 8 && SYSCALL_SLOTS <= 4096 - 3);
    assert!(size_of::<SchedCounts>() == (BUCKETS + 6) * 8);
    assert!(size_of::<ThreadKey>() == 16);
    assert!(size_of::<Books>() == 40);
    assert!(size_of::<ThreadEntry>() == 24 + 2 * 40 + 16);
};

#[cfg(feature = "user")]
mod pod {
    use super::{SchedCounts, SyscallCounts, ThreadEntry, ThreadKey};

    // SAFETY: `repr(C)`, integers only, no padding (the sizes are asserted above): every byte
    // pattern is a value.
    unsafe impl aya::Pod for SyscallCounts {}
    // SAFETY: as above.
    unsafe impl aya::Pod for SchedCounts {}
    // SAFETY: as above.
    unsafe impl aya::Pod for ThreadKey {}
    // SAFETY: as above.
    unsafe impl aya::Pod for ThreadEntry {}
}
