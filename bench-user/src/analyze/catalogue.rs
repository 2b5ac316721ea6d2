//! The names of metrics: the standard ones with their meaning, and every other number of a
//! stage, to check a name before anything was measured and to suggest the nearest one.
//!
//! Knows names only; `metrics.rs` gives the values.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::Value;

use crate::distribution::Distribution;
use crate::load::{Connections, Events, LoadSample, Offered};
use crate::measured::Measured;
use crate::observe::{
    CgroupUse, MachineUse, Net, ObserverCost, PerfCount, Sched, Syscalls, Thread,
};
use crate::plan::Level;
use crate::record::{After, ClimbFindings, JobRun, Loop, StageRecord, Start, Verdict};
use crate::target::Exit;

/// A metric of every level in the analysis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metric {
    /// Dotted name, as in claims.
    pub name: &'static str,
    /// What it says, in one line, with its unit.
    pub means: &'static str,
}

const fn m(name: &'static str, means: &'static str) -> Metric {
    Metric { name, means }
}

const STANDARD: [Metric; 34] = [
    m("load.achieved_rps", "complete 2xx responses per second"),
    m("load.response_ns.mean", "mean response time, ns"),
    m("load.response_ns.p50", "median response time, ns"),
    m("load.response_ns.p90", "90th percentile of the response time, ns"),
    m("load.response_ns.p99", "99th percentile of the response time, ns"),
    m("load.events.per_sec", "events (or messages) on open streams per second"),
    m("load.events.first_event_ns.p50", "median time from asking for a stream to its event, ns"),
    m("load.events.gap_ns.p99", "99th percentile of the time between a stream's events, ns"),
    m("error_ratio", "share of requests that failed, 0..=1"),
    m("non_2xx_ratio", "share of complete responses that are not 2xx, 0..=1"),
    m("syscalls.per_request", "syscalls per complete response"),
    m("syscalls.per_sec", "syscalls per second"),
    m("sched.per_request", "context switches per complete response"),
    m("sched.per_sec", "context switches per second"),
    m("sched.voluntary_per_request", "switches to wait for something, per complete response"),
    m("sched.involuntary_per_request", "switches of a thread that could go on, per response"),
    m("sched.runqlat_ns.p50", "median wait for a CPU, ns"),
    m("sched.runqlat_ns.p99", "99th percentile of the wait for a CPU, ns"),
    m("threads.busiest.oncpu_ratio", "busiest thread's share of the window on a CPU, 0..=1"),
    m("threads.busiest.runq_ratio", "its share of the window waiting for a CPU, 0..=1"),
    m("threads.count", "threads seen in the window"),
    m("cgroup.cpu_ratio", "CPU time over the window, in CPUs"),
    m("cpu_ns_per_request", "CPU time per complete response, ns"),
    m("cgroup.memory_peak_bytes", "highest memory use ever, bytes"),
    m("cgroup.memory_current_bytes", "memory use at the end of the window, bytes"),
    // Memory of the cgroup at the end of the window minus that before the climb's first
    // connection, over the median of open connections: whatever else grew meanwhile is in it.
    m("memory_bytes_per_connection", "memory growth since before the load, per connection, bytes"),
    m("perf.context-switches.value", "context switches that perf counted in the cgroup"),
    m("perf.page-faults.value", "page faults"),
    m("perf.major-faults.value", "page faults that had to wait for I/O"),
    m("perf.instructions.value", "instructions, where there is a PMU"),
    m("net.accept_queue_max", "most connections seen waiting at one of its listeners"),
    m("machine.softirq_cpus", "softirq time of the whole machine, in CPUs"),
    m("memory_growth_bytes_per_sec", "slope of the memory samples inside the stage, bytes/s"),
    m("load.generator.cpu_ratio", "busiest load worker's share of the window on a CPU, 0..=1"),
];

