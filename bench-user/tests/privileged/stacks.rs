//! Stacks against programs that are known to be in one function, or to wait in one.

use anyhow::{Context as _, Result, ensure};
use bench_ebpf::abi::stacks::programs;
use bench_user::clock;
use bench_user::observe::{ObserverSet, OffCpuStacks, OnCpuStacks, Options, Sample, Stacks};
use bench_user::plan::Explain;
use libtest_mimic::Trial;

use crate::place::{Place, amount, measured, room, trial};
use crate::probes::{ALWAYS, any_is_loaded, handle, programs_of};
use crate::workload::Workload;

pub(crate) fn tests() -> Vec<Trial> {
    vec![
        trial("stacks::a_busy_function_has_the_samples", a_busy_function_has_the_samples),
        trial("stacks::names_outlive_their_process", names_outlive_their_process),
        trial("stacks::others_add_nothing", others_add_nothing),
        trial("stacks::waits_are_as_long_as_the_books_say", waits_are_as_long_as_the_books_say),
        trial("stacks::a_wait_over_the_whole_window_counts", a_wait_over_the_whole_window_counts),
        trial("stacks::a_wait_during_an_exec_counts", a_wait_during_an_exec_counts),
        trial("stacks::nothing_stays_attached", nothing_stays_attached),
    ]
}

/// The function of the workload `burn`.
const BUSY: &str = "burn_in_one_function";

fn observe(place: &Place) -> Result<ObserverSet> {
    let options = Options { explain: vec![Explain::Stacks], ..Options::default() };
    let set = ObserverSet::attach(&handle(&place.v2), &options);
    ensure!(set.probes_missing().is_none(), "{:?}", set.probes_missing());
    Ok(set)
}

fn stacks(sample: &Sample) -> Result<&Stacks> {
    measured(sample.explain.stacks.as_ref().context("they were asked for")?)
}

fn on_cpu(sample: &Sample) -> Result<&OnCpuStacks> {
    let block = measured(&stacks(sample)?.oncpu)?;
    ensure!(block.lost.is_empty(), "{:?}", block.lost);
    let folded: u64 = block.folded.iter().map(|of| of.count).sum();
    ensure!(folded + block.other == block.samples, "{block:?}");
    Ok(block)
}

fn off_cpu(sample: &Sample) -> Result<&OffCpuStacks> {
    let block = measured(&stacks(sample)?.offcpu)?;
    ensure!(block.lost.is_empty(), "{:?}", block.lost);
    let folded: u64 = block.folded.iter().map(|of| of.blocked_ns).sum();
    ensure!(folded + block.other_ns == block.blocked_ns, "{block:?}");
    Ok(block)
}

/// Samples are due every 1/99 s of a CPU's time. Where other programs share the CPU, each stint is
/// shorter than that and is hit by chance, so the number of samples scatters by its root at most;
/// four of those are room enough for one run in ten thousand.
fn as_many_as_the_clock_wants(samples: u64, sample: &Sample) -> Result<()> {
    let clock = sample.perf.get("task-clock").context("a counter")?;
    let ns = measured(clock)?.value;
    let expected = ns * 99 / 1_000_000_000;
    let scatter = 4 * expected.isqrt() + 2;
    ensure!(
        samples.abs_diff(expected) <= scatter * room(),
        "{samples} samples of {expected} +- {scatter}"
    );
    Ok(())
}

fn a_busy_function_has_the_samples() -> Result<()> {
    let place = Place::new(&[])?;
    let mut workload = Workload::start(&format!("burn {}", amount(3_000)))?;
    place.take_in(workload.pid())?;
    let mut set = observe(&place)?;
    set.begin();
    workload.work()?;
    let sample = set.end().context("a window was begun")?;
    let block = on_cpu(&sample)?;
    as_many_as_the_clock_wants(block.samples, &sample)?;
    let busy = block.folded.iter().filter(|of| of.stack.contains(BUSY)).map(|of| of.count);
    let busy: u64 = busy.sum();
    ensure!(busy * 100 >= block.samples * 95, "{busy} of {block:#?}");
    ensure!(
        block
            .folded
            .iter()
            .filter(|of| of.stack.contains(BUSY))
            .all(|of| of.stack.starts_with("work-0;")),
        "{block:#?}"
    );
    Ok(())
}

fn names_outlive_their_process() -> Result<()> {
    let place = Place::new(&[])?;
    let mut workload = Workload::start(&format!("burn {}", amount(500)))?;
    place.take_in(workload.pid())?;
    let mut set = observe(&place)?;
    set.begin();
    workload.work()?;
    workload.finish()?;
    let sample = set.end().context("a window was begun")?;
    let block = on_cpu(&sample)?;
    let busiest = block.folded.first().context("it was sampled")?;
    ensure!(busiest.stack.contains(BUSY), "{block:#?}");
    Ok(())
}

