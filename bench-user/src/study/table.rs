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
            Some((part, metric)) => match records.get(part) {
                Some(other) => side(other, name, metric, last_level),
                None => missing(name, format!("part `{part}` was not run")),
            },
        };
        Evidence { metric: asked.clone(), sides: names.iter().map(side).collect() }
    };
    sentence.evidence.iter().map(figures).collect()
}

fn side(
    run: &RunRecord,
    name: &str,
    metric: &str,
    level: impl FnOnce(&[Step<'_>]) -> Option<Level>,
) -> Side {
    let Some(target) = run.targets.iter().find(|target| target.name == name) else {
        return missing(name, "there is no such target".to_owned());
    };
    let steps = levels::steps(run, target);
    let Some(level) = level(&steps) else {
        return missing(name, "no stage was reached".to_owned());
    };
    let value = match steps.iter().find(|step| step.level == level) {
        Some(step) => known(metric, &step.stages),
        None => Err("this level was not reached".to_owned()),
    };
    Side { target: name.to_owned(), level: Some(level), value }
}

fn missing(name: &str, why: String) -> Side {
    Side { target: name.to_owned(), level: None, value: Err(why) }
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

/// A rate that every target of a run can serve.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LowestPeak {
    /// Requests per second.
    pub rps: f64,
    /// It is a peak. Where the load generator or a neighbour kept a target from one that says
    /// something of it, what was served stands for it: the level of a load and no result.
    pub is_peak: bool,
}

/// The lowest of the peaks of a run's targets; `None` where one of them served nothing.
#[must_use]
pub fn lowest_peak(run: &RunRecord) -> Option<LowestPeak> {
    let ladders = &run.analysis.as_ref()?.ladders;
    let peak = |target: &TargetRecord| {
        let found = ladders.iter().find(|ladder| ladder.target == target.name)?.peak_rps;
        let rps = found.or_else(|| highest_rate(run, target))?;
        Some(LowestPeak { rps, is_peak: found.is_some() })
    };
    let peaks: Option<Vec<LowestPeak>> = run.targets.iter().map(peak).collect();
    peaks?.into_iter().min_by(|a, b| a.rps.total_cmp(&b.rps))
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
        let rates = [900.0, 700.0, 800.0];
        let mut run = a_run().target("a").repetitions(3, |i| at(rates[i as usize])).done();
        assert_eq!(lowest_peak(&run), None, "nothing is known before the analysis");
        run.analysis = Some(crate::analyze::analyze(&run));
        let ladder = &mut run.analysis.as_mut().unwrap().ladders[0];
        ladder.peak_rps = Some(850.0);
        assert_eq!(lowest_peak(&run), Some(LowestPeak { rps: 850.0, is_peak: true }));
        run.analysis.as_mut().unwrap().ladders[0].peak_rps = None;
        assert_eq!(lowest_peak(&run), Some(LowestPeak { rps: 800.0, is_peak: false }));
    }
}
