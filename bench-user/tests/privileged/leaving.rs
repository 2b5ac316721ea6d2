//! Threads that leave the target's cgroup: what they do outside is not the target's.

use anyhow::{Context as _, Result, ensure};
use bench_user::clock::{self, PROC_TICK_NS};
use bench_user::plan::Explain;
use libtest_mimic::Trial;

use crate::offcpu::{observe_all, off_cpu, with_losses};
use crate::place::{Place, measured, trial};
use crate::workload::Workload;

pub(crate) fn tests() -> Vec<Trial> {
    vec![
        trial("leaving::threads_that_end_outside_leave_their_time", threads_that_end_elsewhere),
        trial("leaving::time_outside_of_the_target_is_not_counted", time_outside),
    ]
}

/// Threads that are moved out and end there, before others are born at their addresses.
fn threads_that_end_elsewhere() -> Result<()> {
    let (place, elsewhere) = (Place::new(&[])?, Place::new(&[])?);
    let mut leaving = Workload::start("sleepers 2 50")?;
    let mut families = Workload::start("families 10 3")?;
    for workload in [&leaving, &families] {
        place.take_in(workload.pid())?;
    }
    let mut set = observe_all(&place, &[Explain::OffCpu, Explain::RunQueue])?;
    set.begin();
    leaving.work()?;
    elsewhere.take_in(leaving.pid())?;
    std::thread::sleep(std::time::Duration::from_millis(500));
    leaving.finish()?;
    families.work()?;
    set.settle();
    let sample = set.end().context("a window was begun")?;
    let block = off_cpu(&sample)?;
    ensure!(block.ended.threads == 3 + 10 * 4, "{:?}", block.ended);
    let naps = block.by_reason.get("clock_nanosleep").context("they slept")?;
    ensure!(naps.count == 100 && naps.ns >= 100_000_000, "{naps:?}");
    let books = measured(&sample.sched)?;
    ensure!(
        books.switches_voluntary + books.switches_involuntary == books.switches_seen,
        "{books:?}"
    );
    ensure!(block.split.run_queue.ns == books.runqlat_sum_ns, "{:?} and {books:?}", block.split);
    let waited =
        measured(sample.explain.run_queue.as_ref().context("it was asked for")?)?.waited_ns;
    // A switch that the kernel hides leaves a wait without its end.
    ensure!(waited <= books.runqlat_sum_ns * 11 / 10 + PROC_TICK_NS, "{waited} and {books:?}");
    Ok(())
}

/// Threads that nap all the time are moved out and back: they are asleep there, and awake.
fn time_outside() -> Result<()> {
    let (place, elsewhere) = (Place::new(&[])?, Place::new(&[])?);
    let mut moving = Workload::start("sleepers 2 600")?;
    place.take_in(moving.pid())?;
    let mut set = observe_all(&place, &[Explain::OffCpu, Explain::Stacks])?;
    let nap = |naps: u64| Workload::start(&format!("sleepers 1 {naps}"))?.work();
    set.begin();
    moving.go()?;
    nap(50)?;
    elsewhere.take_in(moving.pid())?;
    let left_ns = clock::now_ns();
    nap(300)?;
    let outside_ns = clock::now_ns() - left_ns;
    place.take_in(moving.pid())?;
    moving.wait_done()?;
    let sample = set.end().context("a window was begun")?;
    let block = with_losses(&sample)?;
    let inside_ns = sample.window_ns - outside_ns + PROC_TICK_NS + sample.observer_cost.read_ns;
    let napping: Vec<_> = block.threads.iter().filter(|t| t.comm.starts_with("work-")).collect();
    ensure!(napping.len() == 2, "{:?}", block.threads);
    for thread in &napping {
        let naps = thread.by_reason.get("clock_nanosleep").context("it slept")?;
        ensure!(naps.ns > 0 && thread.split.observed_ns <= inside_ns, "{inside_ns}: {thread:?}");
    }
    ensure!(block.lost.keys().eq(["absences"]) && block.lost["absences"] >= 2, "{:?}", block.lost);
    let stacks = measured(sample.explain.stacks.as_ref().context("they were asked for")?)?;
    let of_naps = |stack: &str| stack.starts_with("work-");
    let waits = measured(&stacks.offcpu)?.folded.iter().filter(|of| of_naps(&of.stack));
    let blocked_ns: u64 = waits.map(|of| of.blocked_ns).sum();
    ensure!(blocked_ns > 0 && blocked_ns <= 2 * inside_ns, "{blocked_ns} in {inside_ns}");
    Ok(())
}
