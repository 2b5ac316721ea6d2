//! A cgroup's books against work of a known amount.

use std::os::unix::process::ExitStatusExt as _;

use anyhow::{Context as _, Result, anyhow, ensure};
use bench_user::clock;
use bench_user::measured::Measured;
use bench_user::observe::{CgroupObserver, CgroupUse};
use libtest_mimic::Trial;

use crate::place::{CannotRun, Place, room, trial};
use crate::workload::Workload;

const MIB: u64 = 1 << 20;

pub(crate) fn tests() -> Vec<Trial> {
    vec![
        trial("cgroup::half_a_cpu_of_quota_throttles_a_spinner", half_a_cpu_of_quota_throttles),
        trial("cgroup::cpu_time_is_what_was_spun", cpu_time_is_what_was_spun),
        trial("cgroup::touched_memory_is_the_peak", touched_memory_is_the_peak),
        trial("cgroup::an_oom_kill_is_counted", an_oom_kill_is_counted),
        trial("cgroup::threads_count_as_pids", threads_count_as_pids),
        trial("cgroup::the_cpuset_and_its_absence_are_seen", the_cpuset_is_seen),
        trial("cgroup::a_process_outside_adds_nothing", a_process_outside_adds_nothing),
    ]
}

fn observer(place: &Place) -> CgroupObserver {
    CgroupObserver::new(&place.controllers, Some(&place.v2))
}

/// The books over the work, and how long it took, ns.
fn over_work(observer: &CgroupObserver, workload: &mut Workload) -> Result<(CgroupUse, u64)> {
    let (before, start) = (observer.read(), clock::now_ns());
    workload.work()?;
    let window_ns = clock::now_ns() - start;
    Ok((observer.read().since(&before, window_ns), window_ns))
}

fn known<T: Copy>(value: &Measured<T>) -> Result<T> {
    value.as_result().copied().map_err(|why| anyhow!("{why}"))
}

fn half_a_cpu_of_quota_throttles() -> Result<()> {
    let place = Place::new(&["cpu"])?;
    place.set("cpu", ("cpu.cfs_period_us", "100000"), ("cpu.max", "50000 100000"))?;
    place.set("cpu", ("cpu.cfs_quota_us", "50000"), ("cpu.max", "50000 100000"))?;
    // Otherwise a busy machine may give it less than its quota, and nothing is throttled.
    place.set("cpu", ("cpu.shares", "262144"), ("cpu.weight", "10000"))?;
    let mut workload = Workload::start("spin 400")?;
    place.take_in(workload.pid())?;
    let (used, window_ns) = over_work(&observer(&place), &mut workload)?;
    ensure!(known(&used.cpu_limit)?.to_bits() == 0.5_f64.to_bits(), "{:?}", used.cpu_limit);
    // 400 ms of CPU time need eight periods of 50 ms; the first and the last may be partial, and
    // a period in which others ran first need not end throttled.
    let (periods, throttled) = (known(&used.nr_periods)?, known(&used.nr_throttled)?);
    ensure!((4..=periods).contains(&throttled), "{throttled} of {periods} periods throttled");
    // Held back for half of the time, if it ran at the start of every period; bounds of a
    // quarter and three quarters leave room for partial periods and for others on the machine.
    let held_ns = known(&used.throttled_ns)?;
    ensure!((window_ns / 4..window_ns * 3 / 4).contains(&held_ns), "{held_ns} of {window_ns} ns");
    // Half a CPU, and one more quota of 50 ms where the window begins within a period.
    let most = 0.5 + 0.05 / (window_ns as f64 / 1e9) + 0.02;
    ensure!(known(&used.cpu_ratio)? <= most, "{:?} CPUs, at most {most}", used.cpu_ratio);
    Ok(())
}

fn cpu_time_is_what_was_spun() -> Result<()> {
    let place = Place::new(&["cpuacct"]).or_else(|_| Place::new(&[]))?;
    let mut workload = Workload::start("spin 150 2")?;
    place.take_in(workload.pid())?;
    // The v2 directory's books, and v1's where they are kept apart.
    let mut sources = vec![CgroupObserver::new(&[].into(), Some(&place.v2))];
    if place.controllers.contains_key("cpuacct") {
        sources.push(CgroupObserver::new(&place.controllers, None));
    }
    let before: Vec<_> = sources.iter().map(CgroupObserver::read).collect();
    workload.work()?;
    for (source, before) in sources.iter().zip(&before) {
        let used = source.read().since(before, 1_000_000_000);
        let (cpus, user) = (known(&used.cpu_ratio)?, known(&used.user_ns)?);
        // 300 ms in a window of one second; setting out and coming to rest take far below 20 ms.
        let most = 0.3 + 0.02 * room() as f64;
        ensure!((0.3..most).contains(&cpus), "{cpus} s of CPU time");
        // Split by ticks on some kernels, so the parts are coarse: each within the whole.
        let parts = [user, known(&used.system_ns)?];
        ensure!(parts.iter().all(|&ns| ns as f64 <= most * 1e9 + 10_000_000.0), "{used:?}");
    }
    Ok(())
}

