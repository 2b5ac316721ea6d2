//! Other programs on the machine that had the CPUs which a target waited for: what they did to it is
//! no answer about it.

use crate::analyze::levels::Step;
use crate::analyze::strangers::{STRANGERS_CPUS, strangers_cpus};
use crate::record::{Bottleneck, StageRecord};

/// Counts, sizes and what happened before and after the load, which do not depend on who else is served.
const SPARED: [&str; 7] = [
    "syscalls.total",
    "syscalls.stat_family",
    "start.",
    "after.",
    "cgroup.memory",
    "error_ratio",
    "non_2xx",
];

/// Why nothing can be said of what would have limited the target: in one of its stages it waited
/// behind others.
pub(super) fn crowded_out(step: &Step, name: &str) -> Option<String> {
    let most = step.stages.iter().filter_map(|stage| taken(stage)).reduce(f64::max)?;
    Some(sentence(most, name))
}

/// Why a difference of this metric is none of the targets: in most stages of one of them it waited
/// behind others.
pub(super) fn lopsided(steps: &[Step], names: &[&str], metric: &str) -> Option<String> {
    if SPARED.iter().any(|spared| metric.starts_with(spared)) {
        return None;
    }
    steps.iter().zip(names).find_map(|(step, name)| {
        let taken: Vec<f64> = step.stages.iter().filter_map(|stage| taken(stage)).collect();
        let most = taken.iter().copied().reduce(f64::max)?;
        (taken.len() * 2 > step.stages.len()).then(|| sentence(most, name))
    })
}

/// CPUs that others used while the target waited for one.
fn taken(stage: &StageRecord) -> Option<f64> {
    let waited = stage.verdict.bottleneck == Bottleneck::RunQueue;
    strangers_cpus(stage).filter(|cpus| waited && *cpus > STRANGERS_CPUS)
}

fn sentence(cpus: f64, name: &str) -> String {
    format!(
        "other programs used up to {cpus:.1} CPUs of this machine while `{name}` waited for one: \
         measure when they rest"
    )
}
