//! Two runs or two targets, stage by stage and metric by metric: data first, then a page of it.
//!
//! A difference is said only where an interval excludes zero. Inside one run the interval of
//! the change is the analysis's own, which knows how the repetitions were interleaved. Between
//! two runs, and for pairs that the analysis does not have, it is the widest change that both
//! medians' intervals allow, so it errs towards "no difference shown". Between repetitions of one
//! run the repetitions of either side are drawn on their own, as the analysis does it.

mod conditions;
mod gate;
mod page;
mod reading;
mod repetitions;
mod sides;

use serde::Serialize;

pub(super) use self::conditions::Condition;
pub(super) use self::reading::{Reading, Verdict};
use self::reading::{between_runs, reading, turned};
pub use self::repetitions::Repetitions;
use super::columns::Metric;
use super::levels::{self, Ladder, Row};
use crate::analyze::estimate;
use crate::measured::Measured;
use crate::plan::{Level, Order};
use crate::record::{Estimate, PairFinding, RunRecord};

pub(super) use gate::exit_code;
pub(super) use page::{markdown, page, said};

/// One side of a comparison.
#[derive(Debug, Clone, Copy)]
pub struct Side<'a> {
    /// What the report calls it.
    pub label: &'a str,
    /// The run.
    pub run: &'a RunRecord,
    /// One target of it; `None`: every target that both runs have.
    pub target: Option<&'a str>,
    /// Some of its repetitions; `None`: all that count.
    pub repetitions: Option<&'a Repetitions>,
}

/// Everything that a comparison says.
#[derive(Debug, Serialize)]
pub(super) struct Comparison {
    /// Name of the first side; changes are relative to it.
    pub(super) a: String,
    /// Name of the second side.
    pub(super) b: String,
    /// Conditions that differ between the two; any of them may be the cause of a difference.
    pub(super) conditions: Vec<Condition>,
    /// Target by target.
    pub(super) pairs: Vec<Pair>,
}

/// Two targets.
#[derive(Debug, Serialize)]
pub(super) struct Pair {
    /// Target of the first side.
    pub(super) a: String,
    /// Target of the second side.
    pub(super) b: String,
    /// Stages that both have.
    pub(super) stages: Vec<StagePair>,
    /// Stages that only the first has.
    pub(super) only_a: Vec<Level>,
    /// Stages that only the second has.
    pub(super) only_b: Vec<Level>,
}

/// A stage of both.
#[derive(Debug, Serialize)]
pub(super) struct StagePair {
    /// Its connections, and its rate in the open loop.
    #[serde(flatten)]
    pub(super) at: Level,
    /// Metric by metric.
    pub(super) metrics: Vec<MetricPair>,
}

/// A metric of both.
#[derive(Debug, Serialize)]
pub(super) struct MetricPair {
    /// Its name.
    pub(super) metric: &'static str,
    /// The first side's median.
    pub(super) a: Measured<f64>,
    /// The second side's median.
    pub(super) b: Measured<f64>,
    /// (b - a) / a; `null` where one is missing or `a` is zero.
    pub(super) change: Option<Estimate>,
    /// What may be said.
    pub(super) reading: Reading,
    /// The same in a word: better, worse, no difference shown, or, where neither is better, that
    /// it differs; `null` where nothing may be said.
    pub(super) verdict: Option<Verdict>,
    /// Why no conclusion may rest on it; `null` when one may.
    pub(super) unfit: Option<String>,
}

/// The change of a metric between two runs, and what may be said of it.
#[derive(Debug, Serialize)]
pub(super) struct Difference {
    /// (b - a) / a; `null` where `a` is zero.
    pub(super) change: Option<Estimate>,
    /// What may be said.
    pub(super) reading: Reading,
    /// The same in a word; `null` where nothing may be said.
    pub(super) verdict: Option<Verdict>,
    /// Why no conclusion may rest on it; `null` when one may.
    pub(super) unfit: Option<String>,
}

/// The change from one run's figure to another's.
pub(super) fn difference(
    metric: &str,
    a: &Estimate,
    b: &Estimate,
    unfit: Option<String>,
) -> Difference {
    let change = between_runs(a, b);
    let reading = reading(change, unfit.is_none());
    Difference { change, reading, verdict: reading.verdict(metric), unfit }
}

/// Conditions of a target that differ between two runs.
pub(super) fn conditions_between(a: &RunRecord, b: &RunRecord, target: &str) -> Vec<Condition> {
    let find = |run: &'_ RunRecord| run.targets.iter().position(|t| t.name == target);
    let targets: Vec<_> = match (find(a), find(b)) {
        (Some(at_a), Some(at_b)) => vec![(&a.targets[at_a], &b.targets[at_b])],
        _ => Vec::new(),
    };
    conditions::differences(a, b, &targets)
}

