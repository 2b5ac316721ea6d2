//! Every form of an `expect`, and what is said of what is none.

use super::*;

fn bound(text: &str, kind: Kind) -> Bound {
    match parse(text, kind) {
        Ok(Expectation::Number(bound)) => bound,
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn bounds_of_metrics_and_changes() {
    assert_eq!(bound("< 5", Kind::Metric), Bound::Below(5.0));
    assert_eq!(bound(">=0.95", Kind::Metric), Bound::AtLeast(0.95));
    assert_eq!(bound("5 +- 10%", Kind::Metric), Bound::Within(4.5, 5.5));
    assert_eq!(bound("5 ± 1", Kind::Metric), Bound::Within(4.0, 6.0));
    assert_eq!(bound("<= -40%", Kind::Change), Bound::AtMost(-0.4));
    assert_eq!(bound("> +1e1 %", Kind::Change), Bound::Above(0.1));
    let Bound::Within(low, high) = bound("-40% +- 5%", Kind::Change) else { panic!() };
    assert!((low + 0.45).abs() < 1e-12 && (high + 0.35).abs() < 1e-12, "{low} {high}");
}

#[test]
fn a_bound_of_a_time_may_have_a_unit() {
    for (text, ns) in
        [("8ms", 8e6), ("8 ms", 8e6), ("250us", 250e3), ("2µs", 2e3), ("7ns", 7.0), ("1s", 1e9)]
    {
        assert_eq!(bound(&format!("<= {text}"), Kind::Time), Bound::AtMost(ns), "{text}");
    }
    assert_eq!(bound("< 8000000", Kind::Time), Bound::Below(8e6));
    assert_eq!(bound("1.5ms +- 200us", Kind::Time), Bound::Within(1.3e6, 1.7e6));
    assert_eq!(bound("2ms +- 10%", Kind::Time), Bound::Within(1.8e6, 2.2e6));
    for (name, kind) in [
        ("load.response_ns.p99", Kind::Time),
        ("cpu_ns_per_request", Kind::Time),
        ("syscalls.per_request", Kind::Metric),
    ] {
        assert_eq!(Kind::of_metric(name), kind, "{name}");
    }
}

#[test]
fn bottlenecks_are_equal_or_not() {
    for (i, name) in BOTTLENECKS.iter().enumerate() {
        let got = parse(&format!("== {name}"), Kind::Bottleneck);
        let Ok(Expectation::Bottleneck { same: true, which }) = got else {
            panic!("{name}: {got:?}")
        };
        assert_eq!(which == Bottleneck::SingleThread, i == 0, "{name}");
    }
    assert_eq!(
        parse("!=client", Kind::Bottleneck),
        Ok(Expectation::Bottleneck { same: false, which: Bottleneck::Client })
    );
}

#[test]
fn what_is_wrong_is_said_with_the_remedy() {
    for (text, kind, said) in [
        ("<= -40%", Kind::Metric, "needs `against`"),
        ("<= -0.4", Kind::Change, "in per cent"),
        ("== 5", Kind::Metric, "range such as"),
        ("== 0", Kind::Metric, "\"<= 0\""),
        ("!= 0", Kind::Time, "\"> 0\""),
        ("<= 8ms", Kind::Metric, "no time"),
        ("<= 8ms", Kind::Change, "in per cent"),
        ("<= 8min", Kind::Time, "not understood"),
        ("<= -40%", Kind::Time, "needs `against`"),
        ("about 5", Kind::Metric, "not understood"),
        ("< inf", Kind::Metric, "not understood"),
        ("<= x%", Kind::Change, "not understood"),
        ("5 +- -1", Kind::Metric, "not understood"),
        ("", Kind::Metric, "not understood"),
        ("single-thread", Kind::Bottleneck, "== single-thread"),
        ("== single", Kind::Bottleneck, "there are: single-thread, cpu,"),
    ] {
        let error = parse(text, kind).unwrap_err();
        assert!(error.contains(said), "{text}: {error}");
    }
}

#[test]
fn a_bound_is_met_by_all_of_an_interval_by_none_or_by_a_part() {
    let cases = [
        (Bound::AtMost(5.0), 4.0, 5.0, Some(true)),
        (Bound::Below(5.0), 4.0, 5.0, None),
        (Bound::Below(5.0), 5.0, 6.0, Some(false)),
        (Bound::AtLeast(5.0), 5.0, 6.0, Some(true)),
        (Bound::Above(5.0), 4.0, 6.0, None),
        (Bound::Within(4.0, 6.0), 4.0, 6.0, Some(true)),
        (Bound::Within(4.0, 6.0), 5.0, 7.0, None),
        (Bound::Within(4.0, 6.0), 3.0, 7.0, None),
        (Bound::Within(4.0, 6.0), 7.0, 8.0, Some(false)),
    ];
    for (bound, low, high, expected) in cases {
        assert_eq!(bound.judge(low, high), expected, "{bound:?} {low} {high}");
    }
}
