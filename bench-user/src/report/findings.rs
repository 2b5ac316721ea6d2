//! What a ladder showed: peak, knee, plateau, why the peak was the peak, where and why it ended.

use std::collections::BTreeMap;

use super::figures;
use super::levels::{Ladder, Row};
use super::page::Item;
use crate::record::{Bottleneck, FoundByClimb, LadderFindings, UslFit};
use crate::units::show_rate;

/// A fit whose residuals are larger than this says nothing about scalability.
const GOOD_FIT: f64 = 0.05;

/// The highest rate of a target in one phrase, for the top of a report.
pub(super) fn peak(ladder: &Ladder<'_>) -> Option<String> {
    if ladder.is_all_invalid() && !ladder.is_job() {
        return Some(format!("{} no valid stage", ladder.target.name));
    }
    let row = ladder.peak()?;
    Some(format!(
        "{} {} at {} (limited by: {}{})",
        ladder.target.name,
        row.rate(),
        row.at,
        figures::word(row.bottleneck()),
        row.doubt()
    ))
}

/// The highest rate that a search found, in one phrase.
pub(super) fn found_rate(ladder: &Ladder<'_>) -> Option<String> {
    let found = ladder.findings?.found_rate.as_ref()?;
    let name = &ladder.target.name;
    let Some(rps) = found.rps else {
        return Some(format!(
            "{name}: none was found in every climb that holds {}",
            found.objective
        ));
    };
    let range = match (found.climbs.len(), found.low, found.high) {
        (2.., Some(low), Some(high)) => format!(
            " ({} to {} over {} climbs)",
            show_rate(low),
            show_rate(high),
            found.climbs.len()
        ),
        _ => String::new(),
    };
    Some(format!("{name} {} req/s{range} hold {}", show_rate(rps), found.objective))
}

/// What the search of each climb found, a line each.
fn searches(findings: &LadderFindings) -> Vec<String> {
    let climbs = findings.found_rate.iter().flat_map(|found| &found.climbs);
    let line = |climb: &FoundByClimb| {
        let rate = |rps: Option<f64>| rps.map_or("none".to_owned(), show_rate);
        let failed = climb.failed.as_ref().map_or(String::new(), |why| format!(" ({why})"));
        format!(
            "search of climb {}: holds at {}, fails at {}{failed}; {}",
            climb.repetition + 1,
            rate(climb.holds_at),
            rate(climb.fails_at),
            climb.why
        )
    };
    climbs.map(line).collect()
}

/// Everything found about one target; `None` without anything.
pub(super) fn item(ladder: &Ladder<'_>) -> Option<Item> {
    let mut lines = Vec::new();
    let peak = ladder.peak().filter(|_| !ladder.is_all_invalid());
    if ladder.is_all_invalid() && !ladder.is_job() {
        lines.push(nothing_valid(ladder));
    }
    lines.extend(peak.zip(ladder.findings).map(|(row, findings)| top(ladder, row, findings)));
    lines.extend(ladder.findings.map_or(Vec::new(), searches));
    // Of an address alone the kernel side is missing as a whole, which is said elsewhere.
    let shown = peak.or(ladder.shown());
    let is_blind = |row: &Row<'_>| ladder.is_address() && row.bottleneck() == Bottleneck::Unknown;
    lines.extend(shown.filter(|row| !is_blind(row)).map_or(Vec::new(), evidence));
    lines.extend(stops(&ladder.rows));
    lines.extend(ladder.rows.iter().filter_map(failures));
    lines.extend(ladder.rows.iter().filter_map(not_offered));
    let fit = ladder.findings.and_then(|findings| findings.usl.as_ref());
    lines.extend(fit.filter(|_| peak.is_some_and(|row| !row.is_held())).and_then(scalability));
    (!lines.is_empty()).then(|| Item { lead: ladder.target.name.clone(), lines })
}

/// Peak, knee and plateau of a target, behind its name; `None` where no level is valid.
pub(super) fn peak_and_more(ladder: &Ladder<'_>) -> Option<String> {
    let row = ladder.peak().filter(|_| !ladder.is_all_invalid())?;
    Some(format!("{}: {}", ladder.target.name, top(ladder, row, ladder.findings?)))
}

fn top(ladder: &Ladder<'_>, row: &Row<'_>, findings: &LadderFindings) -> String {
    let more = knee_and_plateau(findings, row.rate_metric().label, ladder.goes_on_after(row));
    format!("peak {} at {}{more}", row.rate(), row.at)
}

fn nothing_valid(ladder: &Ladder<'_>) -> String {
    match ladder.highest() {
        Some(row) => {
            format!(
                "no valid stage; the highest rate of an invalid one is {} at {}",
                row.rate(),
                row.at
            )
        }
        None => "no valid stage, and nothing was achieved in any".to_owned(),
    }
}

