//! Samples inside stages, thinned: neighbours become one point, with the mean over their time and
//! the lowest and highest of them. Says how many became one.

use crate::record::StageSample;

/// At most so many points a stage.
const POINTS: usize = 40;

/// What a sample says of one moment.
pub(super) struct Gauge {
    /// As in claims, which gives the unit.
    pub(super) metric: &'static str,
    pub(super) title: &'static str,
    /// The value of a sample whose interval was so long, s; `None` where it was not measured.
    pub(super) of: fn(&StageSample, f64) -> Option<f64>,
    /// A point is the highest of its samples and not their mean: a percentile has none.
    pub(super) is_highest: bool,
}

/// A point of a line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Point {
    /// The middle of its time, s since the start of the window.
    pub(super) at_s: f64,
    pub(super) value: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

#[expect(clippy::cast_precision_loss, reason = "sizes and times are far below 2^53")]
const fn float(n: Option<u64>) -> Option<f64> {
    match n {
        Some(n) => Some(n as f64),
        None => None,
    }
}

/// What is drawn, in this order.
pub(super) const GAUGES: [Gauge; 6] = [
    Gauge {
        metric: "load.achieved_rps",
        title: "req/s",
        of: |s, _| Some(s.achieved_rps),
        is_highest: false,
    },
    Gauge {
        metric: "load.response_ns.p99",
        title: "p99 of an interval",
        of: |s, _| float(s.response_ns_p99),
        is_highest: true,
    },
    Gauge {
        metric: "cgroup.cpu_ratio",
        title: "CPUs used",
        of: |s, _| s.cpu_ratio,
        is_highest: false,
    },
    Gauge {
        metric: "threads.busiest.oncpu_ratio",
        title: "busiest thread on a CPU",
        of: |s, _| s.busiest_thread_ratio,
        is_highest: false,
    },
    Gauge {
        metric: "cgroup.memory_current_bytes",
        title: "memory",
        of: |s, _| float(s.memory_bytes),
        is_highest: false,
    },
    Gauge {
        metric: "throttled_ns_per_sec",
        title: "held back by the quota, per second",
        of: |s, seconds| Some(float(s.throttled_ns)? / seconds),
        is_highest: false,
    },
];

/// How many samples of a stage become one point.
pub(super) fn together(samples: &[StageSample]) -> usize {
    samples.len().div_ceil(POINTS).max(1)
}

/// The points of a stage; those without a value are left out.
pub(super) fn points(samples: &[StageSample], gauge: &Gauge) -> Vec<Option<Point>> {
    let starts = std::iter::once(0.0).chain(samples.iter().map(|s| s.t_ms));
    let timed: Vec<(f64, f64, Option<f64>)> = samples
        .iter()
        .zip(starts)
        .map(|(sample, start_ms)| {
            let seconds = ((sample.t_ms - start_ms) / 1e3).max(f64::MIN_POSITIVE);
            (start_ms / 1e3, seconds, (gauge.of)(sample, seconds).filter(|v| v.is_finite()))
        })
        .collect();
    timed.chunks(together(samples)).map(|chunk| point(chunk, gauge.is_highest)).collect()
}

fn point(chunk: &[(f64, f64, Option<f64>)], is_highest: bool) -> Option<Point> {
    let known = || chunk.iter().filter_map(|(_, seconds, value)| Some((*seconds, (*value)?)));
    let seconds: f64 = known().map(|(seconds, _)| seconds).sum();
    let low = known().map(|(_, value)| value).reduce(f64::min)?;
    let high = known().map(|(_, value)| value).reduce(f64::max)?;
    let mean = known().map(|(seconds, value)| seconds * value).sum::<f64>() / seconds;
    let (first, last) = (chunk.first()?, chunk.last()?);
    Some(Point {
        at_s: f64::midpoint(first.0, last.0 + last.1),
        value: if is_highest { high } else { mean.clamp(low, high) },
        low,
        high,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(t_ms: f64, cpu_ratio: Option<f64>) -> StageSample {
        let throttled_ns = Some(50_000_000);
        StageSample { t_ms, cpu_ratio, throttled_ns, ..StageSample::default() }
    }

    #[test]
    fn a_point_is_the_mean_over_time_with_its_extremes() {
        let chunk = [(0.0, 1.0, Some(2.0)), (1.0, 3.0, Some(6.0)), (4.0, 1.0, None)];
        let expect = Point { at_s: 2.5, value: 5.0, low: 2.0, high: 6.0 };
        assert_eq!(point(&chunk, false), Some(expect));
        assert_eq!(point(&chunk, true).unwrap().value, 6.0);
        assert_eq!(point(&[(0.0, 1.0, None)], false), None);
    }

    #[test]
    fn many_samples_become_few_points_and_none_is_lost() {
        let samples: Vec<StageSample> =
            (1..=300).map(|i| sample(f64::from(i) * 100.0, Some(f64::from(i)))).collect();
        assert_eq!(together(&samples), 8);
        let points = points(&samples, &GAUGES[2]);
        assert_eq!(points.len(), 38);
        let first = points[0].unwrap();
        assert_eq!((first.low, first.high), (1.0, 8.0));
        assert!((first.value - 4.5).abs() < 1e-9 && (first.at_s - 0.4).abs() < 1e-9, "{first:?}");
        assert_eq!(points.last().unwrap().unwrap().high, 300.0);
        assert_eq!(together(&samples[..40]), 1);
    }

    #[test]
    fn throttled_time_is_per_second_of_its_interval() {
        let points = points(&[sample(100.0, None), sample(300.0, None)], &GAUGES[5]);
        let values: Vec<f64> = points.iter().map(|p| p.unwrap().value.round()).collect();
        assert_eq!(values, [500_000_000.0, 250_000_000.0]);
    }
}
