//! Where threads' time went, against work of a known amount and against the kernel's books.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, ensure};
use bench_user::clock::PROC_TICK_NS;
use bench_user::observe::{ObserverSet, OffCpu, OffCpuThread, Options, Sample, Thread};
use bench_user::plan::Explain;
use bench_user::target::TargetHandle;
use libtest_mimic::Trial;

use crate::place::{CannotRun, Place, amount, measured, room, trial};
use crate::probes::handle;
use crate::workload::Workload;

pub(crate) fn tests() -> Vec<Trial> {
    vec![
        trial("offcpu::the_parts_of_each_thread_fill_its_window", parts_fill_the_window),
        trial("offcpu::windows_that_cut_waits_are_filled_too", windows_that_cut_waits),
        trial("offcpu::a_sleep_longer_than_the_window_is_shown", a_longer_sleep),
        trial("offcpu::waits_are_counted_by_what_is_waited_in", waits_by_reason),
        trial("offcpu::threads_that_end_inside_leave_their_time", threads_that_end),
        trial("offcpu::a_spinner_on_a_tenth_of_a_cpu_is_throttled", tenth_of_a_cpu),
        trial("offcpu::a_program_that_is_read_in_blocks_in_page_faults", page_faults),
    ]
}

/// With this kind of explanation.
pub(crate) fn observe(place: &Place, kind: Explain) -> Result<ObserverSet> {
    observe_all(place, &[kind])
}

/// With these kinds of explanation.
pub(crate) fn observe_all(place: &Place, kinds: &[Explain]) -> Result<ObserverSet> {
    let target = TargetHandle { controllers: place.controllers.clone(), ..handle(&place.v2) };
    let asked = Options { explain: kinds.to_vec(), ..Options::default() };
    let set = ObserverSet::attach(&target, &asked);
    ensure!(set.probes_missing().is_none(), "{:?}", set.probes_missing());
    Ok(set)
}

pub(crate) fn off_cpu(sample: &Sample) -> Result<&OffCpu> {
    let block = with_losses(sample)?;
    ensure!(block.lost.is_empty(), "{:?}", block.lost);
    Ok(block)
}

pub(crate) fn with_losses(sample: &Sample) -> Result<&OffCpu> {
    measured(sample.explain.off_cpu.as_ref().context("it was asked for")?)
}

fn count(block: &OffCpu, reason: &str) -> u64 {
    block.by_reason.get(reason).map_or(0, |blocked| blocked.count)
}

/// One tick is what the kernel's own books may lag behind; the two readings add their own time.
fn fills(thread: &OffCpuThread, sample: &Sample) -> Result<()> {
    let slack = PROC_TICK_NS + sample.observer_cost.read_ns;
    let observed = thread.split.observed_ns;
    ensure!(observed.abs_diff(sample.window_ns) <= slack, "{} of {thread:?}", sample.window_ns);
    let s = &thread.split;
    let sum = s.on_cpu.ns + s.run_queue.ns + s.blocked.ns + s.unbooked.ns;
    ensure!(sum == observed && s.throttled.ns <= s.run_queue.ns, "{thread:?}");
    let reasons: u64 = thread.by_reason.values().map(|share| share.ns).sum();
    ensure!(reasons == s.blocked.ns, "{thread:?}");
    Ok(())
}

fn by_tid(sample: &Sample) -> Result<BTreeMap<u32, &Thread>> {
    Ok(measured(&sample.threads)?.iter().map(|thread| (thread.tid, thread)).collect())
}

