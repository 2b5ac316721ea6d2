//! When a ladder ends early: rules that were set before the run, applied to a finished stage.

use crate::load::LoadSample;
use crate::plan::{Limit, SpanLimit, StopRules};
use crate::units::show_ns;

/// The rule that a stage trips, as a sentence; `None` when it trips none.
///
/// Failures count over the whole stage, warm-up included: that is when connections are opened.
#[must_use]
pub(super) fn tripped(rules: &StopRules, load: &LoadSample) -> Option<String> {
    let passes = |limit: Limit, n: u64| matches!(limit, Limit::MoreThan(most) if n > most);
    let (failed, non_2xx) = (load.account.failed, load.outcomes.non_2xx());
    if passes(rules.errors, failed) {
        return Some(format!("{failed} requests failed ({})", kinds(load)));
    }
    if passes(rules.non_2xx, non_2xx) {
        let statuses: Vec<String> = load
            .outcomes
            .other_status
            .iter()
            .map(|(status, n)| format!("{n} x {status}"))
            .collect();
        return Some(format!("{non_2xx} responses were not 2xx ({})", statuses.join(", ")));
    }
    // How long a stream lasts is up to the server, and no sign of trouble.
    let p99 = load.response_ns.p99.filter(|_| !load.is_held());
    match (rules.p99, p99) {
        #[expect(clippy::cast_precision_loss, reason = "for people")]
        (SpanLimit::AtLeast(limit), Some(p99)) if p99 >= limit.as_ns() => {
            Some(format!("p99 {} reached {limit}", show_ns(p99 as f64)))
        }
        _ => None,
    }
}

fn kinds(load: &LoadSample) -> String {
    let seen: Vec<String> =
        load.outcomes.failures().iter().map(|(class, n)| format!("{n} {class}")).collect();
    if seen.is_empty() { "outside the window".into() } else { seen.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Span;

    fn a_load() -> LoadSample {
        let mut load = LoadSample::default();
        load.response_ns.p99 = Some(5_000_000);
        load
    }

    fn check(change: impl Fn(&mut LoadSample), rules: &StopRules, expected: Option<&str>) {
        let mut load = a_load();
        change(&mut load);
        assert_eq!(tripped(rules, &load).as_deref(), expected);
    }

    #[test]
    fn each_rule_trips_at_its_limit_and_not_before() {
        let rules = StopRules::default();
        check(|_| {}, &rules, None);
        let one_failed = |l: &mut LoadSample| {
            l.account.failed = 1;
            l.outcomes.timeout = 1;
        };
        check(one_failed, &rules, Some("1 requests failed (1 timeout)"));
        let not_found = |l: &mut LoadSample| _ = l.outcomes.other_status.insert(404, 3);
        check(not_found, &rules, Some("3 responses were not 2xx (3 x 404)"));
        let at = |ns| move |l: &mut LoadSample| l.response_ns.p99 = Some(ns);
        check(at(999_999_999), &rules, None);
        check(at(1_000_000_000), &rules, Some("p99 1.00 s reached 1s"));
    }

    #[test]
    fn a_long_stream_is_no_slow_response() {
        let stream = |l: &mut LoadSample| {
            l.response_ns.p99 = Some(9_000_000_000);
            l.events = Some(crate::load::Events::default());
        };
        check(stream, &StopRules::default(), None);
    }

    #[test]
    fn a_rule_can_be_moved_or_turned_off() {
        let rules = StopRules {
            errors: Limit::Switch(false),
            non_2xx: Limit::MoreThan(3),
            p99: SpanLimit::AtLeast(Span::from_secs(9)),
        };
        let bad = |l: &mut LoadSample| {
            l.account.failed = 1000;
            l.outcomes.other_status.insert(500, 3);
            l.response_ns.p99 = Some(8_000_000_000);
        };
        check(bad, &rules, None);
    }
}
