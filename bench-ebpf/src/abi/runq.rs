//! Who holds the CPU while threads wait for it.

use crate::queue::ByCause;

/// CPUs that have an account: more than kernels of distributions are built for today need at
/// their numbers (x86_64: 8192, but none sells so many).
pub const CPU_SLOTS: u32 = 1024;

/// Holders that are told apart.
pub const HOLDER_SLOTS: u32 = 4096;

/// Names of the maps.
pub mod maps {
    /// Array of a [`crate::queue::Cpu`] for each CPU.
    pub const CPUS: &str = "RUNQ_CPUS";
    /// Hash from the address of a `task_struct` to its [`crate::queue::Wait`].
    pub const WAITS: &str = "RUNQ_WAITS";
    /// Per-CPU hash from a [`super::Holder`] to the waiting that it covered, ns.
    pub const HOLDERS: &str = "RUNQ_HOLDERS";
    /// Per-CPU array of one [`super::Counts`].
    pub const COUNTS: &str = "RUNQ_COUNTS";
}

/// Names of the programs.
pub mod programs {
    /// `sched_switch` as a BTF tracepoint.
    pub const SWITCH: &str = "runq_switch";
    /// `sched_wakeup` as a BTF tracepoint.
    pub const WAKEUP: &str = "runq_wakeup";
    /// `sched_wakeup_new` as a BTF tracepoint.
    pub const WAKEUP_NEW: &str = "runq_new";
    /// `sched_migrate_task` as a BTF tracepoint.
    pub const MIGRATE: &str = "runq_migrate";
}

/// Names of the read-only globals; offsets in bytes.
pub mod globals {
    /// `rq.cpu`.
    pub const RQ_CPU: &str = "RQ_CPU";
}

/// Who ran on a CPU.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Holder {
    /// Id of its cgroup in the v2 tree.
    pub cgroup: u64,
    /// Its process in the first pid namespace.
    pub tgid: u64,
    /// The thread's name.
    pub comm: [u8; 16],
}

/// Waits that ended on one CPU.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    /// By cause, ns.
    pub by_cause: ByCause,
    /// What of them has no cause, ns.
    pub unattributed: u64,
    /// How many.
    pub waits: u64,
    /// Waits behind others that no holder is named for, as the hash of holders was full, ns.
    pub unnamed: u64,
    /// Waits whose begin was not seen; all of them is unattributed.
    pub begin_unseen: u64,
    /// Begins of waits that were going on already.
    pub begin_twice: u64,
    /// Switches that were not seen: the next one on that CPU was away from another thread than
    /// the one that had come.
    pub switches_unseen: u64,
    /// The hash of waits was full.
    pub threads_full: u64,
    /// Another CPU's account changed each time it was looked at.
    pub torn: u64,
    /// A CPU beyond the accounts.
    pub cpu_unknown: u64,
}

const _: () = {
    assert!(size_of::<crate::queue::Cpu>() == (4 + 5 + 4) * 8);
    assert!(size_of::<crate::queue::Wait>() == 8 + (5 + 5 + 5) * 8);
    assert!(size_of::<Holder>() == 32);
    assert!(size_of::<Counts>() == (5 + 9) * 8);
};

#[cfg(feature = "user")]
mod pod {
    // SAFETY: `repr(C)`, integers only, no padding (the sizes are asserted above): every byte
    // pattern is a value.
    unsafe impl aya::Pod for super::Counts {}
    // SAFETY: as above.
    unsafe impl aya::Pod for super::Holder {}
    // SAFETY: as above.
    unsafe impl aya::Pod for crate::queue::Cpu {}
    // SAFETY: as above.
    unsafe impl aya::Pod for crate::queue::Wait {}
}
