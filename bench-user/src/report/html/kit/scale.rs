//! Where values stand along an axis, and which of them get a label.

/// Maps values to 0..=1 along an axis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::report::html) enum Scale {
    /// Equal differences are equally far apart.
    Linear {
        /// At the beginning.
        low: f64,
        /// At the end.
        high: f64,
    },
    /// Equal ratios are equally far apart; both ends are above zero.
    Log {
        /// At the beginning.
        low: f64,
        /// At the end.
        high: f64,
    },
}

/// Steps of a decade that get a label, from the fewest to the most.
const STEPS: [&[f64]; 3] = [&[1.0], &[1.0, 3.0], &[1.0, 2.0, 5.0]];

impl Scale {
    /// From zero to the largest value, with some air above it.
    pub(in crate::report::html) fn from_zero(values: impl IntoIterator<Item = f64>) -> Self {
        let most = values.into_iter().filter(|v| v.is_finite()).fold(0.0, f64::max);
        Self::Linear { low: 0.0, high: if most > 0.0 { most * 1.08 } else { 1.0 } }
    }

    /// Around all values above zero on a logarithmic axis; `None` where there is none.
    pub(in crate::report::html) fn log_around(
        values: impl IntoIterator<Item = f64>,
    ) -> Option<Self> {
        let (low, high) = values
            .into_iter()
            .filter(|v| v.is_finite() && *v > 0.0)
            .fold((f64::INFINITY, 0.0_f64), |(low, high), v| (low.min(v), high.max(v)));
        (high > 0.0).then(|| Self::Log { low: low / 1.25, high: high * 1.25 })
    }

    /// Place of a value, 0..=1 for those between the ends.
    pub(in crate::report::html) fn at(self, value: f64) -> f64 {
        match self {
            Self::Linear { low, high } => (value - low) / (high - low),
            Self::Log { low, high } => {
                (value.max(f64::MIN_POSITIVE) / low).ln() / (high / low).ln()
            }
        }
    }

    /// Round values between the ends, at most about `most` of them.
    pub(in crate::report::html) fn ticks(self, most: u32) -> Vec<f64> {
        match self {
            Self::Linear { low, high } => linear_ticks(low, high, most),
            Self::Log { low, high } => log_ticks(low, high, most),
        }
    }
}

/// Multiples of 1, 2 or 5 times a power of ten.
fn linear_ticks(low: f64, high: f64, most: u32) -> Vec<f64> {
    let rough = (high - low) / f64::from(most.max(1));
    let decade = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|n| n * decade).into_iter().find(|step| *step >= rough);
    let step = step.unwrap_or(rough);
    let first = (low / step).ceil();
    (0..=most).map(|i| (first + f64::from(i)) * step).take_while(|tick| *tick <= high).collect()
}

/// Powers of ten, with steps between them where there is room.
fn log_ticks(low: f64, high: f64, most: u32) -> Vec<f64> {
    let (first, last) = (low.log10().floor(), high.log10().floor());
    let decades = std::iter::successors(Some(first), |d| (*d < last).then_some(*d + 1.0));
    let decades: Vec<f64> = decades.map(|d| 10f64.powf(d)).collect();
    let of = |steps: &[f64]| -> Vec<f64> {
        let all = decades.iter().flat_map(|decade| steps.iter().map(move |step| step * decade));
        all.filter(|tick| (low..=high).contains(tick)).collect()
    };
    let fits = |ticks: &Vec<f64>| ticks.len() <= most as usize && ticks.len() > 1;
    if let Some(ticks) = STEPS.iter().rev().map(|steps| of(steps)).find(fits) {
        return ticks;
    }
    let powers = of(STEPS[0]);
    match powers.len() {
        // Less than a decade: it is nearly straight.
        0 | 1 => linear_ticks(low, high, most),
        n => powers.into_iter().step_by(n.div_ceil(most.max(1) as usize)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_follow_differences_or_ratios() {
        let linear = Scale::Linear { low: 10.0, high: 30.0 };
        assert_eq!([10.0, 15.0, 30.0].map(|v| linear.at(v)), [0.0, 0.25, 1.0]);
        let log = Scale::Log { low: 1.0, high: 10_000.0 };
        let places = [1.0, 10.0, 100.0, 10_000.0].map(|v| (log.at(v) * 1e9).round() / 1e9);
        assert_eq!(places, [0.0, 0.25, 0.5, 1.0]);
    }

    #[test]
    fn ticks_are_round_and_within_the_ends() {
        assert_eq!(
            Scale::Linear { low: 0.0, high: 28_700.0 }.ticks(6),
            [0.0, 5_000.0, 10_000.0, 15_000.0, 20_000.0, 25_000.0]
        );
        assert_eq!(Scale::Linear { low: 0.0, high: 0.54 }.ticks(5), [0.0, 0.2, 0.4]);
        assert_eq!(Scale::Log { low: 8e3, high: 3e5 }.ticks(5), [1e4, 2e4, 5e4, 1e5, 2e5]);
        assert_eq!(Scale::Log { low: 8e3, high: 3e9 }.ticks(6), [1e4, 1e5, 1e6, 1e7, 1e8, 1e9]);
        assert_eq!(Scale::Log { low: 0.5, high: 2e12 }.ticks(5).len(), 5);
    }

    #[test]
    fn a_narrow_axis_has_labels_all_the_same() {
        for (low, high) in [(4.1, 4.9), (0.8, 1.25), (30.0, 47.0)] {
            assert!(Scale::Log { low, high }.ticks(5).len() > 1, "{low} {high}");
        }
    }

    #[test]
    fn what_has_no_value_has_a_scale_from_zero_and_no_logarithm() {
        assert_eq!(Scale::from_zero([]), Scale::Linear { low: 0.0, high: 1.0 });
        assert_eq!(Scale::log_around([0.0, f64::NAN]), None);
    }
}
