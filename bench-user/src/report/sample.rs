//! One observed window without load: what `observe` and `exec` show.

use super::explain;
use super::figures::{self, NONE, count, ns, percent};
use super::page::{Item, Page, Table};
use super::reasons::Reasons;
use super::{surroundings, threads, times};
use crate::analyze::hidden_work;
use crate::measured::Measured;
use crate::observe::{Sample, Sched, Syscalls};

/// So many syscalls by name are listed; the rest is in the data.
const SYSCALLS: usize = 15;

/// The whole page.
pub(super) fn page(sample: &Sample) -> Page {
    let mut page = Page::titled(format!("observed for {}", ns(sample.window_ns)));
    page.items(totals(sample));
    if let Some(syscalls) = sample.syscalls.value() {
        page.heading("Syscalls");
        page.table(by_name(syscalls));
    }
    if hidden_work::is_hidden(&sample.explain, &sample.syscalls, &sample.threads) {
        page.text(format!("Work done through io_uring is in no syscall: {}.", hidden_work::REMEDY));
    }
    threads::of_window(&mut page, &sample.threads, &sample.ended);
    explain::window(&mut page, "", &sample.explain);
    explain::stacks(&mut page, "", &[&sample.explain], "window");
    page.section("perf counters", perf(sample));
    page.section("cgroup", surroundings::cgroup(&sample.cgroup));
    let mut around: Vec<Item> =
        sample.machine.value().map(surroundings::machine).into_iter().collect();
    around.extend(sample.net.value().map_or(Vec::new(), surroundings::network));
    page.section("Around it", around);
    page.section("Cost of observing", cost(sample));
    let mut reasons = Reasons::default();
    reasons.note_all("missing", "", sample);
    page.section("Not measured", reasons.items(&[], ""));
    page
}

fn totals(sample: &Sample) -> Vec<Item> {
    let cgroup = &sample.cgroup;
    let cpu = cgroup.cpu_ratio.value().map(|cpus| {
        let part = |m: &Measured<u64>| m.value().map_or(NONE.into(), |n| ns(*n));
        format!(
            "{cpus:.2} CPUs used; {} user, {} system",
            part(&cgroup.user_ns),
            part(&cgroup.system_ns)
        )
    });
    vec![
        Item::new("CPU", cpu.unwrap_or(NONE.into())),
        Item::new("syscalls", sample.syscalls.value().map_or(NONE.into(), syscalls_line)),
        Item {
            lead: "switches".into(),
            lines: sample.sched.value().map_or(vec![NONE.into()], sched_lines),
        },
    ]
}

fn syscalls_line(syscalls: &Syscalls) -> String {
    let rate = figures::show("per_sec", syscalls.per_sec);
    let missed = missed(syscalls.missed);
    format!("{} in all, {rate}/s (counted by {}){missed}", count(syscalls.total), syscalls.hook)
}

fn sched_lines(sched: &Sched) -> Vec<String> {
    let wait = &sched.runqlat_ns;
    let spread = match wait.count {
        0 => String::new(),
        _ => format!(": {}, to 1/32", times::line(wait)),
    };
    vec![
        format!(
            "{} voluntary, {} involuntary, {}/s; {} migrations{}",
            count(sched.switches_voluntary),
            count(sched.switches_involuntary),
            figures::show("per_sec", sched.per_sec),
            sched.migrations.value().map_or(NONE.into(), |n| count(*n)),
            missed(sched.missed)
        ),
        format!(
            "{} waits for a CPU{spread}; {} of waiting in all, {} on a CPU",
            count(wait.count),
            ns(sched.runqlat_sum_ns),
            ns(sched.oncpu_ns)
        ),
    ]
}

fn missed(n: u64) -> String {
    if n == 0 { String::new() } else { format!("; {} MISSED: these are lower bounds", count(n)) }
}

fn by_name(syscalls: &Syscalls) -> Table {
    let mut names: Vec<_> = syscalls.by_name.iter().collect();
    names.sort_by(|a, b| b.1.count.cmp(&a.1.count).then(a.0.cmp(b.0)));
    let mut table = Table::new(["syscall", ">count", ">per second", ">share"]);
    for (name, n) in names.iter().take(SYSCALLS) {
        table.rows.push(vec![
            (*name).clone(),
            count(n.count),
            figures::show("per_sec", n.per_sec),
            share(n.count, syscalls.total),
        ]);
    }
    let rest: u64 = names.iter().skip(SYSCALLS).map(|(_, n)| n.count).sum();
    if names.len() > SYSCALLS {
        let others = format!("{} others", names.len() - SYSCALLS);
        table.rows.push(vec![others, count(rest), String::new(), share(rest, syscalls.total)]);
    }
    table
}

#[expect(clippy::cast_precision_loss, reason = "for people, three digits")]
fn share(part: u64, whole: u64) -> String {
    if whole == 0 { NONE.into() } else { percent(part as f64 / whole as f64) }
}

fn perf(sample: &Sample) -> Vec<Item> {
    let counters = sample.perf.iter().filter_map(|(name, c)| Some((name, c.value()?)));
    let shown = counters.map(|(name, counter)| {
        let is_time = name == "task-clock" || name == "cpu-clock";
        let value = if is_time { ns(counter.value) } else { count(counter.value) };
        let scaled = if counter.scaled { " (estimated: the counter was shared)" } else { "" };
        Item::new(name, format!("{value}{scaled}"))
    });
    shown.collect()
}

fn cost(sample: &Sample) -> Vec<Item> {
    let cost = &sample.observer_cost;
    let mut text = format!(
        "{} of CPU time by this tool; {} for the two readings",
        ns(cost.user_cpu_ns),
        ns(cost.read_ns)
    );
    for (cause, n) in cost.lost.iter().filter(|(_, n)| **n > 0) {
        text += &format!("; lost by {cause}: {}", count(*n));
    }
    vec![Item::new("observer", text)]
}
