//! Findings: a pure function of a record. No clock, no files, no root; random numbers are
//! seeded, so that the same record always gives the same findings.
//!
//! Reads `verdict` of every stage as it stands in the record; [`settle_verdicts`] is what puts
//! it there.
//!
//! Every comparison of targets is at a 95 % level of its own: of a hundred metrics and stages
//! compared between two equal targets, up to five may be marked as different.

pub mod bootstrap;
#[cfg(test)]
pub(crate) mod builder;
pub mod catalogue;
mod climbs;
pub mod direction;
pub mod estimate;
pub mod fitness;
pub mod hidden_work;
pub mod levels;
pub mod metrics;
mod own_cost;
pub mod saturation;
mod search;
pub mod strangers;
pub mod usl;
pub mod validity;
mod verdict;
mod warnings;
pub mod within;

use std::collections::BTreeMap;

use crate::plan::{self, Order, Plan};
use crate::record::{
    Analysis, Bottleneck, LadderFindings, Level, PairFinding, RunRecord, StageRecord, TargetRecord,
    Verdict,
};
use levels::Step;
use validity::Judge;

/// Findings over the whole run.
#[must_use]
pub fn analyze(run: &RunRecord) -> Analysis {
    let ladders: Vec<Vec<Step>> =
        run.targets.iter().map(|target| levels::steps(run, target)).collect();
    let findings = run.targets.iter().zip(&ladders).map(|(target, steps)| {
        let mut ladder = ladder(target, steps, run.plan.order);
        ladder.warnings = warnings::of(run, target, steps);
        ladder.found_rate = search::found(run, steps);
        ladder
    });
    let mut analysis = Analysis { ladders: findings.collect(), pairs: Vec::new() };
    if let [first, others @ ..] = run.targets.as_slice() {
        for (other, steps) in others.iter().zip(&ladders[1..]) {
            let names = (other.name.as_str(), first.name.as_str());
            analysis.pairs.extend(pairs(names, steps, &ladders[0], run.plan.order));
        }
    }
    analysis
}

/// What limited a stage of a target, and whether it is valid.
#[must_use]
pub fn verdict(plan: &Plan, target: &TargetRecord, stage: &StageRecord) -> Verdict {
    let reasons = Judge::of(plan, target).reasons(stage);
    let invalid = reasons.into_iter().map(|reason| reason.says).collect();
    Verdict { invalid, ..verdict::verdict(target, stage) }
}

/// Judges every stage of the run again: what is known only at its end, such as how a target
/// ended or that more connections got no more out of it, may change the verdict of a stage.
pub fn settle_verdicts(run: &mut RunRecord) {
    for target in &mut run.targets {
        let verdicts: Vec<_> =
            target.stages.iter().map(|s| verdict(&run.plan, target, s)).collect();
        for (stage, verdict) in target.stages.iter_mut().zip(verdicts) {
            stage.verdict = verdict;
        }
        let judge = Judge::of(&run.plan, target);
        let seen = |stage| verdict::seen_in_its_climb(judge, target, stage);
        let seen: Vec<_> = target.stages.iter().map(seen).collect();
        for (stage, seen) in target.stages.iter_mut().zip(seen) {
            stage.verdict = seen.unwrap_or_else(|| stage.verdict.clone());
        }
        let climbs = climbs::of(&run.plan, target);
        for stage in &mut target.stages {
            stage.climb = climbs.get(&stage.repetition).cloned();
        }
    }
}

fn ladder(target: &TargetRecord, steps: &[Step], order: Order) -> LadderFindings {
    let rates = saturation::rates(steps);
    let peak = saturation::peak(&rates);
    let knee = saturation::knee(&rates);
    let is_open = steps.iter().any(|step| step.level.offered_rps.is_some());
    let is_job = steps.iter().any(|step| step.level.is_job());
    // The law is about how a closed load scales with its connections.
    let closed = rates.iter().filter(|r| r.level.offered_rps.is_none());
    let points: Vec<(f64, f64)> = closed.map(|r| (f64::from(r.level.connections), r.rps)).collect();
    let peak = peak.map(|i| rates[i]);
    let knee_level = knee.as_ref().ok().map(|&i| rates[i].level);
    LadderFindings {
        target: target.name.clone(),
        levels: steps.iter().map(level).collect(),
        peak_connections: peak.map(|rate| rate.level.connections),
        peak_offered_rps: peak.and_then(|rate| rate.level.offered_rps),
        peak_rps: peak.map(|rate| rate.rps),
        knee_connections: knee_level.map(|level| level.connections),
        knee_offered_rps: knee_level.and_then(|level| level.offered_rps),
        knee_absent: knee.as_ref().err().filter(|_| !is_job).cloned(),
        plateau_rps: if is_open { None } else { saturation::plateau(&rates) },
        plateau_bottleneck: knee
            .ok()
            .filter(|_| !is_open)
            .map(|i| most_frequent(steps[i..].iter().flat_map(|s| &s.stages))),
        usl: usl::fit(&points),
        little_violations: saturation::little_violations(steps),
        control_ratio: own_cost::control_ratio(target),
        observed_ratio: own_cost::observed_ratio(target, order),
        warnings: Vec::new(),
        found_rate: None,
    }
}

fn level(step: &Step) -> Level {
    let mut metrics = BTreeMap::new();
    for metric in catalogue::of_level(step.level) {
        let measured = estimate::measured(&step.stages, metric.name);
        if let Ok(estimate) = estimate::of_level(&measured, metric.name) {
            metrics.insert(metric.name.to_owned(), estimate);
        }
    }
    let plan::Level { connections, offered_rps } = step.level;
    Level { connections, offered_rps, metrics, bottleneck: most_frequent(&step.stages) }
}

/// The most frequent bottleneck; `Unknown` where two are equally frequent, because then the
/// measurements do not say which it was.
fn most_frequent<'a, 'r: 'a>(stages: impl IntoIterator<Item = &'a &'r StageRecord>) -> Bottleneck {
    let mut counts = BTreeMap::new();
    for stage in stages {
        *counts.entry(stage.verdict.bottleneck).or_insert(0_u32) += 1;
    }
    let most = counts.values().copied().max().unwrap_or(0);
    let mut first = counts.into_iter().filter(|(_, n)| *n == most).map(|(b, _)| b);
    match (first.next(), first.next()) {
        (Some(only), None) => only,
        _ => Bottleneck::Unknown,
    }
}

fn pairs(
    (of, against): (&str, &str),
    of_steps: &[Step],
    against_steps: &[Step],
    order: Order,
) -> Vec<PairFinding> {
    let mut found = Vec::new();
    for step in of_steps {
        let Some(other) = against_steps.iter().find(|s| s.level == step.level) else { continue };
        for metric in catalogue::of_level(step.level) {
            let ours = estimate::measured(&step.stages, metric.name);
            let theirs = estimate::measured(&other.stages, metric.name);
            let Ok(change) = estimate::change(&ours, &theirs, metric.name, order) else { continue };
            let fit = |step: &Step, stages: &[&StageRecord]| {
                stages.iter().all(|stage| step.judge.is_fit(stage, metric.name).is_ok())
            };
            let fit = fit(step, &ours) && fit(other, &theirs);
            found.push(PairFinding {
                of: of.to_owned(),
                against: against.to_owned(),
                connections: step.level.connections,
                offered_rps: step.level.offered_rps,
                metric: metric.name.to_owned(),
                change,
                differs: fit && estimate::differs(&change),
            });
        }
    }
    found
}

#[cfg(test)]
mod tests;
