//! Series in the text of Prometheus, against stored text and against the record that they are of.

#![expect(clippy::unwrap_used, reason = "what cannot be had fails its test")]

use std::collections::{BTreeMap, BTreeSet};

use bench_user::measured::Measured;
use bench_user::observe::Sample;
use bench_user::record::RunRecord;
use bench_user::report::{self, Exposition, Observation};
use bench_user::target::{TargetHandle, TargetKind};
use serde_json::Value;

use super::golden::check;
use super::runs;

fn text(run: &RunRecord) -> String {
    let mut out = Vec::new();
    report::prometheus(run, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn target() -> TargetHandle {
    TargetHandle {
        name: "web".into(),
        kind: TargetKind::Container,
        urls: Vec::new(),
        cgroup: Measured::Value("/sys/fs/cgroup/docker/web".into()),
        controllers: BTreeMap::new(),
        main_pid: None,
    }
}

fn exposition(sample: &Sample) -> Exposition {
    Observation::of(&target()).take_in(sample)
}

/// Every sample by its name and labels.
fn samples(text: &str) -> BTreeMap<&str, f64> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.rsplit_once(' ').unwrap()).map(|(n, v)| (n, v.parse().unwrap())).collect()
}

#[test]
fn runs_and_observations_are_written_as_stored() {
    check("golden", "two-targets.prom", &text(&runs::two_targets()));
    check("golden", "jobs.prom", &text(&runs::jobs()));
    check("golden", "unavailable.prom", &text(&runs::unavailable()));
    check("golden", "with-histograms.prom", &text(&runs::with_histograms()));
    let observed = exposition(&runs::everything_observed());
    check("golden", "sample.prom", &observed.text());
    check("golden", "sample.openmetrics", &observed.openmetrics());
}

/// The rules of both formats that scrapers insist on.
#[test]
fn each_family_is_whole_and_each_series_stands_once() {
    let observed = exposition(&runs::everything_observed());
    for text in [text(&runs::two_targets()), text(&runs::with_histograms()), observed.text()] {
        let mut families = BTreeSet::new();
        let mut series = BTreeSet::new();
        let mut now = "";
        for line in text.lines() {
            if let Some(kind) = line.strip_prefix("# TYPE ") {
                let (name, kind) = kind.split_once(' ').unwrap();
                assert!(families.insert(name), "{name} begins twice");
                assert_eq!(name.ends_with("_total"), kind == "counter", "{name}");
                now = name;
            } else if !line.starts_with('#') {
                let (name, value) = line.rsplit_once(' ').unwrap();
                assert!(name.starts_with(now), "{name} stands among {now}");
                assert!(series.insert(name), "{name} stands twice");
                assert!(value.parse::<f64>().unwrap() >= 0.0, "{line}");
            }
        }
    }
}

/// Every figure is that of `observe --json`, for one and the same reading.
#[test]
fn figures_are_those_of_the_json_of_the_same_reading() {
    let sample = runs::everything_observed();
    let text = exposition(&sample).text();
    let samples = samples(&text);
    let json = serde_json::to_value(&sample).unwrap();
    let at = |path: &str| json.pointer(path).and_then(Value::as_f64).unwrap();
    let mut compared = 0;
    let mut same = |name: &str, labels: &str, value: f64| {
        let name = format!("{name}{{target=\"web\"{labels}}}");
        let shown = samples.get(name.as_str()).unwrap_or_else(|| panic!("no {name} in {text}"));
        assert!((shown - value).abs() <= value.abs() * 1e-12, "{name}: {shown}, and not {value}");
        compared += 1;
    };
    for (syscall, count) in json["syscalls"]["by_name"].as_object().unwrap() {
        let count = count["count"].as_f64().unwrap();
        same("bench_syscalls_total", &format!(",syscall=\"{syscall}\""), count);
    }
    for (kind, field) in
        [("voluntary", "switches_voluntary"), ("involuntary", "switches_involuntary")]
    {
        let labels = format!(",kind=\"{kind}\"");
        same("bench_context_switches_total", &labels, at(&format!("/sched/{field}")));
    }
    for (name, path, unit) in [
        ("bench_observed_seconds_total", "/window_ns", 1e9),
        ("bench_runqueue_wait_seconds_total", "/sched/runqlat_sum_ns", 1e9),
        ("bench_oncpu_seconds_total", "/sched/oncpu_ns", 1e9),
        ("bench_runqueue_latency_seconds_count", "/sched/runqlat_ns/count", 1.0),
        ("bench_cpu_migrations_total", "/sched/migrations", 1.0),
        ("bench_cpu_periods_total", "/cgroup/nr_periods", 1.0),
        ("bench_cpu_throttled_periods_total", "/cgroup/nr_throttled", 1.0),
        ("bench_cpu_throttled_seconds_total", "/cgroup/throttled_ns", 1e9),
        ("bench_memory_bytes", "/cgroup/memory_current_bytes", 1.0),
        ("bench_memory_peak_bytes", "/cgroup/memory_peak_bytes", 1.0),
        ("bench_oom_kills_total", "/cgroup/oom_kills", 1.0),
        ("bench_pids", "/cgroup/pids_current", 1.0),
        ("bench_tcp_listen_overflows_total", "/net/listen_overflows", 1.0),
        ("bench_tcp_retransmits_total", "/net/retransmits", 1.0),
        ("bench_observer_cpu_seconds_total", "/observer_cost/user_cpu_ns", 1e9),
    ] {
        // A record made by hand has counts of waits and no histogram of them.
        let is_known = !path.contains("runqlat_ns") || at("/sched/runqlat_ns/count") < 1.0;
        if is_known && json.pointer(path).is_some_and(Value::is_number) {
            same(name, "", at(path) / unit);
        } else {
            let told = format!("metric=\"{}\",reason=", name.trim_end_matches("_count"));
            assert!(text.contains(&told), "{path} is neither a figure nor told: {name}");
        }
    }
    same("bench_cpu_seconds_total", ",mode=\"user\"", at("/cgroup/user_ns") / 1e9);
    same("bench_cpu_seconds_total", ",mode=\"system\"", at("/cgroup/system_ns") / 1e9);
    for (event, count) in json["perf"].as_object().unwrap() {
        if let Some(count) = count["value"].as_f64() {
            let labels = format!(",event=\"{event}\"");
            if event.ends_with("clock") {
                same("bench_perf_clock_seconds_total", &labels, count / 1e9);
            } else {
                same("bench_perf_events_total", &labels, count);
            }
        }
    }
    let oncpu: f64 = samples
        .iter()
        .filter(|(name, _)| name.starts_with("bench_thread_oncpu_seconds_total"))
        .map(|(_, value)| value)
        .sum();
    let threads = json["threads"].as_array().unwrap();
    let in_json: f64 = threads.iter().map(|thread| thread["oncpu_ns"].as_f64().unwrap()).sum();
    assert!((oncpu - in_json / 1e9).abs() < 1e-9, "{oncpu} {in_json}");
    assert!(compared > 15, "{compared}");
}

