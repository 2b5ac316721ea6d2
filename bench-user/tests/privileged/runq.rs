//! Who held the CPU, in situations made for one answer each.

use anyhow::{Context as _, Result, ensure};
use bench_user::observe::{RunQueue, Sample};
use bench_user::plan::Explain;
use libtest_mimic::Trial;
use procfs::process::Process;
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_setaffinity};

use crate::offcpu::observe;
use crate::place::{CannotRun, Place, measured, trial};
use crate::workload::Workload;

pub(crate) fn tests() -> Vec<Trial> {
    vec![
        trial("runq::the_causes_add_up_to_the_kernels_books", || unless_hidden(causes_add_up)),
        trial("runq::threads_that_share_a_cpu_wait_for_their_own", || unless_hidden(own_threads)),
        trial("runq::a_neighbour_is_named", || unless_hidden(a_neighbour_is_named)),
        trial("runq::a_spinner_on_a_tenth_of_a_cpu_waits_for_its_quota", || unless_hidden(quota)),
        trial("runq::no_window_has_more_waiting_than_it_is_long", || {
            unless_hidden(windows_that_cut_waits)
        }),
    ]
}

fn run_queue(sample: &Sample) -> Result<&RunQueue> {
    let block = measured(sample.explain.run_queue.as_ref().context("it was asked for")?)?;
    let parts = [block.own_threads, block.others, block.idle, block.quota, block.unattributed];
    let sum: u64 = parts.iter().map(|share| share.ns).sum();
    ensure!(sum == block.waited_ns, "{block:?}");
    // On some machines the kernel does not show every switch; that must stay the exception, and
    // show in what is unattributed.
    let known = ["switches_unseen"];
    ensure!(block.lost.keys().all(|cause| known.contains(&cause.as_str())), "{block:?}");
    if block.unattributed.ratio > 0.05 && block.lost.contains_key("switches_unseen") {
        return Err(Hidden(format!("{block:?}")).into());
    }
    ensure!(block.unattributed.ratio <= 0.05, "{block:?}");
    Ok(block)
}

/// The machine hid so much of the window that it says nothing of what we make of the rest.
#[derive(Debug, thiserror::Error)]
#[error("too much of the waiting lies around switches that the machine hid: {0}")]
struct Hidden(String);

/// Tries again when the machine hid too much, a few times: it must stay the exception.
fn unless_hidden(test: fn() -> Result<()>) -> Result<()> {
    for _ in 0..4 {
        match test() {
            Err(e) if e.is::<Hidden>() => {}
            outcome => return outcome,
        }
    }
    test()
}

/// A cgroup that gets the CPU before all others that want it, as far as the kernel lets one.
fn privileged_place(quota: Option<(&str, &str)>) -> Result<Place> {
    let place = Place::new(&["cpu"])?;
    place.set("cpu", ("cpu.shares", "262144"), ("cpu.weight", "10000"))?;
    if let Some((v1, v2)) = quota
        && let Err(e) = place.set("cpu", ("cpu.cfs_quota_us", v1), ("cpu.max", v2))
    {
        return Err(CannotRun(format!("no CPU quota can be set: {e:#}")).into());
    }
    Ok(place)
}

/// All its threads on the first CPU.
fn on_first_cpu(workload: &Workload) -> Result<()> {
    let mut first = CpuSet::new();
    first.set(0);
    for task in Process::new(i32::try_from(workload.pid())?)?.tasks()? {
        let thread = Pid::from_raw(task?.tid).context("a thread has a number")?;
        sched_setaffinity(Some(thread), &first)?;
    }
    Ok(())
}

/// At rest at both edges the books owe nothing. Between leaving one CPU and arriving at another
/// the kernel books no wait, and we use another clock: some microseconds a move.
fn causes_add_up() -> Result<()> {
    let place = Place::new(&[])?;
    let mut mix = place.take_in_all(["spin 200 3", "sleepers 3 50", "pingpong 3000"])?;
    let mut set = observe(&place, Explain::RunQueue)?;
    set.begin();
    Workload::work_together(&mut mix)?;
    let sample = set.end().context("a window was begun")?;
    let block = run_queue(&sample)?;
    let booked = measured(&sample.sched)?.runqlat_sum_ns;
    let moves = measured(&sample.perf["cpu-migrations"])?.value;
    let slack = moves * 10_000 + 1000;
    ensure!(
        block.waited_ns.abs_diff(booked) <= slack,
        "{} of {booked}, {moves} moves: {block:?}",
        block.waited_ns
    );
    Ok(())
}

