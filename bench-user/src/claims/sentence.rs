//! The words of an answer: the figure, its interval and what they say of the bound.

use crate::record::{Bottleneck, Estimate};
use crate::units::{show_count, show_ns, show_per_request};

/// A figure with where its interval comes from: `4.00 (3.90 to 4.10 over 5 repetitions)`.
pub(super) fn figure(estimate: &Estimate, show: impl Fn(f64) -> String) -> String {
    let value = show(estimate.value);
    let count = estimate.repetitions;
    let repetitions = if count == 1 { "1 repetition" } else { &format!("{count} repetitions") };
    match (estimate.low, estimate.high) {
        (Some(low), Some(high)) => {
            let (low, high) = (show(low), show(high));
            if estimate.within_stage {
                format!(
                    "{value} ({low} to {high} by the samples inside the stage, {repetitions}; \
                     the noise between runs is not in it)"
                )
            } else {
                format!("{value} ({low} to {high} over {repetitions})")
            }
        }
        _ => format!("{value} ({repetitions})"),
    }
}

/// A metric in its own unit, by its name.
pub(super) fn metric(name: &str, value: f64) -> String {
    let is_ns = name.contains("_ns.") || name.contains("_ns_") || name.ends_with("_ns");
    let is_ratio = name.ends_with("_ratio");
    if is_ns {
        show_ns(value)
    } else if is_ratio {
        format!("{value:.3}")
    } else if name.ends_with("per_request") {
        show_per_request(value)
    } else {
        show_count(value)
    }
}

/// A change in per cent with its sign.
pub(super) fn change(ratio: f64) -> String {
    format!("{:+.1} %", ratio * 100.0)
}

/// A bottleneck as it is written in claims and records.
pub(super) fn bottleneck(bottleneck: Bottleneck) -> String {
    match serde_json::to_value(bottleneck) {
        Ok(serde_json::Value::String(name)) => name,
        _ => format!("{bottleneck:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_carry_their_unit_and_ratios_stay_ratios() {
        assert_eq!(metric("load.response_ns.p99", 12e6), "12.00 ms");
        assert_eq!(metric("cpu_ns_per_request", 1500.0), "1.5 µs");
        assert_eq!(metric("threads.busiest.oncpu_ratio", 0.97), "0.970");
        assert_eq!(metric("syscalls.per_request", 4.0), "4.00");
        assert_eq!(change(-0.4), "-40.0 %");
        assert_eq!(bottleneck(Bottleneck::CpuQuota), "cpu-quota");
    }

    #[test]
    fn an_interval_from_inside_a_stage_says_so() {
        let inside = Estimate {
            value: 4.0,
            low: Some(3.9),
            high: Some(4.1),
            repetitions: 1,
            within_stage: true,
        };
        let text = figure(&inside, show_count);
        assert!(text.contains("inside the stage") && text.contains("noise between runs"), "{text}");
        let over = Estimate { repetitions: 5, within_stage: false, ..inside };
        assert_eq!(figure(&over, show_count), "4 (3.90 to 4.10 over 5 repetitions)");
    }
}
