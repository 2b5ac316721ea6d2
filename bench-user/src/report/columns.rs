//! Which metrics are columns of the tables of stages and rows of comparisons, and their titles.

/// A metric that reports show.
pub(super) struct Metric {
    /// As in claims and in the analysis.
    pub(super) name: &'static str,
    /// As a title.
    pub(super) label: &'static str,
}

const fn metric(name: &'static str, label: &'static str) -> Metric {
    Metric { name, label }
}

/// What a stage table and a comparison show of requests, from the client's figures to the kernel's.
pub(super) const METRICS: [Metric; 8] = [
    metric("load.achieved_rps", "req/s"),
    metric("load.response_ns.p50", "p50"),
    metric("load.response_ns.p99", "p99"),
    metric("syscalls.per_request", "syscalls\n/req"),
    metric("sched.per_request", "switches\n/req"),
    metric("sched.runqlat_ns.p99", "runq\np99"),
    metric("cgroup.cpu_ratio", "CPUs\nused"),
    metric("threads.busiest.oncpu_ratio", "busiest\nthread"),
];

/// Between the two of the tables, for pictures.
pub(super) const P90: Metric = metric("load.response_ns.p90", "p90");

/// The same of connections that are held open: event streams, WebSocket listeners, idle ones.
pub(super) const OF_HELD: [Metric; 8] = [
    metric("load.events.per_sec", "events/s"),
    metric("load.events.first_event_ns.p50", "first\nevent"),
    metric("load.events.gap_ns.p99", "gap\np99"),
    metric("memory_bytes_per_connection", "memory\n/conn"),
    metric("syscalls.per_sec", "syscalls\n/s"),
    metric("sched.per_sec", "switches\n/s"),
    metric("cgroup.cpu_ratio", "CPUs\nused"),
    metric("threads.busiest.oncpu_ratio", "busiest\nthread"),
];

/// The same of a program that runs to its end.
pub(super) const OF_JOB: [Metric; 8] = [
    metric("job.wall_ns", "time"),
    metric("job.work_per_sec", "work\n/s"),
    metric("job.cpu_ns", "CPU\ntime"),
    metric("cgroup.cpu_ratio", "CPUs\nused"),
    metric("threads.busiest.oncpu_ratio", "busiest\nthread"),
    metric("syscalls.total", "syscalls"),
    metric("sched.switches", "switches"),
    metric("cgroup.memory_peak_bytes", "memory\npeak"),
];

/// The title of a metric that reports show; of another one, its name.
pub(super) fn label(name: &str) -> &str {
    METRICS
        .iter()
        .chain(&OF_HELD)
        .chain(&OF_JOB)
        .find(|known| known.name == name)
        .map_or(name, |m| m.label)
}
