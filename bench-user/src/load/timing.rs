//! A set of durations: a histogram that no value is too large for, and the exact edges.

use hdrhistogram::Histogram;

use crate::distribution::Distribution;

/// Durations in ns: three significant digits in the histogram, smallest and largest exact.
#[derive(Debug)]
pub(super) struct Timing {
    histogram: Histogram<u64>,
    /// Smallest and largest, once there is one.
    edges: Option<(u64, u64)>,
}

impl Timing {
    pub(super) fn new() -> Self {
        let histogram = Histogram::new(3).expect("three digits are within the 0..=5 allowed");
        Self { histogram, edges: None }
    }

    /// Adds one duration. Nothing is clamped: the histogram grows to any `u64`.
    pub(super) fn record(&mut self, ns: u64) {
        self.histogram.record(ns).expect("a histogram that resizes itself takes every u64");
        self.widen(ns, ns);
    }

    /// Adds all of another set; percentiles of the sum are those of one set of all values.
    pub(super) fn merge(&mut self, other: &Self) {
        self.histogram
            .add(&other.histogram)
            .expect("a histogram that resizes itself takes every other one");
        if let Some((min, max)) = other.edges {
            self.widen(min, max);
        }
    }

    pub(super) fn distribution(&self) -> Distribution {
        Distribution::from_histogram(&self.histogram, self.edges)
    }

    fn widen(&mut self, min: u64, max: u64) {
        let (low, high) = self.edges.unwrap_or((min, max));
        self.edges = Some((low.min(min), high.max(max)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_merged_sets_equal_one_set_of_all_values() {
        let (mut one, mut left, mut right) = (Timing::new(), Timing::new(), Timing::new());
        for i in 1..=1000u64 {
            let ns = i * i * 977;
            one.record(ns);
            if i % 3 == 0 { &mut left } else { &mut right }.record(ns);
        }
        left.merge(&right);
        assert_eq!(left.distribution(), one.distribution());
    }

    #[test]
    fn an_hour_and_a_century_keep_their_exact_edges() {
        let mut timing = Timing::new();
        let (hour, century) = (3_600_000_000_001, 3_155_760_000_000_000_007);
        timing.record(hour);
        timing.record(century);
        let d = timing.distribution();
        assert_eq!((d.count, d.min, d.max), (2, Some(hour), Some(century)));
    }

    #[test]
    fn merging_an_empty_set_changes_nothing() {
        let (mut timing, empty) = (Timing::new(), Timing::new());
        timing.merge(&empty);
        assert_eq!(timing.distribution(), Distribution::default());
        timing.record(7);
        timing.merge(&empty);
        assert_eq!(timing.distribution().min, Some(7));
    }
}
