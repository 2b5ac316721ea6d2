//! What became of an article's sentences: each with the answer of its claim and the figures that
//! explain it. A pure function of the records of a study's parts.

use std::collections::BTreeMap;

use super::manifest::{Manifest, Sentence};
use super::words;
use crate::analyze::estimate;
use crate::analyze::levels::{self, Step};
use crate::plan::{Level, NamedStages, StageSelector};
use crate::record::{ClaimResult, RunRecord, StageClaim, StageRecord};
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

/// The lowest of the peaks of a run's targets, requests per second.
#[must_use]
pub fn lowest_peak(run: &RunRecord) -> Option<f64> {
    let ladders = &run.analysis.as_ref()?.ladders;
    let peaks: Option<Vec<f64>> = ladders.iter().map(|ladder| ladder.peak_rps).collect();
    peaks?.into_iter().min_by(f64::total_cmp)
}
