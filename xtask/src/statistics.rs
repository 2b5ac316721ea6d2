//! Median and quartiles, which a few disturbed rounds do not move.

/// The middle of some values and how far they spread.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Quartiles {
    pub(crate) low: f64,
    pub(crate) median: f64,
    pub(crate) high: f64,
}

impl Quartiles {
    /// Of at least one value; `None` for none. Between two values the quantile is interpolated.
    pub(crate) fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut sorted: Vec<f64> = values.into_iter().collect();
        sorted.sort_by(f64::total_cmp);
        let at = |quarter: usize| {
            let (whole, part) =
                ((sorted.len() - 1) * quarter / 4, (sorted.len() - 1) * quarter % 4);
            let next = sorted[(whole + 1).min(sorted.len() - 1)];
            #[expect(clippy::cast_precision_loss, reason = "the part is 0 to 3")]
            let part = part as f64 / 4.0;
            sorted[whole] + (next - sorted[whole]) * part
        };
        (!sorted.is_empty()).then(|| Self { low: at(1), median: at(2), high: at(3) })
    }
}

/// The 95 % interval of the median by order statistics: the `k`-th lowest and highest value, for
/// the largest `k` at which fewer than `k` of `n` fair coins fall on one side in at most 2.5 % of
/// all cases (David and Nagaraja, Order Statistics, section 7.1). `None` below six values, where
/// even the range is not sure enough.
pub(crate) fn median_interval(values: &[f64]) -> Option<(f64, f64)> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len();
    let (mut ways, mut below, mut k) = (1.0, 0.0, 0);
    loop {
        below += ways * 0.5_f64.powi(i32::try_from(n).ok()?);
        if below > 0.025 || k == n {
            break;
        }
        #[expect(clippy::cast_precision_loss, reason = "few values")]
        let next = (n - k) as f64 / (k + 1) as f64;
        ways *= next;
        k += 1;
    }
    Some((*sorted.get(k.checked_sub(1)?)?, *sorted.get(n - k)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_of_a_median_has_the_ranks_of_the_tables() {
        let to = |n: i32| (1..=n).map(f64::from).collect::<Vec<_>>();
        assert_eq!(median_interval(&to(5)), None);
        assert_eq!(median_interval(&to(6)), Some((1.0, 6.0)));
        assert_eq!(median_interval(&to(10)), Some((2.0, 9.0)));
        assert_eq!(median_interval(&to(20)), Some((6.0, 15.0)));
    }

    #[test]
    fn quartiles_lie_on_values_or_between_them() {
        let odd = Quartiles::of([5.0, 1.0, 3.0, 2.0, 4.0]);
        assert_eq!(odd, Some(Quartiles { low: 2.0, median: 3.0, high: 4.0 }));
        let even = Quartiles::of([4.0, 1.0, 3.0, 2.0]);
        assert_eq!(even, Some(Quartiles { low: 1.75, median: 2.5, high: 3.25 }));
    }

    #[test]
    fn one_value_is_all_three_and_none_is_none() {
        assert_eq!(Quartiles::of([7.0]), Some(Quartiles { low: 7.0, median: 7.0, high: 7.0 }));
        assert_eq!(Quartiles::of([]), None);
    }
}
