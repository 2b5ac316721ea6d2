//! perf counters on a cgroup against work of a known amount.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use bench_user::observe::{PerfObserver, threads};
use libtest_mimic::Trial;

use crate::place::{Place, measured, trial};
use crate::workload::Workload;

pub(crate) fn tests() -> Vec<Trial> {
    vec![
        trial("perf::each_touched_page_is_one_fault", each_touched_page_is_one_fault),
        trial("perf::faults_are_those_of_the_process", faults_are_those_of_the_process),
        trial("perf::switches_are_those_of_the_threads_books", switches_are_those_of_the_books),
        trial("perf::the_task_clock_is_the_time_on_cpu", the_task_clock_is_the_time_on_cpu),
        trial("perf::a_child_cgroup_is_counted", a_child_cgroup_is_counted),
        trial("perf::a_process_outside_adds_nothing", a_process_outside_adds_nothing),
        trial("perf::an_event_counts_or_says_why_not", an_event_counts_or_says_why_not),
    ]
}

/// What an event counted while the workload worked.
fn counted_while_working(event: &str, cgroup: &Path, workload: &mut Workload) -> Result<u64> {
    let mut observer = PerfObserver::open(cgroup);
    let before = observer.read();
    workload.work()?;
    let counts = observer.read().since(&before);
    let count = counts.get(event).context("an event of the observer")?;
    Ok(count.as_result().map_err(|why| anyhow::anyhow!("{event}: {why}"))?.value)
}

fn each_touched_page_is_one_fault() -> Result<()> {
    let pages = 4096;
    let place = Place::new(&[])?;
    let bytes = pages * u64::try_from(rustix::param::page_size())?;
    let mut workload = Workload::start(&format!("touch {bytes}"))?;
    place.take_in(workload.pid())?;
    let faults = counted_while_working("page-faults", &place.v2, &mut workload)?;
    // Besides: the first page of the mapping's bookkeeping, stacks of two threads, code and data
    // pages of what runs for the first time here.
    ensure!((pages..=pages + 64).contains(&faults), "{faults} faults for {pages} pages");
    Ok(())
}

/// The kernel keeps them of each process too, and both at rest before and after are the same.
fn faults_are_those_of_the_process() -> Result<()> {
    let place = Place::new(&[])?;
    let mut workload = Workload::start(&format!("touch {}", 8 << 20))?;
    place.take_in(workload.pid())?;
    let booked = |pid: u32| -> Result<[u64; 2]> {
        let stat = procfs::process::Process::new(i32::try_from(pid)?)?.stat()?;
        Ok([stat.minflt, stat.majflt])
    };
    let mut observer = PerfObserver::open(&place.v2);
    let (begin, before) = (observer.read(), booked(workload.pid())?);
    workload.work()?;
    let (counts, after) = (observer.read().since(&begin), booked(workload.pid())?);
    let count = |event: &str| -> Result<u64> {
        Ok(measured(counts.get(event).context("an event of the observer")?)?.value)
    };
    let [minor, major] = [after[0] - before[0], after[1] - before[1]];
    ensure!(minor >= 2048, "{minor} faults of 2048 pages");
    ensure!([count("minor-faults")?, count("major-faults")?] == [minor, major], "{counts:?}");
    ensure!(count("page-faults")? == minor + major, "{counts:?}, {minor} and {major}");
    Ok(())
}

fn switches_are_those_of_the_books() -> Result<()> {
    let place = Place::new(&[])?;
    let mut workload = Workload::start("pingpong 2000")?;
    place.take_in(workload.pid())?;
    let booked = || -> Result<u64> {
        let books = threads::read_cgroup(&place.v2)?;
        Ok(books.iter().map(|thread| thread.voluntary + thread.involuntary).sum())
    };
    let before = booked()?;
    let switches = counted_while_working("context-switches", &place.v2, &mut workload)?;
    let books = booked()? - before;
    ensure!(switches == books, "perf counted {switches}, the threads' books {books}");
    // Either side may find its byte already there now and then, but hardly every time.
    ensure!(switches > 2000, "{switches} switches in 2000 rounds");
    Ok(())
}

fn the_task_clock_is_the_time_on_cpu() -> Result<()> {
    let place = Place::new(&[])?;
    let mut workload = Workload::start("spin 200")?;
    place.take_in(workload.pid())?;
    let booked = || -> Result<u64> {
        Ok(threads::read_cgroup(&place.v2)?.iter().map(|thread| thread.oncpu_ns).sum())
    };
    let before = booked()?;
    let clock = counted_while_working("task-clock", &place.v2, &mut workload)?;
    let books = booked()? - before;
    ensure!(books >= 200_000_000, "it spun {books} ns of 200 ms");
    // Perf's clock stops and starts some instructions beside the scheduler's: microseconds for
    // each of its switches, of which a spinner has few; time stolen by a hypervisor is in both.
    ensure!(clock.abs_diff(books) < books / 20, "perf {clock} ns, the books {books} ns");
    Ok(())
}

fn a_child_cgroup_is_counted() -> Result<()> {
    let place = Place::new(&[])?;
    let mut workload = Workload::start("pingpong 500")?;
    let child = place.child_with(workload.pid())?;
    let booked = || -> Result<u64> {
        let books = threads::read_cgroup(&child)?;
        Ok(books.iter().map(|thread| thread.voluntary + thread.involuntary).sum())
    };
    let before = booked()?;
    let switches = counted_while_working("context-switches", &place.v2, &mut workload)?;
    let books = booked()? - before;
    ensure!(switches == books && books > 0, "perf counted {switches}, the books {books}");
    Ok(())
}

fn a_process_outside_adds_nothing() -> Result<()> {
    let place = Place::new(&[])?;
    let mut workload = Workload::start("pingpong 500")?;
    let mut observer = PerfObserver::open(&place.v2);
    let before = observer.read();
    workload.work()?;
    for (event, count) in observer.read().since(&before) {
        ensure!(count.value().is_none_or(|count| count.value == 0), "{event}: {count:?}");
    }
    Ok(())
}

fn an_event_counts_or_says_why_not() -> Result<()> {
    let place = Place::new(&[])?;
    let mut workload = Workload::start("spin 20")?;
    place.take_in(workload.pid())?;
    let mut observer = PerfObserver::open(&place.v2);
    let before = observer.read();
    workload.work()?;
    let counts = observer.read().since(&before);
    ensure!(counts.len() == 10, "{counts:?}");
    for event in ["task-clock", "context-switches", "cpu-migrations", "page-faults"] {
        ensure!(counts[event].value().is_some(), "{event}: {:?}", counts[event]);
    }
    for event in ["cycles", "instructions"] {
        let honest = match counts[event].as_result() {
            // 20 ms of spinning are far more than a million of either.
            Ok(count) => count.value > 1_000_000,
            Err(why) => why.contains("hardware"),
        };
        ensure!(honest, "{event}: {:?}", counts[event]);
    }
    Ok(())
}
