//! How a container ends, and how that is told.

use std::fs;

use anyhow::{Context as _, Result, ensure};
use bench_user::measured::Measured;
use bench_user::target::{Exit, Target};
use rustix::process::{Pid, Signal, kill_process};

use super::Test;
use super::bench::Bench;
use crate::run::{in_seconds, pause_until};

pub(super) fn tests() -> Vec<(&'static str, Test)> {
    vec![
        ("our_stop_is_the_signal_of_the_image_and_told_as_ours", stopped),
        ("a_server_that_ignores_its_signal_is_killed", ignored),
        ("a_signal_a_crash_and_a_lack_of_memory_are_told_apart", told_apart),
        ("one_that_ends_before_it_is_ready_is_quoted_and_removed", died_early),
        ("one_that_never_answers_is_given_up_and_removed", never_ready),
    ]
}

fn stopped(bench: &Bench) -> Result<()> {
    let target = bench.start(&bench.scripted("trap 'echo asked; exit 7' TERM", "wait"))?;
    let exit = target.stop().context("it was started")?;
    ensure!((exit.code, exit.signal.as_deref(), exit.by_us) == (Some(7), None, true), "{exit:?}");
    ensure!(exit.oom_killed == Measured::Value(false), "{exit:?}");
    ensure!(bench.log("stdout")?.ends_with("asked\n"), "{}", bench.log("stdout")?);
    bench.nothing_left_of("images")
}

fn ignored(bench: &Bench) -> Result<()> {
    let target = bench.start(&bench.spec(""))?;
    let exit = target.stop().context("it was started")?;
    ensure!((exit.code, exit.signal.as_deref()) == (Some(137), Some("SIGKILL")), "{exit:?}");
    ensure!(exit.by_us && exit.oom_killed == Measured::Value(false), "{exit:?}");
    bench.nothing_left_of("images")
}

/// Its end, which `how` brings about from outside.
fn end(bench: &Bench, after: &str, signal: Signal, keys: &str) -> Result<Exit> {
    let mut spec = bench.scripted(after, "while :; do wait; done");
    let limited = bench.spec(keys);
    spec.memory = limited.memory;
    let mut target = bench.start(&spec)?;
    ensure!(target.poll_exit().is_none(), "it runs");
    let pid = target.handle.main_pid.context("it has a process")?;
    kill_process(Pid::from_raw(i32::try_from(pid)?).context("a pid")?, signal)?;
    let exit = ended(&mut target)?;
    let at_stop = target.stop().context("it was started")?;
    ensure!(at_stop == exit, "{at_stop:?} and not {exit:?}");
    Ok(exit)
}

/// Looked at only when the cgroup is gone, and its OOM counter with it.
fn ended(target: &mut Target) -> Result<Exit> {
    let memory = &target.handle.controllers.get("memory").context("a memory controller")?.path;
    pause_until(in_seconds(30), || Ok(!memory.exists()))?;
    let mut exit = None;
    pause_until(in_seconds(30), || {
        exit = target.poll_exit();
        Ok(exit.is_some())
    })?;
    exit.context("it ended")
}

/// A signal that the environment sends, a crash, a kill, and the OOM killer, which is a kill too.
fn told_apart(bench: &Bench) -> Result<()> {
    let seen = |exit: &Exit| {
        let signal = exit.signal.clone().unwrap_or_default();
        (exit.code, signal, exit.oom_killed.value().copied(), exit.by_us, exit.restarts)
    };
    let (term, kill) = ("SIGTERM".to_owned(), "SIGKILL".to_owned());
    let no = Some(false);
    let by_signal = end(bench, "trap 'exit 143' TERM", Signal::TERM, "")?;
    ensure!(seen(&by_signal) == (Some(143), term, no, false, Some(0)), "{by_signal:?}");
    let crash = end(bench, "trap 'exit 3' USR1", Signal::USR1, "")?;
    ensure!(seen(&crash) == (Some(3), String::new(), no, false, Some(0)), "{crash:?}");
    let killed = end(bench, "", Signal::KILL, "")?;
    ensure!(seen(&killed) == (Some(137), kill.clone(), no, false, Some(0)), "{killed:?}");
    let greedy = "trap 'exec tail /dev/zero' USR1";
    let oom = end(bench, greedy, Signal::USR1, "memory = \"96MiB\"")?;
    ensure!(seen(&oom) == (Some(137), kill, Some(true), false, Some(0)), "{oom:?}");
    bench.nothing_left_of("images")
}

fn died_early(bench: &Bench) -> Result<()> {
    let mut spec = bench.spec("");
    let script = "echo soon; echo cannot find module >&2; exit 3";
    spec.command = Some(["/bin/sh", "-c", script].map(str::to_owned).into());
    let error = bench.start(&spec).err().context("it started")?.to_string();
    ensure!(error.contains("exit code 3") && error.contains("cannot find module"), "{error}");
    spec.command = Some(vec!["/no/such/program".into()]);
    let error = bench.start(&spec).err().context("it started")?.to_string();
    ensure!(error.contains("/no/such/program"), "{error}");
    bench.nothing_left_of("images")
}

fn never_ready(bench: &Bench) -> Result<()> {
    let mut spec = bench.spec("ready_within = \"1s\"");
    spec.command = Some(["/bin/sh", "-c", "echo here >&2; sleep 1000"].map(str::to_owned).into());
    let error = bench.start(&spec).err().context("it started")?.to_string();
    ensure!(error.contains("not ready within 1s") && error.contains("here"), "{error}");
    bench.nothing_left_of("images")?;
    let missing = fs::read_to_string(bench.logs.path().join("it.stderr.log"))?;
    ensure!(missing == "here\n", "{missing}");
    Ok(())
}