fn touched_memory_is_the_peak() -> Result<()> {
    let place = Place::new(&["memory"])?;
    let mut workload = Workload::start(&format!("touch {}", 64 * MIB))?;
    place.take_in(workload.pid())?;
    let (used, _) = over_work(&observer(&place), &mut workload)?;
    if let Some(why) = used.memory_peak_bytes.why().filter(|why| why.starts_with("this kernel")) {
        return Err(CannotRun(why.to_owned()).into());
    }
    let (peak, current) = (known(&used.memory_peak_bytes)?, known(&used.memory_current_bytes)?);
    // What it had before it came is charged elsewhere. Besides the 64 MiB: page tables, stacks,
    // and charges taken in advance, up to 64 pages on each CPU.
    let most = 72 * MIB;
    ensure!((64 * MIB..most).contains(&current), "{current} bytes in use");
    ensure!((current..most).contains(&peak), "peak of {peak} bytes");
    ensure!(used.memory_limit_bytes.why() == Some("no memory limit is set"), "{used:?}");
    ensure!(known(&used.oom_kills)? == 0, "{used:?}");
    Ok(())
}

fn an_oom_kill_is_counted() -> Result<()> {
    let place = Place::new(&["memory"])?;
    let limit = (32 * MIB).to_string();
    place.set("memory", ("memory.limit_in_bytes", &limit), ("memory.max", &limit))?;
    let mut workload = Workload::start(&format!("touch {}", 512 * MIB))?;
    place.take_in(workload.pid())?;
    let observer = observer(&place);
    let before = observer.read();
    workload.go()?;
    let status = workload.finish()?;
    ensure!(status.signal() == Some(9), "it should have been killed: {status}");
    let used = observer.read().since(&before, 1);
    ensure!(known(&used.oom_kills)? == 1, "{:?}", used.oom_kills);
    let event = |name: &str| used.memory_events.get(name).and_then(Measured::value).copied();
    ensure!(event("oom_kill") == Some(1), "{:?}", used.memory_events);
    let at_limit = event("failcnt").or(event("max"));
    ensure!(at_limit.is_some_and(|times| times > 0), "{:?}", used.memory_events);
    ensure!(known(&used.memory_limit_bytes)? == 32 * MIB, "{:?}", used.memory_limit_bytes);
    Ok(())
}

fn threads_count_as_pids() -> Result<()> {
    let place = Place::new(&["pids"])?;
    let workload = Workload::start("sleepers 5 1")?;
    place.take_in(workload.pid())?;
    let reading = observer(&place).read();
    ensure!(known(&reading.pids_current)? == 6, "{:?}", reading.pids_current);
    ensure!(reading.pids_peak.value().is_none_or(|peak| *peak >= 6), "{:?}", reading.pids_peak);
    Ok(())
}

fn the_cpuset_is_seen() -> Result<()> {
    let place = Place::new(&["cpuset"])?;
    let online = bench_user::host::topology::online_cpus()?;
    let last = online.last().context("a CPU")?.to_string();
    place.set("cpuset", ("cpuset.mems", "0"), ("cpuset.mems", "0"))?;
    place.set("cpuset", ("cpuset.cpus", &last), ("cpuset.cpus", &last))?;
    let workload = Workload::start("sleepers 1 1")?;
    let main = observer(&place).with_main_pid(Some(workload.pid()));
    let outside = known(&main.read().cpus_allowed)?;
    place.take_in(workload.pid())?;
    ensure!(known(&main.read().cpus_allowed)? == 1, "{:?}", main.read().cpus_allowed);
    ensure!(known(&observer(&place).read().cpus_allowed)? == 1, "by the cpuset alone");
    ensure!(usize::try_from(outside)? <= online.len(), "{outside} CPUs outside");
    Ok(())
}

fn a_process_outside_adds_nothing() -> Result<()> {
    let place = Place::new(&[])?;
    let mut workload = Workload::start("spin 50")?;
    let (used, _) = over_work(&observer(&place), &mut workload)?;
    ensure!(known(&used.cpu_ratio)? == 0.0, "{:?}", used.cpu_ratio);
    for (name, stalled) in &used.psi {
        ensure!(stalled.value().is_none_or(|ns| *ns == 0), "{name}: {stalled:?}");
    }
    Ok(())
}
