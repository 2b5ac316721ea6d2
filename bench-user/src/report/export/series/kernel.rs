//! What the kernel counted of a target, as series. Counts are of the stage or since the
//! observation began; nothing here is a rate, which whoever asks takes over the time of his choice.

use std::collections::{BTreeMap, BTreeSet};

use super::names::*;
use super::{Number, Series, seconds};
use crate::measured::Measured;
use crate::observe::{
    CgroupUse, EndedGroup, MachineUse, Net, ObserverCost, PerfCount, Sample, Sched, Syscalls,
    Thread, folded_name,
};
use crate::record::StageRecord;

/// Names of threads that have series of their own; the rest is one more.
const THREADS: usize = 32;

/// Its name.
const OTHER: &str = "other";

/// Counters of perf that count ns.
const CLOCKS: [&str; 2] = ["task-clock", "cpu-clock"];

/// The kernel's side of a window.
pub(super) struct Blocks<'a> {
    pub(super) window_ns: u64,
    syscalls: &'a Measured<Syscalls>,
    sched: &'a Measured<Sched>,
    threads: &'a Measured<Vec<Thread>>,
    ended: &'a Measured<Vec<EndedGroup>>,
    perf: &'a BTreeMap<String, Measured<PerfCount>>,
    cgroup: &'a CgroupUse,
    net: &'a Measured<Net>,
    machine: &'a Measured<MachineUse>,
    cost: &'a ObserverCost,
}

impl<'a> From<&'a Sample> for Blocks<'a> {
    fn from(sample: &'a Sample) -> Self {
        let Sample { window_ns, syscalls, sched, threads, ended, perf, .. } = sample;
        let Sample { cgroup, net, machine, observer_cost: cost, .. } = sample;
        let window_ns = *window_ns;
        Self { window_ns, syscalls, sched, threads, ended, perf, cgroup, net, machine, cost }
    }
}

impl<'a> From<&'a StageRecord> for Blocks<'a> {
    fn from(stage: &'a StageRecord) -> Self {
        let StageRecord { duration_s, syscalls, sched, threads, ended, perf, .. } = stage;
        let StageRecord { cgroup, net, machine, observer_cost: cost, .. } = stage;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a window is positive and far below 2^53 ns"
        )]
        let window_ns = (duration_s * 1e9).round() as u64;
        Self { window_ns, syscalls, sched, threads, ended, perf, cgroup, net, machine, cost }
    }
}

/// Adds everything; `names` are the threads that have had a series of their own so far.
pub(super) fn add(series: &mut Series, blocks: &Blocks<'_>, names: &mut BTreeSet<String>) {
    series.add(OBSERVED, &[], seconds(blocks.window_ns));
    syscalls(series, blocks.syscalls);
    sched(series, blocks.sched);
    threads(series, blocks, names);
    cgroup(series, blocks.cgroup);
    for (event, count) in blocks.perf {
        let value = count.clone().map(|count| count.value);
        let (is, number): (_, fn(u64) -> Number) = if CLOCKS.contains(&event.as_str()) {
            (PERF_CLOCK, seconds)
        } else {
            (PERF, Number::Whole)
        };
        series.measured(is, &[("event", event)], &value, number);
    }
    network(series, blocks.net);
    machine(series, blocks.machine);
    series.add(OWN_CPU, &[], seconds(blocks.cost.user_cpu_ns));
    for (cause, lost) in &blocks.cost.lost {
        series.add(LOST, &[("cause", cause)], Number::Whole(*lost));
    }
}

fn syscalls(series: &mut Series, block: &Measured<Syscalls>) {
    match block.as_result() {
        Ok(block) => {
            for (name, count) in &block.by_name {
                series.add(SYSCALLS, &[("syscall", name)], Number::Whole(count.count));
            }
            series.add(MISSED, &[("of", "syscalls")], Number::Whole(block.missed));
        }
        Err(why) => series.missing(SYSCALLS, &[], why),
    }
}

fn sched(series: &mut Series, block: &Measured<Sched>) {
    let block = match block.as_result() {
        Ok(block) => block,
        Err(why) => {
            for is in [SWITCHES, MIGRATIONS, LATENCY, WAITED, ON_CPU] {
                series.missing(is, &[], why);
            }
            return;
        }
    };
    let whole = Number::Whole;
    series.add(SWITCHES, &[("kind", "voluntary")], whole(block.switches_voluntary));
    series.add(SWITCHES, &[("kind", "involuntary")], whole(block.switches_involuntary));
    series.add(MISSED, &[("of", "switches")], whole(block.missed));
    series.measured(MIGRATIONS, &[], &block.migrations, whole);
    series.histogram(LATENCY, &[], &block.runqlat_ns);
    series.add(WAITED, &[], seconds(block.runqlat_sum_ns));
    series.add(ON_CPU, &[], seconds(block.oncpu_ns));
}

