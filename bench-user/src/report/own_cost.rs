//! What measuring cost: tried before the run, measured in it, and against control stages without
//! the probes; and what the instruments lost.

use std::collections::BTreeMap;

use super::figures;
use super::levels::Ladder;
use super::page::Item;
use crate::analyze::bootstrap;
use crate::measured::Measured;
use crate::observe::{Added, ProbeEstimate};
use crate::record::{Estimate, RunRecord, StageRecord};

/// The section; nothing for a run without a kernel side.
pub(super) fn items(run: &RunRecord, ladders: &[Ladder<'_>]) -> Vec<Item> {
    let targets = ladders.iter().filter_map(item);
    match &run.probe_estimate {
        Measured::Value(_) => {
            let before = Item::new("before the run", estimate(&run.probe_estimate));
            std::iter::once(before).chain(targets).collect()
        }
        Measured::Unavailable { .. } => targets.collect(),
    }
}

/// What the probes would add, tried before the run, as a line.
#[must_use]
pub(super) fn estimate(found: &Measured<ProbeEstimate>) -> String {
    let found = match found {
        Measured::Value(found) => found,
        Measured::Unavailable { unavailable } => {
            return format!("what the probes will cost is unknown: {unavailable}");
        }
    };
    format!(
        "the probes add {} to a syscall of the target and {} to one of anything else, {} and {} to a \
         context switch; 100,000 syscalls/s of the target take {} of a CPU",
        added(found.syscall_inside_ns),
        added(found.syscall_outside_ns),
        added(found.switch_inside_ns),
        added(found.switch_outside_ns),
        figures::fine_percent(found.cpu_ratio_of_100k_syscalls_per_sec),
    )
}

/// On a busy machine a difference of medians may be hidden by its spread, or come out below zero,
/// which no cost is.
fn added(Added { median, low, high }: Added) -> String {
    if low > 0.0 {
        format!("about {median:.0} ns ({low:.0} to {high:.0})")
    } else if high > 0.0 {
        format!("less than {high:.0} ns (too little to tell here)")
    } else {
        "too little to tell here".to_owned()
    }
}

/// What measuring one target cost it and the machine.
fn item(ladder: &Ladder<'_>) -> Option<Item> {
    let stages: Vec<&StageRecord> =
        ladder.rows.iter().flat_map(|row| &row.stages).copied().collect();
    let mut parts = Vec::new();
    let ratio = ladder.findings.and_then(|findings| findings.observed_ratio.as_ref());
    parts.extend(ratio.map(with_and_without));
    let used = |stage: &StageRecord| share(stage.observer_cost.user_cpu_ns, window_ns(stage));
    let used: Vec<f64> = stages.iter().filter_map(|stage| used(stage)).collect();
    if let Some(cpus) = bootstrap::median(&used) {
        parts.push(format!("this tool besides its load used {} of a CPU", figures::percent(cpus)));
    }
    parts.extend(stages.iter().find_map(|stage| probe_time(stage)));
    let mut lost = BTreeMap::<&str, u64>::new();
    for (cause, n) in stages.iter().flat_map(|stage| &stage.observer_cost.lost) {
        *lost.entry(cause).or_default() += n;
    }
    let lost = lost.into_iter().filter(|(_, n)| *n > 0);
    parts.extend(lost.map(|(cause, n)| format!("lost by {cause}: {}", figures::count(n))));
    (!parts.is_empty()).then(|| Item::new(ladder.target.name.clone(), parts.join("; ")))
}

fn window_ns(stage: &StageRecord) -> u64 {
    stage.job.as_ref().map_or(stage.load.window_ns, |job| job.wall_ns)
}

/// The rate with the probes as a share of that without.
fn with_and_without(ratio: &Estimate) -> String {
    let pairs = match ratio.repetitions {
        1 => "from one stage of each".to_owned(),
        n => format!("from {n} pairs of stages"),
    };
    let interval = match (ratio.low, ratio.high) {
        (Some(low), Some(high)) => {
            let (low, high) = (tenths(low), tenths(high));
            let noise = if ratio.within_stage {
                ", which knows nothing of the noise between stages"
            } else {
                ""
            };
            format!(" ({low} to {high}{noise})")
        }
        _ => String::new(),
    };
    let value = tenths(ratio.value);
    format!("with the probes the rate was {value}{interval} of that without, {pairs}")
}

/// In percent, to a tenth also near 100 %, where it is the cost.
fn tenths(ratio: f64) -> String {
    format!("{:.1}%", ratio * 100.0)
}

/// From the warm-up in which the kernel measured them, not from the window.
fn probe_time(stage: &StageRecord) -> Option<String> {
    let cost = &stage.observer_cost;
    let runs = cost.bpf_runs?;
    // A record that is older than the corrected figure has the kernel's.
    let of_cpu = cost.probe_cpu_ratio.or_else(|| share(cost.bpf_ns?, cost.bpf_window_ns?))?;
    let overhead = cost.probe_overhead_ratio.map(|ratio| {
        format!(", which is {} of the CPU time of target and load", figures::fine_percent(ratio))
    });
    Some(format!(
        "in the warm-up at {} the probes ran {} times and took {} of a CPU{}",
        stage.level(),
        figures::count(runs),
        figures::fine_percent(of_cpu),
        overhead.unwrap_or_default()
    ))
}

#[expect(clippy::cast_precision_loss, reason = "for people, three digits")]
fn share(ns: u64, of_ns: u64) -> Option<f64> {
    (of_ns > 0).then(|| ns as f64 / of_ns as f64)
}