fn own_threads() -> Result<()> {
    let place = privileged_place(None)?;
    let mut workload = Workload::start("spin 100 4")?;
    place.take_in(workload.pid())?;
    on_first_cpu(&workload)?;
    let mut set = observe(&place, Explain::RunQueue)?;
    set.begin();
    workload.work()?;
    let sample = set.end().context("a window was begun")?;
    let block = run_queue(&sample)?;
    // Four that share 400 ms: the last one waits for 300 ms.
    ensure!(block.waited_ns >= 500_000_000, "{block:?}");
    ensure!(block.own_threads.ratio >= 0.9, "{block:?}");
    ensure!(block.quota.ns == 0, "{block:?}");
    Ok(())
}

fn a_neighbour_is_named() -> Result<()> {
    let (place, elsewhere) = (privileged_place(None)?, privileged_place(None)?);
    let mut ours = Workload::start("spin 200")?;
    let mut neighbour = Workload::start("spin 1000")?;
    place.take_in(ours.pid())?;
    elsewhere.take_in(neighbour.pid())?;
    on_first_cpu(&ours)?;
    on_first_cpu(&neighbour)?;
    let mut set = observe(&place, Explain::RunQueue)?;
    neighbour.go()?;
    set.begin();
    ours.work()?;
    let sample = set.end().context("a window was begun")?;
    let block = run_queue(&sample)?;
    ensure!(block.waited_ns >= 100_000_000 && block.others.ratio >= 0.9, "{block:?}");
    let name = elsewhere.v2.file_name().context("it has one")?.to_string_lossy();
    let group = block.by_cgroup.first().context("somebody held the CPU")?;
    ensure!(group.cgroup == format!("/{name}") && group.covered.ratio >= 0.9, "{block:?}");
    let holder = block.holders.first().context("somebody held the CPU")?;
    ensure!(holder.pid == neighbour.pid() && holder.comm == "work-0", "{holder:?}");
    let named: u64 = block.holders.iter().map(|holder| holder.covered.ns).sum();
    ensure!(named <= block.others.ns, "{block:?}");
    Ok(())
}

fn on_a_tenth_of_a_cpu(spec: &str) -> Result<(Place, Workload)> {
    let place = privileged_place(Some(("10000", "10000 100000")))?;
    let workload = Workload::start(spec)?;
    place.take_in(workload.pid())?;
    Ok((place, workload))
}

fn quota() -> Result<()> {
    let (place, mut workload) = on_a_tenth_of_a_cpu("spin 100")?;
    let mut set = observe(&place, Explain::RunQueue)?;
    set.begin();
    workload.work()?;
    let sample = set.end().context("a window was begun")?;
    let block = run_queue(&sample)?;
    ensure!(block.quota.ratio >= 0.9, "{block:?}");
    // Its only thread waits for the quota while the group is held back.
    let held = *measured(&sample.cgroup.throttled_ns)?;
    ensure!(held >= 500_000_000, "it was held back for {held} ns");
    ensure!(block.quota.ns.abs_diff(held) <= held / 5, "{held} and {block:?}");
    Ok(())
}

/// B4: the wait of one thread is cut at the edges; what comes after the edge is not in the window.
fn windows_that_cut_waits() -> Result<()> {
    let (place, mut workload) = on_a_tenth_of_a_cpu("spin 60")?;
    let mut set = observe(&place, Explain::RunQueue)?;
    workload.go()?;
    let (mut waited, mut length) = (0, 0);
    for _ in 0..8 {
        let mut clock = Workload::start("sleepers 1 20")?;
        set.begin();
        clock.work()?;
        let sample = set.end().context("a window was begun")?;
        let block = run_queue(&sample)?;
        let slack = sample.observer_cost.read_ns;
        // Its other thread waits for the end of the work, but not for a CPU.
        ensure!(block.waited_ns <= sample.window_ns + slack, "{} of {block:?}", sample.window_ns);
        waited += block.waited_ns;
        length += sample.window_ns;
    }
    ensure!(waited * 10 >= length * 5, "it waited for {waited} ns in {length}");
    workload.wait_done()
}
