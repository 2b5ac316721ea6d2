//! Syscalls explained, against workloads whose calls are known one by one.

use std::os::unix::fs::PermissionsExt as _;

use anyhow::{Context as _, Result, ensure};
use bench_user::observe::{ExplainedCall, Hook, Options, Sample, SyscallsExplained};
use bench_user::plan::Explain;
use libtest_mimic::Trial;

use crate::hooks::can_be_had;
use crate::place::{CannotRun, Place, measured, trial};
use crate::probes::{I386_PROGRAM, observe_explained, observe_with, sched, syscalls};
use crate::workload::Workload;

pub(crate) fn tests() -> Vec<Trial> {
    vec![
        trial("calls::reads_that_would_block_are_errors", reads_that_would_block),
        trial("calls::bytes_of_every_write_are_known", bytes_of_every_write),
        trial("calls::events_of_every_wait_are_known", events_of_every_wait),
        trial("calls::a_sleep_is_blocked_and_not_on_a_cpu", a_sleep_is_blocked),
        trial("calls::a_yield_waits_for_a_cpu_and_is_not_blocked", a_yield_waits),
        trial("calls::errors_are_counted_by_name_and_errno", errors_by_errno),
        trial("calls::a_fork_is_entered_once_and_returns_twice", a_fork_returns_twice),
        trial("calls::a_thousand_threads_fit", a_thousand_threads),
        trial("calls::an_exec_by_another_thread_pairs", an_exec_by_another_thread),
        trial("calls::calls_of_the_32_bit_table_stand_apart", calls_of_the_32_bit_table),
        trial("calls::the_classic_hooks_show_the_same", the_classic_hooks),
        trial("calls::calls_outside_the_cgroup_add_nothing", calls_outside),
    ]
}

/// One window around all the work of a workload, at rest at both edges.
pub(crate) fn window(spec: &str) -> Result<(SyscallsExplained, Sample)> {
    let options = Options { explain: vec![Explain::Syscalls], ..Options::default() };
    window_with(spec, &options)
}

fn window_with(spec: &str, options: &Options) -> Result<(SyscallsExplained, Sample)> {
    let place = Place::new(&[])?;
    let mut workload = Workload::start(spec)?;
    place.take_in(workload.pid())?;
    let mut set = observe_with(&place, options)?;
    set.begin();
    workload.work()?;
    set.settle();
    let sample = set.end().context("a window was begun")?;
    Ok((checked(&sample)?, sample))
}

/// The block, when nothing is lost, every enter is accounted for, and two programs agree on how
/// many there were.
pub(crate) fn checked(sample: &Sample) -> Result<SyscallsExplained> {
    let block = sample.explain.syscalls.as_ref().context("it was asked for")?;
    let block = measured(block)?.clone();
    ensure!(block.missed == 0 && block.lost.is_empty(), "{} {:?}", block.missed, block.lost);
    let of = &block.unpaired;
    let in_flight: u64 = block.in_flight.values().map(|of| of.count).sum();
    let accounted = of.returned + of.never_return + of.died + of.replaced + in_flight;
    ensure!(of.entered + block.in_flight_before == accounted, "{in_flight} in flight, {block:?}");
    let timed: u64 = block.by_name.values().map(|call| call.latency_ns.count).sum();
    ensure!(timed == of.returned, "{timed} of {of:?}");
    let counted = syscalls(sample)?;
    ensure!(counted.total == of.entered, "{} of {of:?}", counted.total);
    for (name, call) in &block.by_name {
        let other = counted.by_name.get(name).map_or(0, |count| count.count);
        ensure!(call.count == other, "{name}: {} and {other}", call.count);
        let parts = [&call.oncpu_ns, &call.runq_ns, &call.blocked_ns];
        let sum: u64 = parts.into_iter().map(measured).sum::<Result<u64>>()?;
        ensure!(sum == call.sum_ns, "{name}: {sum} of {call:?}");
    }
    Ok(block)
}

fn call<'a>(block: &'a SyscallsExplained, name: &str) -> Result<&'a ExplainedCall> {
    block.by_name.get(name).with_context(|| format!("no {name} in {:?}", block.by_name.keys()))
}

