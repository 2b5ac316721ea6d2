//! The series of an observation that goes on: cumulative since it began, and never falling.
//!
//! Two things fall although nothing was uncounted. A perf counter that shares its hardware is an
//! estimate, and a later one may be lower. A thread that takes another name takes its time along.
//! What falls is held where it was and goes on from there, so that rates before and after are right;
//! without a fall a series is the very number of the sample.

use std::collections::{BTreeSet, HashMap};

use super::kernel::{self, Blocks};
use super::names::TARGET;
use super::{Family, Kind, Labels, Number, Series};
use crate::observe::Sample;
use crate::report::export::otlp::{self, Window};
use crate::report::export::prometheus;
use crate::report::figures::word;
use crate::target::TargetHandle;

/// What is kept between two readings of one observation.
#[derive(Debug)]
pub struct Observation {
    target: Labels,
    about: Labels,
    threads: BTreeSet<String>,
    held: HashMap<(&'static str, Labels), Held>,
}

/// The last value of a counter, and what it has fallen by in all.
#[derive(Debug, Clone, Copy)]
struct Held {
    last: f64,
    fallen: f64,
}

/// The series at one instant of an observation.
#[derive(Debug, Clone, PartialEq)]
pub struct Exposition {
    pub(in crate::report) families: Vec<Family>,
}

impl Observation {
    /// Of this target.
    #[must_use]
    pub fn of(target: &TargetHandle) -> Self {
        let cgroup = target.cgroup.value().map(|dir| dir.display().to_string());
        Self {
            target: vec![("target", target.name.clone())],
            about: vec![("kind", word(target.kind)), ("cgroup", cgroup.unwrap_or_default())],
            threads: BTreeSet::new(),
            held: HashMap::new(),
        }
    }

    /// The series of what was counted since the observation began.
    pub fn take_in(&mut self, sample: &Sample) -> Exposition {
        let mut series = Series::default();
        series.of(self.target.clone());
        let about: Vec<_> = self.about.iter().map(|(key, value)| (*key, value.as_str())).collect();
        series.add(TARGET, &about, Number::Whole(1));
        kernel::add(&mut series, &Blocks::from(sample), &mut self.threads);
        let mut families = series.done();
        for family in families.iter_mut().filter(|family| family.is.kind == Kind::Counter) {
            for point in &mut family.points {
                self.hold((family.is.name, point.labels.clone()), &mut point.value);
            }
        }
        Exposition { families }
    }

    fn hold(&mut self, of: (&'static str, Labels), value: &mut Number) {
        #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
        let now = match value {
            Number::Whole(n) => *n as f64,
            Number::Real(n) => *n,
            Number::Buckets(_) => return,
        };
        let held = self.held.entry(of).or_insert(Held { last: now, fallen: 0.0 });
        held.fallen += (held.last - now).max(0.0);
        held.last = now;
        if held.fallen > 0.0 {
            *value = Number::Real(now + held.fallen);
        }
    }
}

impl Exposition {
    /// As OpenMetrics text 1.0.0.
    #[must_use]
    pub fn openmetrics(&self) -> String {
        prometheus::openmetrics(self.families.clone())
    }

    /// As the body of a request by OTLP, with these attributes of the resource.
    #[must_use]
    pub fn otlp(&self, attributes: &[(String, String)], window: Window) -> Vec<u8> {
        otlp::of_target(&self.families, attributes, window)
    }

    /// As Prometheus text 0.0.4.
    #[must_use]
    pub fn text(&self) -> String {
        prometheus::text(self.families.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::Measured;
    use crate::observe::PerfCount;
    use crate::target::TargetKind;

    fn observation() -> Observation {
        Observation::of(&TargetHandle {
            name: "web".into(),
            kind: TargetKind::Pid,
            urls: Vec::new(),
            cgroup: Measured::Value("/sys/fs/cgroup/web".into()),
            controllers: std::collections::BTreeMap::new(),
            main_pid: Some(7),
        })
    }

    fn cycles(value: u64) -> Sample {
        let mut sample = Sample::empty("no probes");
        let count = PerfCount { value, scaled: true };
        sample.perf.insert("cycles".into(), Measured::Value(count));
        sample
    }

    fn shown(observation: &mut Observation, sample: &Sample) -> String {
        let text = observation.take_in(sample).text();
        let line = text.lines().find(|line| line.starts_with("bench_perf_events_total"));
        line.unwrap().rsplit(' ').next().unwrap().to_owned()
    }

    #[test]
    fn what_falls_is_held_and_goes_on_from_there() {
        let mut observation = observation();
        let shown: Vec<_> =
            [100, 90, 95, 80, 180].map(|n| shown(&mut observation, &cycles(n))).into();
        assert_eq!(shown, ["100", "100.0", "105.0", "105.0", "205.0"]);
    }

    #[test]
    fn what_is_not_measured_is_no_series_and_says_why() {
        let text = observation().take_in(&cycles(1)).openmetrics();
        assert!(!text.contains("bench_syscalls_total{"), "{text}");
        let why = "bench_unavailable_info{target=\"web\",metric=\"bench_syscalls_total\",\
                   reason=\"no probes\"} 1";
        assert!(text.lines().any(|line| line == why), "{text}");
        assert!(text.ends_with("# EOF\n"));
    }
}
