//! Each way to count syscalls, also the one that is not this kernel's: which of them counts all, and
//! that none hides what it misses.
//!
//! On kernels that can preempt a BTF tracepoint in its middle, that one skips events; the figures
//! go to standard error, because the choice in `observe/bpf/hook.rs` rests on them.

use anyhow::{Context as _, Result, ensure};
use bench_user::observe::{Hook, ObserverSet, Options};
use libtest_mimic::Trial;

use crate::place::{CannotRun, Place, measured, trial};
use crate::probes::handle;
use crate::workload::Workload;

const CALLS: u64 = 1_000_000;
const ROUNDS: usize = 3;

pub(crate) fn tests() -> Vec<Trial> {
    vec![
        trial("hooks::the_classic_tracepoint_counts_all", || counts_all(Hook::ClassicTracePoint)),
        trial("hooks::the_btf_tracepoint_says_what_it_missed", || {
            rounds(Hook::BtfTracePoint).map(drop)
        }),
    ]
}

fn counts_all(hook: Hook) -> Result<()> {
    can_be_had(hook)?;
    let missed = rounds(hook)?;
    ensure!(missed == [0; ROUNDS], "{missed:?} of a million calls were missed");
    Ok(())
}

/// # Errors
/// Why this hook cannot be had here.
pub(crate) fn can_be_had(hook: Hook) -> Result<()> {
    let roots = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];
    let is_there = roots.iter().any(|root| std::path::Path::new(root).join("events").exists());
    if hook == Hook::ClassicTracePoint && !is_there {
        return Err(CannotRun("tracefs is not mounted".into()).into());
    }
    Ok(())
}

/// How many of the events were missed in each round.
fn rounds(hook: Hook) -> Result<[u64; ROUNDS]> {
    let mut all = [0; ROUNDS];
    for missed in &mut all {
        let (counted, others, said) = round(hook)?;
        eprintln!("{}: {counted} of {CALLS}, {said} said to be missed", hook.name());
        ensure!(counted <= CALLS, "counted {counted} of {CALLS}");
        let lost = CALLS - counted;
        // What was missed has no name: it may be any of the few other calls as well.
        ensure!(
            (lost..=lost + others + 100).contains(&said),
            "{lost} calls are not counted, {said} events are said to be missed"
        );
        *missed = said;
    }
    Ok(all)
}

/// Calls that were counted, other syscalls, and events that were said to be missed.
fn round(hook: Hook) -> Result<(u64, u64, u64)> {
    let place = Place::new(&[])?;
    let mut workload = Workload::start(&format!("getppid 4 {CALLS}"))?;
    place.take_in(workload.pid())?;
    let options = Options { hook: Some(hook), ..Options::default() };
    let mut set = ObserverSet::attach(&handle(&place.v2), &options);
    set.begin();
    workload.work()?;
    let sample = set.end().context("a window was begun")?;
    let block = measured(&sample.syscalls)?;
    let counted = block.by_name.get("getppid").map_or(0, |count| count.count);
    Ok((counted, block.total - counted, block.missed))
}