fn reads_that_would_block() -> Result<()> {
    let (block, _) = window("eagain 12345")?;
    let read = call(&block, "read")?;
    // The handshake reads a byte; that call was entered before, and its successor does not return.
    ensure!(read.errors == [("EAGAIN".into(), 12_345)].into(), "{:?}", read.errors);
    ensure!(read.count == 12_346 && read.latency_ns.count == 12_345, "{read:?}");
    ensure!(read.eagain_ratio == Some(1.0), "{:?}", read.eagain_ratio);
    ensure!(block.unpaired.no_enter == 2, "the read and the barrier: {:?}", block.unpaired);
    ensure!(block.in_flight["read"].count == 1, "{:?}", block.in_flight);
    Ok(())
}

fn bytes_of_every_write() -> Result<()> {
    for (bytes, is_small) in [(1447_u64, true), (1448, false), (100_000, false)] {
        let (block, _) = window(&format!("writes 5000 {bytes}"))?;
        let write = call(&block, "write")?;
        // The handshake writes `done` and the end of the line.
        let sum = 5000 * bytes + 5;
        ensure!((write.count, write.bytes) == (5001, Some(sum)), "{write:?}");
        let small = if is_small { 5001 } else { 1 };
        ensure!(write.small_writes == Some(small), "{:?} at {bytes}", write.small_writes);
        let p50 = write.bytes_per_call.as_ref().and_then(|d| d.p50).context("5000 calls")?;
        ensure!(p50.abs_diff(bytes) * 32 <= bytes + 32, "{p50} for {bytes}");
        ensure!(write.empty == Some(0) && write.events.is_none(), "{write:?}");
    }
    Ok(())
}

fn events_of_every_wait() -> Result<()> {
    for (spec, events) in [("waits 3000 1", 1), ("waits 3000 13", 13), ("timeouts 3000", 0)] {
        let (block, _) = window(spec)?;
        let (name, wait) = block
            .by_name
            .iter()
            .find(|(name, call)| name.starts_with("epoll_") && call.count == 3000)
            .with_context(|| format!("no waits in {:?}", block.by_name.keys()))?;
        let spread = wait.events_per_call.as_ref().context("its results are events")?;
        ensure!(spread.count == 3000, "{name}: {spread:?}");
        ensure!((spread.min, spread.max) == (Some(events), Some(events)), "{name}: {spread:?}");
        ensure!(wait.events == Some(3000 * events), "{name}: {wait:?}");
        ensure!(wait.empty == Some(if events == 0 { 3000 } else { 0 }), "{name}: {wait:?}");
    }
    Ok(())
}

fn a_sleep_is_blocked() -> Result<()> {
    let (block, _) = window("nap 200")?;
    let nap = call(&block, "clock_nanosleep")?;
    ensure!(nap.count == 1 && nap.sum_ns >= 200_000_000, "{nap:?}");
    let p50 = nap.latency_ns.p50.context("one sample")?;
    ensure!(p50.abs_diff(nap.sum_ns) * 16 <= nap.sum_ns, "{p50} and {}", nap.sum_ns);
    // What other programs take of the CPU before it sleeps is not part of the sleep.
    ensure!(*measured(&nap.blocked_ns)? > 100_000_000, "{nap:?}");
    ensure!(*measured(&nap.oncpu_ns)? < 50_000_000, "{nap:?}");
    Ok(())
}

/// Whoever gives way stays runnable, so none of it is blocked; and what the calls say they waited
/// cannot pass what the scheduler's books say that their threads did.
fn a_yield_waits() -> Result<()> {
    let (block, sample) = window("yields 2 20000")?;
    let yields = call(&block, "sched_yield")?;
    ensure!(yields.count == 40_000, "{yields:?}");
    ensure!(*measured(&yields.blocked_ns)? == 0, "{yields:?}");
    let waited = *measured(&yields.runq_ns)?;
    let books = sched(&sample)?.runqlat_sum_ns;
    // Each is timed from the hook to the hook, the books from the queue to the CPU.
    let slack = books / 10 + 40_000 * 2_000;
    ensure!(waited > 0 && waited <= books + slack, "{waited} of {books}");
    Ok(())
}