/// I5, at rest at both edges, where the books owe nothing: waits for a CPU to the nanosecond.
fn parts_fill_the_window() -> Result<()> {
    let place = Place::new(&[])?;
    let mut mix = place.take_in_all(["spin 200 3", "sleepers 3 50", "pingpong 3000"])?;
    let mut set = observe(&place, Explain::OffCpu)?;
    set.begin();
    Workload::work_together(&mut mix)?;
    let sample = set.end().context("a window was begun")?;
    let (block, books) = (off_cpu(&sample)?, by_tid(&sample)?);
    ensure!(block.threads.len() == 4 + 4 + 3, "{}", block.threads.len());
    for thread in &block.threads {
        fills(thread, &sample)?;
        let books = books.get(&thread.tid).context("it is in the ledger too")?;
        ensure!(thread.split.run_queue.ns == books.runq_ns, "{thread:?} and {books:?}");
        // Interrupts and stolen time are in the one and may not be in the other.
        ensure!(thread.split.on_cpu.ns >= books.oncpu_ns, "{thread:?} and {books:?}");
        ensure!(thread.split.unbooked.ns <= PROC_TICK_NS, "{thread:?}");
    }
    let naps = count(block, "clock_nanosleep");
    // On an emulated CPU a nap may be over before the thread has left for it.
    ensure!(naps == 150 || room() > 1 && naps < 150, "{naps}, {:?}", block.by_reason.keys());
    Ok(())
}

/// Edges that fall into stints, waits for a CPU and sleeps of every thread.
fn windows_that_cut_waits() -> Result<()> {
    let place = Place::new(&[])?;
    let (naps, rounds) = (amount(300), amount(60_000));
    let mut mix = place.take_in_all([
        "spin 300 3",
        &format!("sleepers 3 {naps}"),
        &format!("pingpong {rounds}"),
    ])?;
    let mut set = observe(&place, Explain::OffCpu)?;
    for workload in &mut mix {
        workload.go()?;
    }
    for _ in 0..5 {
        // Its naps are the length of the window.
        let mut clock = Workload::start("sleepers 1 30")?;
        set.begin();
        clock.work()?;
        let sample = set.end().context("a window was begun")?;
        for thread in &off_cpu(&sample)?.threads {
            fills(thread, &sample)?;
        }
    }
    for workload in &mut mix {
        workload.wait_done()?;
    }
    Ok(())
}

/// B10: threads that have been asleep since before the probes came, and go on sleeping.
fn a_longer_sleep() -> Result<()> {
    let place = Place::new(&[])?;
    let asleep = Workload::start("sleepers 2 1")?;
    place.take_in(asleep.pid())?;
    let mut set = observe(&place, Explain::OffCpu)?;
    let mut clock = Workload::start("sleepers 1 20")?;
    set.begin();
    clock.work()?;
    let sample = set.end().context("a window was begun")?;
    let block = off_cpu(&sample)?;
    ensure!(block.threads.len() == 3, "{:?}", block.threads);
    for thread in &block.threads {
        fills(thread, &sample)?;
        // The first waits for its input, the others for the first.
        let waits_in = if thread.tid == thread.pid { "read" } else { "futex" };
        let still = thread.still.as_ref().context("it still sleeps")?;
        ensure!(still.reason == waits_in, "{thread:?}");
        ensure!(still.ns >= thread.split.observed_ns, "{thread:?}");
        ensure!(thread.split.blocked.ns == thread.split.observed_ns, "{thread:?}");
        ensure!(thread.by_reason[waits_in].ns == thread.split.blocked.ns, "{thread:?}");
    }
    ensure!(count(block, "futex") + count(block, "read") == 0, "no wait has ended");
    Ok(())
}

fn waits_by_reason() -> Result<()> {
    let place = Place::new(&[])?;
    let mut workload = Workload::start("sleepers 2 50")?;
    place.take_in(workload.pid())?;
    let mut set = observe(&place, Explain::OffCpu)?;
    set.begin();
    workload.work()?;
    let sample = set.end().context("a window was begun")?;
    let naps = off_cpu(&sample)?.by_reason.get("clock_nanosleep").context("they slept")?;
    ensure!(naps.count == naps.waits_ns.count, "{naps:?}");
    let mean = naps.waits_ns.mean.context("there are some")?;
    #[expect(clippy::cast_precision_loss, reason = "a second at most")]
    let (sum, count) = (naps.ns as f64, naps.count as f64);
    ensure!((mean * count - sum).abs() <= sum / 32.0, "{mean} and {naps:?}");
    if room() > 1 {
        // On an emulated CPU a part of a nap, or all of it, may be over before it is left for.
        ensure!(naps.count <= 100, "{naps:?}");
        return Ok(());
    }
    // A nap of a millisecond is never shorter; its place in the histogram is to 1/32.
    ensure!(naps.count == 100 && naps.ns >= 100_000_000, "{naps:?}");
    ensure!(naps.waits_ns.min.is_some_and(|ns| ns >= 1_000_000 * 31 / 32), "{naps:?}");
    Ok(())
}