/// Those of a job beside the standard ones: totals, which of a job are not for the plan to choose.
const OF_JOB: [Metric; 6] = [
    m("job.wall_ns", "from the release of the program to its end, ns"),
    m("job.work_per_sec", "the plan's `work` over that time, per second"),
    m("syscalls.total", "syscalls"),
    m("syscalls.stat_family", "stat, lstat, fstat, newfstatat and statx together"),
    m("sched.switches", "context switches"),
    m("job.cpu_ns", "CPU time of its cgroup, ns"),
];

/// A computed one that is in no level.
const DERIVED: [&str; 1] = ["bottleneck"];

/// Some of those that only an explanation gives, to suggest; they depend on what happened.
const EXPLAINED: [&str; 8] = [
    "explain.syscalls.by_name.read.latency_ns.p99",
    "explain.syscalls.by_name.read.blocked_ns",
    "explain.syscalls.by_name.read.errors.EAGAIN",
    "explain.syscalls.by_name.read.bytes_per_call.p50",
    "explain.syscalls.by_name.epoll_wait.events_per_call.mean",
    "explain.syscalls.unpaired.no_enter",
    "explain.io_uring.submitted.per_request",
    "explain.io_uring.by_opcode.read.per_request",
];

/// The metrics of every level, with a line each.
#[must_use]
pub fn standard() -> &'static [Metric] {
    &STANDARD
}

/// The metrics of a level in the analysis, with a line each.
pub fn of_level(level: Level) -> impl Iterator<Item = &'static Metric> {
    let more = if level.is_job() { &OF_JOB[..] } else { &[] };
    STANDARD.iter().chain(more)
}

/// The known name most like this one.
#[must_use]
pub fn nearest(name: &str) -> &'static str {
    let known = NAMES.iter().map(String::as_str).chain(EXPLAINED);
    known
        .max_by(|a, b| strsim::jaro_winkler(a, name).total_cmp(&strsim::jaro_winkler(b, name)))
        .unwrap_or("load.achieved_rps")
}

/// Every name that does not depend on what happened in a stage, in alphabetical order.
#[must_use]
pub fn all() -> &'static [String] {
    &NAMES
}

static NAMES: LazyLock<Vec<String>> = LazyLock::new(|| {
    let named = STANDARD.iter().chain(&OF_JOB);
    let mut names: Vec<String> = named.map(|metric| metric.name.to_owned()).collect();
    names.extend(DERIVED.map(str::to_owned));
    names.extend(numbers(&template()).into_iter().map(|(name, _)| name));
    names.sort_unstable();
    names.dedup();
    names
});

/// The numbers that the record holds of a stage, by name, those that are `null` too.
#[must_use]
pub fn numbers(stage: &StageRecord) -> Vec<(String, Value)> {
    let mut numbers = Vec::new();
    for (block, json) in [
        ("start", serde_json::to_value(&stage.start)),
        ("after", serde_json::to_value(&stage.after)),
        ("climb", serde_json::to_value(&stage.climb)),
        ("load", serde_json::to_value(Some(&stage.load).filter(|load| !load.is_none()))),
        ("job", serde_json::to_value(&stage.job)),
        ("syscalls", serde_json::to_value(&stage.syscalls)),
        ("sched", serde_json::to_value(&stage.sched)),
        ("perf", serde_json::to_value(&stage.perf)),
        ("cgroup", serde_json::to_value(&stage.cgroup)),
        ("net", serde_json::to_value(&stage.net)),
        ("machine", serde_json::to_value(&stage.machine)),
        ("explain", serde_json::to_value(&stage.explain)),
        ("observer_cost", serde_json::to_value(&stage.observer_cost)),
    ] {
        leaves(block, json.unwrap_or_default(), &mut numbers);
    }
    numbers
}

