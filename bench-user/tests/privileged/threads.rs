//! The threads' books against procfs read in another way, and against work of a known amount.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, ensure};
use bench_user::observe::threads::{ThreadBooks, read_cgroup};
use libtest_mimic::Trial;
use procfs::process::Process;

use crate::place::{Place, room, trial};
use crate::workload::Workload;

pub(crate) fn tests() -> Vec<Trial> {
    vec![
        trial("threads::books_equal_those_of_procfs", books_equal_those_of_procfs),
        trial("threads::a_thread_at_rest_left_each_stint", a_thread_at_rest_left_each_stint),
        trial("threads::a_spinner_is_booked_what_it_spun", a_spinner_is_booked_what_it_spun),
        trial("threads::a_nap_is_a_voluntary_switch", a_nap_is_a_voluntary_switch),
        trial(
            "threads::descendants_belong_and_others_do_not",
            descendants_belong_and_others_do_not,
        ),
        trial("threads::a_threaded_cgroup_can_be_read", a_threaded_cgroup_can_be_read),
    ]
}

fn by_name(books: &[ThreadBooks]) -> BTreeMap<&str, &ThreadBooks> {
    books.iter().map(|thread| (&*thread.comm, thread)).collect()
}

fn books_equal_those_of_procfs() -> Result<()> {
    let place = Place::new(&[])?;
    let mut workload = Workload::start("pingpong 300")?;
    place.take_in(workload.pid())?;
    workload.work()?;
    let books = read_cgroup(&place.v2)?;
    ensure!(books.len() == 3, "{books:?}");
    for thread in &books {
        let task = Process::new(i32::try_from(workload.pid())?)?
            .task_from_tid(i32::try_from(thread.tid)?)?;
        let (schedstat, status, stat) = (task.schedstat()?, task.status()?, task.stat()?);
        let expected = ThreadBooks {
            tid: u32::try_from(task.tid)?,
            pid: workload.pid(),
            comm: stat.comm,
            start_ticks: stat.starttime,
            oncpu_ns: schedstat.sum_exec_runtime,
            runq_ns: schedstat.run_delay,
            timeslices: schedstat.pcount,
            voluntary: status.voluntary_ctxt_switches.context("voluntary switches")?,
            involuntary: status.nonvoluntary_ctxt_switches.context("involuntary switches")?,
            at_ns: thread.at_ns,
            cpus_allowed: std::fs::read_to_string(format!("/proc/{}/status", task.tid))?
                .lines()
                .find_map(|line| line.strip_prefix("Cpus_allowed_list:\t"))
                .context("CPUs allowed")?
                .to_owned(),
        };
        ensure!(*thread == expected, "read {thread:?}, procfs says {expected:?}");
    }
    Ok(())
}

/// Two accounts of the kernel that are kept apart: arrivals on a CPU and departures from it.
fn a_thread_at_rest_left_each_stint() -> Result<()> {
    let place = Place::new(&[])?;
    let mut workload = Workload::start("pingpong 1000")?;
    place.take_in(workload.pid())?;
    workload.work()?;
    for thread in read_cgroup(&place.v2)? {
        ensure!(thread.timeslices == thread.voluntary + thread.involuntary, "{thread:?}");
    }
    Ok(())
}

/// The books of a workload in a cgroup of its own, at rest before its work and after it.
fn before_and_after(workload: &str) -> Result<(Vec<ThreadBooks>, Vec<ThreadBooks>)> {
    let place = Place::new(&[])?;
    let mut workload = Workload::start(workload)?;
    place.take_in(workload.pid())?;
    let before = read_cgroup(&place.v2)?;
    workload.work()?;
    Ok((before, read_cgroup(&place.v2)?))
}

fn a_spinner_is_booked_what_it_spun() -> Result<()> {
    let (before, after) = before_and_after("spin 100 2")?;
    let (before, after) = (by_name(&before), by_name(&after));
    for name in ["work-0", "work-1"] {
        let spun = after[name].oncpu_ns - before[name].oncpu_ns;
        // The loop ends at the first look at the clock after 100 ms; an interrupt there is the
        // only thing that can make it longer.
        ensure!((ms(100)..ms(100 + 10 * room())).contains(&spun), "{name} spun {spun} ns");
    }
    Ok(())
}

fn ms(ms: u64) -> u64 {
    ms * 1_000_000
}

fn a_nap_is_a_voluntary_switch() -> Result<()> {
    let (before, after) = before_and_after("sleepers 2 50")?;
    let (before, after) = (by_name(&before), by_name(&after));
    for name in ["work-0", "work-1"] {
        let switches = after[name].voluntary - before[name].voluntary;
        // Besides its 50 naps a thread waits at the gate once more, and may wait for the gate's
        // lock on its way in and out.
        ensure!((51..=55).contains(&switches), "{name} switched {switches} times");
    }
    Ok(())
}

fn descendants_belong_and_others_do_not() -> Result<()> {
    let place = Place::new(&[])?;
    let inside = Workload::start("sleepers 3 1")?;
    let below = Workload::start("sleepers 1 1")?;
    let _outside = Workload::start("sleepers 2 1")?;
    place.take_in(inside.pid())?;
    place.child_with(below.pid())?;
    let mut threads_of = BTreeMap::new();
    for thread in read_cgroup(&place.v2)? {
        *threads_of.entry(thread.pid).or_insert(0) += 1;
    }
    ensure!(threads_of == [(inside.pid(), 4), (below.pid(), 2)].into(), "{threads_of:?}");
    Ok(())
}

/// `cgroup.procs` of such a cgroup refuses to be read.
fn a_threaded_cgroup_can_be_read() -> Result<()> {
    let place = Place::new(&[])?;
    let workload = Workload::start("sleepers 1 1")?;
    place.take_in(workload.pid())?;
    let threads = read_cgroup(&place.v2)?;
    let one = by_name(&threads)["work-0"].tid;
    let child = place.v2.join("child");
    std::fs::create_dir(&child)?;
    std::fs::write(child.join("cgroup.type"), "threaded")?;
    std::fs::write(child.join("cgroup.threads"), one.to_string())?;
    ensure!(std::fs::read_to_string(child.join("cgroup.procs")).is_err(), "it is not threaded");
    let inside = read_cgroup(&child)?;
    ensure!(inside.len() == 1 && inside[0].tid == one, "{inside:?}");
    ensure!(inside[0].pid == workload.pid(), "{inside:?}");
    ensure!(read_cgroup(&place.v2)?.len() == 2, "the domain holds both threads");
    Ok(())
}