/// Processes that start and end inside the window, against the ledger, which has them from the
/// other program.
fn threads_that_end() -> Result<()> {
    let place = Place::new(&[])?;
    let mut workload = Workload::start("families 10 3")?;
    place.take_in(workload.pid())?;
    let mut set = observe(&place, Explain::OffCpu)?;
    set.begin();
    workload.work()?;
    set.settle();
    let sample = set.end().context("a window was begun")?;
    let block = off_cpu(&sample)?;
    let books: Vec<&Thread> =
        measured(&sample.threads)?.iter().filter(|thread| thread.exited).collect();
    ensure!(block.ended.threads == 10 * 4 && books.len() == 10 * 4, "{:?}", block.ended);
    let split = &block.ended.split;
    let sum = |f: fn(&Thread) -> u64| books.iter().map(|thread| f(thread)).sum::<u64>();
    ensure!(split.run_queue.ns == sum(|t| t.runq_ns), "{split:?}");
    ensure!(split.on_cpu.ns >= sum(|t| t.oncpu_ns), "{split:?}");
    ensure!(split.observed_ns <= 40 * sample.window_ns, "{split:?}");
    Ok(())
}

/// One that is always able to run waits for nothing but its quota.
fn tenth_of_a_cpu() -> Result<()> {
    let place = Place::new(&["cpu"])?;
    if let Err(e) = place.set("cpu", ("cpu.cfs_quota_us", "10000"), ("cpu.max", "10000 100000")) {
        return Err(CannotRun(format!("no CPU quota can be set: {e:#}")).into());
    }
    let mut workload = Workload::start("spin 100")?;
    place.take_in(workload.pid())?;
    let mut set = observe(&place, Explain::OffCpu)?;
    set.begin();
    workload.work()?;
    let sample = set.end().context("a window was begun")?;
    let block = off_cpu(&sample)?;
    let spinner = block.threads.iter().find(|t| t.comm == "work-0").context("it lives")?;
    fills(spinner, &sample)?;
    let s = &spinner.split;
    let held = *measured(&sample.cgroup.throttled_ns)?;
    // The group is held back for all of the time that its only thread is; what the thread then
    // waits behind others comes on top.
    ensure!(s.throttled.ns >= held * 8 / 10 && held > 100_000_000, "{held} and {spinner:?}");
    ensure!(block.throttled_waits_ns.count > 0, "{:?}", block.throttled_waits_ns);
    Ok(())
}

/// File systems that have no disk: tmpfs and ramfs (include/uapi/linux/magic.h).
const IN_MEMORY: [i64; 2] = [0x0102_1994, 0x8584_58f6];

/// A program that is not in memory: its pages are read when it touches them.
fn page_faults() -> Result<()> {
    let files = rustix::fs::statfs(std::env::current_exe()?.as_path())?.f_type;
    if IN_MEMORY.contains(&files) {
        return Err(CannotRun("programs are in memory here, and never read".into()).into());
    }
    let program = std::env::current_exe()?.with_extension("cold");
    std::fs::copy(std::env::current_exe()?, &program)?;
    let run = || -> Result<()> {
        let file = std::fs::File::open(&program)?;
        file.sync_all()?;
        rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed)?;
        drop(file);
        let place = Place::new(&[])?;
        let mut workload = Workload::start(&format!("copy {}", program.display()))?;
        place.take_in(workload.pid())?;
        let mut set = observe(&place, Explain::OffCpu)?;
        set.begin();
        workload.work()?;
        set.settle();
        let sample = set.end().context("a window was begun")?;
        let block = off_cpu(&sample)?;
        let faults = block.by_reason.get("page_fault").context("it was in memory all the time")?;
        ensure!(faults.count > 0 && faults.ns > 0, "{faults:?}");
        Ok(())
    };
    let outcome = run();
    std::fs::remove_file(&program)?;
    outcome
}
