//! Stacks of the target's threads, folded: enough of them to draw a flame graph from the record.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::measured::Measured;

/// So many stacks of a window are kept, the heaviest; the weight of the others is summed.
pub const STACKS_KEPT: usize = 1_000;

/// Where the threads were on the CPU, and where they waited.
///
/// Folded as the tools for flame graphs read it: the thread's name, then frames from the outermost
/// to the innermost, with `;` between. Frames of the kernel end in `_[k]`, those of code made at
/// run time in `_[j]`. A frame without a name is `[unknown]` with the module and the offset in its
/// file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Stacks {
    /// Sampled on the CPU.
    pub oncpu: Measured<OnCpuStacks>,
    /// Waited off the CPU.
    pub offcpu: Measured<OffCpuStacks>,
    /// Why frames have no names and what to do about it, a sentence each.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// Samples of threads on a CPU, by perf's `cpu-clock` on every CPU.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct OnCpuStacks {
    /// Samples per second and CPU.
    pub frequency_hz: u64,
    /// All samples.
    pub samples: u64,
    /// What was lost, by cause; causes that lost nothing are left out.
    pub lost: BTreeMap<String, u64>,
    /// The stacks that were sampled most, at most [`STACKS_KEPT`], the most frequent first.
    pub folded: Vec<OnCpuStack>,
    /// Samples of the stacks beyond those.
    pub other: u64,
}

/// One stack on the CPU.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OnCpuStack {
    /// Folded.
    pub stack: String,
    /// Samples.
    pub count: u64,
}

/// Waits of threads that left a CPU because they had to: from the switch away until they could
/// run again, so without the time in the run queue.
///
/// Of a wait that spans an edge of the window the part inside counts. Blind to threads that have
/// not run since the probes were attached.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct OffCpuStacks {
    /// All waiting, of all threads together, ns.
    pub blocked_ns: u64,
    /// Waits that ended inside the window.
    pub waits: u64,
    /// What was lost, by cause; causes that lost nothing are left out.
    pub lost: BTreeMap<String, u64>,
    /// The stacks that waited longest, at most [`STACKS_KEPT`], the longest first.
    pub folded: Vec<OffCpuStack>,
    /// Time in the stacks beyond those, ns.
    pub other_ns: u64,
}

/// One stack off the CPU.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OffCpuStack {
    /// Folded.
    pub stack: String,
    /// Waits that ended inside the window.
    pub count: u64,
    /// Time inside the window, ns.
    pub blocked_ns: u64,
}
