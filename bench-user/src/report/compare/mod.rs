//! Two runs or two targets, stage by stage and metric by metric: data first, then a page of it.
//!
//! A difference is said only where an interval excludes zero. Inside one run the interval of
//! the change is the analysis's own, which knows how the repetitions were interleaved. Between
//! two runs, and for pairs that the analysis does not have, it is the widest change that both
//! medians' intervals allow, so it errs towards "no difference shown".

mod conditions;
mod page;
mod sides;

use serde::Serialize;

use self::conditions::Condition;
use super::columns::Metric;
use super::levels::{self, Ladder, Row};
use crate::analyze::{bootstrap, estimate};
use crate::measured::Measured;
use crate::plan::Level;
use crate::record::{Estimate, PairFinding, RunRecord};

pub(super) use page::page;

/// One side of a comparison.
#[derive(Debug, Clone, Copy)]
pub struct Side<'a> {
    /// What the report calls it.
    pub label: &'a str,
    /// The run.
    pub run: &'a RunRecord,
    /// One target of it; `None`: every target that both runs have.
    pub target: Option<&'a str>,
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
    /// Why no conclusion may rest on it; `null` when one may.
    pub(super) unfit: Option<String>,
}

/// What may be said of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Reading {
    /// The whole interval is above zero, over enough repetitions.
    Higher,
    /// The whole interval is below zero, over enough repetitions.
    Lower,
    /// The interval is above zero but rests on too few repetitions for a conclusion.
    PerhapsHigher,
    /// The interval is below zero but rests on too few repetitions for a conclusion.
    PerhapsLower,
    /// The interval does not exclude zero.
    NoDifferenceShown,
    /// There is no interval: nothing may be said.
    NoInterval,
    /// A stage is not fit to carry a conclusion; `unfit` says why.
    NotFit,
    /// There is no change to speak of.
    Unavailable,
}

/// Compares; the error is one sentence about a target that is not there.
pub(super) fn compare(a: &Side<'_>, b: &Side<'_>) -> Result<Comparison, String> {
    let targets = sides::pairs(a, b)?;
    let (found_a, found_b) = (levels::analysis(a.run), levels::analysis(b.run));
    let pairs = targets.iter().map(|(target_a, target_b)| {
        let ladder_a = levels::ladder(a.run, &found_a, target_a);
        let ladder_b = levels::ladder(b.run, &found_b, target_b);
        // Only repetitions of one run were interleaved with each other.
        let within = if a.run.id == b.run.id { &found_a.pairs[..] } else { &[] };
        pair(&ladder_a, &ladder_b, within)
    });
    Ok(Comparison {
        a: a.label.into(),
        b: b.label.into(),
        pairs: pairs.collect(),
        conditions: conditions::differences(a.run, b.run, &targets),
    })
}

