//! Many threads, many short lives and many events: nothing is lost.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context as _, Result, ensure};
use bench_user::observe::threads::{ThreadBooks, read_cgroup};
use bench_user::observe::{ObserverSet, Sample, Thread};
use libtest_mimic::Trial;

use crate::place::{CannotRun, Place, amount, measured, trial};
use crate::probes::{observe, sched};
use crate::workload::Workload;

pub(crate) fn tests() -> Vec<Trial> {
    vec![
        trial("many::twenty_thousand_threads_lose_nothing", twenty_thousand_threads),
        trial("many::a_storm_of_processes_loses_nothing", a_storm_of_processes),
        trial("many::a_storm_without_a_look_loses_nothing", a_storm_without_a_look),
        trial("many::switches_and_syscalls_at_full_rate_lose_nothing", at_full_rate),
    ]
}

/// Four processes, because a process has 65,530 mappings and each thread takes four.
fn twenty_thousand_threads() -> Result<()> {
    let (processes, threads) = (4, amount(5_000));
    let limit = |name: &str| -> Result<u64> {
        Ok(std::fs::read_to_string(format!("/proc/sys/kernel/{name}"))?.trim().parse()?)
    };
    let needed = processes * threads + 5_000;
    if limit("pid_max")?.min(limit("threads-max")?) < needed {
        return Err(CannotRun(format!("this machine has no room for {needed} threads")).into());
    }
    let place = Place::new(&[])?;
    let mut sleepers = (0..processes)
        .map(|_| Workload::start(&format!("sleepers {threads} 2")))
        .collect::<Result<Vec<_>>>()?;
    for workload in &sleepers {
        place.take_in(workload.pid())?;
    }
    let mut set = observe(&place)?;
    set.begin();
    let before = read_cgroup(&place.v2)?;
    for workload in &mut sleepers {
        workload.go()?;
    }
    set.look();
    for workload in &mut sleepers {
        workload.wait_done()?;
    }
    let after = read_cgroup(&place.v2)?;
    let sample = set.end().context("a window was begun")?;

    let shown = measured(&sample.threads)?;
    let expected = usize::try_from(processes * (threads + 1))?;
    ensure!(after.len() == expected && shown.len() == expected, "{} threads", shown.len());
    equal_to_procfs(shown, &before, &after)?;
    let block = sched(&sample)?;
    let sum = |f: fn(&ThreadBooks) -> u64| -> u64 {
        after.iter().map(f).sum::<u64>() - before.iter().map(f).sum::<u64>()
    };
    ensure!(block.oncpu_ns == sum(|t| t.oncpu_ns), "{block:?}");
    ensure!(block.switches_voluntary == sum(|t| t.voluntary), "{block:?}");
    ensure!(block.switches_seen == block.switches_voluntary + block.switches_involuntary);
    only_first_sights(&sample, expected)?;
    eprintln!("two readings of {expected} threads took {} us", sample.observer_cost.read_ns / 1000);
    Ok(())
}

/// What the iterator shows and what procfs shows, thread by thread, to the nanosecond.
fn equal_to_procfs(shown: &[Thread], before: &[ThreadBooks], after: &[ThreadBooks]) -> Result<()> {
    let before: BTreeMap<u32, &ThreadBooks> = before.iter().map(|t| (t.tid, t)).collect();
    let shown: BTreeMap<u32, &Thread> = shown.iter().map(|t| (t.tid, t)).collect();
    for now in after {
        let then = before.get(&now.tid).context("it was there before")?;
        let thread = shown.get(&now.tid).context("it is shown")?;
        let found = (
            thread.oncpu_ns,
            thread.runq_ns,
            thread.switches_voluntary,
            thread.switches_involuntary,
            &thread.comm,
            thread.pid,
        );
        let expected = (
            now.oncpu_ns - then.oncpu_ns,
            now.runq_ns - then.runq_ns,
            now.voluntary - then.voluntary,
            now.involuntary - then.involuntary,
            &now.comm,
            now.pid,
        );
        ensure!(found == expected, "{found:?}, procfs says {expected:?}");
    }
    Ok(())
}

fn only_first_sights(sample: &Sample, threads: usize) -> Result<()> {
    let lost = &sample.observer_cost.lost;
    let expected = BTreeMap::from([("sched_first_sights".to_owned(), threads as u64)]);
    ensure!(*lost == expected, "{lost:?}");
    Ok(())
}

