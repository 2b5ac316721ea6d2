//! What became of an article's sentences: each with the answer of its claim and the figures that
//! explain it. A pure function of the records of a study's parts.

use std::collections::BTreeMap;

use super::manifest::{Manifest, Sentence};
use super::words;
use crate::analyze::estimate;
use crate::analyze::levels::{self, Step};
use crate::plan::{Level, NamedStages, StageSelector};
use crate::record::{ClaimResult, RunRecord, StageClaim, StageRecord, TargetRecord};
use crate::report::{Checked, Evidence, EvidenceSide as Side, Known};

/// The records of a study's parts, by name.
pub type Records = BTreeMap<String, RunRecord>;

/// Every sentence of a study, in the article's order.
#[must_use]
pub fn rows(manifest: &Manifest, records: &Records) -> Vec<Checked> {
    manifest.sentences.iter().map(|sentence| row(sentence, records)).collect()
}

fn row(sentence: &Sentence, records: &Records) -> Checked {
    let answer = answer(sentence, records);
    let evidence = match &answer {
        Ok((run, result)) => evidence(sentence, records, run, result),
        Err(_) => Vec::new(),
    };
    Checked {
        says: sentence.says.clone(),
        figure: sentence.figure.clone(),
        answer: answer.map(|(_, result)| result.clone()),
        evidence,
    }
}

fn answer<'r>(
    sentence: &Sentence,
    records: &'r Records,
) -> Result<(&'r RunRecord, &'r ClaimResult), String> {
    let Some((part, id)) = sentence.claim.as_deref().and_then(|claim| claim.split_once('/')) else {
        return Err(sentence.unavailable.clone().unwrap_or_default());
    };
    let run = records.get(part).ok_or_else(|| format!("part `{part}` was not run"))?;
    let result = run.claims.iter().find(|result| result.claim.id == id);
    let result = result.ok_or_else(|| format!("part `{part}` has no claim `{id}`"))?;
    Ok((run, result))
}

/// The metrics of the sentence for both targets of its claim, at the level that decided it.
fn evidence(
    sentence: &Sentence,
    records: &Records,
    run: &RunRecord,
    result: &ClaimResult,
) -> Vec<Evidence> {
    let named = [&result.claim.against, &result.claim.of].into_iter().flatten();
    let mut names: Vec<&String> = named.collect();
    if names.is_empty() {
        names = run.targets.iter().map(|target| &target.name).collect();
    }
    let figures = |asked: &String| {
        let side = |name: &&String| match asked.split_once('/') {
            None => side(run, name, asked, |_| level(run, result, name)),
            Some((part, metric)) => side(records.get(part)?, name, metric, last_level),
        };
        Evidence { metric: asked.clone(), sides: names.iter().filter_map(side).collect() }
    };
    sentence.evidence.iter().map(figures).collect()
}

fn side(
    run: &RunRecord,
    name: &str,
    metric: &str,
    level: impl FnOnce(&[Step<'_>]) -> Option<Level>,
) -> Option<Side> {
    let target = run.targets.iter().find(|target| target.name == name)?;
    let steps = levels::steps(run, target);
    let level = level(&steps)?;
    let value = match steps.iter().find(|step| step.level == level) {
        Some(step) => known(metric, &step.stages),
        None => Err("this level was not reached".to_owned()),
    };
    Some(Side { target: name.to_owned(), level, value })
}

/// Of another part, the last that was reached.
fn last_level(steps: &[Step<'_>]) -> Option<Level> {
    steps.last().map(|step| step.level)
}

fn known(metric: &str, stages: &[&StageRecord]) -> Result<Known, String> {
    match words::of_level(metric, stages) {
        Some(words) => words.map(Known::Words),
        None => estimate::of_level(stages, metric).map(Known::Figure),
    }
}

/// Of a claim about peaks, each target's own. Else, of the stages that gave the answer, the last: that
/// under the highest load.
fn level(run: &RunRecord, result: &ClaimResult, target: &str) -> Option<Level> {
    if result.claim.stages == StageSelector::Named(NamedStages::Peak) {
        let ladders = &run.analysis.as_ref()?.ladders;
        return ladders.iter().find(|ladder| ladder.target == target)?.peak();
    }
    let gave = |stage: &&StageClaim| stage.verdict == result.verdict;
    let stage = result.stages.iter().rfind(gave).or(result.stages.last())?;
    Some(stage.level())
}

/// The lowest of the peaks of a run's targets, requests per second. Where the load generator or
/// a neighbour kept a target from a peak that says something of it, what was served all the same: it
/// is the level of a load and no result.
#[must_use]
pub fn lowest_peak(run: &RunRecord) -> Option<f64> {
    let ladders = &run.analysis.as_ref()?.ladders;
    let peak = |target: &TargetRecord| {
        let found = ladders.iter().find(|ladder| ladder.target == target.name)?.peak_rps;
        found.or_else(|| highest_rate(run, target))
    };
    let peaks: Option<Vec<f64>> = run.targets.iter().map(peak).collect();
    peaks?.into_iter().min_by(f64::total_cmp)
}

fn highest_rate(run: &RunRecord, target: &TargetRecord) -> Option<f64> {
    let rate = |step: &Step<'_>| estimate::of_level(&step.stages, "load.achieved_rps").ok();
    let rates = levels::steps(run, target).iter().filter_map(rate).map(|rate| rate.value).collect();
    let rates: Vec<f64> = rates;
    rates.into_iter().filter(|rate| *rate > 0.0).max_by(f64::total_cmp)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyze::builder::{a_run, a_stage};

    #[test]
    fn a_target_without_a_peak_stands_with_what_it_served() {
        let at = |rps: f64| {
            let mut stage = a_stage(10);
            stage.load.achieved_rps = rps;
            vec![stage]
        };
        let mut run = a_run().target("a").repetitions(3, |_| at(900.0)).done();
        assert_eq!(lowest_peak(&run), None, "nothing is known before the analysis");
        run.analysis = Some(crate::analyze::analyze(&run));
        assert_eq!(lowest_peak(&run), Some(900.0));
        run.analysis.as_mut().unwrap().ladders[0].peak_rps = None;
        assert_eq!(lowest_peak(&run), Some(900.0));
    }
}
