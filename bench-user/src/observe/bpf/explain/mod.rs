//! Explanations that are off unless asked for: their parts of the probes, and what the maps of
//! those that are attached hold.

use std::collections::BTreeMap;

use aya::Ebpf;

use super::part::Part;
use super::refusal::refused;
use crate::measured::Measured;
use crate::observe::explained::Explained;
use crate::plan::Explain;

/// The part of the probes that a kind needs.
pub(super) fn part(kind: Explain) -> &'static Part {
    match kind {
        Explain::Syscalls
        | Explain::IoUring
        | Explain::OffCpu
        | Explain::RunQueue
        | Explain::Softirq
        | Explain::Stacks => &NOT_YET,
    }
}

const NOT_YET: Part = Part {
    globals: |_| Ok(Vec::new()),
    maps: &[],
    programs: &[],
    attach: |_, _| Err(refused("explain", "this kind is not there yet")),
};

/// What was counted since the probes were attached, for each kind that was asked for.
pub(in crate::observe) struct ExplainReading {}

impl ExplainReading {
    pub(super) fn read(_ebpf: &Ebpf, _asked: &BTreeMap<Explain, Measured<()>>) -> Self {
        Self {}
    }

    /// The blocks of the record for the time between two readings.
    pub(in crate::observe) fn since(&self, _then: &Self, _window_ns: u64) -> Explained {
        Explained {}
    }
}
