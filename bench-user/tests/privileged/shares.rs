//! On a CPU, waiting and blocked add up to the time that a thread lived in the window.

use anyhow::{Context as _, Result, ensure};
use bench_user::measured::Measured;
use bench_user::observe::threads::read_cgroup;
use bench_user::observe::{Sample, Thread};
use libtest_mimic::Trial;

use crate::place::{Place, measured, room, trial};
use crate::probes::observe;
use crate::workload::Workload;

/// Longest tick of a kernel.
const TICK_NS: u64 = 10_000_000;

const MS: u64 = 1_000_000;

pub(crate) fn tests() -> Vec<Trial> {
    vec![
        trial("shares::a_sleeper_is_blocked_while_it_sleeps", sleepers_and_spinners),
        trial("shares::a_spinner_is_never_blocked", a_spinner_is_never_blocked),
        trial("shares::a_life_inside_the_window_is_as_long_as_it_was", lives_inside),
        trial("shares::what_a_thread_does_outside_is_not_counted", outside),
    ]
}

fn named<'a>(sample: &'a Sample, comm: &str) -> Result<Vec<&'a Thread>> {
    let threads = measured(&sample.threads)?;
    Ok(threads.iter().filter(|thread| thread.comm == comm).collect())
}

fn adds_up(thread: &Thread) -> Result<(u64, u64)> {
    let (lived, blocked) = (*measured(&thread.lived_ns)?, *measured(&thread.blocked_ns)?);
    let busy = thread.oncpu_ns + thread.runq_ns;
    ensure!(blocked == 0 || busy + blocked == lived, "{thread:?}");
    // The books of a thread that runs at an edge are a tick behind.
    ensure!(busy <= lived + 2 * TICK_NS * room(), "{thread:?}");
    Ok((lived, blocked))
}

/// At rest at both edges, where nothing is behind.
fn sleepers_and_spinners() -> Result<()> {
    let place = Place::new(&[])?;
    let mut sleepers = Workload::start("sleepers 2 100")?;
    let mut spinners = Workload::start("spin 150 2")?;
    for workload in [&sleepers, &spinners] {
        place.take_in(workload.pid())?;
    }
    let mut set = observe(&place)?;
    set.begin();
    sleepers.go()?;
    spinners.go()?;
    sleepers.wait_done()?;
    spinners.wait_done()?;
    let sample = set.end().context("a window was begun")?;
    let read_ns = sample.observer_cost.read_ns;
    for thread in measured(&sample.threads)? {
        let (lived, _) = adds_up(thread)?;
        // Each edge of the window and of the thread lie within that edge's reading.
        ensure!(lived.abs_diff(sample.window_ns) <= read_ns, "{thread:?} of {}", sample.window_ns);
        ensure!(!thread.process.is_empty(), "{thread:?}");
    }
    for thread in named(&sample, "work-0")? {
        let (lived, blocked) = adds_up(thread)?;
        if thread.pid == spinners.pid() {
            ensure!(thread.oncpu_ns >= 150 * MS, "{thread:?}");
            ensure!(blocked <= lived - 150 * MS, "{thread:?}");
        } else {
            ensure!(blocked >= 100 * MS, "a hundred naps of a millisecond: {thread:?}");
        }
    }
    Ok(())
}

/// The window opens and closes while more spinners than CPUs run: each is on a CPU or waits for
/// one all the time, also at the edges.
fn a_spinner_is_never_blocked() -> Result<()> {
    let place = Place::new(&[])?;
    let mut workload = Workload::start("spin 600 6")?;
    place.take_in(workload.pid())?;
    let mut set = observe(&place)?;
    workload.go()?;
    let least = || -> Result<u64> {
        let books = read_cgroup(&place.v2)?;
        let workers = books.iter().filter(|thread| thread.comm.starts_with("work-"));
        Ok(workers.map(|thread| thread.oncpu_ns).min().unwrap_or(0))
    };
    while least()? < 50 * MS {}
    set.begin();
    while least()? < 200 * MS {}
    let sample = set.end().context("a window was begun")?;
    workload.wait_done()?;
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of a window of seconds"
    )]
    let stolen = {
        let cpus = measured(&sample.machine)?.stolen_cpus;
        (cpus * sample.window_ns as f64) as u64
    };
    // What a hypervisor takes from a thread is in none of the books.
    let bound = 2 * TICK_NS * room() + stolen + sample.window_ns / 50;
    for n in 0..6 {
        let threads = named(&sample, &format!("work-{n}"))?;
        let [thread] = threads[..] else { anyhow::bail!("{threads:?}") };
        let (_, blocked) = adds_up(thread)?;
        ensure!(blocked <= bound, "blocked {blocked}, bound {bound}: {thread:?}");
    }
    Ok(())
}

/// Threads one after another, each joined before the next is born.
fn lives_inside() -> Result<()> {
    let place = Place::new(&[])?;
    let mut workload = Workload::start("storm 200")?;
    place.take_in(workload.pid())?;
    let mut set = observe(&place)?;
    set.begin();
    workload.work()?;
    set.settle();
    let sample = set.end().context("a window was begun")?;
    let threads = measured(&sample.threads)?;
    let ended: Vec<&Thread> = threads.iter().filter(|thread| thread.exited).collect();
    ensure!(ended.len() == 200, "{} ended", ended.len());
    let mut sum = 0;
    for thread in ended {
        let (lived, _) = adds_up(thread)?;
        ensure!(lived > 0 && lived < sample.window_ns, "{thread:?}");
        // Switched away from for the last time, none of the books is behind.
        ensure!(thread.oncpu_ns + thread.runq_ns <= lived, "{thread:?}");
        sum += lived;
    }
    // A thread is joined shortly before its last switch, so two may overlap, no more.
    ensure!(sum <= 2 * sample.window_ns, "{sum} of {}", sample.window_ns);
    let groups = measured(&sample.ended)?;
    ensure!(groups.len() == 1 && groups[0].threads == 200, "{groups:?}");
    ensure!(groups[0].lived_ns == Measured::Value(sum), "{groups:?}");
    Ok(())
}

/// Out, a tenth of a second of work there, and back.
fn outside() -> Result<()> {
    let (place, elsewhere) = (Place::new(&[])?, Place::new(&[])?);
    let mut workload = Workload::start("spin 100")?;
    place.take_in(workload.pid())?;
    let mut set = observe(&place)?;
    set.begin();
    elsewhere.take_in(workload.pid())?;
    workload.work()?;
    let away = set.end().context("a window was begun")?;
    let thread = named(&away, "work-0")?;
    ensure!(thread.iter().all(|t| t.oncpu_ns < 20 * MS), "{thread:?}");
    set.begin();
    place.take_in(workload.pid())?;
    let back = set.end().context("a window was begun")?;
    let thread = named(&back, "work-0")?;
    ensure!(thread.len() == 1 && thread[0].oncpu_ns < 20 * MS, "{thread:?}");
    set.begin();
    // Its threads come to their end, which the probe sees.
    workload.finish()?;
    set.settle();
    let end = set.end().context("a window was begun")?;
    let thread = named(&end, "work-0")?;
    ensure!(thread.len() == 1 && thread[0].exited, "{thread:?}");
    ensure!(thread[0].oncpu_ns < 20 * MS, "what it did outside came back: {thread:?}");
    Ok(())
}