#[test]
fn a_histogram_has_every_sample_of_the_record() {
    let run = runs::with_histograms();
    let text = text(&run);
    let samples = samples(&text);
    let stage = run.targets[0].stages.last().unwrap();
    let of = |name: &str| samples[format!("{name}{{target=\"lean\",connections=\"10\"}}").as_str()];
    let waits = &stage.sched.value().unwrap().runqlat_ns;
    for (name, times) in [
        ("bench_load_response_seconds", &stage.load.response_ns),
        ("bench_runqueue_latency_seconds", waits),
    ] {
        #[expect(clippy::cast_precision_loss, reason = "small counts")]
        let count = times.count as f64;
        assert_eq!(of(&format!("{name}_count")), count, "{text}");
        let sum = times.mean.unwrap() * count / 1e9;
        assert!((of(&format!("{name}_sum")) - sum).abs() < 1e-12);
        let buckets = samples
            .iter()
            .filter(|(sample, _)| sample.starts_with(&format!("{name}_bucket{{target=\"lean\"")));
        let most = buckets.map(|(_, value)| *value).fold(0.0, f64::max);
        assert_eq!(most, count, "the last bucket has all");
    }
}

#[test]
fn what_was_not_measured_is_no_series_and_told_with_its_reason() {
    let why = "the kernel has no BTF: boot one with \"CONFIG_DEBUG_INFO_BTF\"\nor another";
    let text = exposition(&runs::nothing_observed(why)).text();
    let left = samples(&text).into_keys().filter(|name| {
        !["bench_unavailable_info", "bench_target_info", "bench_obser"]
            .iter()
            .any(|known| name.starts_with(known))
    });
    assert_eq!(left.collect::<Vec<_>>(), [""; 0], "{text}");
    let escaped = r#"no BTF: boot one with \"CONFIG_DEBUG_INFO_BTF\"\nor another"} 1"#;
    assert!(text.contains(escaped), "{text}");
    for metric in ["bench_syscalls_total", "bench_cpu_seconds_total", "bench_perf_events_total"] {
        assert!(text.contains(&format!("metric=\"{metric}\"")), "{metric}");
    }
}

/// The thirty-third name and those after it are one series; those that were first stay.
#[test]
fn names_of_threads_are_bounded_and_keep_their_series() {
    let mut sample = runs::everything_observed();
    let threads = |names: std::ops::Range<u32>| {
        let thread = runs::everything_observed().threads.value().unwrap()[0].clone();
        let named = |n| bench_user::observe::Thread {
            comm: format!("{}-x", char::from_u32(0x100 + n).unwrap()),
            oncpu_ns: u64::from(n + 1) * 1_000_000_000,
            ..thread.clone()
        };
        Measured::Value(names.map(named).collect::<Vec<_>>())
    };
    sample.ended = Measured::Value(Vec::new());
    sample.threads = threads(0..40);
    let mut observation = Observation::of(&target());
    let first = observation.take_in(&sample).text();
    let named = |text: &str| {
        let lines =
            text.lines().filter(|line| line.starts_with("bench_thread_oncpu_seconds_total"));
        lines.map(|line| line.rsplit_once(' ').unwrap().0.to_owned()).collect::<BTreeSet<_>>()
    };
    assert_eq!(named(&first).len(), 33);
    // The eight idlest have 1 to 8 s.
    assert!(
        first.contains("bench_thread_oncpu_seconds_total{target=\"web\",thread=\"other\"} 36.0")
    );
    sample.threads = threads(0..60);
    assert_eq!(named(&observation.take_in(&sample).text()), named(&first));
}
