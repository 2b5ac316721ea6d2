//! A distribution of nanoseconds as the record keeps it: edges, percentiles that the sample count
//! supports, and the whole histogram.
//!
//! A percentile is the sample at its nearest rank. The rule for when there is one is here alone:
//! what prints a percentile, or says why it does not, asks [`Percentile`].

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::serialization::{Deserializer, Serializer as _, V2Serializer};
use hdrhistogram::{Counter, Histogram};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Summary of a set of durations in nanoseconds, with the histogram it comes from.
///
/// A percentile is `null` where fewer samples were taken than it needs: p90 10, p99 100,
/// p999 1,000, p9999 10,000; every statistic is `null` without a sample.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Distribution {
    /// How many samples.
    pub count: u64,
    /// Smallest sample, ns; exact for what the client times, to 1/32 for waits for a CPU.
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
    /// 99.99th percentile, ns; `null` in records of before it was kept.
    #[serde(default)]
    pub p9999: Option<u64>,
    /// Largest sample, ns; as exact as the smallest.
    pub max: Option<u64>,
    /// Standard deviation, ns.
    pub stdev: Option<f64>,
    /// The histogram: HdrHistogram V2 encoding in base64; empty without a sample.
    pub hdr: String,
}

/// A percentile that distributions have, and the fewest samples that support it: from the 90th
/// on so many that one of them lies above it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Percentile {
    /// As a field of the record.
    pub name: &'static str,
    /// As people write it.
    pub label: &'static str,
    /// With fewer samples there is none.
    pub needs: u64,
    quantile: f64,
}

impl Percentile {
    /// Median.
    pub const P50: Self = Self { name: "p50", label: "p50", needs: 1, quantile: 0.5 };
    /// 90th.
    pub const P90: Self = Self { name: "p90", label: "p90", needs: 10, quantile: 0.9 };
    /// 99th.
    pub const P99: Self = Self { name: "p99", label: "p99", needs: 100, quantile: 0.99 };
    /// 99.9th.
    pub const P999: Self = Self { name: "p999", label: "p99.9", needs: 1000, quantile: 0.999 };
    /// 99.99th.
    pub const P9999: Self =
        Self { name: "p9999", label: "p99.99", needs: 10_000, quantile: 0.9999 };
    /// All of them, in rising order.
    pub const ALL: [Self; 5] = [Self::P50, Self::P90, Self::P99, Self::P999, Self::P9999];

    /// The percentile with this name in the record.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|percentile| percentile.name == name)
    }

    /// The rule in words: `p99.9 needs 1,000 samples`.
    #[must_use]
    pub fn rule(self) -> String {
        let Self { label, needs, .. } = self;
        match (needs / 1000, needs % 1000) {
            (0, 1) => format!("{label} needs a sample"),
            (0, n) => format!("{label} needs {n} samples"),
            (thousands, rest) => format!("{label} needs {thousands},{rest:03} samples"),
        }
    }

    /// Its value, to the width of a bucket; `None` with fewer samples than it needs.
    #[must_use]
    pub fn of(self, h: &Histogram<impl Counter>) -> Option<u64> {
        (h.len() >= self.needs).then(|| h.value_at_quantile(self.quantile))
    }

    fn field(self, of: &Distribution) -> Option<u64> {
        match self.name {
            "p50" => of.p50,
            "p90" => of.p90,
            "p99" => of.p99,
            "p999" => of.p999,
            _ => of.p9999,
        }
    }
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
        let at = |percentile: Percentile| percentile.of(h).map(|ns| ns.max(min).min(max));
        Self {
            count: h.len(),
            min: Some(min),
            mean: Some(h.mean()),
            p50: at(Percentile::P50),
            p90: at(Percentile::P90),
            p99: at(Percentile::P99),
            p999: at(Percentile::P999),
            p9999: at(Percentile::P9999),
            max: Some(max),
            stdev: Some(h.stdev()),
            hdr: encode(h),
        }
    }

    /// A percentile, or in words why there is none.
    ///
    /// # Errors
    /// The rule that the samples do not meet, or that the record is older than this percentile.
    pub fn percentile(&self, percentile: Percentile) -> Result<u64, String> {
        if self.count < percentile.needs {
            return Err(percentile.rule());
        }
        let value = percentile.field(self);
        value.ok_or_else(|| format!("the record does not hold {}", percentile.label))
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
mod tests;
