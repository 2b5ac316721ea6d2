//! How much the probes may cost, and what is taken off where they cost more.
//!
//! Overhead is run time of the probes over CPU time of the target's cgroup and of this process,
//! which makes the load, both in the calibrated warm-up. Not over wall time: a target that waits
//! for its database nine tenths of the time would look cheap to watch. Over the CPU time that the
//! probes are a part of it hardly depends on how high the load is, and it says how much faster the
//! same CPUs would do the same work: the most that the throughput of a saturated target can gain
//! by taking the probes off.
//!
//! Run time is the kernel's own figure (BPF statistics), on behalf of every process of the
//! machine. It includes two clock reads a run, which only the measuring makes, and leaves out the
//! way into a probe. Both are the same at every run, and together they are what the estimate
//! before the run finds between that figure and the time that a syscall really takes longer
//! ([`Bias`]); that much is taken from every run.
//!
//! Pure: the decision is about figures alone.

use std::collections::BTreeMap;

use super::bpf::{PartCost, PartName};
use crate::plan::Explain;

/// By how much the kernel's figure for one run is above what the run really costs, ns.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Bias(pub f64);

impl Bias {
    /// What the runs of a part really cost, ns; never less than nothing.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a warm-up is far below 2^53 ns, and the result is not negative"
    )]
    pub(super) fn corrected(self, cost: PartCost) -> u64 {
        (cost.run_ns as f64 - cost.runs as f64 * self.0).max(0.0) as u64
    }
}

/// What the probes cost in a calibration.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Overhead {
    /// Run time of the probes that every run needs, ns.
    pub base_ns: u64,
    /// Run time of each explanation that is attached, ns.
    pub explain_ns: Vec<(Explain, u64)>,
    /// CPU time of target and load meanwhile, ns.
    pub busy_ns: u64,
}

/// What a limit demands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// Everything may stay.
    Keep,
    /// These are taken off, the most expensive first.
    Drop(Vec<Explain>),
    /// Even alone the base costs too much.
    Refuse,
}

impl Overhead {
    /// From cost by part.
    #[must_use]
    pub(super) fn of(parts: &BTreeMap<PartName, PartCost>, bias: Bias, busy_ns: u64) -> Self {
        let mut overhead = Self { busy_ns, ..Self::default() };
        for (name, cost) in parts {
            let run_ns = bias.corrected(*cost);
            match name {
                PartName::Explain(kind) => overhead.explain_ns.push((*kind, run_ns)),
                PartName::Sched | PartName::Syscalls | PartName::Tasks => {
                    overhead.base_ns += run_ns
                }
            }
        }
        overhead
    }

    /// All of them, as a share of the CPU time of target and load; `None` where that is none.
    #[must_use]
    pub fn ratio(&self) -> Option<f64> {
        let explain: u64 = self.explain_ns.iter().map(|(_, ns)| ns).sum();
        self.share(self.base_ns + explain)
    }

    /// What has to go so that no more than `most` of the CPU time is left.
    #[must_use]
    pub fn decide(&self, most: f64) -> Decision {
        let passes = |ns| self.share(ns).is_none_or(|share| share > most);
        if passes(self.base_ns) {
            return Decision::Refuse;
        }
        let mut dear = self.explain_ns.clone();
        dear.sort_by_key(|(kind, ns)| (std::cmp::Reverse(*ns), *kind));
        let mut left: u64 = self.base_ns + dear.iter().map(|(_, ns)| ns).sum::<u64>();
        let mut dropped = Vec::new();
        for (kind, ns) in dear {
            if !passes(left) {
                break;
            }
            left -= ns;
            dropped.push(kind);
        }
        if dropped.is_empty() { Decision::Keep } else { Decision::Drop(dropped) }
    }

    #[expect(clippy::cast_precision_loss, reason = "a warm-up is far below 2^53 ns")]
    fn share(&self, ns: u64) -> Option<f64> {
        (self.busy_ns > 0).then(|| ns as f64 / self.busy_ns as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Base, explanations, of 1,000 ns.
    fn overhead(base_ns: u64, explain_ns: &[(Explain, u64)]) -> Overhead {
        Overhead { base_ns, explain_ns: explain_ns.to_vec(), busy_ns: 1000 }
    }

    #[test]
    fn what_stays_within_the_limit_is_kept_to_the_last_ns() {
        let all = overhead(10, &[(Explain::OffCpu, 6), (Explain::Softirq, 4)]);
        assert_eq!(all.ratio(), Some(0.02));
        assert_eq!(all.decide(0.02), Decision::Keep);
        assert_eq!(overhead(20, &[]).decide(0.02), Decision::Keep);
    }

    #[test]
    fn the_most_expensive_explanations_go_first_and_no_more_than_needed() {
        let all = [(Explain::Syscalls, 30), (Explain::OffCpu, 50), (Explain::Softirq, 2)];
        let all = overhead(10, &all);
        assert_eq!(all.decide(0.05), Decision::Drop(vec![Explain::OffCpu]));
        let two = vec![Explain::OffCpu, Explain::Syscalls];
        assert_eq!(all.decide(0.012), Decision::Drop(two.clone()));
        let three = [two, vec![Explain::Softirq]].concat();
        assert_eq!(all.decide(0.0101), Decision::Drop(three));
    }

    #[test]
    fn a_base_that_alone_costs_too_much_is_refused_whatever_else_there_is() {
        assert_eq!(overhead(21, &[]).decide(0.02), Decision::Refuse);
        assert_eq!(overhead(21, &[(Explain::Stacks, 500)]).decide(0.02), Decision::Refuse);
    }

    #[test]
    fn what_was_not_measured_is_not_within_any_limit() {
        let idle = Overhead { busy_ns: 0, ..overhead(0, &[]) };
        assert_eq!((idle.ratio(), idle.decide(0.5)), (None, Decision::Refuse));
    }

    #[test]
    fn the_base_and_a_kind_of_the_same_name_are_told_apart() {
        let cost = |runs, run_ns| PartCost { runs, run_ns };
        let parts = [
            (PartName::Sched, cost(1, 1)),
            (PartName::Syscalls, cost(1, 2)),
            (PartName::Explain(Explain::Syscalls), cost(1, 40)),
        ];
        let found = Overhead::of(&parts.into(), Bias(0.0), 100);
        let expect =
            Overhead { base_ns: 3, explain_ns: vec![(Explain::Syscalls, 40)], busy_ns: 100 };
        assert_eq!(found, expect);
    }

    #[test]
    fn what_the_measuring_adds_to_a_run_is_taken_off() {
        let cost = PartCost { runs: 10, run_ns: 700 };
        assert_eq!(Bias(40.0).corrected(cost), 300);
        assert_eq!(Bias(-5.0).corrected(cost), 750);
        assert_eq!(Bias(71.0).corrected(cost), 0);
    }
}
