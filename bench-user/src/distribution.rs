//! A distribution of nanoseconds as the record keeps it: exact edges, percentiles that the
//! sample count supports, and the whole histogram.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer as _, V2Serializer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Summary of a set of durations in nanoseconds, with the histogram it comes from.
///
/// A percentile is `null` where fewer samples were taken than it needs: p90 10, p99 100,
/// p999 1,000; every statistic is `null` without a sample.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Distribution {
    /// How many samples.
    pub count: u64,
    /// Smallest sample, exact, ns.
    pub min: Option<u64>,
    /// Arithmetic mean, ns.
    pub mean: Option<f64>,
    /// Median, ns.
    pub p50: Option<u64>,
    /// 90th percentile, ns.
    pub p90: Option<u64>,
    /// 99th percentile, ns.
    pub p99: Option<u64>,
    /// 99.9th percentile, ns.
    pub p999: Option<u64>,
    /// Largest sample, exact, ns.
    pub max: Option<u64>,
    /// Standard deviation, ns.
    pub stdev: Option<f64>,
    /// The histogram: HdrHistogram V2 encoding in base64; empty without a sample.
    pub hdr: String,
}

impl Distribution {
    /// Summarises a histogram of nanoseconds; `exact` gives the exact smallest and largest
    /// sample where the caller kept them (a histogram only knows its buckets).
    #[must_use]
    pub fn from_histogram(h: &Histogram<u64>, exact: Option<(u64, u64)>) -> Self {
        if h.is_empty() {
            return Self::default();
        }
        let (min, max) = exact.unwrap_or((h.min(), h.max()));
        // A bucket's upper edge may lie above the largest sample that it holds.
        let at =
            |q: f64, needs: u64| (h.len() >= needs).then(|| h.value_at_quantile(q).clamp(min, max));
        Self {
            count: h.len(),
            min: Some(min),
            mean: Some(h.mean()),
            p50: at(0.5, 1),
            p90: at(0.9, 10),
            p99: at(0.99, 100),
            p999: at(0.999, 1000),
            max: Some(max),
            stdev: Some(h.stdev()),
            hdr: encode(h),
        }
    }

    /// The histogram again; `None` without a sample or when the text is not one.
    #[must_use]
    pub fn histogram(&self) -> Option<Histogram<u64>> {
        let bytes = STANDARD.decode(&self.hdr).ok()?;
        Deserializer::new().deserialize(&mut bytes.as_slice()).ok()
    }
}

fn encode(h: &Histogram<u64>) -> String {
    let mut bytes = Vec::new();
    V2Serializer::new()
        .serialize(h, &mut bytes)
        .expect("a histogram of u64 counts always serialises into memory");
    STANDARD.encode(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_of_a_known_set_and_back_from_text() {
        let mut h = Histogram::new(3).unwrap();
        for v in 1..=1000u64 {
            h.record(v).unwrap();
        }
        let d = Distribution::from_histogram(&h, Some((1, 1000)));
        assert_eq!(
            (d.count, d.min, d.p50, d.p90, d.p99, d.p999, d.max),
            (1000, Some(1), Some(500), Some(900), Some(990), Some(999), Some(1000))
        );
        assert_eq!(d.histogram().unwrap(), h);
    }

    #[test]
    fn too_few_samples_give_no_percentile() {
        let mut h = Histogram::new(3).unwrap();
        for v in 1..=99u64 {
            h.record(v).unwrap();
        }
        let d = Distribution::from_histogram(&h, None);
        assert_eq!((d.p90.is_some(), d.p99, d.p999), (true, None, None));
        assert_eq!(Distribution::from_histogram(&Histogram::new(3).unwrap(), None).p50, None);
    }
}
