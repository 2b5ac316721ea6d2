//! Figures as people read them, by the name of their metric.

use serde::Serialize;

use crate::record::Estimate;
use crate::units::{Bytes, show_count, show_ns, show_per_request};

/// Stands where there is no figure; the reason stands below.
pub(super) const NONE: &str = "n/a";

/// A value of a metric: the unit is in the metric's name.
pub(super) fn show(metric: &str, value: f64) -> String {
    let last = metric.rsplit('.').next().unwrap_or(metric);
    if metric.contains("_ns") {
        show_ns(value)
    } else if last.ends_with("bytes_per_sec") {
        format!("{}/s", bytes(value))
    } else if last.contains("bytes") {
        bytes(value)
    } else if metric == "cgroup.cpu_ratio" {
        format!("{value:.2}")
    } else if last.ends_with("_ratio") {
        percent(value)
    } else if last.ends_with("per_request") {
        show_per_request(value)
    } else {
        show_count(value)
    }
}

/// The median and, where its interval is over repetitions, half the width of that. One from inside
/// a stage knows nothing of the noise between runs, which a ± would seem to.
pub(super) fn show_estimate(metric: &str, estimate: &Estimate) -> String {
    let value = show(metric, estimate.value);
    match (!estimate.within_stage, estimate.low, estimate.high) {
        (true, Some(low), Some(high)) if estimate.value != 0.0 => {
            format!("{value} ±{}", spread((high - low) / 2.0 / estimate.value.abs()))
        }
        _ => value,
    }
}

/// In whole percent, so that a table of it stays narrow.
fn spread(ratio: f64) -> String {
    match ratio * 100.0 {
        p if p < 0.05 => "0%".into(),
        p if p < 0.5 => "<1%".into(),
        p => format!("{p:.0}%"),
    }
}

/// A ratio of 0..=1 as percent: one decimal below 10 %, where it matters.
pub(super) fn percent(ratio: f64) -> String {
    let p = ratio * 100.0;
    if p.abs() < 0.05 {
        "0%".into()
    } else if p.abs() < 9.95 {
        format!("{p:.1}%")
    } else {
        format!("{p:.0}%")
    }
}

/// A small ratio as percent, to two decimals below 1 %: what the instruments themselves cost.
pub(super) fn fine_percent(ratio: f64) -> String {
    let p = ratio * 100.0;
    if p.abs() < 0.995 { format!("{p:.2}%") } else { percent(ratio) }
}

/// A relative change with its sign: `-42%`, `+3.1%`, `0%`.
pub(super) fn change(ratio: f64) -> String {
    let text = percent(ratio);
    if ratio > 0.0 && text != "0%" { format!("+{text}") } else { text }
}

/// The interval of a relative change: `[-44%, -40%]`.
pub(super) fn change_interval(e: &Estimate) -> Option<String> {
    Some(format!("[{}, {}]", change(e.low?), change(e.high?)))
}

/// A size for people: three digits are enough. Growth can be less than 0.
pub(super) fn bytes(n: f64) -> String {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "sizes are far below 2^63; a fraction of a byte is dropped"
    )]
    let whole = n.abs() as u64;
    let sign = if n < 0.0 && whole > 0 { "-" } else { "" };
    format!("{sign}{}", Bytes(whole))
}

/// A whole count for people.
#[expect(clippy::cast_precision_loss, reason = "for people, three digits")]
pub(super) fn count(n: u64) -> String {
    show_count(n as f64)
}

/// A length of time for people.
#[expect(clippy::cast_precision_loss, reason = "for people, three digits")]
pub(super) fn ns(n: u64) -> String {
    show_ns(n as f64)
}

/// `1 thread`, `3 threads`.
pub(super) fn plural(n: u64, one: &str, many: &str) -> String {
    if n == 1 { format!("1 {one}") } else { format!("{} {many}", count(n)) }
}

/// A word of a closed set as the record spells it.
pub(crate) fn word<T: Serialize + std::fmt::Debug>(of: T) -> String {
    match serde_json::to_value(&of) {
        Ok(serde_json::Value::String(word)) => word,
        _ => format!("{of:?}"),
    }
}

/// `10, 20, 30`.
pub(super) fn joined(numbers: impl IntoIterator<Item = impl ToString>) -> String {
    numbers.into_iter().map(|n| n.to_string()).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_metric_gives_the_unit() {
        assert_eq!(show("load.response_ns.p99", 1_234_000.0), "1.23 ms");
        assert_eq!(show("load.generator.lag_ns_p99", 900.0), "900 ns");
        assert_eq!(show("cgroup.memory_peak_bytes", 1_572_864.0), "1.5MiB");
        assert_eq!(show("memory_growth_bytes_per_sec", -1_572_864.0), "-1.5MiB/s");
        assert_eq!(show("memory_bytes_per_connection", -0.4), "0B");
        assert_eq!(show("cgroup.cpu_ratio", 0.987), "0.99");
        assert_eq!(show("threads.busiest.oncpu_ratio", 0.987), "99%");
        assert_eq!(show("syscalls.per_request", 3.06), "3.06");
    }

    #[test]
    fn percent_keeps_a_decimal_only_where_it_matters() {
        let cases =
            [(0.0, "0%"), (0.0004, "0%"), (0.021, "2.1%"), (0.0996, "10%"), (-0.42, "-42%")];
        for (ratio, text) in cases {
            assert_eq!(percent(ratio), text);
        }
        assert_eq!((change(0.031).as_str(), change(0.0001).as_str()), ("+3.1%", "0%"));
    }

    #[test]
    fn a_spread_needs_repetitions_and_an_interval() {
        let e = Estimate {
            value: 100.0,
            low: Some(97.0),
            high: Some(103.0),
            repetitions: 3,
            within_stage: false,
        };
        assert_eq!(show_estimate("x", &e), "100 ±3%");
        let narrow = Estimate { low: Some(99.8), high: Some(100.2), ..e };
        assert_eq!(show_estimate("x", &narrow), "100 ±<1%");
        let inside = |repetitions| Estimate { repetitions, within_stage: true, ..e };
        assert_eq!([1, 2].map(|n| show_estimate("x", &inside(n))), ["100", "100"]);
        assert_eq!(show_estimate("x", &Estimate { low: None, ..e }), "100");
    }
}
