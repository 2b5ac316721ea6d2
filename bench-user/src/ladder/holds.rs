//! Whether a stage of a search held its objective: a pure function of its load.

use super::search::Outcome;
use crate::load::LoadSample;
use crate::plan::{Condition, Figure, Objective, ShareLimit, ValidRules};
use crate::units::show_ns;

/// Errors that a rate may have where the objective names no bound and the plan has none.
const BAD_SHARE: f64 = 0.01;

/// What became of a rate: besides the objective, what was offered must have been achieved.
#[must_use]
pub fn outcome(objective: &Objective, rules: &ValidRules, load: &LoadSample) -> Outcome {
    if let Some(why) = load.generator_was_limit().or_else(|| load.generator_was_late()) {
        return Outcome::Unknown(format!("the generator failed: {why}"));
    }
    if let Some((well, scheduled)) = load.falls_short(rules.achieved) {
        return Outcome::Fails(format!("{well} of {scheduled} requests were answered well"));
    }
    let errors = errors(load);
    let bounds_errors = objective.conditions.iter().any(|c| c.figure == Figure::ErrorRatio);
    let allowed = match rules.non_2xx {
        ShareLimit::MoreThan(most) => most,
        ShareLimit::Switch(_) => BAD_SHARE,
    };
    if !bounds_errors && errors > allowed {
        return Outcome::Fails(format!("error_ratio was {errors:.4}"));
    }
    let judged = objective.conditions.iter().map(|c| judge(c, load, errors));
    judged.max_by_key(rank).unwrap_or(Outcome::Holds)
}

/// What decides over several conditions: one that is not met, then one that is not known.
fn rank(outcome: &Outcome) -> u8 {
    match outcome {
        Outcome::Holds => 0,
        Outcome::Unknown(_) => 1,
        Outcome::Fails(_) => 2,
    }
}

/// What a stage says of one condition.
#[expect(clippy::cast_precision_loss, reason = "times of a stage are below 2^53 ns")]
fn judge(condition: &Condition, load: &LoadSample, errors: f64) -> Outcome {
    let times = &load.response_ns;
    let name = condition.figure.name();
    let ns = match condition.figure {
        Figure::ErrorRatio if condition.is_met(errors) => return Outcome::Holds,
        Figure::ErrorRatio => return Outcome::Fails(format!("{name} was {errors:.4}")),
        Figure::P50 => times.p50,
        Figure::P90 => times.p90,
        Figure::P99 => times.p99,
        Figure::P999 => times.p999,
        Figure::Max => times.max,
    };
    match ns {
        None => Outcome::Unknown(format!(
            "{} responses are too few for a {name}; raise `duration`",
            times.count
        )),
        Some(ns) if condition.is_met(ns as f64) => Outcome::Holds,
        Some(ns) => Outcome::Fails(format!("{name} was {}", show_ns(ns as f64))),
    }
}

/// Share of the requests that ended in the window without a good answer.
#[expect(clippy::cast_precision_loss, reason = "counts of a stage are below 2^53")]
fn errors(load: &LoadSample) -> f64 {
    let (bad, all) = load.bad_of_all();
    if all == 0 { 0.0 } else { bad as f64 / all as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::Offered;

    fn judged(objective: &str, change: impl FnOnce(&mut LoadSample)) -> Outcome {
        let mut load = LoadSample { requests: 1_000, ..LoadSample::default() };
        load.outcomes.ok = 1_000;
        load.offered = Some(Offered { scheduled: 1_000, ..Offered::default() });
        load.response_ns.count = 1_000;
        load.response_ns.p99 = Some(7_000_000);
        change(&mut load);
        outcome(&objective.parse().unwrap(), &ValidRules::default(), &load)
    }

    fn fails(why: &str) -> Outcome {
        Outcome::Fails(why.into())
    }

    #[test]
    fn a_rate_holds_when_every_condition_is_met() {
        assert_eq!(judged("p99 < 8ms", |_| {}), Outcome::Holds);
        assert_eq!(judged("p99 < 7ms", |_| {}), fails("p99 was 7.00 ms"));
        let few = "1000 responses are too few for a max; raise `duration`";
        assert_eq!(judged("p99 < 8ms and max < 8ms", |_| {}), Outcome::Unknown(few.into()));
        assert_eq!(judged("max < 8ms and p99 < 7ms", |_| {}), fails("p99 was 7.00 ms"));
    }

    #[test]
    fn errors_are_bounded_by_the_objective_or_else_by_the_plan() {
        let bad = |n| {
            move |load: &mut LoadSample| {
                load.outcomes.ok -= n;
                load.outcomes.other_status.insert(503, n);
            }
        };
        assert_eq!(judged("p99 < 8ms", bad(10)), Outcome::Holds);
        assert_eq!(
            judged("p99 < 8ms and error_ratio < 1%", bad(10)),
            fails("error_ratio was 0.0100")
        );
        let many = |load: &mut LoadSample| {
            bad(20)(load);
            load.offered.as_mut().unwrap().scheduled = 980;
        };
        assert_eq!(judged("p99 < 8ms", many), fails("error_ratio was 0.0200"));
        assert_eq!(judged("p99 < 8ms and error_ratio < 5%", many), Outcome::Holds);
    }

    #[test]
    fn a_rate_that_is_not_achieved_fails_and_a_generator_that_fails_says_nothing() {
        let short = |load: &mut LoadSample| load.outcomes.ok = 988;
        assert_eq!(judged("p99 < 8ms", short), fails("988 of 1000 requests were answered well"));
        let late = |load: &mut LoadSample| {
            load.offered.as_mut().unwrap().lateness_ns.p99 = Some(20_000_000);
        };
        assert!(matches!(judged("p99 < 8ms", late), Outcome::Unknown(_)));
    }
}
