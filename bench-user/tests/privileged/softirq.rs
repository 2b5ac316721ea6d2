//! Softirqs against the kernel's own count.

use anyhow::{Context as _, Result, ensure};
use bench_user::plan::Explain;
use libtest_mimic::Trial;

use crate::offcpu::observe_all;
use crate::place::{Place, measured, trial};
use crate::workload::Workload;

pub(crate) fn tests() -> Vec<Trial> {
    vec![trial("softirq::runs_are_those_of_proc_softirqs", runs_are_those_of_procfs)]
}

/// Runs of a kind on all CPUs since boot; the file adds a colon and writes in capitals.
fn of_procfs(kind: &str) -> Result<u64> {
    let text = std::fs::read_to_string("/proc/softirqs")?;
    let line = text
        .lines()
        .map(str::trim_start)
        .find_map(|line| line.strip_prefix(&kind.to_uppercase())?.strip_prefix(':'))
        .with_context(|| format!("no {kind} in /proc/softirqs"))?;
    line.split_whitespace().map(|n| n.parse::<u64>().map_err(Into::into)).sum()
}

/// The machine's softirqs do not stop for us, so the file is read outside of the window and
/// inside it: the one bounds the probe's count from above, the other from below.
fn runs_are_those_of_procfs() -> Result<()> {
    let place = Place::new(&[])?;
    let mut workload = Workload::start("spin 200 2")?;
    place.take_in(workload.pid())?;
    let mut set = observe_all(&place, &[Explain::RunQueue, Explain::Softirq])?;
    let read = || ["timer", "sched", "rcu"].map(of_procfs).into_iter().collect::<Result<Vec<_>>>();
    let before = read()?;
    set.begin();
    let begun = read()?;
    workload.work()?;
    let ending = read()?;
    let sample = set.end().context("a window was begun")?;
    let after = read()?;
    let block = measured(sample.explain.softirq.as_ref().context("it was asked for")?)?;
    ensure!(block.lost.is_empty(), "{block:?}");
    let switches = measured(sample.explain.run_queue.as_ref().context("it was asked for")?)?;
    // A machine that hides the switches of its own agent from us hides the softirqs on top of
    // its threads as well; they are few, and there is no other trace of them.
    let hidden = if switches.lost.contains_key("switches_unseen") { 20 } else { 0 };
    for (n, kind) in ["timer", "sched", "rcu"].into_iter().enumerate() {
        let count = block.by_vector.get(kind).map_or(0, |time| time.count);
        let least = ending[n] - begun[n];
        let within = least.saturating_sub(least * hidden / 1000 + hidden)..=after[n] - before[n];
        ensure!(within.contains(&count), "{kind}: {count} are not in {within:?}");
    }
    // Two threads that spin are met by the tick, and no time is there twice.
    let timer = block.by_vector.get("timer").context("there is a tick")?;
    ensure!(timer.on_target_count > 0 && timer.on_target_ns <= timer.ns, "{timer:?}");
    ensure!(block.on_target_ns <= measured(&sample.sched)?.oncpu_ns, "{block:?}");
    Ok(())
}
