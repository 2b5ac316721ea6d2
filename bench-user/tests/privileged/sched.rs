//! Switches and waits against the kernel's own books and the perf counter.

use anyhow::{Context as _, Result, ensure};
use bench_user::observe::threads::{ThreadBooks, read_cgroup};
use libtest_mimic::Trial;

use crate::place::{Place, amount, measured, trial};
use crate::probes::{observe, sched};
use crate::workload::Workload;

pub(crate) fn tests() -> Vec<Trial> {
    vec![
        trial("sched::scheduling_equals_the_kernels_books", scheduling_equals_the_kernels_books),
        trial("sched::switches_equal_the_perf_counter", switches_equal_the_perf_counter),
        trial("sched::switches_equal_the_perf_counter_under_load", switches_under_load),
    ]
}

/// Spinners, sleepers and a ping-pong together on all CPUs.
fn scheduling_equals_the_kernels_books() -> Result<()> {
    let place = Place::new(&[])?;
    let mut mix = place.take_in_all(["spin 200 3", "sleepers 3 50", "pingpong 3000"])?;
    let mut set = observe(&place)?;
    set.begin();
    let before = read_cgroup(&place.v2)?;
    Workload::work_together(&mut mix)?;
    let after = read_cgroup(&place.v2)?;
    let sample = set.end().context("a window was begun")?;

    let threads = measured(&sample.threads)?;
    let mut total = [0; 5];
    for (before, after) in before.iter().zip(&after) {
        let expected = added(before, after);
        let thread = threads
            .iter()
            .find(|t| t.tid == after.tid)
            .with_context(|| format!("{} is not among the threads", after.comm))?;
        let found = [
            thread.switches_voluntary,
            thread.switches_involuntary,
            thread.oncpu_ns,
            thread.runq_ns,
        ];
        ensure!(found == expected[..4], "{}: {found:?}, the books say {expected:?}", after.comm);
        for (sum, part) in total.iter_mut().zip(expected) {
            *sum += part;
        }
    }
    let block = sched(&sample)?;
    // The wait before the first stint that the probe sees the end of is not known to it.
    let unknown = ["sched_first_sights", "sched_merged_stints"]
        .map(|cause| sample.observer_cost.lost.get(cause).copied().unwrap_or(0));
    ensure!(unknown == [before.len() as u64, 0], "{unknown:?}");
    let found = [
        block.switches_voluntary,
        block.switches_involuntary,
        block.oncpu_ns,
        block.runqlat_sum_ns,
        block.runqlat_ns.count + before.len() as u64,
    ];
    ensure!(found == total, "{found:?}, the books say {total:?}");
    ensure!(
        block.switches_seen == block.switches_voluntary + block.switches_involuntary,
        "{block:?}"
    );
    Ok(())
}

/// Voluntary, involuntary, on-CPU, run-queue, stints.
fn added(before: &ThreadBooks, after: &ThreadBooks) -> [u64; 5] {
    [
        after.voluntary - before.voluntary,
        after.involuntary - before.involuntary,
        after.oncpu_ns - before.oncpu_ns,
        after.runq_ns - before.runq_ns,
        after.timeslices - before.timeslices,
    ]
}

/// While a target runs, each thread may be in one switch at an edge that one source has and the
/// other has not. Here both are read at rest: nothing is in flight, and the bound is zero.
fn switches_equal_the_perf_counter() -> Result<()> {
    let place = Place::new(&[])?;
    let mut workload = Workload::start(&format!("pingpong {}", amount(20_000)))?;
    place.take_in(workload.pid())?;
    let mut set = observe(&place)?;
    set.begin();
    workload.work()?;
    let sample = set.end().context("a window was begun")?;
    let perf = measured(&sample.perf["context-switches"])?;
    ensure!(perf.value == sched(&sample)?.switches_seen, "{perf:?} and {:?}", sample.sched);
    Ok(())
}

/// Windows that open and close while the target runs. A switch is in one source and not in the
/// other if it falls between the two readings of an edge, which together took `read_ns`; a switch
/// takes longer than 200 ns even where nothing is scheduled but these two threads.
fn switches_under_load() -> Result<()> {
    let place = Place::new(&[])?;
    let mut workload = Workload::start(&format!("pingpong {}", amount(60_000)))?;
    place.take_in(workload.pid())?;
    let mut set = observe(&place)?;
    workload.go()?;
    for _ in 0..20 {
        set.begin();
        std::thread::yield_now();
        let sample = set.end().context("a window was begun")?;
        let perf = &sample.perf["context-switches"];
        let perf = measured(perf)?.value;
        let seen = sched(&sample)?.switches_seen;
        let bound = sample.observer_cost.read_ns / 200 + 2 * 3;
        ensure!(perf.abs_diff(seen) <= bound, "perf {perf}, probes {seen}, bound {bound}");
    }
    workload.wait_done()
}
