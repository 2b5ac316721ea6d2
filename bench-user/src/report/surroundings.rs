//! What was around a target's threads: its cgroup, the whole machine, TCP, faults. Lines for one
//! window (`observe`, `exec`) and, as medians over the repetitions, for the peak of a run.

use super::figures::{bytes, count, ns};
use super::levels::{Ladder, Row};
use super::page::Item;
use crate::analyze::{bootstrap, metrics};
use crate::measured::Measured;
use crate::observe::{CgroupUse, MachineUse, Net};

/// So many listeners are named; the rest is in the data.
const LISTENERS: usize = 4;

/// Limits, memory, processes and stalls of a cgroup over a window.
pub(super) fn cgroup(c: &CgroupUse) -> Vec<Item> {
    let mut items = Vec::new();
    let mut add = |lead: &str, text: Option<String>| {
        items.extend(text.map(|text| Item::new(lead, text)));
    };
    #[expect(clippy::cast_precision_loss, reason = "for people, three digits")]
    let size = |m: &Measured<u64>| m.value().map(|n| bytes(*n as f64));
    add("quota", c.cpu_limit.value().map(|cpus| format!("{cpus:.2} CPUs")));
    add("CPUs allowed", c.cpus_allowed.value().map(ToString::to_string));
    let throttled = c.nr_throttled.value().zip(c.nr_periods.value()).zip(c.throttled_ns.value());
    add(
        "throttled",
        throttled.map(|((n, of), time)| {
            format!("in {} of {} periods, {}", count(*n), count(*of), ns(*time))
        }),
    );
    add("memory", size(&c.memory_current_bytes));
    add("memory peak", size(&c.memory_peak_bytes));
    add("memory limit", size(&c.memory_limit_bytes));
    let events = c.memory_events.iter().filter_map(|(name, n)| Some((name, *n.value()?)));
    let events: Vec<String> = events.map(|(name, n)| format!("{name} {}", count(n))).collect();
    add("memory events", (!events.is_empty()).then(|| events.join(", ")));
    add("OOM kills", c.oom_kills.value().map(|n| count(*n)));
    add("processes and threads", c.pids_current.value().map(|n| count(*n)));
    add("most at once", c.pids_peak.value().map(|n| count(*n)));
    for (name, stalled) in &c.psi {
        add(&format!("stalled {name}"), stalled.value().map(|n| ns(*n)));
    }
    items
}

/// TCP: the namespace's counters, then the target's listeners one by one.
pub(super) fn network(net: &Net) -> Vec<Item> {
    let segments = net.segments_out.value().zip(net.segments_in.value());
    let mut lines = vec![format!(
        "{}{} segments sent again, {} accept queue overflows, {} drops at listeners (all of its \
         network namespace)",
        segments.map_or(String::new(), |(out, r#in)| {
            format!("{} segments out, {} in, ", count(*out), count(*r#in))
        }),
        count(net.retransmits),
        count(net.listen_overflows),
        count(net.listen_drops)
    )];
    for listener in net.listeners.iter().take(LISTENERS) {
        let limit = listener.accept_queue_limit.value();
        let limit = limit.map_or(String::new(), |n| format!(" of {}", count(n + 1)));
        let drops = listener.drops.value();
        let drops = drops.map_or(String::new(), |n| format!(", {} dropped", count(*n)));
        lines.push(format!(
            "its listener {}: {} waiting to be accepted, at most {}{limit}{drops}",
            listener.address,
            count(listener.accept_queue),
            count(listener.accept_queue_max)
        ));
    }
    if net.listeners.len() > LISTENERS {
        lines.push(format!("and {} listeners more", net.listeners.len() - LISTENERS));
    }
    vec![Item { lead: "TCP".into(), lines }]
}

/// CPU time of the whole machine.
pub(super) fn machine(machine: &MachineUse) -> Item {
    let (irq, softirq) = (machine.irq_cpus.value(), machine.softirq_cpus.value());
    let figures = [
        (Some(&machine.busy_cpus), "busy"),
        (softirq, "of it in softirqs"),
        (irq, "in interrupts"),
        (Some(&machine.stolen_cpus), "stolen by the hypervisor"),
    ];
    let parts = figures.into_iter().filter_map(|(cpus, what)| Some((*cpus?, what)));
    Item::new("whole machine", cpus(parts))
}

fn cpus<'w>(parts: impl Iterator<Item = (f64, &'w str)>) -> String {
    let parts: Vec<String> = parts.map(|(cpus, what)| format!("{cpus:.2} {what}")).collect();
    format!("CPUs: {}", parts.join(", "))
}

/// The same figures of a run, where it was fastest.
pub(super) fn at_peak(ladder: &Ladder<'_>) -> Option<Item> {
    let row = ladder.shown().filter(|row| !ladder.is_address() && !row.is_failed_job())?;
    let parts = [
        ("cgroup.cpu_ratio", "used by it"),
        ("machine.busy_cpus", "busy on the whole machine"),
        ("machine.softirq_cpus", "of it in softirqs"),
        ("machine.irq_cpus", "in interrupts"),
        ("machine.stolen_cpus", "stolen by the hypervisor"),
    ];
    let known = |(metric, what)| Some((median(row, metric)?, what));
    let mut lines = vec![cpus(parts.into_iter().filter_map(known))];
    lines.extend(counts(
        row,
        "TCP of its network namespace",
        &[
            ("net.segments_out", "segments out"),
            ("net.segments_in", "in"),
            ("net.retransmits", "sent again"),
            ("net.listen_overflows", "accept queue overflows"),
        ],
    ));
    lines.extend(counts(
        row,
        "its listeners",
        &[
            ("net.accept_queue_max", "connections at most waited to be accepted"),
            ("net.listener_drops", "dropped"),
        ],
    ));
    lines.extend(counts(
        row,
        "memory and faults",
        &[
            ("perf.minor-faults.value", "minor faults"),
            ("perf.major-faults.value", "major"),
            ("cgroup.memory_events.max", "times at the limit"),
            ("cgroup.memory_events.failcnt", "times at the limit"),
            ("cgroup.oom_kills", "OOM kills"),
            ("sched.migrations", "migrations to another CPU"),
        ],
    ));
    let at = if row.at.is_job() { String::new() } else { format!(" at {}", row.at) };
    Some(Item { lead: format!("{}{at}", ladder.target.name), lines })
}

/// One line of whole numbers; `None` where none was measured.
fn counts(row: &Row<'_>, lead: &str, parts: &[(&str, &str)]) -> Option<String> {
    let known = parts.iter().filter_map(|(metric, what)| {
        let median = median(row, metric)?;
        Some(format!("{} {what}", crate::units::show_count(median)))
    });
    let known: Vec<String> = known.collect();
    (!known.is_empty()).then(|| format!("{lead}: {}", known.join(", ")))
}

/// Over the counted repetitions in which it was measured.
fn median(row: &Row<'_>, metric: &str) -> Option<f64> {
    let values = row.stages.iter().filter_map(|stage| metrics::value(stage, metric).ok());
    bootstrap::median(&values.collect::<Vec<_>>())
}
