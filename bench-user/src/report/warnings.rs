//! What should keep a reader from trusting a figure, and what measuring cost.

use std::collections::BTreeMap;

use super::figures;
use super::levels::{Ladder, Row};
use super::page::Item;
use crate::analyze::bootstrap;
use crate::plan::Level;
use crate::record::{Estimate, RunRecord, StageRecord};

/// Warnings about one target.
pub(super) fn item(run: &RunRecord, ladder: &Ladder<'_>) -> Option<Item> {
    let mut lines = Vec::new();
    if let Some(findings) = ladder.findings {
        lines.extend(findings.warnings.iter().chain(&findings.little_violations).cloned());
    }
    lines.extend(too_few(run, &ladder.rows));
    (!lines.is_empty()).then(|| Item { lead: ladder.target.name.clone(), lines })
}

/// Levels that fewer repetitions reached than the plan counts.
fn too_few(run: &RunRecord, rows: &[Row<'_>]) -> Option<String> {
    let planned = run.plan.repeat.saturating_sub(run.plan.discard).max(1) as usize;
    let short: Vec<Level> =
        rows.iter().filter(|row| row.stages.len() < planned).map(|row| row.at).collect();
    (!short.is_empty()).then(|| {
        format!(
            "fewer than the {planned} counted repetitions of the plan reached {}",
            Level::list(&short)
        )
    })
}

/// What measuring one target cost it and the machine.
pub(super) fn own_cost(ladder: &Ladder<'_>) -> Option<Item> {
    let stages: Vec<&StageRecord> =
        ladder.rows.iter().flat_map(|row| &row.stages).copied().collect();
    let mut parts = Vec::new();
    let ratio = ladder.findings.and_then(|findings| findings.observed_ratio.as_ref());
    parts.extend(ratio.map(with_and_without));
    let used = |stage: &StageRecord| share(stage.observer_cost.user_cpu_ns, stage.load.window_ns);
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

/// The rate with the probes as a share of that without.
fn with_and_without(ratio: &Estimate) -> String {
    let pairs = match ratio.repetitions {
        1 => "from one stage of each".to_owned(),
        n => format!("from {n} pairs of stages"),
    };
    let interval = match (ratio.low, ratio.high) {
        (Some(low), Some(high)) => {
            let (low, high) = (figures::percent(low), figures::percent(high));
            let noise = if ratio.within_stage {
                ", which knows nothing of the noise between stages"
            } else {
                ""
            };
            format!(" ({low} to {high}{noise})")
        }
        _ => String::new(),
    };
    let value = figures::percent(ratio.value);
    format!("with the probes the rate was {value}{interval} of that without, {pairs}")
}

/// From the warm-up in which the kernel measured them, not from the window.
fn probe_time(stage: &StageRecord) -> Option<String> {
    let cost = &stage.observer_cost;
    let (ns, runs, over_ns) = (cost.bpf_ns?, cost.bpf_runs?, cost.bpf_window_ns?);
    let each = ns.checked_div(runs)?;
    Some(format!(
        "in the warm-up at {} the probes ran {} times, {} each, {} of a CPU",
        stage.level(),
        figures::count(runs),
        figures::ns(each),
        figures::percent(share(ns, over_ns)?)
    ))
}

#[expect(clippy::cast_precision_loss, reason = "for people, three digits")]
fn share(ns: u64, of_ns: u64) -> Option<f64> {
    (of_ns > 0).then(|| ns as f64 / of_ns as f64)
}
