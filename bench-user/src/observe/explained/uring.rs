//! Work given to io_uring: what the record keeps of `--explain=io-uring`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::observe::sample::Count;

/// Submissions to io_uring by threads of the cgroup, those of its SQPOLL threads included.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct UringExplained {
    /// All of them.
    pub submitted: Count,
    /// By opcode, as `IORING_OP_` names it, in lower case: `read`, `recv`, `nop`.
    pub by_opcode: BTreeMap<String, Count>,
    /// Of all, those that a polling thread of the kernel (`iou-sqp-`) took from the ring: they
    /// need no syscall at all.
    pub by_poller: u64,
    /// Completions that a thread of the cgroup posted with a result of 0 or more, or why they
    /// could not be counted.
    pub succeeded: crate::measured::Measured<u64>,
    /// The same with an error.
    pub failed: crate::measured::Measured<u64>,
    /// Events that the kernel skipped (`recursion_misses`): with any, every count here is a
    /// lower bound and no claim may rest on it.
    pub missed: u64,
}
