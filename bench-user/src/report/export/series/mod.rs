//! Figures as other tools count them: families of series with labels, in base units.
//!
//! `kernel` and `load` fill them from a stage or an observed window, `live` keeps them in order over
//! an observation, and `prometheus` and `otlp` write them. What was not measured is no series: it
//! is in the family [`UNAVAILABLE`] with its reason.

mod kernel;
pub(in crate::report) mod live;
mod load;
mod names;
mod stored;

pub(in crate::report) use stored::{by_target, of_run};

use crate::distribution::Distribution;
use crate::measured::Measured;

/// Labels in the order in which they are written.
pub(in crate::report) type Labels = Vec<(&'static str, String)>;

/// A name with its meaning, and the series that have it.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::report) struct Family {
    pub(in crate::report) is: Metric,
    pub(in crate::report) points: Vec<Point>,
}

/// What a family is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::report) struct Metric {
    /// Words between dots, without unit and kind.
    pub(in crate::report) name: &'static str,
    pub(in crate::report) unit: Unit,
    pub(in crate::report) kind: Kind,
    pub(in crate::report) help: &'static str,
}

/// The unit of its values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::report) enum Unit {
    None,
    Seconds,
    Bytes,
}

/// How its values go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::report) enum Kind {
    /// Never falls while something is observed.
    Counter,
    /// Goes up and down.
    Gauge,
    /// How many samples are below which bounds.
    Histogram,
    /// Its labels say it; the value is 1.
    Info,
}

/// One series.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::report) struct Point {
    pub(in crate::report) labels: Labels,
    pub(in crate::report) value: Number,
}

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::report) enum Number {
    Whole(u64),
    Real(f64),
    Buckets(Buckets),
}

/// A histogram of seconds.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::report) struct Buckets {
    /// Upper bounds, s, and how many samples lie at or below each and above the one before.
    pub(in crate::report) counts: Vec<(f64, u64)>,
    pub(in crate::report) count: u64,
    /// Of all samples, s.
    pub(in crate::report) sum: f64,
}

/// What was not measured, and why.
pub(in crate::report) const UNAVAILABLE: Metric = Metric {
    name: "bench.unavailable",
    unit: Unit::None,
    kind: Kind::Info,
    help: "What was not measured, and why",
};

/// Bounds of histograms are powers of two of ns, from 1.024 us to 8.6 s, because those are edges of
/// the kernel side's buckets and of the client's, so that no sample is on the wrong side of one.
const BOUNDS: std::ops::RangeInclusive<u32> = 10..=33;

/// Families in the order in which they were begun, and the labels that every series has.
#[derive(Debug, Default)]
pub(in crate::report) struct Series {
    families: Vec<Family>,
    base: Labels,
}

impl Series {
    /// Every series from here on has these labels.
    fn of(&mut self, base: Labels) {
        self.base = base;
    }

    fn add(&mut self, is: Metric, labels: &[(&'static str, &str)], value: Number) {
        let own = labels.iter().map(|(key, value)| (*key, (*value).to_owned()));
        let point = Point { labels: self.base.iter().cloned().chain(own).collect(), value };
        match self.families.iter_mut().find(|family| family.is.name == is.name) {
            Some(family) => family.points.push(point),
            None => self.families.push(Family { is, points: vec![point] }),
        }
    }

    /// A value, or why there is none.
    fn measured<T: Copy>(
        &mut self,
        is: Metric,
        labels: &[(&'static str, &str)],
        value: &Measured<T>,
        number: fn(T) -> Number,
    ) {
        match value.as_result() {
            Ok(value) => self.add(is, labels, number(*value)),
            Err(why) => self.missing(is, labels, why),
        }
    }

    fn missing(&mut self, is: Metric, labels: &[(&'static str, &str)], why: &str) {
        let name = super::prometheus::name(&is);
        let mut all = vec![("metric", name.as_str())];
        all.extend(labels);
        all.push(("reason", why));
        self.add(UNAVAILABLE, &all, Number::Whole(1));
    }

    /// A distribution of ns as a histogram of seconds.
    fn histogram(&mut self, is: Metric, labels: &[(&'static str, &str)], of: &Distribution) {
        match buckets(of) {
            Some(buckets) => self.add(is, labels, Number::Buckets(buckets)),
            None => self.missing(is, labels, "the record holds no histogram of it"),
        }
    }

    fn done(self) -> Vec<Family> {
        self.families
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts and bounds are far below 2^53")]
fn buckets(of: &Distribution) -> Option<Buckets> {
    let histogram = of.histogram();
    if histogram.is_none() && of.count > 0 {
        return None;
    }
    let mut below = 0;
    let counts = BOUNDS.map(|power| {
        let bound = 1_u64 << power;
        let now = histogram.as_ref().map_or(0, |h| h.count_between(0, bound - 1));
        let added = now - std::mem::replace(&mut below, now);
        (bound as f64 / 1e9, added)
    });
    let counts = counts.collect();
    let sum = of.mean.unwrap_or(0.0) * of.count as f64 / 1e9;
    Some(Buckets { counts, count: of.count, sum })
}

/// Nanoseconds as seconds.
#[expect(clippy::cast_precision_loss, reason = "104 days of ns are below 2^53")]
fn seconds(ns: u64) -> Number {
    Number::Real(ns as f64 / 1e9)
}

#[cfg(test)]
mod tests {
    use hdrhistogram::Histogram;

    use super::*;

    #[test]
    fn samples_lie_between_the_bounds_that_hold_them() {
        let mut h = Histogram::<u64>::new(3).unwrap();
        for ns in [5, 1_023, 1_025, 2_000_000, 60_000_000_000] {
            h.record(ns).unwrap();
        }
        let buckets = buckets(&Distribution::from_histogram(&h, None)).unwrap();
        let at = |bound: f64| {
            let found = buckets.counts.iter().find(|(b, _)| (b - bound).abs() < 1e-12);
            found.map(|(_, count)| *count)
        };
        assert_eq!((at(1.024e-6), at(2.048e-6), at(2.097_152e-3)), (Some(2), Some(1), Some(1)));
        let below: u64 = buckets.counts.iter().map(|(_, count)| count).sum();
        assert_eq!((below, buckets.count), (4, 5), "a minute is above every bound");
        assert!((buckets.sum - 60.002).abs() < 0.06, "{}", buckets.sum);
    }
}
