//! Intervals by the percentile bootstrap of medians (Efron 1979), over repetitions.
//!
//! Seeded: the same figures always give the same interval. What an interval means depends on
//! how many repetitions are behind it:
//!
//! * 1 or 2: none here; `within.rs` says what the samples inside the stages can say.
//! * 3 or 4: the range of what was seen, because the bootstrap of so few medians can give
//!   nothing else. The true median lies inside it in 75 % (3) or 87.5 % (4) of all cases, not
//!   in 95 %. For a change the range of every pairing of repetitions is taken: two equal targets
//!   are torn apart by chance in one case of 10 (3) or of 35 (4).
//! * 5 and more: the 95 % percentile bootstrap.
//!
//! The change between two targets draws the repetitions of each on its own. In an interleaved
//! run with [`PAIRED_FROM`] repetitions or more, both use the same draw, so that a drift of the
//! machine, which both shared, cancels. With fewer the same draw would be too narrow: simulated
//! on equal targets with normal, skewed and two-peaked noise, it called 6 to 7 % of 5 to 7
//! repetitions different, where separate draws called at most 5 %.

use std::iter;

/// Draws behind every interval.
pub const RESAMPLES: usize = 2000;

/// Fewest repetitions that give an interval at all.
pub const INTERVAL_FROM: usize = 3;

/// Fewest repetitions whose interval is a 95 % one; below, it is the range.
pub const BOOTSTRAP_FROM: usize = 5;

/// Fewest repetitions of an interleaved run that are drawn in pairs.
pub const PAIRED_FROM: usize = 10;

const SEED: u64 = 0x6265_6e63_682d_7573;

/// The middle value, the mean of the middle two for an even count; `None` without values.
#[must_use]
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let half = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        n if n % 2 == 1 => Some(sorted[half]),
        _ => Some(f64::midpoint(sorted[half - 1], sorted[half])),
    }
}

/// The 95 % interval of the median, or the range of 3 and 4 values; `None` with fewer.
#[must_use]
pub fn interval(values: &[f64]) -> Option<(f64, f64)> {
    if values.len() < INTERVAL_FROM {
        return None;
    }
    if values.len() < BOOTSTRAP_FROM {
        return range(values);
    }
    let medians = draws(values.len(), values.len(), true)
        .filter_map(|(drawn, _)| median(&take(values, &drawn)))
        .collect();
    percentiles(medians)
}

/// The interval of (median of - median against) / median against.
///
/// `None` with fewer than three repetitions of either, or where a denominator is not above
/// zero, because then there is no relative change.
#[must_use]
pub fn change_interval(of: &[f64], against: &[f64], paired: bool) -> Option<(f64, f64)> {
    let fewest = of.len().min(against.len());
    let (lowest, highest) = range(against)?;
    if fewest < INTERVAL_FROM || lowest <= 0.0 {
        return None;
    }
    if fewest < BOOTSTRAP_FROM {
        let (low, high) = range(of)?;
        return Some(widest_change((low, high), (lowest, highest)));
    }
    let changes = draws(of.len(), against.len(), paired)
        .filter_map(|(ours, theirs)| {
            relative(median(&take(of, &ours))?, median(&take(against, &theirs))?)
        })
        .collect();
    percentiles(changes)
}

/// The widest interval of the change that two ranges allow, the second above zero; the first may be
/// below it, where a smaller divisor makes less of it.
#[must_use]
pub fn widest_change(of: (f64, f64), against: (f64, f64)) -> (f64, f64) {
    let corners = [of.0 / against.0, of.0 / against.1, of.1 / against.0, of.1 / against.1];
    let least = corners.into_iter().fold(f64::INFINITY, f64::min);
    let most = corners.into_iter().fold(f64::NEG_INFINITY, f64::max);
    (least - 1.0, most - 1.0)
}

/// (of - against) / against; `None` where `against` is not above zero.
#[must_use]
pub fn relative(of: f64, against: f64) -> Option<f64> {
    (against > 0.0).then(|| of / against - 1.0)
}

/// Whether two sets of repetitions are drawn in pairs.
#[must_use]
pub fn is_paired(of: usize, against: usize, interleaved: bool) -> bool {
    interleaved && of == against && of >= PAIRED_FROM
}