/// By name: threads of a pool are one series, and those that ended stay in theirs.
fn threads(series: &mut Series, blocks: &Blocks<'_>, names: &mut BTreeSet<String>) {
    let (live, ended) = match (blocks.threads.as_result(), blocks.ended.as_result()) {
        (Ok(threads), Ok(ended)) => (threads.iter().filter(|thread| !thread.exited), ended),
        (Err(why), _) | (_, Err(why)) => {
            series.missing(THREAD_CPU, &[], why);
            series.missing(THREAD_WAIT, &[], why);
            return;
        }
    };
    let live = live.map(|thread| (folded_name(&thread.comm), thread.oncpu_ns, thread.runq_ns));
    let ended = ended.iter().map(|group| (group.name.clone(), group.oncpu_ns, group.runq_ns));
    let mut by_name: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for (name, oncpu_ns, runq_ns) in live.chain(ended) {
        let sum = by_name.entry(name).or_default();
        *sum = (sum.0 + oncpu_ns, sum.1 + runq_ns);
    }
    let mut busiest: Vec<_> = by_name.into_iter().collect();
    busiest.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    let mut shown: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for (name, _) in &busiest {
        if names.len() < THREADS {
            names.insert(name.clone());
        }
    }
    for (name, (oncpu_ns, runq_ns)) in &busiest {
        let name = if names.contains(name) { name.as_str() } else { OTHER };
        let sum = shown.entry(name).or_default();
        *sum = (sum.0 + oncpu_ns, sum.1 + runq_ns);
    }
    for (name, (oncpu_ns, runq_ns)) in shown {
        series.add(THREAD_CPU, &[("thread", name)], seconds(oncpu_ns));
        series.add(THREAD_WAIT, &[("thread", name)], seconds(runq_ns));
    }
}

fn cgroup(series: &mut Series, cgroup: &CgroupUse) {
    let whole = Number::Whole;
    series.measured(CPU, &[("mode", "user")], &cgroup.user_ns, seconds);
    series.measured(CPU, &[("mode", "system")], &cgroup.system_ns, seconds);
    series.measured(PERIODS, &[], &cgroup.nr_periods, whole);
    series.measured(THROTTLED, &[], &cgroup.nr_throttled, whole);
    series.measured(THROTTLED_TIME, &[], &cgroup.throttled_ns, seconds);
    series.measured(LIMIT, &[], &cgroup.cpu_limit, Number::Real);
    series.measured(MEMORY, &[], &cgroup.memory_current_bytes, whole);
    series.measured(MEMORY_PEAK, &[], &cgroup.memory_peak_bytes, whole);
    series.measured(MEMORY_LIMIT, &[], &cgroup.memory_limit_bytes, whole);
    series.measured(OOM, &[], &cgroup.oom_kills, whole);
    for (event, count) in &cgroup.memory_events {
        series.measured(MEMORY_EVENTS, &[("event", event)], count, whole);
    }
    series.measured(PIDS, &[], &cgroup.pids_current, whole);
    for (name, stalled) in &cgroup.psi {
        let (resource, who) = name.split_once('.').unwrap_or((name, "some"));
        series.measured(PRESSURE, &[("resource", resource), ("tasks", who)], stalled, seconds);
    }
}

fn network(series: &mut Series, net: &Measured<Net>) {
    let net = match net.as_result() {
        Ok(net) => net,
        Err(why) => {
            for is in [
                LISTEN_OVERFLOWS,
                LISTEN_DROPS,
                RETRANSMITS,
                SEGMENTS,
                ACCEPT_QUEUE,
                LISTENER_DROPS,
            ] {
                series.missing(is, &[], why);
            }
            return;
        }
    };
    let whole = Number::Whole;
    series.add(LISTEN_OVERFLOWS, &[], whole(net.listen_overflows));
    series.add(LISTEN_DROPS, &[], whole(net.listen_drops));
    series.add(RETRANSMITS, &[], whole(net.retransmits));
    series.measured(SEGMENTS, &[("direction", "out")], &net.segments_out, whole);
    series.measured(SEGMENTS, &[("direction", "in")], &net.segments_in, whole);
    series.measured(ACCEPT_QUEUE, &[], &net.accept_queue, whole);
    series.measured(LISTENER_DROPS, &[], &net.listener_drops, whole);
}

fn machine(series: &mut Series, machine: &Measured<MachineUse>) {
    match machine.as_result() {
        Ok(machine) => {
            let real = Number::Real;
            series.add(MACHINE, &[("mode", "busy")], real(machine.busy_cpus));
            series.add(MACHINE, &[("mode", "stolen")], real(machine.stolen_cpus));
            series.measured(MACHINE, &[("mode", "irq")], &machine.irq_cpus, real);
            series.measured(MACHINE, &[("mode", "softirq")], &machine.softirq_cpus, real);
        }
        Err(why) => series.missing(MACHINE, &[], why),
    }
}
