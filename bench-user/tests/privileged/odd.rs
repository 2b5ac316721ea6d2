//! Programs in C for what safe Rust does not do: compiled by the tests that run them.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use bench_user::observe::{Sample, SyscallsExplained};
use libtest_mimic::Trial;

use crate::calls::window;
use crate::place::{CannotRun, trial};

pub(crate) fn tests() -> Vec<Trial> {
    vec![
        trial("calls::a_call_that_seccomp_refuses_returns_without_an_enter", refused_by_seccomp),
        trial("calls::what_a_signal_interrupts_is_no_error", interrupted_by_a_signal),
    ]
}

/// Compiles a program with definitions such as `COUNT=7`.
pub(crate) fn compile(source: &str, definitions: &[&str], to: &Path) -> Result<()> {
    let mut compiler = Command::new("cc");
    compiler.arg("-O1").args(definitions.iter().map(|d| format!("-D{d}"))).arg("-o").arg(to);
    compiler.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/privileged/").to_owned() + source);
    let status = compiler.status().map_err(|e| CannotRun(format!("no C compiler: {e}")))?;
    ensure!(status.success(), "{source} does not compile: {status}");
    Ok(())
}

fn refused_by_seccomp() -> Result<()> {
    let dir = tempfile::tempdir()?;
    let without = odd(dir.path(), &["COUNT=0", "SECCOMP"])?;
    let with = odd(dir.path(), &["COUNT=500", "SECCOMP"])?;
    ensure!(!with.0.by_name.contains_key("getppid"), "seccomp let it through");
    let (with, without) = (with.0.unpaired.no_enter, without.0.unpaired.no_enter);
    ensure!(with == without + 500, "{with} with, {without} without");
    Ok(())
}

/// A pause ends with a restart code that no program sees, and the return from the handler shows
/// the registers of what was interrupted where its result would stand.
fn interrupted_by_a_signal() -> Result<()> {
    let dir = tempfile::tempdir()?;
    let (block, _) = odd(dir.path(), &["COUNT=20", "SIGNALS"])?;
    let pause = block.by_name.get("pause").context("it paused")?;
    ensure!((pause.count, pause.interrupted) == (20, 20), "{pause:?}");
    ensure!(pause.errors.is_empty(), "{pause:?}");
    let back = block.by_name.get("rt_sigreturn").context("it handled a signal")?;
    ensure!((back.count, back.latency_ns.count) == (20, 20), "{back:?}");
    ensure!(back.errors.is_empty() && block.unpaired.renumbered == 0, "{back:?}");
    Ok(())
}

type Window = (SyscallsExplained, Sample);

fn odd(dir: &Path, definitions: &[&str]) -> Result<Window> {
    let program = dir.join("odd");
    compile("odd.c", definitions, &program)?;
    window(&format!("command {}", program.display()))
}
