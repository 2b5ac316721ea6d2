//! A log-linear histogram: powers of two, each cut into 16 linear buckets.
//!
//! The same code runs in the probes and in the observers. Values below 16 have a bucket each;
//! above, a bucket is at most 1/16 of its lower edge wide, the scheme of HdrHistogram.

/// Linear buckets in a power of two, as a power of two.
const SUB_BITS: u32 = 4;

/// Linear buckets in a power of two.
const SUB: u64 = 1 << SUB_BITS;

/// How many buckets cover every `u64`.
pub const BUCKETS: usize = 976;

/// The bucket of a value.
#[must_use]
#[inline(always)]
#[expect(
    clippy::cast_possible_truncation,
    reason = "below BUCKETS, as the test of every edge shows"
)]
pub const fn bucket(value: u64) -> usize {
    if value < SUB {
        return value as usize;
    }
    let exponent = 63 - value.leading_zeros();
    let sub = (value >> (exponent - SUB_BITS)) & (SUB - 1);
    ((exponent - SUB_BITS + 1) as u64 * SUB + sub) as usize
}

/// Smallest and largest value of a bucket.
///
/// # Panics
/// For an index beyond [`BUCKETS`], which no value has.
#[must_use]
pub const fn bounds(index: usize) -> (u64, u64) {
    assert!(index < BUCKETS);
    let index = index as u64;
    if index < SUB {
        return (index, index);
    }
    let shift = index / SUB - 1;
    let low = (SUB + index % SUB) << shift;
    (low, low + ((1 << shift) - 1))
}

const _: () = assert!(bucket(u64::MAX) == BUCKETS - 1, "the last bucket holds the largest value");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_edge_is_in_its_bucket_and_its_neighbours_are_not() {
        for index in 0..BUCKETS {
            let (low, high) = bounds(index);
            assert_eq!((bucket(low), bucket(high)), (index, index));
            if index > 0 {
                assert_eq!(bucket(low - 1), index - 1);
            }
            if index + 1 < BUCKETS {
                assert_eq!(bucket(high + 1), index + 1);
            }
        }
    }

    #[test]
    fn a_bucket_is_at_most_a_sixteenth_of_its_lower_edge_wide() {
        for (low, high) in (0..BUCKETS).map(bounds) {
            assert!((high - low) as u128 * 16 <= low as u128, "{low}..={high}");
        }
    }
}
