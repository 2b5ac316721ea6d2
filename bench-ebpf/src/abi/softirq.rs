//! Time in softirqs.

/// More than there are kinds of them (10; include/linux/interrupt.h).
pub const VECTORS: usize = 16;

/// Names of the maps.
pub mod maps {
    /// Per-CPU array of one [`super::Counts`].
    pub const COUNTS: &str = "SOFTIRQ";
}

/// Names of the programs.
pub mod programs {
    /// `softirq_entry` as a BTF tracepoint.
    pub const ENTRY: &str = "softirq_entry";
    /// `softirq_exit` as a BTF tracepoint.
    pub const EXIT: &str = "softirq_exit";
}

/// Runs of one kind.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Runs {
    /// Begun.
    pub count: u64,
    /// Time in those that are over, ns.
    pub ns: u64,
    /// Of these, on top of a thread of the target.
    pub target_count: u64,
    /// Their time, ns.
    pub target_ns: u64,
}

/// One CPU's account.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// By number of the kind.
    pub runs: [Runs; VECTORS],
    /// When the present one began, `CLOCK_MONOTONIC`, ns; 0: none is.
    pub since: u64,
    /// 1: it is on top of a thread of the target.
    pub is_target: u64,
    /// Ends without a begin.
    pub unpaired: u64,
    /// The test whether a thread is ours failed.
    pub filter_failed: u64,
}

const _: () = assert!(size_of::<Counts>() == VECTORS * 32 + 4 * 8);

#[cfg(feature = "user")]
mod pod {
    // SAFETY: `repr(C)`, integers only, no padding (the size is asserted above): every byte
    // pattern is a value.
    unsafe impl aya::Pod for super::Counts {}
}
