//! Sums that must come out even, whatever the machine does meanwhile.

use anyhow::{Context as _, Result, ensure};
use bench_user::clock;
use bench_user::host::{CgroupTrees, topology};
use bench_user::observe::{CgroupObserver, ObserverSet, Options};
use bench_user::plan::Explain;
use libtest_mimic::Trial;
use procfs::CurrentSI as _;

use crate::place::{CannotRun, Place, measured, trial};
use crate::probes::handle;
use crate::workload::Workload;

pub(crate) fn tests() -> Vec<Trial> {
    vec![
        trial("identities::all_switches_of_a_machine_without_idle_time", all_switches),
        trial("identities::a_quota_is_what_is_used_and_throttled", quotas),
    ]
}

fn switches_of_the_machine() -> Result<u64> {
    Ok(procfs::KernelStats::current()?.ctxt)
}

/// The kernel counts every switch of the machine. While more threads spin than there are CPUs,
/// none of them is one of the idle task, so that they are all switches of some thread: what the
/// probe sees of the whole machine lies between the kernel's count inside the window and that
/// around it.
fn all_switches() -> Result<()> {
    let root = CgroupTrees::discover()?.v2.context("a v2 tree")?;
    let cpus = topology::online_cpus()?.len();
    let mut spinners = Workload::start(&format!("spin 600 {}", 2 * cpus))?;
    let options = Options { explain: vec![Explain::RunQueue], ..Options::default() };
    let mut set = ObserverSet::attach(&handle(&root), &options);
    ensure!(set.probes_missing().is_none(), "{:?}", set.probes_missing());
    spinners.go()?;
    all_run(&spinners, 2 * cpus)?;
    let before = switches_of_the_machine()?;
    set.begin();
    let inside = switches_of_the_machine()?;
    let end_ns = clock::now_ns() + 200_000_000;
    while clock::now_ns() < end_ns {
        std::thread::yield_now();
    }
    let inside = switches_of_the_machine()? - inside;
    let sample = set.end().context("a window was begun")?;
    let around = switches_of_the_machine()? - before;
    // They still spin, or there was idle time.
    all_run(&spinners, 2 * cpus)?;
    let sched = measured(&sample.sched)?;
    ensure!(sched.missed == 0, "{:?}", sample.observer_cost.lost);
    // Some machines hide the switches of their own agent from every probe. The explanation sees
    // that one is missing, and not how many in a row; there they may be one in fifty.
    let queue = measured(sample.explain.run_queue.as_ref().context("it was asked for")?)?;
    let hidden = if queue.lost.contains_key("switches_unseen") { inside / 50 } else { 0 };
    let seen = sched.switches_seen;
    ensure!(
        (inside - hidden..=around).contains(&seen),
        "{inside} inside, {seen} seen, {around} around, {:?}",
        queue.lost
    );
    spinners.wait_done()
}

/// All its working threads are runnable.
fn all_run(workload: &Workload, threads: usize) -> Result<()> {
    let deadline_ns = clock::now_ns() + 5_000_000_000;
    loop {
        let process = procfs::process::Process::new(i32::try_from(workload.pid())?)?;
        let running = process
            .tasks()?
            .filter_map(|task| task.ok()?.stat().ok())
            .filter(|stat| stat.state == 'R')
            .count();
        if running == threads {
            return Ok(());
        }
        ensure!(clock::now_ns() < deadline_ns, "{running} of {threads} threads run");
        std::thread::yield_now();
    }
}

/// Threads that want more than the quota use the quota, are throttled in all of its periods, and
/// never longer than all CPUs together could have been; one that cannot want more is not.
fn quotas() -> Result<()> {
    let cpus = topology::online_cpus()?.len();
    if cpus < 2 {
        return Err(CannotRun("it takes two CPUs".into()).into());
    }
    for (quota, threads, is_held) in
        [(0.5, 1, true), (0.5, 2, true), (1.0, 2, true), (1.0, 1, false)]
    {
        let place = Place::new(&["cpu"])?;
        let us = format!("{:.0}", quota * 100_000.0);
        let max = format!("{us} 100000");
        place.set("cpu", ("cpu.cfs_period_us", "100000"), ("cpu.max", &max))?;
        place.set("cpu", ("cpu.cfs_quota_us", &us), ("cpu.max", &max))?;
        // Otherwise a busy machine may give it less than its quota.
        place.set("cpu", ("cpu.shares", "262144"), ("cpu.weight", "10000"))?;
        let mut workload = Workload::start(&format!("spin 300 {threads}"))?;
        place.take_in(workload.pid())?;
        let observer = CgroupObserver::new(&place.controllers, Some(&place.v2));
        let (before, start_ns) = (observer.read(), clock::now_ns());
        workload.work()?;
        let window_ns = clock::now_ns() - start_ns;
        let used = observer.read().since(&before, window_ns);
        let what = format!("{threads} spinners of 300 ms at {quota}: {used:?} in {window_ns} ns");
        let wall_s = window_ns as f64 / 1e9;
        let cpu_s = measured(&used.cpu_ratio)? * wall_s;
        // Exactly what was spun, and no faster than the quota allows: a first period that was
        // nearly over gives its share once more.
        let spun_s = 0.3 * f64::from(threads);
        ensure!((spun_s..spun_s + 0.03).contains(&cpu_s), "{what}");
        ensure!(cpu_s <= quota * (wall_s + 0.1) + 0.01, "{what}");
        let held_s = *measured(&used.throttled_ns)? as f64 / 1e9;
        ensure!(held_s <= wall_s * cpus as f64, "{what}");
        let (periods, held) = (*measured(&used.nr_periods)?, *measured(&used.nr_throttled)?);
        ensure!(held <= periods, "{what}");
        // The first and the last period may be partial, and a thread alone needs a whole period
        // to use up a CPU's worth of it.
        ensure!(if is_held { held + 3 >= periods && held > 0 } else { held <= 2 }, "{what}");
    }
    Ok(())
}