fn errors_by_errno() -> Result<()> {
    let (block, _) = window("fails 700")?;
    let errors = |name| -> Result<_> { Ok(call(&block, name)?.errors.clone()) };
    ensure!(errors("chdir")? == [("ENOTDIR".into(), 700)].into(), "{:?}", errors("chdir"));
    ensure!(errors("unlinkat")? == [("ENOENT".into(), 1400)].into(), "{:?}", errors("unlinkat"));
    Ok(())
}

fn a_fork_returns_twice() -> Result<()> {
    let (block, _) = window("forks 50")?;
    let forks = ["clone", "clone3", "fork", "vfork"].iter().filter_map(|n| block.by_name.get(*n));
    let (entered, returned) = forks
        .fold((0, 0), |(entered, returned), c| (entered + c.count, returned + c.latency_ns.count));
    ensure!((entered, returned) == (50, 50), "{entered} entered, {returned} returned");
    if cfg!(target_arch = "x86_64") {
        ensure!(block.unpaired.child_returns == 50, "{:?}", block.unpaired);
    }
    ensure!(call(&block, "execve")?.count == 50, "{:?}", block.by_name["execve"]);
    ensure!(call(&block, "exit_group")?.count == 50, "{:?}", block.unpaired);
    ensure!(block.unpaired.never_return == 50, "{:?}", block.unpaired);
    Ok(())
}

fn a_thousand_threads() -> Result<()> {
    let (block, _) = window("getppid 1000 100000")?;
    let getppid = call(&block, "getppid")?;
    ensure!((getppid.count, getppid.latency_ns.count) == (100_000, 100_000), "{getppid:?}");
    ensure!(block.in_flight["futex"].count == 1000, "{:?}", block.in_flight);
    Ok(())
}

/// The thread that calls it takes over the id of the first one, not its call in flight.
fn an_exec_by_another_thread() -> Result<()> {
    let place = Place::new(&[])?;
    let mut workload = Workload::start("exec 1")?;
    place.take_in(workload.pid())?;
    let mut set = observe_explained(&place, &[Explain::Syscalls])?;
    set.begin();
    workload.go()?;
    workload.wait_ready()?;
    let block = checked(&set.end().context("a window was begun")?)?;
    let exec = call(&block, "execve")?;
    ensure!((exec.count, exec.latency_ns.count) == (1, 1), "{exec:?}");
    ensure!(block.unpaired.replaced == 0 && block.unpaired.renumbered == 0, "{:?}", block.unpaired);
    Ok(())
}

fn calls_of_the_32_bit_table() -> Result<()> {
    let dir = tempfile::tempdir()?;
    let program = dir.path().join("i386");
    std::fs::write(&program, I386_PROGRAM)?;
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755))?;
    let (block, _) = window(&format!("command {}", program.display()))?;
    let Some(compat) = block.by_name.get("compat32") else {
        return Err(CannotRun("this kernel executes no 32-bit programs".into()).into());
    };
    // `exit` of the other table is not known as one that never returns: its thread dies in it.
    ensure!((compat.count, compat.latency_ns.count) == (1001, 1000), "{compat:?}");
    ensure!(block.unpaired.died == 1, "{:?}", block.unpaired);
    Ok(())
}

/// All tests above are of the hook that is exact here; this one is of the other.
fn the_classic_hooks() -> Result<()> {
    can_be_had(Hook::ClassicTracePoint)?;
    let hook = Some(Hook::ClassicTracePoint);
    let options = Options { hook, explain: Explain::ALL[..1].to_vec(), ..Options::default() };
    let (block, _) = window_with("eagain 3000", &options)?;
    ensure!(block.hook == "tracepoint", "{}", block.hook);
    ensure!(call(&block, "read")?.errors == [("EAGAIN".into(), 3000)].into(), "{block:?}");
    let (block, _) = window_with("forks 20", &options)?;
    ensure!(block.unpaired.child_returns == 20 || cfg!(not(target_arch = "x86_64")), "{block:?}");
    Ok(())
}

fn calls_outside() -> Result<()> {
    let place = Place::new(&[])?;
    let mut workload = Workload::start("getppid 2 100000")?;
    let mut set = observe_explained(&place, &[Explain::Syscalls])?;
    set.begin();
    workload.work()?;
    let block = checked(&set.end().context("a window was begun")?)?;
    ensure!(block.by_name.is_empty() && block.in_flight.is_empty(), "{block:?}");
    Ok(())
}
