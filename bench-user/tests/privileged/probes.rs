//! The probes against exact amounts of work and against the kernel's other books.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use bench_ebpf::abi::{programs, tasks};
use bench_user::measured::Measured;
use bench_user::observe::{ObserverSet, Options, Sample, Sched, Syscalls};
use bench_user::plan::Explain;
use bench_user::target::{TargetHandle, TargetKind};
use libtest_mimic::Trial;

use crate::place::{CannotRun, Place, measured, trial};
use crate::workload::Workload;

pub(crate) fn tests() -> Vec<Trial> {
    vec![
        trial("probes::a_million_calls_of_four_threads_are_a_million", a_million_calls),
        trial("probes::calls_outside_the_cgroup_add_nothing", calls_outside),
        trial("probes::a_child_cgroup_made_later_counts", a_child_cgroup_made_later_counts),
        trial("probes::calls_of_the_32_bit_table_stand_apart", calls_of_the_32_bit_table),
        trial("probes::looks_inside_a_window_add_up_to_it", looks_add_up),
        trial("probes::nothing_stays_attached", nothing_stays_attached),
    ]
}

pub(crate) fn handle(directory: &Path) -> TargetHandle {
    TargetHandle {
        name: "test".into(),
        kind: TargetKind::Cgroup,
        urls: Vec::new(),
        cgroup: Measured::Value(directory.to_owned()),
        controllers: BTreeMap::new(),
        main_pid: None,
    }
}

pub(crate) fn observe(place: &Place) -> Result<ObserverSet> {
    observe_explained(place, &[])
}

/// With kinds of explanation, all of which must be attached.
pub(crate) fn observe_explained(place: &Place, kinds: &[Explain]) -> Result<ObserverSet> {
    observe_with(place, &Options { explain: kinds.to_vec(), ..Options::default() })
}

/// With these options.
pub(crate) fn observe_with(place: &Place, options: &Options) -> Result<ObserverSet> {
    let set = ObserverSet::attach(&handle(&place.v2), options);
    ensure!(set.probes_missing().is_none(), "{:?}", set.probes_missing());
    Ok(set)
}

pub(crate) fn syscalls(sample: &Sample) -> Result<&Syscalls> {
    let block = measured(&sample.syscalls)?;
    ensure!(block.missed == 0, "the kernel skipped {} events", block.missed);
    Ok(block)
}

pub(crate) fn sched(sample: &Sample) -> Result<&Sched> {
    let block = measured(&sample.sched)?;
    ensure!(block.missed == 0, "{:?}", sample.observer_cost.lost);
    Ok(block)
}

pub(crate) fn calls(sample: &Sample) -> Result<u64> {
    Ok(syscalls(sample)?.by_name.get("getppid").map_or(0, |count| count.count))
}

fn a_million_calls() -> Result<()> {
    let place = Place::new(&[])?;
    let mut workload = Workload::start("getppid 4 1000000")?;
    place.take_in(workload.pid())?;
    let mut set = observe(&place)?;
    set.begin();
    workload.work()?;
    let sample = set.end().context("a window was begun")?;
    ensure!(calls(&sample)? == 1_000_000, "counted {}", calls(&sample)?);
    Ok(())
}

fn calls_outside() -> Result<()> {
    let place = Place::new(&[])?;
    let mut workload = Workload::start("getppid 2 100000")?;
    let mut set = observe(&place)?;
    set.begin();
    workload.work()?;
    let sample = set.end().context("a window was begun")?;
    ensure!(syscalls(&sample)?.total == 0, "{:?}", sample.syscalls);
    ensure!(sched(&sample)?.switches_seen == 0, "{:?}", sample.sched);
    Ok(())
}

fn a_child_cgroup_made_later_counts() -> Result<()> {
    let place = Place::new(&[])?;
    let mut set = observe(&place)?;
    set.begin();
    let mut workload = Workload::start("getppid 3 30000")?;
    place.child_with(workload.pid())?;
    workload.work()?;
    let sample = set.end().context("a window was begun")?;
    ensure!(calls(&sample)? == 30_000, "counted {}", calls(&sample)?);
    workload.finish()?;
    Ok(())
}