fn leaves(path: &str, json: Value, into: &mut Vec<(String, Value)>) {
    match json {
        Value::Object(map) => {
            for (key, value) in map {
                leaves(&format!("{path}.{key}"), value, into);
            }
        }
        Value::Number(_) | Value::Null => into.push((path.to_owned(), json)),
        Value::Bool(_) | Value::String(_) | Value::Array(_) => {}
    }
}

/// A stage in which everything was measured, so that every name can be looked up in it.
pub(super) fn template() -> StageRecord {
    let zero = || Measured::Value(0_u64);
    StageRecord {
        index: 0,
        repetition: 0,
        observed: true,
        kind: Loop::Closed,
        connections: 1,
        offered_rps: None,
        duration_s: 1.0,
        before: None,
        start: Some(Start { startup_ms: Some(0.0), rss_bytes: zero(), image_bytes: Some(0) }),
        after: Some(After { rss_bytes: zero(), memory_current_bytes: zero(), health_ratio: 1.0 }),
        climb: Some(ClimbFindings::default()),
        observed_requests: 0,
        load: LoadSample {
            requests: 1,
            connections: Connections { live_median: 1, ..Connections::default() },
            service_ns: Some(Distribution::default()),
            offered: Some(Offered::default()),
            events: Some(Events::default()),
            ..LoadSample::default()
        },
        job: Some(job_template()),
        syscalls: Measured::Value(Syscalls { per_request: Some(0.0), ..Syscalls::default() }),
        sched: Measured::Value(Sched { migrations: zero(), ..Sched::default() }),
        threads: Measured::Value(vec![Thread::default()]),
        ended: Measured::default(),
        perf: BTreeMap::from([(
            "context-switches".to_owned(),
            Measured::Value(PerfCount { value: 0, scaled: false }),
        )]),
        cgroup: CgroupUse {
            cpu_ratio: Measured::Value(0.0),
            user_ns: zero(),
            system_ns: zero(),
            cpu_limit: Measured::Value(1.0),
            cpus_allowed: Measured::Value(1),
            nr_periods: zero(),
            nr_throttled: zero(),
            throttled_ns: zero(),
            memory_before_bytes: zero(),
            memory_peak_bytes: zero(),
            memory_current_bytes: zero(),
            memory_limit_bytes: zero(),
            oom_kills: zero(),
            memory_events: BTreeMap::new(),
            pids_peak: zero(),
            pids_current: zero(),
            psi: BTreeMap::new(),
        },
        net: Measured::Value(Net {
            segments_out: zero(),
            segments_in: zero(),
            accept_queue: zero(),
            accept_queue_max: zero(),
            listener_drops: zero(),
            ..Net::default()
        }),
        machine: Measured::Value(MachineUse {
            busy_cpus: 1.0,
            stolen_cpus: 0.0,
            irq_cpus: Measured::Value(0.0),
            softirq_cpus: Measured::Value(0.0),
        }),
        explain: super::metrics::explained::template(),
        observer_cost: ObserverCost::default(),
        services: Vec::new(),
        samples: Vec::new(),
        verdict: Verdict::default(),
    }
}

/// A run of a job that went well.
pub(super) fn job_template() -> JobRun {
    let exit = Exit {
        code: Some(0),
        signal: None,
        oom_killed: Measured::Value(false),
        restarts: None,
        by_us: false,
    };
    JobRun { wall_ns: 1, work: Some(1.0), exit, failed: None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyze::metrics;

    #[test]
    fn every_standard_name_can_be_looked_up() {
        for metric in of_level(Level::JOB) {
            assert_eq!(metrics::check_name(metric.name), Ok(()), "{}", metric.name);
        }
    }

    #[test]
    fn a_mistyped_name_finds_its_neighbour() {
        assert_eq!(nearest("syscals.per_request"), "syscalls.per_request");
        assert_eq!(nearest("load.response_ns.p95"), "load.response_ns.p99");
        assert_eq!(nearest("cgroup.throtled_ns"), "cgroup.throttled_ns");
    }
}
