//! Who held the CPU while threads waited for it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Share;

/// All waiting of the target's threads for a CPU, by what the CPU did meanwhile; the five parts
/// add up to `waited_ns`, which is what the kernel books as run-queue delay.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct RunQueue {
    /// Waited inside the window, all threads together, waits that are open at its edges included,
    /// ns.
    pub waited_ns: u64,
    /// Threads waiting at any time, on average.
    pub waiting: f64,
    /// Waits that ended in the window.
    pub waits: u64,
    /// The same per second of the window.
    pub waits_per_sec: f64,
    /// The CPU ran another thread of the target.
    pub own_threads: Share,
    /// The CPU ran a thread of another cgroup, or of the kernel.
    pub others: Share,
    /// The CPU was idle, on its way to the thread that was woken up.
    pub idle: Share,
    /// The target's quota was used up.
    pub quota: Share,
    /// No cause is known for it: it had begun before the probes came, or was on the move.
    pub unattributed: Share,
    /// Who ran while it waited behind others, most first; the first 32. Slices still running at
    /// the edges are left out, and waits of threads that were moved between CPUs meanwhile.
    pub holders: Vec<Holder>,
    /// The same by cgroup, most first.
    pub by_cgroup: Vec<HolderGroup>,
    /// What spoils these figures, by cause; absent causes are zero.
    pub lost: BTreeMap<String, u64>,
}

/// A thread, or threads of one name and process, that held a CPU.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Holder {
    /// Thread name.
    pub comm: String,
    /// Process id in the first pid namespace.
    pub pid: u32,
    /// Its cgroup's path in the v2 tree, or `id N` when it is gone.
    pub cgroup: String,
    /// Waiting of the target's threads that it covered.
    #[serde(flatten)]
    pub covered: Share,
}

/// A cgroup whose threads held CPUs.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct HolderGroup {
    /// Its path in the v2 tree, or `id N` when it is gone.
    pub cgroup: String,
    /// Waiting of the target's threads that it covered.
    #[serde(flatten)]
    pub covered: Share,
}
