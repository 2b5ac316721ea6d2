//! Distributions from the buckets that the probes fill.

use bench_ebpf::hist;
use hdrhistogram::Histogram;

use crate::distribution::Distribution;

/// A value beyond an hour of ns cannot be told from a mistake, and would stretch the histogram's
/// memory; it is entered as an hour.
const LARGEST: u64 = 3_600_000_000_000;

/// What was added between two readings, each value at the middle of its bucket, so at most 1/32
/// from its true one. The first of the buckets is that of index `first`.
pub(super) fn since(now: &[u64], then: &[u64], first: usize) -> Distribution {
    let mut histogram = Histogram::<u64>::new(3).expect("three digits are always allowed");
    for (index, (now, then)) in now.iter().zip(then).enumerate() {
        if now == then {
            // Even none of a value would move the histogram's smallest and largest.
            continue;
        }
        let (low, high) = hist::bounds(first + index);
        let middle = (low + (high - low) / 2).min(LARGEST);
        histogram
            .record_n(middle, now - then)
            .expect("a histogram that resizes itself takes every value");
    }
    Distribution::from_histogram(&histogram, None)
}