/// Drawn places for each of two sets of repetitions, with replacement; the same for both where
/// they are paired.
pub fn draws(
    of: usize,
    against: usize,
    paired: bool,
) -> impl Iterator<Item = (Vec<usize>, Vec<usize>)> {
    let mut random = fastrand::Rng::with_seed(SEED);
    iter::repeat_with(move || {
        let ours = places(&mut random, of);
        let theirs = if paired { ours.clone() } else { places(&mut random, against) };
        (ours, theirs)
    })
    .take(RESAMPLES)
}

/// The 2.5th and the 97.5th percentile; `None` without values.
#[must_use]
pub fn percentiles(mut values: Vec<f64>) -> Option<(f64, f64)> {
    values.sort_unstable_by(f64::total_cmp);
    let cut = values.len() / 40;
    Some((*values.get(cut)?, *values.get(values.len() - 1 - cut)?))
}

/// A generator of random numbers that always starts alike.
#[must_use]
pub fn seeded() -> fastrand::Rng {
    fastrand::Rng::with_seed(SEED)
}

fn places(random: &mut fastrand::Rng, count: usize) -> Vec<usize> {
    iter::repeat_with(|| random.usize(..count)).take(count).collect()
}

/// The values at these places.
#[must_use]
pub fn take(values: &[f64], places: &[usize]) -> Vec<f64> {
    places.iter().map(|&place| values[place]).collect()
}

fn range(values: &[f64]) -> Option<(f64, f64)> {
    let low = values.iter().copied().min_by(f64::total_cmp)?;
    let high = values.iter().copied().max_by(f64::total_cmp)?;
    Some((low, high))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_of_odd_even_and_no_values() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(&[]), None);
    }

    #[test]
    fn three_and_four_repetitions_give_their_range_and_two_nothing() {
        assert_eq!(interval(&[1.0, 2.0]), None);
        assert_eq!(interval(&[3.0, 1.0, 2.0]), Some((1.0, 3.0)));
        assert_eq!(interval(&[3.0, 1.0, 2.0, 9.0]), Some((1.0, 9.0)));
        assert_eq!(
            change_interval(&[2.0, 3.0, 4.0], &[4.0, 5.0, 8.0], false),
            Some((2.0 / 8.0 - 1.0, 4.0 / 4.0 - 1.0))
        );
    }

    /// The bootstrap distribution of the median of five distinct values is known exactly: the
    /// smallest has probability P(Bin(5, 1/5) >= 3) = 0.0579, above 2.5 %, so that the interval
    /// reaches it. Of nine values the smallest two together have P(Bin(9, 2/9) >= 5) = 0.032
    /// and the smallest alone 0.0014: the interval ends at the second.
    #[test]
    fn edges_agree_with_the_exact_bootstrap_of_a_median() {
        assert_eq!(interval(&[5.0, 1.0, 4.0, 2.0, 3.0]), Some((1.0, 5.0)));
        let nine: Vec<f64> = (1..=9).map(f64::from).collect();
        assert_eq!(interval(&nine), Some((2.0, 8.0)));
    }

    #[test]
    fn the_same_figures_give_the_same_interval() {
        let (a, b) = ([1.0, 1.3, 0.9, 1.1, 1.2, 1.05], [2.0, 2.5, 1.9, 2.2, 2.1, 2.3]);
        assert_eq!(change_interval(&b, &a, false), change_interval(&b, &a, false));
    }

    #[test]
    fn a_change_from_nothing_has_no_interval() {
        assert_eq!(change_interval(&[1.0; 5], &[0.0, 1.0, 1.0, 1.0, 1.0], false), None);
        assert_eq!(relative(1.0, 0.0), None);
    }

    #[test]
    fn pairs_are_drawn_alike_so_that_shared_drift_cancels() {
        let drift: Vec<f64> = (0..10).map(|i| 100.0 + 10.0 * f64::from(i)).collect();
        let faster: Vec<f64> = drift.iter().map(|x| x * 1.1).collect();
        let (low, high) = change_interval(&faster, &drift, true).unwrap();
        assert!(low > 0.05 && high < 0.15, "{low} {high}");
        let (low, high) = change_interval(&faster, &drift, false).unwrap();
        assert!(low < 0.0 && high > 0.2, "{low} {high}");
        assert!(is_paired(10, 10, true) && !is_paired(10, 10, false) && !is_paired(9, 9, true));
    }
}
