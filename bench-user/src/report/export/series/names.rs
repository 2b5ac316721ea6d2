//! The names of what the kernel counted, with their units and meanings.

use super::{Kind, Metric, Unit};

pub(super) const fn m(name: &'static str, unit: Unit, kind: Kind, help: &'static str) -> Metric {
    Metric { name, unit, kind, help }
}

pub(super) const fn count(name: &'static str, help: &'static str) -> Metric {
    m(name, Unit::None, Kind::Counter, help)
}

pub(super) const fn time(name: &'static str, help: &'static str) -> Metric {
    m(name, Unit::Seconds, Kind::Counter, help)
}

pub(super) const fn gauge(name: &'static str, unit: Unit, help: &'static str) -> Metric {
    m(name, unit, Kind::Gauge, help)
}

pub(super) const TARGET: Metric = m("bench.target", Unit::None, Kind::Info, "What is watched");
pub(super) const OBSERVED: Metric =
    time("bench.observed", "Time that the other series are counted over");
pub(super) const SYSCALLS: Metric =
    count("bench.syscalls", "Syscalls entered by threads of the target");
pub(super) const MISSED: Metric = count(
    "bench.events.missed",
    "Events that the kernel skipped; with any, what was counted is a lower bound",
);
pub(super) const SWITCHES: Metric =
    count("bench.context.switches", "Switches away from its threads");
pub(super) const MIGRATIONS: Metric =
    count("bench.cpu.migrations", "Moves of its threads to another CPU");
pub(super) const LATENCY: Metric = m(
    "bench.runqueue.latency",
    Unit::Seconds,
    Kind::Histogram,
    "Waits of its threads for a CPU, each to 1/32",
);
pub(super) const WAITED: Metric = time("bench.runqueue.wait", "All its waiting for a CPU, exact");
pub(super) const ON_CPU: Metric =
    time("bench.oncpu", "Time of its threads on a CPU, interrupts included");
pub(super) const THREAD_CPU: Metric =
    time("bench.thread.oncpu", "Time on a CPU by thread name, digits at its end as *");
pub(super) const THREAD_WAIT: Metric =
    time("bench.thread.runqueue.wait", "Waiting for a CPU by thread name, digits at its end as *");
pub(super) const CPU: Metric = time("bench.cpu", "CPU time of its cgroup");
pub(super) const PERIODS: Metric = count("bench.cpu.periods", "Periods of its CPU quota");
pub(super) const THROTTLED: Metric =
    count("bench.cpu.throttled.periods", "Periods in which it ran out of its CPU quota");
pub(super) const THROTTLED_TIME: Metric =
    time("bench.cpu.throttled", "Time it was held back by its quota");
pub(super) const LIMIT: Metric =
    gauge("bench.cpu.quota.cpus", Unit::None, "Its CPU quota, in CPUs");
pub(super) const MEMORY: Metric = gauge("bench.memory", Unit::Bytes, "Memory in use");
pub(super) const MEMORY_PEAK: Metric =
    gauge("bench.memory.peak", Unit::Bytes, "Most memory in use ever");
pub(super) const MEMORY_LIMIT: Metric =
    gauge("bench.memory.limit", Unit::Bytes, "Its memory limit");
pub(super) const OOM: Metric =
    count("bench.oom.kills", "Processes of it that the OOM killer ended");
pub(super) const MEMORY_EVENTS: Metric =
    count("bench.memory.events", "What happened at its memory limits, by the kernel's names");
pub(super) const PIDS: Metric = gauge("bench.pids", Unit::None, "Its processes and threads");
pub(super) const PRESSURE: Metric =
    time("bench.pressure", "Time in which some or all of its tasks were stalled");
pub(super) const PERF: Metric =
    count("bench.perf.events", "Events that perf counted in its cgroup");
pub(super) const PERF_CLOCK: Metric =
    time("bench.perf.clock", "Time that perf counted in its cgroup");
pub(super) const LISTEN_OVERFLOWS: Metric = count(
    "bench.tcp.listen.overflows",
    "Connections dropped at full accept queues of its network namespace",
);
pub(super) const LISTEN_DROPS: Metric =
    count("bench.tcp.listen.drops", "SYNs dropped at listeners of its network namespace");
pub(super) const RETRANSMITS: Metric =
    count("bench.tcp.retransmits", "Segments sent again in its network namespace");
pub(super) const SEGMENTS: Metric =
    count("bench.tcp.segments", "Segments of its network namespace, by direction");
pub(super) const ACCEPT_QUEUE: Metric =
    gauge("bench.accept.queue", Unit::None, "Connections that wait to be accepted by it");
pub(super) const LISTENER_DROPS: Metric =
    count("bench.accept.drops", "Connections and SYNs dropped at its own listeners");
pub(super) const MACHINE: Metric =
    gauge("bench.machine.cpus", Unit::None, "CPUs that the whole machine used, mean over the time");
pub(super) const OWN_CPU: Metric =
    time("bench.observer.cpu", "CPU time of the thread that observes");
pub(super) const LOST: Metric = count("bench.observer.lost", "What observing lost, by cause");
