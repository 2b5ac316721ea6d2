//! A figure of one place in the ladder, or its change between two targets, with its interval.
//!
//! With three repetitions or more the interval is over repetitions (`bootstrap.rs`). With one or
//! two it is that of the samples inside the stages (`within.rs`), the widest of what they say,
//! and is marked so.

use crate::plan::Order;
use crate::record::{Estimate, StageRecord};

use super::bootstrap::{self, BOOTSTRAP_FROM, INTERVAL_FROM};
use super::{metrics, within};

/// The stages in which a metric was measured.
#[must_use]
pub fn measured<'r>(stages: &[&'r StageRecord], metric: &str) -> Vec<&'r StageRecord> {
    stages.iter().copied().filter(|stage| metrics::value(stage, metric).is_ok()).collect()
}

/// The median of a metric over the repetitions of one place in the ladder.
///
/// # Errors
/// Why there is none, in one sentence: no stage, or one in which it was not measured.
pub fn of_level(stages: &[&StageRecord], metric: &str) -> Result<Estimate, String> {
    let values = values(stages, metric)?;
    let value = bootstrap::median(&values).ok_or("no repetition reached this stage")?;
    let interval = if values.len() < INTERVAL_FROM {
        hull(stages.iter().zip(&values).map(|(stage, &v)| within::interval(stage, metric, v)))
    } else {
        bootstrap::interval(&values)
    };
    Ok(estimate(value, interval, values.len()))
}

/// The relative change of a metric between two targets at one place in the ladder.
///
/// # Errors
/// Why there is none, in one sentence: not measured in a stage, or nothing to compare with.
pub fn change(
    of: &[&StageRecord],
    against: &[&StageRecord],
    metric: &str,
    order: Order,
) -> Result<Estimate, String> {
    let (ours, theirs) = (values(of, metric)?, values(against, metric)?);
    let none = "no repetition reached this stage";
    let our_median = bootstrap::median(&ours).ok_or(none)?;
    let their_median = bootstrap::median(&theirs).ok_or(none)?;
    let value = bootstrap::relative(our_median, their_median).ok_or_else(|| {
        format!("`{metric}` is not above zero in the target that is compared with")
    })?;
    let fewest = ours.len().min(theirs.len());
    let interval = if fewest < INTERVAL_FROM {
        let pairings = of.iter().zip(&ours).flat_map(|(o, &ov)| {
            let with = move |(a, &av): (&&StageRecord, &f64)| {
                within::change_interval((o, ov), (a, av), metric)
            };
            against.iter().zip(&theirs).map(with)
        });
        hull(pairings)
    } else {
        let paired = bootstrap::is_paired(ours.len(), theirs.len(), order == Order::Interleaved);
        bootstrap::change_interval(&ours, &theirs, paired)
    };
    Ok(estimate(value, interval, fewest))
}

/// Whether a change is a difference between targets: its interval excludes zero and comes from
/// at least five repetitions. Fewer cannot tell a difference of targets from one of runs often
/// enough to say so unasked; a claim may still be checked with them.
#[must_use]
pub fn differs(change: &Estimate) -> bool {
    let enough = usize::try_from(change.repetitions).is_ok_and(|n| n >= BOOTSTRAP_FROM);
    let excludes_zero = change.low.is_some_and(|l| l > 0.0) || change.high.is_some_and(|h| h < 0.0);
    enough && !change.within_stage && excludes_zero
}

fn values(stages: &[&StageRecord], metric: &str) -> Result<Vec<f64>, String> {
    let many = stages.len() > 1;
    let value = |stage: &&StageRecord| {
        metrics::value(stage, metric).map_err(|why| {
            if many {
                format!("{} {}: {why}", stage.level().repetition_noun(), stage.repetition + 1)
            } else {
                why
            }
        })
    };
    stages.iter().map(value).collect()
}

/// The widest of several intervals; `None` where one of them is missing.
fn hull(intervals: impl Iterator<Item = Option<(f64, f64)>>) -> Option<(f64, f64)> {
    let all: Vec<(f64, f64)> = intervals.collect::<Option<_>>()?;
    all.into_iter().reduce(|(l, h), (low, high)| (l.min(low), h.max(high)))
}

fn estimate(value: f64, interval: Option<(f64, f64)>, repetitions: usize) -> Estimate {
    Estimate {
        value,
        low: interval.map(|(low, _)| low),
        high: interval.map(|(_, high)| high),
        repetitions: u32::try_from(repetitions).unwrap_or(u32::MAX),
        within_stage: interval.is_some() && repetitions < INTERVAL_FROM,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyze::builder::{a_stage, samples};
    use crate::ladder::StageSample;

    const RATE: &str = "load.achieved_rps";

    fn at(rates: &[f64]) -> Vec<StageRecord> {
        let stage = |(i, &rate): (usize, &f64)| {
            let mut stage = a_stage(10);
            stage.repetition = u32::try_from(i).unwrap();
            stage.load.achieved_rps = rate;
            stage.samples = samples(|i| StageSample {
                achieved_rps: rate * (1.0 + 0.01 * f64::from(i % 3)),
                ..StageSample::default()
            });
            stage
        };
        rates.iter().enumerate().map(stage).collect()
    }

    fn change_of(of: &[f64], against: &[f64]) -> Estimate {
        let (of, against) = (at(of), at(against));
        change(
            &of.iter().collect::<Vec<_>>(),
            &against.iter().collect::<Vec<_>>(),
            RATE,
            Order::Serial,
        )
        .unwrap()
    }

    #[test]
    fn a_difference_needs_five_repetitions() {
        let five = change_of(&[50.0, 51.0, 49.0, 50.5, 50.2], &[100.0, 101.0, 99.0, 100.5, 98.0]);
        assert!(differs(&five) && !five.within_stage, "{five:?}");
        let four = change_of(&[50.0, 51.0, 49.0, 50.5], &[100.0, 101.0, 99.0, 100.5]);
        assert!(!differs(&four) && four.high.is_some_and(|h| h < 0.0), "{four:?}");
        let one = change_of(&[50.0], &[100.0]);
        assert!(!differs(&one) && one.within_stage && one.high.is_some_and(|h| h < 0.0), "{one:?}");
        let same = change_of(&[50.0, 51.0, 49.0, 50.5, 50.2], &[50.1, 51.2, 49.3, 50.4, 50.0]);
        assert!(!differs(&same), "{same:?}");
    }

    #[test]
    fn two_repetitions_are_no_more_certain_than_one() {
        let one = change_of(&[50.0], &[100.0]);
        let two = change_of(&[50.0, 70.0], &[100.0, 100.0]);
        assert!(two.within_stage && two.repetitions == 2);
        assert!(two.low <= one.low && two.high > one.high, "{one:?} {two:?}");
    }

    #[test]
    fn a_repetition_without_the_metric_is_named() {
        let mut stages = at(&[1.0, 2.0, 3.0]);
        stages[1].sched = crate::measured::Measured::unavailable("lost");
        let refs: Vec<&StageRecord> = stages.iter().collect();
        let why = of_level(&refs, "sched.per_sec").unwrap_err();
        assert!(why.contains("climb 2") && why.contains("lost"), "{why}");
        assert_eq!(measured(&refs, "sched.per_sec").len(), 2);
        assert!(of_level(&[], RATE).is_err());
    }
}
