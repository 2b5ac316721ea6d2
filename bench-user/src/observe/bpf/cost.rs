//! Run time of the probes, as the kernel measures it while it is asked to (BPF statistics, 5.8 and
//! later), by part.

use std::collections::BTreeMap;

use super::{BpfObserver, explain, fdinfo, part, tasks};
use crate::clock;
use crate::plan::Explain;

/// A part of the probes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::observe) enum PartName {
    /// Switches and waits.
    Sched,
    /// Syscalls entered.
    Syscalls,
    /// Readings of all threads.
    Tasks,
    /// An explanation that was asked for.
    Explain(Explain),
}

impl std::fmt::Display for PartName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Sched => f.write_str("sched"),
            Self::Syscalls => f.write_str("syscalls"),
            Self::Tasks => f.write_str("tasks"),
            Self::Explain(kind) => write!(f, "explain.{}", kind.name()),
        }
    }
}

/// How often and how long the programs ran in a calibration.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(in crate::observe) struct Cost {
    /// By part.
    pub(in crate::observe) parts: BTreeMap<PartName, PartCost>,
    /// How long that was measured, ns.
    pub(in crate::observe) over_ns: u64,
}

/// How often and how long the programs of a part ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::observe) struct PartCost {
    /// Runs.
    pub(in crate::observe) runs: u64,
    /// Their run time, ns.
    pub(in crate::observe) run_ns: u64,
}

/// The kernel measures every BPF program of the machine while this lives.
pub(in crate::observe) struct Calibration {
    begin: Cost,
    begin_ns: u64,
    _statistics: std::os::fd::OwnedFd,
}

impl BpfObserver {
    /// Turns the kernel's BPF statistics on.
    ///
    /// # Errors
    /// Where they cannot be had.
    pub(in crate::observe) fn begin_calibration(&self) -> Result<Calibration, String> {
        let statistics = aya::sys::enable_stats(aya::sys::Stats::RunTime)
            .map_err(|e| format!("the kernel does not measure the run time of probes: {e}"))?;
        let begin_ns = clock::now_ns();
        Ok(Calibration { begin: self.cost()?, begin_ns, _statistics: statistics })
    }

    /// What the programs have cost since.
    ///
    /// # Errors
    /// When the kernel does not show it.
    pub(in crate::observe) fn end_calibration(&self, since: &Calibration) -> Result<Cost, String> {
        let now = self.cost()?;
        let since_then = |(name, now): (&PartName, &PartCost)| {
            let then = since.begin.parts.get(name).copied().unwrap_or_default();
            let (runs, run_ns) = (now.runs - then.runs, now.run_ns - then.run_ns);
            (*name, PartCost { runs, run_ns })
        };
        Ok(Cost {
            parts: now.parts.iter().map(since_then).collect(),
            over_ns: clock::now_ns() - since.begin_ns,
        })
    }

    fn cost(&self) -> Result<Cost, String> {
        let base = [
            (PartName::Sched, &part::SCHED),
            (PartName::Syscalls, &part::SYSCALLS),
            (PartName::Tasks, &tasks::PART),
        ];
        let attached = self.explain.iter().filter(|(_, state)| state.value().is_some());
        let kinds = attached.map(|(kind, _)| (PartName::Explain(*kind), explain::part(*kind)));
        let mut cost = Cost::default();
        for (name, part) in base.into_iter().chain(kinds) {
            let mut sum = PartCost::default();
            for program in part.programs {
                if part::is_loaded(&self.ebpf, program) {
                    sum.runs += fdinfo::figure(&self.ebpf, program, "run_cnt")?;
                    sum.run_ns += fdinfo::figure(&self.ebpf, program, "run_time_ns")?;
                }
            }
            cost.parts.insert(name, sum);
        }
        Ok(cost)
    }
}