fn others_add_nothing() -> Result<()> {
    let place = Place::new(&[])?;
    let mut workload = Workload::start(&format!("burn {}", amount(300)))?;
    let mut napping = Workload::start("sleepers 1 20")?;
    let mut set = observe(&place)?;
    set.begin();
    workload.work()?;
    napping.work()?;
    let sample = set.end().context("a window was begun")?;
    ensure!(on_cpu(&sample)?.samples == 0, "{:?}", sample.explain);
    ensure!(off_cpu(&sample)?.blocked_ns == 0, "{:?}", sample.explain);
    Ok(())
}

/// A thread is on a CPU, waits for one, or waits for something else: the last is what the stacks
/// must add up to.
fn waits_are_as_long_as_the_books_say() -> Result<()> {
    const NAPS: u64 = 200;
    let place = Place::new(&[])?;
    let mut workload = Workload::start(&format!("sleepers 1 {NAPS}"))?;
    place.take_in(workload.pid())?;
    let mut set = observe(&place)?;
    let begin_ns = clock::now_ns();
    set.begin();
    workload.go()?;
    // Until here it was in a wait that began before the probes were there, which nobody sees.
    let unseen_ns = clock::now_ns() - begin_ns;
    workload.wait_done()?;
    let sample = set.end().context("a window was begun")?;
    let block = off_cpu(&sample)?;

    let of_thread = |stack: &str| stack.starts_with("work-0;");
    let naps: Vec<_> = block
        .folded
        .iter()
        .filter(|of| of_thread(&of.stack) && of.stack.contains("nanosleep"))
        .collect();
    let (times, slept) = naps.iter().fold((0, 0), |(n, ns), of| (n + of.count, ns + of.blocked_ns));
    ensure!(times == NAPS, "{times} naps in {block:#?}");
    ensure!(slept >= NAPS * 1_000_000, "{slept} ns in {NAPS} naps of a millisecond");

    let threads = measured(&sample.threads)?;
    let thread = threads.iter().find(|of| of.comm == "work-0").context("the napping thread")?;
    let waited = sample.window_ns - thread.oncpu_ns - thread.runq_ns;
    let found: u64 =
        block.folded.iter().filter(|of| of_thread(&of.stack)).map(|of| of.blocked_ns).sum();
    // The edges are not read at one instant.
    let edge = 2_000_000 * room() + sample.observer_cost.read_ns;
    ensure!(
        found <= waited + edge && found + unseen_ns + edge >= waited,
        "{found} ns in stacks, {waited} by the books, {unseen_ns} unseen, edges {edge}"
    );
    Ok(())
}

fn a_wait_over_the_whole_window_counts() -> Result<()> {
    let place = Place::new(&[])?;
    let mut set = observe(&place)?;
    let mut asleep = Workload::start("sleepers 1 1")?;
    let mut elsewhere = Workload::start(&format!("burn {}", amount(200)))?;
    place.take_in(asleep.pid())?;
    asleep.work()?;
    set.begin();
    elsewhere.work()?;
    let sample = set.end().context("a window was begun")?;
    let block = off_cpu(&sample)?;
    let of_thread = block.folded.iter().filter(|of| of.stack.starts_with("work-0;"));
    let (times, ns) = of_thread.fold((0, 0), |(n, ns), of| (n + of.count, ns + of.blocked_ns));
    ensure!(times == 0, "no wait ended: {block:#?}");
    let edge = 2_000_000 * room() + sample.observer_cost.read_ns;
    ensure!(ns.abs_diff(sample.window_ns) <= edge, "{ns} of {} ns", sample.window_ns);
    Ok(())
}

/// The one that executes waits for the others to end, and has another id afterwards.
fn a_wait_during_an_exec_counts() -> Result<()> {
    let place = Place::new(&[])?;
    let mut workload = Workload::start("exec 20")?;
    place.take_in(workload.pid())?;
    let mut set = observe(&place)?;
    set.begin();
    workload.go()?;
    workload.wait_ready()?;
    set.settle();
    let sample = set.end().context("a window was begun")?;
    let block = off_cpu(&sample)?;
    let waits = block.folded.iter().filter(|line| line.stack.contains("begin_new_exec"));
    ensure!(waits.count() > 0, "{:?}", block.folded);
    Ok(())
}

fn nothing_stays_attached() -> Result<()> {
    let place = Place::new(&[])?;
    let set = observe(&place)?;
    let ours = programs_of(std::process::id())?;
    let of_kind = [programs::ON_CPU, programs::OFF_CPU];
    ensure!(ours.len() == ALWAYS.len() + of_kind.len(), "attached {ours:?}");
    drop(set);
    let deadline = clock::now_ns() + 5_000_000_000;
    while any_is_loaded(&ours) {
        ensure!(clock::now_ns() < deadline, "{ours:?} are still loaded");
        std::thread::yield_now();
    }
    Ok(())
}
