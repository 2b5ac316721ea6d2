//! Claims: the verdict word first, then the sentence, then the figures behind it.

use super::figures::{self, NONE};
use super::levels;
use super::page::{Item, Page, Table};
use crate::record::{ClaimResult, ClaimVerdict, StageClaim};

/// The claims alone, stage by stage.
pub(super) fn page(results: &[ClaimResult]) -> Page {
    let mut page = Page::titled(summary(results));
    add_stages(&mut page, results);
    page
}

/// Each claim with its stages.
pub(super) fn add_stages(page: &mut Page, results: &[ClaimResult]) {
    for result in results {
        page.items(vec![item(result)]);
        if !result.stages.is_empty() {
            page.table(stages(result));
        }
        page.items(doubts(result));
    }
}

/// One entry a claim, for the report of a run.
pub(super) fn items(results: &[ClaimResult]) -> Vec<Item> {
    results.iter().map(item).collect()
}

/// The answer in one sentence: `3 claims: 2 hold, 1 fails.`
pub(super) fn summary(results: &[ClaimResult]) -> String {
    let of = |verdict| results.iter().filter(|r| r.verdict == verdict).count();
    let parts: Vec<String> = [
        (of(ClaimVerdict::Holds), "holds", "hold"),
        (of(ClaimVerdict::Fails), "fails", "fail"),
        (of(ClaimVerdict::Inconclusive), "is inconclusive", "are inconclusive"),
        (of(ClaimVerdict::Unavailable), "is unavailable", "are unavailable"),
    ]
    .into_iter()
    .filter(|(n, ..)| *n > 0)
    .map(|(n, one, many)| format!("{n} {}", if n == 1 { one } else { many }))
    .collect();
    match results.len() {
        0 => "No claims.".into(),
        1 => format!("1 claim: {}.", parts.join(", ")),
        n => format!("{n} claims: {}.", parts.join(", ")),
    }
}

fn item(result: &ClaimResult) -> Item {
    let claim = &result.claim;
    let says = if claim.says.is_empty() {
        claim.id.clone()
    } else {
        format!("{}: {}", claim.id, claim.says)
    };
    Item { lead: figures::word(result.verdict), lines: vec![says, because(result)] }
}

/// The sentence of the claim; where several stages gave its answer, with the worst of them, whose
/// interval decides.
pub(super) fn because(result: &ClaimResult) -> String {
    let such: Vec<&StageClaim> =
        result.stages.iter().filter(|stage| stage.verdict == result.verdict).collect();
    match (such.len(), worst(result, &such)) {
        (2.., Some(stage)) => format!(
            "in {} of {} stages; worst at {}: {}",
            such.len(),
            result.stages.len(),
            stage.level(),
            stage.because
        ),
        _ => result.because.clone(),
    }
}

/// The stage whose interval comes closest to the bound, or misses it by most; `None` where the
/// claim has no bound with one side.
fn worst<'a>(result: &ClaimResult, such: &[&'a StageClaim]) -> Option<&'a StageClaim> {
    let decided = matches!(result.verdict, ClaimVerdict::Holds | ClaimVerdict::Fails);
    let expect = result.claim.expect.as_deref().filter(|_| decided)?.trim();
    let wanting = |stage: &StageClaim| match expect.chars().next()? {
        '<' => stage.figure?.high,
        '>' => Some(-stage.figure?.low?),
        _ => None,
    };
    let each: Option<Vec<(f64, &StageClaim)>> =
        such.iter().map(|stage| Some((wanting(stage)?, *stage))).collect();
    each?.into_iter().max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, stage)| stage)
}

/// One row a stage.
pub(super) fn stages(result: &ClaimResult) -> Table {
    let claim = &result.claim;
    let metric = claim.metric.as_deref().unwrap_or("");
    let is_change = claim.against.is_some();
    let figure = if is_change { "change" } else { "figure" };
    let name = |target: &Option<String>, otherwise: &str| {
        format!(">{}", target.as_deref().unwrap_or(otherwise))
    };
    let level = levels::title(result.stages.iter().map(StageClaim::level));
    let mut titles = vec![format!(">{level}"), name(&claim.of, "of")];
    if is_change {
        titles.push(name(&claim.against, "against"));
    }
    titles.extend([format!(">{figure}"), ">interval".into(), "verdict".into()]);
    let mut table = Table::new(titles);
    for stage in &result.stages {
        let value = |v: Option<f64>| v.map_or(NONE.into(), |v| figures::show(metric, v));
        let mut row = vec![stage.level().short(), value(stage.of)];
        if is_change {
            row.push(value(stage.against));
        }
        row.extend([
            shown_figure(stage, metric, is_change).unwrap_or(NONE.into()),
            interval(stage, metric, is_change).unwrap_or(NONE.into()),
            figures::word(stage.verdict),
        ]);
        table.rows.push(row);
    }
    table
}

fn shown_figure(stage: &StageClaim, metric: &str, is_change: bool) -> Option<String> {
    let value = stage.figure?.value;
    Some(if is_change { figures::change(value) } else { figures::show(metric, value) })
}

fn interval(stage: &StageClaim, metric: &str, is_change: bool) -> Option<String> {
    let figure = stage.figure?;
    if is_change {
        return figures::change_interval(&figure);
    }
    Some(format!(
        "[{}, {}]",
        figures::show(metric, figure.low?),
        figures::show(metric, figure.high?)
    ))
}

/// Why a stage does not hold, where the claim's own sentence does not say it.
pub(super) fn doubts(result: &ClaimResult) -> Vec<Item> {
    let told = |s: &&StageClaim| s.verdict != ClaimVerdict::Holds && s.because != result.because;
    let item = |s: &StageClaim| Item::new(format!("at {}", s.level().short()), s.because.clone());
    result.stages.iter().filter(told).map(item).collect()
}
