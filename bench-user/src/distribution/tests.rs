use super::*;

fn of(values: impl IntoIterator<Item = u64>) -> Histogram<u64> {
    let mut h = Histogram::new(3).unwrap();
    values.into_iter().for_each(|value| h.record(value).unwrap());
    h
}

fn percentiles(d: &Distribution) -> [Option<u64>; 5] {
    [d.p50, d.p90, d.p99, d.p999, d.p9999]
}

/// 1,000 values in no order: 7, 9, 11 and so on to 2,005, each once. The sample at rank r of n is
/// 5 + 2r: rank 500 is 1,005, 900 is 1,805, 990 is 1,985 and 999 is 2,003.
fn thousand() -> impl Iterator<Item = u64> {
    (0..1000u64).map(|i| 7 + 2 * (i * 617 % 1000))
}

#[test]
fn percentiles_of_a_known_set_are_exact_and_come_back_from_text() {
    let h = of(thousand());
    let d = Distribution::from_histogram(&h, Some((7, 2005)));
    assert_eq!(percentiles(&d), [Some(1005), Some(1805), Some(1985), Some(2003), None]);
    assert_eq!((d.count, d.min, d.max, d.mean), (1000, Some(7), Some(2005), Some(1006.0)));
    assert_eq!(d.histogram().unwrap(), h);
}

#[test]
fn two_merged_sets_are_one_set_of_all_values() {
    let all = of(thousand());
    let mut merged = of(thousand().filter(|value| value % 3 == 0));
    merged.add(of(thousand().filter(|value| value % 3 != 0))).unwrap();
    let d = |h| Distribution::from_histogram(h, Some((7, 2005)));
    assert_eq!(d(&merged), d(&all));
}

/// Values up to 2,047 have buckets of their own, so every rank can be told: of 1..=n, ten times
/// each, the sample at rank r is r/10 rounded up. Ranks are worked out in whole numbers.
#[test]
fn every_percentile_of_every_count_is_the_nearest_rank() {
    let mut h = Histogram::<u64>::new(3).unwrap();
    for n in 1..=2047u64 {
        h.record_n(n, 10).unwrap();
        let count = n * 10;
        for (percentile, part) in
            Percentile::ALL.into_iter().zip([5_000, 9_000, 9_900, 9_990, 9_999])
        {
            let rank = (count * part).div_ceil(10_000);
            let expect = (count >= percentile.needs).then(|| rank.div_ceil(10));
            assert_eq!(percentile.of(&h), expect, "{} of {count}", percentile.label);
        }
    }
}

#[test]
fn each_percentile_begins_with_the_count_that_it_needs() {
    let supported = |count: u64| {
        let d = Distribution::from_histogram(&of(1..=count), None);
        percentiles(&d).iter().flatten().count()
    };
    let counts = [0, 1, 9, 10, 99, 100, 999, 1000, 9_999, 10_000];
    assert_eq!(counts.map(supported), [0, 1, 1, 2, 2, 3, 3, 4, 4, 5]);
}

#[test]
fn a_missing_percentile_says_what_it_needs() {
    let d = Distribution::from_histogram(&of(1..=999), None);
    assert_eq!(d.percentile(Percentile::P99), Ok(990));
    let why = |percentile| d.percentile(percentile).unwrap_err();
    assert_eq!(why(Percentile::P999), "p99.9 needs 1,000 samples");
    assert_eq!(why(Percentile::P9999), "p99.99 needs 10,000 samples");
    let none = Distribution::default();
    assert_eq!(none.percentile(Percentile::P50).unwrap_err(), "p50 needs a sample");
    let older = Distribution { count: 20_000, ..d };
    let why = older.percentile(Percentile::P9999).unwrap_err();
    assert_eq!(why, "the record does not hold p99.99");
}

#[test]
fn a_percentile_is_never_beyond_the_exact_edges() {
    let d = Distribution::from_histogram(&of([1_000_001, 1_000_002]), Some((1_000_001, 1_000_002)));
    assert_eq!((d.p50, d.max), (Some(1_000_002), Some(1_000_002)));
}