/// Requests of an open loop that were due and never left.
fn not_offered(row: &Row<'_>) -> Option<String> {
    let offered = || row.stages.iter().filter_map(|stage| stage.load.offered.as_ref());
    let skipped: u64 = offered().map(|o| o.skipped).sum();
    let unsent: u64 = offered().map(|o| o.unsent).sum();
    let scheduled: u64 = offered().map(|o| o.scheduled).sum();
    (skipped + unsent > 0).then(|| {
        format!(
            "at {} of {} requests that were due {} were skipped and {} still waited for a \
             connection at the end",
            row.at,
            figures::count(scheduled),
            figures::count(skipped),
            figures::count(unsent)
        )
    })
}

fn knee_and_plateau(ladder: &LadderFindings, unit: &str, goes_on: bool) -> String {
    let mut text = String::new();
    match (ladder.knee(), &ladder.knee_absent) {
        (Some(knee), _) if knee.offered_rps.is_some() => {
            return format!("; knee at {knee}, where rate over p99 is highest");
        }
        (Some(knee), _) => text += &format!("; 95% of it from {knee} on (the knee)"),
        (None, Some(why)) => return format!("; no knee: {why}"),
        (None, None) => {}
    }
    match (ladder.plateau_rps, ladder.plateau_bottleneck) {
        (Some(rps), Some(limit)) => {
            let rate = figures::show("rps", rps);
            text += &format!("; plateau {rate} {unit}, limited by: {}", figures::word(limit));
        }
        (Some(rps), None) => text += &format!("; plateau {} {unit}", figures::show("rps", rps)),
        (None, _) if goes_on => text += "; no plateau: no stage after it is valid",
        (None, _) => text += "; no plateau: the ladder ended before the rate flattened",
    }
    text
}

/// What decided it, from the climb that is shown or the first with that answer, and how many
/// climbs gave which.
fn evidence(row: &Row<'_>) -> Vec<String> {
    let limit = row.bottleneck();
    let word = figures::word(limit);
    let noun = row.at.repetition_noun();
    let middle = row.middle();
    let shown = std::iter::once(&middle).chain(&row.stages);
    let shown = shown.copied().find(|stage| stage.verdict.bottleneck == limit);
    let climb = match (row.stages.len(), shown) {
        (2.., Some(stage)) => format!(" ({noun} {})", stage.repetition + 1),
        _ => String::new(),
    };
    let sentences = shown.map_or(&[][..], |stage| &stage.verdict.evidence);
    let mut lines: Vec<String> =
        sentences.iter().map(|sentence| format!("{word}{climb}: {sentence}")).collect();
    lines.extend(votes(row));
    lines
}

/// The answers of climbs that do not agree.
fn votes(row: &Row<'_>) -> Option<String> {
    let mut votes = BTreeMap::<Bottleneck, usize>::new();
    for stage in row.not_failed() {
        *votes.entry(stage.verdict.bottleneck).or_default() += 1;
    }
    let list: Vec<String> =
        votes.iter().map(|(limit, n)| format!("{} {n}", figures::word(*limit))).collect();
    (votes.len() > 1)
        .then(|| format!("the {}s do not agree: {}", row.at.repetition_noun(), list.join(", ")))
}

fn stops(rows: &[Row<'_>]) -> Vec<String> {
    let mut lines = Vec::new();
    for row in rows {
        for stage in &row.stages {
            let Some(rule) = &stage.verdict.stopped_by else { continue };
            let line = format!("the ladder ended at {}: {rule}", row.at);
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
    }
    lines
}

/// Requests of a level that failed or were not answered with 2xx, over its repetitions.
fn failures(row: &Row<'_>) -> Option<String> {
    let mut kinds = BTreeMap::<String, u64>::new();
    let mut examples = BTreeMap::<String, &str>::new();
    for outcomes in row.stages.iter().map(|stage| &stage.load.outcomes) {
        for (kind, n) in outcomes.failures() {
            *kinds.entry(kind).or_default() += n;
        }
        for (status, n) in &outcomes.other_status {
            *kinds.entry(format!("status {status}")).or_default() += n;
        }
        for (status, n) in &outcomes.grpc_status {
            *kinds.entry(format!("grpc-status {status}")).or_default() += n;
        }
        for (class, message) in &outcomes.examples {
            examples.entry(class.replace('_', " ")).or_insert(message);
        }
    }
    kinds.retain(|_, n| *n > 0);
    if kinds.is_empty() {
        return None;
    }
    let list: Vec<String> =
        kinds.iter().map(|(kind, n)| format!("{} {kind}", figures::count(*n))).collect();
    let mut line = format!("at {} requests failed: {}", row.at, list.join(", "));
    let each: Vec<String> = match examples.len() {
        1 => examples.into_values().map(str::to_owned).collect(),
        _ => examples.into_iter().map(|(class, message)| format!("{class}: {message}")).collect(),
    };
    if !each.is_empty() {
        line += &format!(" (the first: {})", each.join("; "));
    }
    Some(line)
}

fn scalability(fit: &UslFit) -> Option<String> {
    (fit.residual <= GOOD_FIT).then(|| {
        format!(
            "Universal Scalability Law: one connection {} req/s, contention {:.4}, coherency {:.2e} \
             (residual {})",
            figures::show("rps", fit.lambda),
            fit.sigma,
            fit.kappa,
            figures::percent(fit.residual)
        )
    })
}
