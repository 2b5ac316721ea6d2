//! What may be said of a change, and the change between two medians.

use serde::Serialize;

use crate::analyze::direction::{Better, better};
use crate::analyze::{bootstrap, estimate};
use crate::record::Estimate;

/// What may be said of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(in crate::report) enum Reading {
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

/// The same in a word, for who only wants to know that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(in crate::report) enum Verdict {
    /// It changed for the better.
    Better,
    /// It changed for the worse.
    Worse,
    /// It changed, and which way is better depends on what is wanted.
    Differs,
    /// The interval does not exclude zero.
    NoDifferenceShown,
}

impl Reading {
    /// The verdict on this metric; `None` where nothing may be said.
    pub(in crate::report) fn verdict(self, metric: &str) -> Option<Verdict> {
        match self {
            Self::Higher => Some(changed(metric, Better::Higher)),
            Self::Lower => Some(changed(metric, Better::Lower)),
            Self::NoDifferenceShown => Some(Verdict::NoDifferenceShown),
            _ => None,
        }
    }

    /// What the verdict would be with more repetitions behind the same figures.
    pub(in crate::report) fn leaning(self, metric: &str) -> Option<Verdict> {
        match self {
            Self::PerhapsHigher => Some(changed(metric, Better::Higher)),
            Self::PerhapsLower => Some(changed(metric, Better::Lower)),
            _ => None,
        }
    }
}

fn changed(metric: &str, to: Better) -> Verdict {
    match better(metric) {
        None => Verdict::Differs,
        Some(better) if better == to => Verdict::Better,
        Some(_) => Verdict::Worse,
    }
}

pub(super) fn reading(change: Option<Estimate>, fit: bool) -> Reading {
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

/// The change of y against x from that of x against y: 1 + c becomes 1 / (1 + c), and the ends
/// of the interval change places.
pub(super) fn turned(change: Estimate) -> Option<Estimate> {
    let turn = |c: f64| (c > -1.0).then(|| 1.0 / (1.0 + c) - 1.0);
    Some(Estimate {
        value: turn(change.value)?,
        low: change.high.and_then(turn),
        high: change.low.and_then(turn),
        ..change
    })
}

/// The relative change between two medians, with the widest interval that theirs allow.
pub(super) fn between_runs(a: &Estimate, b: &Estimate) -> Option<Estimate> {
    let range = |e: &Estimate| e.low.zip(e.high);
    let both = range(b).zip(range(a).filter(|(low, _)| *low > 0.0));
    let widest = both.map(|(b, a)| bootstrap::widest_change(b, a));
    Some(Estimate {
        value: bootstrap::relative(b.value, a.value)?,
        low: widest.map(|(low, _)| low),
        high: widest.map(|(_, high)| high),
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
        // Below zero the largest divisor makes the highest of it.
        let below = between_runs(&a, &an_estimate(-500.0, -525.0, -475.0)).unwrap();
        assert!((below.low.unwrap() - (-525.0 / 90.0 - 1.0)).abs() < 1e-12);
        assert!((below.high.unwrap() - (-475.0 / 110.0 - 1.0)).abs() < 1e-12);
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
