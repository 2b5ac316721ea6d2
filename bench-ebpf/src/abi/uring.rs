//! Work given to io_uring (`--explain=io-uring`).

/// A slot for every number that an opcode can have.
pub const OPCODE_SLOTS: usize = 256;

/// Names of the maps.
pub mod maps {
    /// Per-CPU array of one [`super::UringCounts`].
    pub const URING: &str = "URING";
}

/// Names of the programs.
pub mod programs {
    /// A submission, as a BTF tracepoint.
    pub const URING_SUBMIT: &str = "uring_submit";
    /// A submission, as a classic tracepoint.
    pub const URING_SUBMIT_TP: &str = "uring_submit_tp";
    /// A completion, as a BTF tracepoint.
    pub const URING_COMPLETE: &str = "uring_complete";
    /// A completion, as a classic tracepoint.
    pub const URING_COMPLETE_TP: &str = "uring_complete_tp";
}

/// Names of the read-only globals. Where a tracepoint shows a value differs between kernels: it is
/// an argument itself, or a member of what an argument points at.
pub mod globals {
    /// Which argument shows the opcode.
    pub const URING_OPCODE_ARG: &str = "URING_OPCODE_ARG";
    /// Its offset in what the argument points at, or [`BY_VALUE`]; with a classic tracepoint its
    /// offset in the fields.
    pub const URING_OPCODE: &str = "URING_OPCODE";
    /// Which argument shows the result.
    pub const URING_RESULT_ARG: &str = "URING_RESULT_ARG";
    /// As [`URING_OPCODE`], of the result.
    pub const URING_RESULT: &str = "URING_RESULT";
    /// The argument is the value.
    pub const BY_VALUE: u32 = u32::MAX;
}

/// Submissions and completions on one CPU since the probes were attached.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct UringCounts {
    /// Submissions, by opcode.
    pub by_opcode: [u64; OPCODE_SLOTS],
    /// Of all submissions, those that a kernel thread took from the ring (SQPOLL).
    pub by_poller: u64,
    /// Completions whose result is not negative.
    pub succeeded: u64,
    /// Completions whose result is negative.
    pub failed: u64,
    /// The test whether a thread is ours failed at a submission.
    pub submit_filter_failed: u64,
    /// The test whether a thread is ours failed at a completion.
    pub complete_filter_failed: u64,
}

const _: () = assert!(size_of::<UringCounts>() == (OPCODE_SLOTS + 5) * 8);

#[cfg(feature = "user")]
mod pod {
    // SAFETY: `repr(C)`, integers only, no padding (the size is asserted above): every byte
    // pattern is a value.
    unsafe impl aya::Pod for super::UringCounts {}
}
