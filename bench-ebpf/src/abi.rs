//! Map values, names and constants that both sides share.
//!
//! Every type is `repr(C)`, made of `u64` and `u32` without padding, so a value means the same
//! bytes on both sides; the sizes are asserted below.

/// What threads wait in while they are off the CPU.
pub mod offcpu;

/// Who holds the CPU while threads wait for it.
pub mod runq;

/// Time in softirqs.
pub mod softirq;

/// The iterator over all tasks.
pub mod tasks;

use crate::hist::BUCKETS;

pub mod calls;
/// Stacks on the CPU and off it.
pub mod stacks;
pub mod uring;

/// Syscall numbers that have a slot of their own; x86_64 and aarch64 use fewer than 480 in 2026.
pub const SYSCALL_SLOTS: usize = 512;

/// Threads that can be in the books at once, unless the loader asks for more; each takes about
/// 250 bytes of the kernel's memory.
pub const THREAD_SLOTS: u32 = 16_384;

/// Bytes of the ring of ended threads: some 20,000 between two readings. Where it is full they
/// stay in the hash.
pub const ENDED_BYTES: u32 = 4 << 20;

/// `task_struct.thread_info.status` of x86: the present syscall came through the 32-bit entry
/// (arch/x86/include/asm/thread_info.h, `TS_COMPAT`).
pub const TS_COMPAT: u32 = 2;

/// `task_struct.__state`: the thread is on a CPU or waits for one.
pub const TASK_RUNNING: u32 = 0;

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
    /// `sched_process_exec` as a BTF tracepoint.
    pub const SCHED_EXEC: &str = "sched_exec";
}

/// Names of the read-only globals, set before loading; an offset is in bytes from the start of
/// `task_struct`.
pub mod globals {
    /// `thread_info.status`, or [`NO_OFFSET`] where the kernel knows no 32-bit calls.
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
    /// Instead of an offset: this kernel has no such member, or its types cannot be read, and what
    /// is told by it is left out.
    pub const NO_OFFSET: u32 = u32::MAX;
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
    /// Not exactly one stint by the kernel's books since the thread was last seen: the wait
    /// cannot be told and is not entered.
    pub merged: u64,
    /// An id was taken over by another thread, whose books go on from there.
    pub reset: u64,
    /// The hash of threads was full.
    pub threads_full: u64,
    /// The ring of ended threads was full: so many ended ones have stayed in the hash.
    pub ended_in_hash: u64,
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

impl Books {
    /// Switches of both kinds: each time that it left a CPU.
    #[must_use]
    #[inline(always)]
    pub const fn switches(&self) -> u64 {
        self.nvcsw + self.nivcsw
    }
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
    /// When it was first seen, or took the id over, boot time in ns.
    pub first_at: u64,
    /// When it ended, boot time in ns; 0 while it lives.
    pub ended_at: u64,
    /// How often it came back after stints outside of the target.
    pub absences: u64,
    /// What was booked between leaving and the end of the first stint back: not the target's.
    pub away: Books,
    /// When it was first seen; zero for a thread that was born in the target while we watch.
    pub first: Books,
    /// When it was last switched away from.
    pub last: Books,
    /// Name when it was first seen, or when it ended.
    pub comm: [u8; 16],
}

/// A thread after its last switch.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EndedThread {
    /// Its name.
    pub key: ThreadKey,
    /// Its entry, which is no longer in the hash.
    pub entry: ThreadEntry,
}

const _: () = {
    // A per-CPU value may be 32 KiB at most (mm/percpu, PCPU_MIN_UNIT_SIZE).
    assert!(size_of::<SyscallCounts>() == (SYSCALL_SLOTS + 3) * 8 && SYSCALL_SLOTS <= 4096 - 3);
    assert!(size_of::<SchedCounts>() == (BUCKETS + 7) * 8);
    assert!(size_of::<ThreadKey>() == 16);
    assert!(size_of::<Books>() == 40);
    assert!(size_of::<ThreadEntry>() == 48 + 3 * 40 + 16);
    assert!(size_of::<EndedThread>() == 16 + 184);
};

/// A value at the start of these bytes, which came from a ring or an iterator; `None` where they
/// are too few.
#[cfg(feature = "user")]
#[must_use]
pub fn value_of<T: aya::Pod>(bytes: &[u8]) -> Option<T> {
    let bytes = bytes.get(..size_of::<T>())?;
    // SAFETY: as many bytes as the value has, at any alignment, and every byte pattern is one.
    Some(unsafe { bytes.as_ptr().cast::<T>().read_unaligned() })
}

#[cfg(feature = "user")]
mod pod {
    use super::tasks::TaskRecord;
    use super::{EndedThread, SchedCounts, SyscallCounts, ThreadEntry, ThreadKey};

    // SAFETY: `repr(C)`, integers only, no padding (the sizes are asserted above): every byte
    // pattern is a value.
    unsafe impl aya::Pod for SyscallCounts {}
    // SAFETY: as above.
    unsafe impl aya::Pod for SchedCounts {}
    // SAFETY: as above.
    unsafe impl aya::Pod for ThreadKey {}
    // SAFETY: as above.
    unsafe impl aya::Pod for ThreadEntry {}
    // SAFETY: as above.
    unsafe impl aya::Pod for EndedThread {}
    // SAFETY: as above.
    unsafe impl aya::Pod for TaskRecord {}
}
