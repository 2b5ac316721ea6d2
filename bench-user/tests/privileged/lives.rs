//! Threads that are born, end, join the cgroup or change their id inside the window.

use anyhow::{Context as _, Result, ensure};
use libtest_mimic::Trial;

use crate::place::{Place, amount, measured, room, trial};
use crate::probes::{observe, sched};
use crate::workload::Workload;

pub(crate) fn tests() -> Vec<Trial> {
    vec![
        trial("lives::threads_born_and_ended_are_in_the_totals", threads_born_and_ended),
        trial("lives::many_short_threads_beside_many_idle_ones_fit", a_storm_fits),
        trial("lives::a_thread_that_joins_brings_nothing_along", a_thread_that_joins),
        trial("lives::an_exec_by_another_thread_counts_once", an_exec_by_another_thread),
    ]
}

/// Processes that start and exit inside the window: their books are gone when it closes, so the
/// parent's reaped usage and the perf counters are the witnesses.
fn threads_born_and_ended() -> Result<()> {
    let place = Place::new(&[])?;
    let mut workload = Workload::start("families 20 5")?;
    place.take_in(workload.pid())?;
    let mut set = observe(&place)?;
    set.begin();
    workload.work()?;
    set.settle();
    let sample = set.end().context("a window was begun")?;
    let block = sched(&sample)?;
    let switches = block.switches_voluntary + block.switches_involuntary;
    ensure!(switches == block.switches_seen, "{block:?}");
    let perf = |name: &str| -> Result<u64> {
        let count = sample.perf.get(name).context("opened")?;
        Ok(measured(count)?.value)
    };
    ensure!(perf("context-switches")? == switches, "{:?} and {block:?}", sample.perf);
    // The clock of perf starts and stops a little inside the stint that the scheduler books;
    // 20 x 6 short lives and as many stints as switches bound the difference.
    let clock = perf("task-clock")?;
    // An emulated CPU is taken away between the two, for as long as its machine is busy elsewhere.
    let slack = switches * 20_000 * room() + block.oncpu_ns / 100 * (room() - 1);
    ensure!(block.oncpu_ns.abs_diff(clock) <= slack, "{} against {clock}", block.oncpu_ns);
    let threads = measured(&sample.threads)?;
    let ended = threads.iter().filter(|t| t.exited).count();
    ensure!(ended == 20 * 6, "{ended} threads ended in the window");
    Ok(())
}

/// More threads than the hash has room for, in a target whose other threads take long to read.
fn a_storm_fits() -> Result<()> {
    let place = Place::new(&[])?;
    let mut idle = Workload::start(&format!("sleepers {} 1", amount(1500)))?;
    let mut storm = Workload::start(&format!("storm {}", amount(20_000)))?;
    for workload in [&idle, &storm] {
        place.take_in(workload.pid())?;
    }
    let mut set = observe(&place)?;
    set.begin();
    storm.go()?;
    let is_over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let done = scope.spawn(|| {
            let done = storm.wait_done();
            is_over.store(true, std::sync::atomic::Ordering::Relaxed);
            done
        });
        while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
            std::thread::sleep(std::time::Duration::from_millis(20));
            set.look();
        }
        done.join().map_err(|_panic| anyhow::anyhow!("the waiting thread panicked"))?
    })?;
    set.settle();
    let sample = set.end().context("a window was begun")?;
    let block = sched(&sample)?;
    let switches = block.switches_voluntary + block.switches_involuntary;
    ensure!(switches == block.switches_seen, "{block:?}");
    idle.work()
}

/// What a process did before it was moved into the cgroup is not the target's, even if it was
/// born after the probes were attached.
fn a_thread_that_joins() -> Result<()> {
    let place = Place::new(&[])?;
    let mut set = observe(&place)?;
    set.begin();
    let ms = 100 * room();
    let mut workload = Workload::start(&format!("spin {ms}"))?;
    workload.work()?;
    place.take_in(workload.pid())?;
    set.look();
    workload.finish()?;
    let sample = set.end().context("a window was begun")?;
    let block = sched(&sample)?;
    ensure!(block.oncpu_ns < ms * 500_000, "it brought {} ns along", block.oncpu_ns);
    Ok(())
}

/// The thread that calls it takes over id and start of the first one, not its books. The stints
/// around the exec are missing, and what the first thread did since the last look; that is said.
fn an_exec_by_another_thread() -> Result<()> {
    let place = Place::new(&[])?;
    let mut workload = Workload::start("exec 100")?;
    place.take_in(workload.pid())?;
    let mut set = observe(&place)?;
    set.begin();
    workload.go()?;
    workload.wait_ready()?;
    let sample = set.end().context("a window was begun")?;
    let block = measured(&sample.sched)?;
    ensure!(block.missed > 0, "nobody is told that books are incomplete");
    let clock = measured(&sample.perf["task-clock"])?;
    let burnt = 90_000_000..=clock.value * 11 / 10;
    ensure!(burnt.contains(&block.oncpu_ns), "{} of {clock:?}", block.oncpu_ns);
    let switches = block.switches_voluntary + block.switches_involuntary;
    ensure!(switches <= block.switches_seen, "{switches} of {}", block.switches_seen);
    Ok(())
}
