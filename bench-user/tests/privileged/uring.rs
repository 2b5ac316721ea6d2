//! io_uring explained, against a program that submits exactly what it is told.

use anyhow::{Context as _, Result, ensure};
use bench_user::observe::{Hook, Options, Sample, UringExplained};
use bench_user::plan::Explain;
use libtest_mimic::Trial;

use crate::hooks::can_be_had;
use crate::odd::compile;
use crate::place::{CannotRun, Place, measured, trial};
use crate::probes::{observe_with, syscalls};
use crate::workload::Workload;

pub(crate) fn tests() -> Vec<Trial> {
    vec![
        trial("uring::submissions_are_counted_by_opcode", by_opcode),
        trial("uring::the_classic_hooks_show_the_same", the_classic_hooks),
        trial("uring::a_polling_thread_submits_without_syscalls", by_poller),
    ]
}

/// Batches of 8, so far fewer syscalls than submissions.
fn by_opcode() -> Result<()> {
    let (block, sample) = submitted(&["NOPS=1600", "READS=800", "FAILS=80"])?;
    let count = |name: &str| block.by_opcode.get(name).map_or(0, |count| count.count);
    ensure!((count("nop"), count("read"), count("close")) == (1600, 800, 80), "{block:?}");
    ensure!(block.submitted.count == 2480 && block.by_poller == 0, "{block:?}");
    ensure!(measured(&block.succeeded)? + measured(&block.failed)? == 2480, "{block:?}");
    ensure!(*measured(&block.failed)? == 80, "{block:?}");
    let enters = &syscalls(&sample)?.by_name["io_uring_enter"];
    ensure!(enters.count == 2480 / 8, "{enters:?}");
    let explained = measured(sample.explain.syscalls.as_ref().context("asked for")?)?;
    let enter = &explained.by_name["io_uring_enter"];
    ensure!(enter.events == Some(2480), "{enter:?}");
    Ok(())
}

fn the_classic_hooks() -> Result<()> {
    can_be_had(Hook::ClassicTracePoint)?;
    let defined = ["NOPS=160", "READS=80", "FAILS=8"];
    let (block, _) = submitted_with(&defined, Some(Hook::ClassicTracePoint))?;
    let count = |name: &str| block.by_opcode.get(name).map_or(0, |count| count.count);
    ensure!((count("nop"), count("read"), count("close")) == (160, 80, 8), "{block:?}");
    ensure!(*measured(&block.failed)? == 8, "{block:?}");
    Ok(())
}

fn by_poller() -> Result<()> {
    let (block, sample) = submitted(&["NOPS=1600", "READS=0", "FAILS=0", "SQPOLL"])?;
    ensure!(block.by_opcode["nop"].count == 1600, "{block:?}");
    ensure!((block.submitted.count, block.by_poller) == (1600, 1600), "{block:?}");
    ensure!(*measured(&block.succeeded)? == 1600, "{block:?}");
    // Only when the poller has gone to sleep does it take a call to wake it.
    let enters = syscalls(&sample)?.by_name.get("io_uring_enter").map_or(0, |count| count.count);
    ensure!(enters <= 200, "{enters} calls for 200 batches");
    Ok(())
}

fn submitted(definitions: &[&str]) -> Result<(UringExplained, Sample)> {
    submitted_with(definitions, None)
}

fn submitted_with(definitions: &[&str], hook: Option<Hook>) -> Result<(UringExplained, Sample)> {
    let dir = tempfile::tempdir()?;
    let program = dir.path().join("uring");
    compile("uring.c", definitions, &program)?;
    let can = std::process::Command::new(&program).status()?;
    if can.code() == Some(77) {
        return Err(CannotRun("this kernel makes no io_uring".into()).into());
    }
    let place = Place::new(&[])?;
    let mut workload = Workload::start(&format!("command {}", program.display()))?;
    place.take_in(workload.pid())?;
    let explain = vec![Explain::Syscalls, Explain::IoUring];
    let mut set = observe_with(&place, &Options { explain, hook, ..Options::default() })?;
    set.begin();
    workload.work()?;
    let sample = set.end().context("a window was begun")?;
    let block = sample.explain.io_uring.as_ref().context("it was asked for")?;
    let block = measured(block)?.clone();
    ensure!(block.missed == 0, "the kernel skipped {} events", block.missed);
    Ok((block, sample))
}
