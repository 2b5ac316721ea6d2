//! The exit code of a comparison that is to fail: for CI, with the meaning that `check` gives to
//! each.

use super::reading::{Reading, Verdict};
use super::{Comparison, MetricPair};
use crate::analyze::direction;

/// 1 where a metric is worse by more than `tolerance` (0.05: 5 %), 3 where one may be or nothing
/// could be said of it, else 0. Metrics that have no better side, and those that neither side
/// has measured, decide nothing; a comparison in which nothing was decided is a 3.
pub(in crate::report) fn exit_code(c: &Comparison, tolerance: f64) -> u8 {
    let answers = c.pairs.iter().flat_map(|pair| &pair.stages).flat_map(|stage| &stage.metrics);
    let answers: Vec<Answer> = answers.filter_map(|metric| answer(metric, tolerance)).collect();
    if answers.contains(&Answer::Worse) {
        1
    } else if answers.contains(&Answer::Open) || !answers.contains(&Answer::Kept) {
        3
    } else {
        0
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    Kept,
    Worse,
    Open,
}

fn answer(m: &MetricPair, tolerance: f64) -> Option<Answer> {
    direction::better(m.metric)?;
    let is_beyond = || {
        let low = m.change.and_then(|change| change.low).unwrap_or(f64::NEG_INFINITY);
        let high = m.change.and_then(|change| change.high).unwrap_or(f64::INFINITY);
        low > tolerance || high < -tolerance
    };
    Some(match m.reading {
        Reading::Unavailable if m.a.value().is_none() && m.b.value().is_none() => return None,
        // Two zeros have no relative change, and are the same.
        Reading::Unavailable if m.a.value() == m.b.value() => Answer::Kept,
        Reading::Unavailable | Reading::NoInterval | Reading::NotFit => Answer::Open,
        Reading::NoDifferenceShown => Answer::Kept,
        Reading::Higher | Reading::Lower => match m.verdict {
            Some(Verdict::Worse) if is_beyond() => Answer::Worse,
            _ => Answer::Kept,
        },
        Reading::PerhapsHigher | Reading::PerhapsLower => {
            let leans_to_worse = m.reading.leaning(m.metric) == Some(Verdict::Worse);
            if leans_to_worse && is_beyond() { Answer::Open } else { Answer::Kept }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::Measured;
    use crate::record::Estimate;
    use crate::report::compare::{Pair, StagePair};

    fn code(metrics: &[(&'static str, Reading, f64)], tolerance: f64) -> u8 {
        let metrics = metrics.iter().map(|&(metric, reading, change)| MetricPair {
            metric,
            a: Measured::Value(1.0),
            b: Measured::Value(1.0 + change),
            change: Some(Estimate {
                value: change,
                low: Some(change - 0.01),
                high: Some(change + 0.01),
                repetitions: 5,
                within_stage: false,
            }),
            reading,
            verdict: reading.verdict(metric),
            unfit: None,
        });
        let at = crate::plan::Level { connections: 10, offered_rps: None };
        let stages = vec![StagePair { at, metrics: metrics.collect() }];
        let pair =
            Pair { a: "x".into(), b: "x".into(), stages, only_a: Vec::new(), only_b: Vec::new() };
        let conditions = Vec::new();
        exit_code(
            &Comparison { a: "a".into(), b: "b".into(), conditions, pairs: vec![pair] },
            tolerance,
        )
    }

    #[test]
    fn worse_fails_what_is_open_is_inconclusive_and_the_rest_passes() {
        let (rate, p99, cpus) = ("load.achieved_rps", "load.response_ns.p99", "cgroup.cpu_ratio");
        let same = (rate, Reading::NoDifferenceShown, 0.0);
        assert_eq!(code(&[same], 0.0), 0);
        assert_eq!(code(&[same, (p99, Reading::Higher, 0.1)], 0.0), 1);
        assert_eq!(code(&[same, (p99, Reading::Higher, 0.1)], 0.2), 0, "within the tolerance");
        assert_eq!(code(&[same, (p99, Reading::Higher, 0.1)], 0.095), 0, "its interval reaches in");
        assert_eq!(code(&[same, (rate, Reading::Lower, -0.1)], 0.05), 1);
        assert_eq!(code(&[same, (rate, Reading::Higher, 0.1)], 0.0), 0, "that is better");
        assert_eq!(code(&[same, (p99, Reading::PerhapsHigher, 0.1)], 0.0), 3);
        assert_eq!(code(&[same, (p99, Reading::PerhapsLower, -0.1)], 0.0), 0);
        assert_eq!(code(&[same, (p99, Reading::NotFit, 0.0)], 0.0), 3);
        assert_eq!(
            code(&[same, (p99, Reading::NotFit, 0.0), (rate, Reading::Lower, -1.0)], 0.0),
            1
        );
        assert_eq!(code(&[same, (cpus, Reading::Higher, 0.5)], 0.0), 0, "neither better nor worse");
        assert_eq!(code(&[(cpus, Reading::Higher, 0.5)], 0.0), 3, "nothing was decided");
        assert_eq!(code(&[], 0.0), 3);
    }
}