/// A whole ELF program for i386: `getpid` (20, which is `writev` in the 64-bit table) a thousand
/// times, then `exit`.
#[rustfmt::skip]
pub(crate) const I386_PROGRAM: [u8; 109] = [
    0x7f, b'E', b'L', b'F', 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    2, 0, 3, 0, 1, 0, 0, 0, 0x54, 0x80, 0x04, 0x08, 52, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 52, 0, 32, 0, 1, 0, 0, 0, 0, 0, 0, 0,
    // One segment: the whole file at 0x08048000, readable and executable.
    1, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, 0x04, 0x08, 0, 0x80, 0x04, 0x08,
    109, 0, 0, 0, 109, 0, 0, 0, 5, 0, 0, 0, 0, 0x10, 0, 0,
    0xb9, 0xe8, 0x03, 0, 0,       // mov ecx, 1000
    0xb8, 20, 0, 0, 0,            // again: mov eax, 20
    0xcd, 0x80,                   // int 0x80
    0x49,                         // dec ecx
    0x75, 0xf6,                   // jnz again
    0xb8, 1, 0, 0, 0,             // mov eax, 1
    0x31, 0xdb,                   // xor ebx, ebx
    0xcd, 0x80,                   // int 0x80
    0xf4,                         // hlt, never reached
];

fn calls_of_the_32_bit_table() -> Result<()> {
    let dir = tempfile::tempdir()?;
    let program = dir.path().join("i386");
    std::fs::write(&program, I386_PROGRAM)?;
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
    let place = Place::new(&[])?;
    let mut workload = Workload::start(&format!("command {}", program.display()))?;
    place.take_in(workload.pid())?;
    let mut set = observe(&place)?;
    set.begin();
    workload.work()?;
    let sample = set.end().context("a window was begun")?;
    let by_name = &syscalls(&sample)?.by_name;
    if by_name.get("execve").is_none_or(|count| count.count != 1) {
        return Err(CannotRun("this kernel executes no 32-bit programs".into()).into());
    }
    let compat = by_name.get("compat32").map_or(0, |count| count.count);
    ensure!(compat == 1001, "{compat} of 1001 calls");
    Ok(())
}

fn looks_add_up() -> Result<()> {
    let place = Place::new(&[])?;
    let mut workload = Workload::start("getppid 4 1000000")?;
    place.take_in(workload.pid())?;
    let mut set = observe(&place)?;
    set.begin();
    workload.go()?;
    let mut looks = Vec::new();
    for _ in 0..10 {
        looks.push(set.look().syscalls.context("the probes are attached")?);
    }
    workload.wait_done()?;
    looks.push(set.look().syscalls.context("the probes are attached")?);
    let sample = set.end().context("a window was begun")?;
    let (sum, total) = (looks.iter().sum::<u64>(), syscalls(&sample)?.total);
    ensure!(sum == total, "the looks add up to {sum}, the window has {total}");
    ensure!(calls(&sample)? == 1_000_000, "counted {}", calls(&sample)?);
    Ok(())
}

fn nothing_stays_attached() -> Result<()> {
    let place = Place::new(&[])?;
    let set = observe(&place)?;
    let ours = programs_of(std::process::id())?;
    ensure!(ours.len() == ALWAYS.len(), "attached {ours:?}");
    drop(set);
    ensure!(programs_of(std::process::id())?.is_empty(), "descriptors are still open");
    // The kernel frees programs after a grace period of its own.
    let deadline = bench_user::clock::now_ns() + 5_000_000_000;
    while any_is_loaded(&ours) {
        ensure!(bench_user::clock::now_ns() < deadline, "{ours:?} are still loaded");
        std::thread::yield_now();
    }
    Ok(())
}

/// Programs that are always attached.
pub(crate) const ALWAYS: [&str; 4] =
    [programs::SYS_ENTER_BTF, programs::SCHED_SWITCH, programs::SCHED_EXEC, tasks::programs::TASKS];

/// Ids of the BPF programs that a process holds a descriptor of, itself or through a link.
pub(crate) fn programs_of(pid: u32) -> Result<BTreeSet<u32>> {
    let mut ids = BTreeSet::new();
    for entry in std::fs::read_dir(format!("/proc/{pid}/fdinfo"))? {
        // A descriptor may be closed between the listing and the reading.
        let text = std::fs::read_to_string(entry?.path()).unwrap_or_default();
        let id = text.lines().find_map(|line| line.strip_prefix("prog_id:"));
        ids.extend(id.map(|id| id.trim().parse::<u32>()).transpose()?);
    }
    Ok(ids)
}

/// Whether the kernel still holds one of these programs.
pub(crate) fn any_is_loaded(programs: &BTreeSet<u32>) -> bool {
    aya::programs::loaded_programs().filter_map(Result::ok).any(|p| programs.contains(&p.id()))
}