/// Where the change of a metric comes from.
#[derive(Debug, Clone, Copy)]
enum Source<'a> {
    /// The analysis of the one run that both sides are of, whose targets may be interleaved.
    Within(&'a [PairFinding]),
    /// The repetitions of one run that either side has.
    Repetitions,
    /// The medians of two runs.
    Medians,
}

/// Compares; the error is one sentence about a target or a repetition that is not there.
pub(super) fn compare(a: &Side<'_>, b: &Side<'_>) -> Result<Comparison, String> {
    let (run_a, run_b) = (repetitions::chosen(a)?, repetitions::chosen(b)?);
    let (a, b) = (&Side { run: &run_a, ..*a }, &Side { run: &run_b, ..*b });
    let targets = sides::pairs(a, b)?;
    let (found_a, found_b) = (levels::analysis(a.run), levels::analysis(b.run));
    let source = if a.run.id != b.run.id {
        Source::Medians
    } else if a.repetitions.is_none() && b.repetitions.is_none() {
        // Only repetitions of one run were interleaved with each other.
        Source::Within(&found_a.pairs)
    } else {
        Source::Repetitions
    };
    let pairs = targets.iter().map(|(target_a, target_b)| {
        let ladder_a = levels::ladder(a.run, &found_a, target_a);
        let ladder_b = levels::ladder(b.run, &found_b, target_b);
        pair(&ladder_a, &ladder_b, source)
    });
    Ok(Comparison {
        a: a.label.into(),
        b: b.label.into(),
        pairs: pairs.collect(),
        conditions: conditions::differences(a.run, b.run, &targets),
    })
}

fn pair(a: &Ladder<'_>, b: &Ladder<'_>, source: Source<'_>) -> Pair {
    let (name_a, name_b) = (&a.target.name, &b.target.name);
    let only = |these: &Ladder<'_>, those: &Ladder<'_>| {
        let lacks = |row: &&Row<'_>| those.rows.iter().all(|r| r.at != row.at);
        these.rows.iter().filter(lacks).map(|row| row.at).collect()
    };
    let stage = |row_a: &Row<'_>| {
        let at = row_a.at;
        let row_b = b.rows.iter().find(|row| row.at == at)?;
        let metric = |metric: &Metric| {
            let found = match source {
                Source::Within(pairs) => within_run(pairs, (name_a, name_b), at, metric.name),
                Source::Repetitions => between_repetitions(row_a, row_b, metric.name),
                Source::Medians => None,
            };
            metric_pair(metric, row_a, row_b, found)
        };
        Some(StagePair { at, metrics: levels::shown(&a.rows).iter().map(metric).collect() })
    };
    Pair {
        a: name_a.clone(),
        b: name_b.clone(),
        stages: a.rows.iter().filter_map(stage).collect(),
        only_a: only(a, b),
        only_b: only(b, a),
    }
}

/// Of one run and nothing interleaved: every side is drawn on its own.
fn between_repetitions(a: &Row<'_>, b: &Row<'_>, metric: &str) -> Option<Estimate> {
    let (a, b) = (&a.stages, &b.stages);
    let (a, b) = (estimate::measured(a, metric), estimate::measured(b, metric));
    estimate::change(&b, &a, metric, Order::Serial).ok()
}

fn metric_pair(metric: &Metric, a: &Row<'_>, b: &Row<'_>, found: Option<Estimate>) -> MetricPair {
    let unfit = a.unfit(metric).or_else(|| b.unfit(metric));
    let (a, b) = (a.figure(metric), b.figure(metric));
    let change = match (&a, &b) {
        (Ok(a), Ok(b)) => found.or_else(|| between_runs(a, b)),
        _ => None,
    };
    let reading = reading(change, unfit.is_none());
    MetricPair {
        metric: metric.name,
        a: a.map(|e| e.value).into(),
        b: b.map(|e| e.value).into(),
        change,
        reading,
        verdict: reading.verdict(metric.name),
        unfit,
    }
}

/// The analysis's own change of `b` against `a`, turned round where it has the other direction.
fn within_run(
    pairs: &[PairFinding],
    (a, b): (&str, &str),
    at: Level,
    metric: &str,
) -> Option<Estimate> {
    let find = |of: &str, against: &str| {
        let is = |p: &&PairFinding| {
            p.of == of && p.against == against && p.level() == at && p.metric == metric
        };
        pairs.iter().find(is).map(|pair| pair.change)
    };
    find(b, a).or_else(|| turned(find(a, b)?))
}