/// Every one executes a program too.
fn a_storm_of_processes() -> Result<()> {
    let (window, families) = (Window::of("families", "1", amount(300))?, amount(300));
    let threads = measured(&window.sample.threads)?;
    let ended = threads.iter().filter(|t| t.exited).count() as u64;
    ensure!(ended == families * 2, "{ended} threads ended");
    window.holds()
}

/// More ended threads than the ring has room for, and no look in between.
fn a_storm_without_a_look() -> Result<()> {
    let storm = amount(30_000);
    let place = Place::new(&[])?;
    let mut workload = Workload::start(&format!("storm {storm}"))?;
    place.take_in(workload.pid())?;
    let mut set = observe(&place)?;
    set.begin();
    workload.work()?;
    set.settle();
    let window = Window { sample: set.end().context("a window was begun")? };
    let ended = measured(&window.sample.ended)?;
    let found: u64 = ended.iter().map(|group| group.threads).sum();
    ensure!(found == storm, "{found} threads of {storm} ended");
    window.holds()
}

/// A window around a whole workload, with looks inside.
struct Window {
    sample: Sample,
}

impl Window {
    fn of(workload: &str, threads: &str, amount: u64) -> Result<Self> {
        let place = Place::new(&[])?;
        let mut workload = Workload::start(&format!("{workload} {amount} {threads}"))?;
        place.take_in(workload.pid())?;
        let mut set = observe(&place)?;
        set.begin();
        workload.go()?;
        look_until(&mut set, || workload.wait_done())?;
        set.settle();
        Ok(Self { sample: set.end().context("a window was begun")? })
    }

    /// Three accounts of the switches agree: the books, the probe's count and the perf counter.
    fn holds(&self) -> Result<()> {
        let block = sched(&self.sample)?;
        let switches = block.switches_voluntary + block.switches_involuntary;
        ensure!(switches == block.switches_seen, "{block:?}");
        let perf = &self.sample.perf["context-switches"];
        ensure!(measured(perf)?.value == switches, "{perf:?} and {block:?}");
        let groups = measured(&self.sample.ended)?;
        let threads = measured(&self.sample.threads)?;
        let live: u64 = threads.iter().filter(|t| !t.exited).map(|t| t.oncpu_ns).sum();
        let ended: u64 = groups.iter().map(|group| group.oncpu_ns).sum();
        ensure!(live + ended == block.oncpu_ns, "{live} + {ended} of {}", block.oncpu_ns);
        Ok(())
    }
}

fn look_until(set: &mut ObserverSet, wait: impl FnOnce() -> Result<()> + Send) -> Result<()> {
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let done = scope.spawn(|| {
            let done = wait();
            is_over.store(true, Ordering::Relaxed);
            done
        });
        while !is_over.load(Ordering::Relaxed) {
            std::thread::sleep(std::time::Duration::from_millis(20));
            set.look();
        }
        done.join().map_err(|_panic| anyhow::anyhow!("the waiting thread panicked"))?
    })
}

/// As fast as two threads can make system calls and two others wake each other.
fn at_full_rate() -> Result<()> {
    let place = Place::new(&[])?;
    let (calls, rounds) = (amount(2_000_000), amount(100_000));
    let mut callers = Workload::start(&format!("getppid 2 {calls}"))?;
    let mut pair = Workload::start(&format!("pingpong {rounds}"))?;
    for workload in [&callers, &pair] {
        place.take_in(workload.pid())?;
    }
    let mut set = observe(&place)?;
    set.begin();
    callers.go()?;
    pair.go()?;
    look_until(&mut set, || callers.wait_done().and_then(|()| pair.wait_done()))?;
    let window = Window { sample: set.end().context("a window was begun")? };
    let syscalls = measured(&window.sample.syscalls)?;
    ensure!(syscalls.missed == 0, "{} calls were missed", syscalls.missed);
    ensure!(syscalls.by_name["getppid"].count == calls, "{:?}", syscalls.by_name["getppid"]);
    // Each byte of each round is written once and read once; both programs read the byte that lets
    // them go, and write a line when they are done.
    let count = |name: &str| syscalls.by_name[name].count;
    let both = 2 * rounds + 2;
    ensure!((count("read"), count("write")) == (both, both), "{:?}", syscalls.by_name);
    let mut lost = window.sample.observer_cost.lost.clone();
    // That a thread lived before it was watched is no loss: its books had a baseline.
    lost.remove("sched_first_sights");
    ensure!(lost.values().all(|n| *n == 0), "{lost:?}");
    window.holds()
}
