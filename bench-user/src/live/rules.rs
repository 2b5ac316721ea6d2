//! How far a stage is from the rule that would end its ladder.

use crate::load::SoFar;
use crate::plan::{Condition, Figure, Limit, SpanLimit, StopRules};
use crate::units::show_ns;

/// From here on, as a share of the limit, a rule is near.
const NEAR: f64 = 0.8;

/// How far it is to a limit.
#[derive(Debug, Clone, PartialEq)]
pub struct Distance {
    /// The figure and its limit: `p99 212.00 ms of 1s`.
    pub text: String,
    /// The figure as a share of the limit; from 1 on the rule is tripped.
    pub share: f64,
}

impl Distance {
    /// The rule is not tripped, and it is not far to it.
    #[must_use]
    pub fn is_near(&self) -> bool {
        (NEAR..1.0).contains(&self.share)
    }

    /// The rule is tripped.
    #[must_use]
    pub fn is_reached(&self) -> bool {
        self.share >= 1.0
    }
}

/// The rule that is nearest to being tripped by what is known so far; of equals the one on the
/// response time. `None` where every rule is off, or none can be judged yet.
///
/// Failures are of the whole stage and the 99th percentile of the window so far, as the rules see
/// them at its end; responses that are not 2xx too.
#[must_use]
pub(super) fn nearest(rules: &StopRules, so_far: &SoFar, is_held: bool) -> Option<Distance> {
    let p99 = so_far.response_ns_p99.filter(|_| !is_held);
    let time = match (rules.p99, p99) {
        #[expect(clippy::cast_precision_loss, reason = "times of a stage are below 2^53 ns")]
        (SpanLimit::AtLeast(limit), Some(p99)) => Some(Distance {
            text: format!("p99 {} of {limit}", show_ns(p99 as f64)),
            share: p99 as f64 / limit.as_ns().max(1) as f64,
        }),
        _ => None,
    };
    let errors = count(rules.errors, so_far.failed, "failed");
    let non_2xx = count(rules.non_2xx, so_far.non_2xx, "not 2xx");
    let known = [non_2xx, errors, time];
    known.into_iter().flatten().max_by(|a, b| a.share.total_cmp(&b.share))
}

/// The condition of a search's objective that is nearest to its bound, of those that can be judged
/// inside a stage.
#[must_use]
pub(super) fn nearest_condition(conditions: &[Condition], so_far: &SoFar) -> Option<Distance> {
    let of = |condition: &Condition| {
        let ns = match condition.figure {
            Figure::P50 => so_far.response_ns_p50,
            Figure::P99 => so_far.response_ns_p99,
            Figure::P90 | Figure::P999 | Figure::Max | Figure::ErrorRatio => None,
        }?;
        #[expect(clippy::cast_precision_loss, reason = "times of a stage are below 2^53 ns")]
        let ns = ns as f64;
        let (name, bound) = (condition.figure.name(), show_ns(condition.bound));
        let text = format!("{name} {} of {bound}", show_ns(ns));
        Some(Distance { text, share: ns / condition.bound.max(1.0) })
    };
    conditions.iter().filter_map(of).max_by(|a, b| a.share.total_cmp(&b.share))
}

/// The share of the first count that trips it: a limit of 0 is tripped by the first.
fn count(limit: Limit, seen: u64, what: &str) -> Option<Distance> {
    let Limit::MoreThan(most) = limit else { return None };
    #[expect(clippy::cast_precision_loss, reason = "counts of a stage are below 2^53")]
    let share = seen as f64 / (most as f64 + 1.0);
    Some(Distance { text: format!("{seen} {what} of {most} allowed"), share })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Span;

    fn so_far(failed: u64, non_2xx: u64, p99_ms: u64) -> SoFar {
        let response_ns_p99 = Some(p99_ms * 1_000_000);
        SoFar { failed, non_2xx, response_ns_p99, ..SoFar::default() }
    }

    fn check(rules: &StopRules, so_far: &SoFar, expected: Option<(&str, f64)>) {
        let found = nearest(rules, so_far, false);
        assert_eq!(found.as_ref().map(|d| (&*d.text, d.share)), expected);
    }

    #[test]
    fn the_nearest_rule_is_told_with_its_limit() {
        let rules = StopRules::default();
        check(&rules, &so_far(0, 0, 212), Some(("p99 212.00 ms of 1s", 0.212)));
        check(&rules, &so_far(2, 0, 212), Some(("2 failed of 0 allowed", 2.0)));
        check(&rules, &so_far(0, 1, 0), Some(("1 not 2xx of 0 allowed", 1.0)));
        let generous = StopRules {
            errors: Limit::MoreThan(9),
            non_2xx: Limit::Switch(false),
            p99: SpanLimit::AtLeast(Span::from_secs(2)),
        };
        check(&generous, &so_far(8, 99, 212), Some(("8 failed of 9 allowed", 0.8)));
        let p99 = SpanLimit::Switch(false);
        let off = StopRules { errors: Limit::Switch(false), p99, ..generous };
        check(&off, &so_far(8, 99, 5_000), None);
    }

    #[test]
    fn near_is_not_reached_and_reached_is_not_near() {
        let at = |share| Distance { text: String::new(), share };
        let told = |share| (at(share).is_near(), at(share).is_reached());
        assert_eq!(
            [0.79, 0.8, 0.99, 1.0].map(told),
            [(false, false), (true, false), (true, false), (false, true)]
        );
    }

    #[test]
    fn how_long_a_stream_lasts_is_no_matter_of_a_rule() {
        let found = nearest(&StopRules::default(), &so_far(0, 0, 9_000), true);
        assert_eq!(found.map(|d| d.share), Some(0.0));
    }

    #[test]
    fn a_search_is_held_against_its_objective() {
        let objective: crate::plan::Objective = "p99 < 8ms and max < 9ms".parse().unwrap();
        let found = nearest_condition(&objective.conditions, &so_far(0, 0, 6)).unwrap();
        assert_eq!((&*found.text, found.share), ("p99 6.00 ms of 8.00 ms", 0.75));
    }
}