fn pair(a: &Ladder<'_>, b: &Ladder<'_>, within: &[PairFinding]) -> Pair {
    let (name_a, name_b) = (&a.target.name, &b.target.name);
    let only = |these: &Ladder<'_>, those: &Ladder<'_>| {
        let lacks = |row: &&Row<'_>| those.rows.iter().all(|r| r.at != row.at);
        these.rows.iter().filter(lacks).map(|row| row.at).collect()
    };
    let stage = |row_a: &Row<'_>| {
        let at = row_a.at;
        let row_b = b.rows.iter().find(|row| row.at == at)?;
        let metric = |metric: &Metric| {
            let found = within_run(within, (name_a, name_b), at, metric.name);
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

fn metric_pair(metric: &Metric, a: &Row<'_>, b: &Row<'_>, found: Option<Estimate>) -> MetricPair {
    let unfit = a.unfit(metric).or_else(|| b.unfit(metric));
    let (a, b) = (a.figure(metric), b.figure(metric));
    let change = match (&a, &b) {
        (Ok(a), Ok(b)) => found.or_else(|| between_runs(a, b)),
        _ => None,
    };
    MetricPair {
        metric: metric.name,
        a: a.map(|e| e.value).into(),
        b: b.map(|e| e.value).into(),
        change,
        reading: reading(change, unfit.is_none()),
        unfit,
    }
}

fn reading(change: Option<Estimate>, fit: bool) -> Reading {
    let Some(change) = change else { return Reading::Unavailable };
    let enough = estimate::differs(&change);
    match (change.low, change.high) {
        _ if !fit => Reading::NotFit,
        (Some(low), _) if low > 0.0 && enough => Reading::Higher,
        (Some(low), _) if low > 0.0 => Reading::PerhapsHigher,
        (_, Some(high)) if high < 0.0 && enough => Reading::Lower,
        (_, Some(high)) if high < 0.0 => Reading::PerhapsLower,
        (Some(_), Some(_)) => Reading::NoDifferenceShown,
        _ => Reading::NoInterval,
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

/// The change of y against x from that of x against y: 1 + c becomes 1 / (1 + c), and the ends
/// of the interval change places.
fn turned(change: Estimate) -> Option<Estimate> {
    let turn = |c: f64| (c > -1.0).then(|| 1.0 / (1.0 + c) - 1.0);
    Some(Estimate {
        value: turn(change.value)?,
        low: change.high.and_then(turn),
        high: change.low.and_then(turn),
        ..change
    })
}

/// The relative change between two medians, with the widest interval that theirs allow.
fn between_runs(a: &Estimate, b: &Estimate) -> Option<Estimate> {
    Some(Estimate {
        value: bootstrap::relative(b.value, a.value)?,
        low: b.low.zip(a.high).and_then(|(b, a)| bootstrap::relative(b, a)),
        high: b.high.zip(a.low).and_then(|(b, a)| bootstrap::relative(b, a)),
        repetitions: a.repetitions.min(b.repetitions),
        within_stage: a.within_stage || b.within_stage,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn an_estimate(value: f64, low: f64, high: f64) -> Estimate {
        Estimate { value, low: Some(low), high: Some(high), repetitions: 5, within_stage: false }
    }

    #[test]
    fn two_runs_differ_only_when_their_intervals_are_apart() {
        let a = an_estimate(100.0, 90.0, 110.0);
        let apart = between_runs(&a, &an_estimate(200.0, 190.0, 210.0)).unwrap();
        assert_eq!(apart.value, 1.0);
        assert!((apart.low.unwrap() - (190.0 / 110.0 - 1.0)).abs() < 1e-12);
        assert!((apart.high.unwrap() - (210.0 / 90.0 - 1.0)).abs() < 1e-12);
        assert_eq!(reading(Some(apart), true), Reading::Higher);
        assert_eq!(reading(Some(apart), false), Reading::NotFit);
        for weak in [Estimate { repetitions: 3, ..apart }, Estimate { within_stage: true, ..apart }]
        {
            assert_eq!(reading(Some(weak), true), Reading::PerhapsHigher);
        }
        let touching = between_runs(&a, &an_estimate(120.0, 105.0, 125.0));
        assert_eq!(reading(touching, true), Reading::NoDifferenceShown);
        assert_eq!(reading(between_runs(&a, &an_estimate(50.0, 40.0, 60.0)), true), Reading::Lower);
    }

    #[test]
    fn a_change_turned_round_twice_is_itself() {
        let there = an_estimate(-0.5, -0.6, -0.4);
        let back = turned(there).unwrap();
        assert_eq!((back.value, back.low), (1.0, Some(1.0 / 0.6 - 1.0)));
        let again = turned(back).unwrap();
        assert!((again.low.unwrap() + 0.6).abs() < 1e-12 && again.value == -0.5);
    }

    #[test]
    fn without_an_interval_or_from_zero_nothing_is_said() {
        let bare = Estimate { low: None, high: None, ..an_estimate(1.0, 0.0, 0.0) };
        assert_eq!(reading(between_runs(&bare, &bare), true), Reading::NoInterval);
        let zero = an_estimate(0.0, 0.0, 0.0);
        assert_eq!(reading(between_runs(&zero, &bare), true), Reading::Unavailable);
    }
}
