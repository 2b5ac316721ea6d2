//! Stacks on the CPU and off it.

/// Stacks that can be told apart at once, unless the loader asks for fewer: 1 KiB each.
pub const TRACE_SLOTS: u32 = 32_768;

/// Stacks that find their place among the [`TRACE_SLOTS`] taken and have a second one, unless the
/// loader asks for fewer. Their ids begin at [`TRACE_SLOTS`].
pub const SPILL_SLOTS: u32 = 4_096;

/// Stacks of one process and thread name that can be counted, unless the loader asks for fewer.
pub const COUNT_SLOTS: u32 = 16_384;

/// Names of the maps.
pub mod maps {
    /// Per-CPU array of one [`super::StackCounts`].
    pub const COUNTS: &str = "STACK_COUNTS";
    /// Stack traces of both kinds, by the id that the kernel gave.
    pub const TRACES: &str = "STACK_TRACES";
    /// Stack traces that found their place in [`TRACES`] taken.
    pub const SPILL: &str = "STACK_SPILL";
    /// Per-CPU hash from [`super::StackKey`] to a number of samples.
    pub const ON_CPU: &str = "STACKS_ON_CPU";
    /// Per-CPU hash from [`super::StackKey`] to [`super::Blocked`].
    pub const OFF_CPU: &str = "STACKS_OFF_CPU";
    /// Hash from the address of a `task_struct`, which an exec does not change, to [`super::Away`].
    pub const AWAY: &str = "STACK_AWAY";
}

/// Names of the programs.
pub mod programs {
    /// Overflow of a perf event.
    pub const ON_CPU: &str = "stack_on_cpu";
    /// `sched_switch` as a BTF tracepoint.
    pub const OFF_CPU: &str = "stack_off_cpu";
}

/// Whose stack it is. An id below zero is the errno for which there is no stack.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StackKey {
    /// Process id in the host's pid namespace.
    pub tgid: u32,
    /// Id of the stack in user space.
    pub user: i32,
    /// Id of the stack in the kernel.
    pub kernel: i32,
    /// Always zero: no padding.
    pub zero: u32,
    /// Name of the thread.
    pub comm: [u8; 16],
}

/// Times that threads waited with one stack.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Blocked {
    /// How often.
    pub times: u64,
    /// How long in all, ns.
    pub ns: u64,
}

/// A thread since it was last switched away from.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Away {
    /// When that was, ns of `CLOCK_MONOTONIC`.
    pub since_ns: u64,
    /// Its id then.
    pub tid: u64,
    /// `sched_info.run_delay` then, ns.
    pub run_delay: u64,
    /// `sched_info.pcount` then.
    pub pcount: u64,
    /// `se.sum_exec_runtime` then, ns.
    pub sum_exec: u64,
    /// 1: it went because it had to wait for something, with the stack of `key`.
    pub blocks: u64,
    /// Whose stack, where `blocks` is 1.
    pub key: StackKey,
}

/// What happened on one CPU since the probes were attached.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StackCounts {
    /// Both of the stack's places were taken by others: it is counted without its frames.
    pub sample_collisions: u64,
    /// The hash of stacks was full: the sample has no stack.
    pub sample_full: u64,
    /// The test whether a sampled thread is ours failed.
    pub sample_filter_failed: u64,
    /// As `sample_collisions`, for a wait.
    pub wait_collisions: u64,
    /// The hash of stacks was full: the wait is lost.
    pub wait_full: u64,
    /// The hash of threads was full: the wait is lost.
    pub threads_full: u64,
    /// More than one stint since the thread was last seen: how long it waited with which stack
    /// cannot be told, and nothing is counted.
    pub merged: u64,
    /// The test whether a switched thread is ours failed.
    pub wait_filter_failed: u64,
}

const _: () = {
    assert!(size_of::<StackKey>() == 32);
    assert!(size_of::<Blocked>() == 16);
    assert!(size_of::<Away>() == 48 + 32);
    assert!(size_of::<StackCounts>() == 64);
};

#[cfg(feature = "user")]
mod pod {
    use super::{Away, Blocked, StackCounts, StackKey};

    // SAFETY: `repr(C)`, integers only, no padding (the sizes are asserted above): every byte
    // pattern is a value.
    unsafe impl aya::Pod for StackKey {}
    // SAFETY: as above.
    unsafe impl aya::Pod for Blocked {}
    // SAFETY: as above.
    unsafe impl aya::Pod for Away {}
    // SAFETY: as above.
    unsafe impl aya::Pod for StackCounts {}
}
