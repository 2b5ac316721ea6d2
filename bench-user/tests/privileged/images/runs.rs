//! Whole runs of a container: what the record has, and what is left after a signal and a kill.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use bench_user::record::{self, RunRecord};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use super::Test;
use super::bench::{Bench, SERVER};
use crate::place::room;
use crate::run::{in_seconds, pause_until};
use crate::server::bench_user;

pub(super) fn tests() -> Vec<(&'static str, Test)> {
    vec![
        ("a_run_has_the_calls_and_the_start_of_every_climb", whole_run),
        ("an_image_that_is_missing_ends_a_run_before_its_first_stage", missing),
        ("a_signal_ends_a_run_and_its_container", interrupted),
        ("what_a_killed_run_leaves_is_removed_by_the_next", killed),
    ]
}

fn command(bench: &Bench, image: &str, out: &Path, more: &[&str]) -> Command {
    let address = format!("127.0.0.1:{}", bench.port);
    let mut command = bench_user();
    command
        .args(["run", "--no-control", "--warmup", "100ms", "--connections", "4"])
        .args(["--image", image, "--engine", bench.name, "--url", &format!("http://{address}/")])
        .arg("--out")
        .arg(out)
        .args(more)
        .args(["--", SERVER, "serve", "--address", &address]);
    command
}

fn whole_run(bench: &Bench) -> Result<()> {
    let dir = TempDir::new()?;
    let out = dir.path().join("run");
    let more = ["--quiet", "--duration", "400ms", "--repeat", "2", "--name", "lean"];
    let output = command(bench, &bench.image, &out, &more).output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let run: RunRecord = record::read(&out)?;
    let target = &run.targets[0];
    ensure!(target.stages.len() == 2, "{} stages", target.stages.len());
    let size = bench.engine.image_bytes(&bench.image)?;
    for stage in &target.stages {
        let start = stage.start.as_ref().context("every climb has a start")?;
        ensure!(start.image_bytes == Some(size), "{start:?}");
        ensure!(start.startup_ms.is_some_and(|ms| ms > 0.0), "{start:?}");
        ensure!(start.rss_bytes.value().is_some_and(|bytes| *bytes > 1 << 20), "{start:?}");
        let syscalls = stage.syscalls.as_result().map_err(|why| anyhow::anyhow!("{why}"))?;
        let work = syscalls.by_name["recvfrom"].count + syscalls.by_name["sendto"].count;
        // As in `run::quotients_of_a_stage`: a call each at either edge, and slices of lost CPU.
        let bound = 2 * (4 * 2 + stage.observed_requests * 2 * 5 * room() / 400);
        ensure!(work.abs_diff(2 * stage.observed_requests) <= bound, "{work} calls; {stage:?}");
    }
    let (first, second) = (&target.stages[0].start, &target.stages[1].start);
    ensure!(first != second, "each climb has a container of its own: {first:?}");
    let exit = target.exit.as_ref().context("we stopped it")?;
    ensure!(exit.by_us && exit.oom_killed.value() == Some(&false), "{exit:?}");
    bench.nothing_left_of(&run.id)
}

fn missing(bench: &Bench) -> Result<()> {
    let dir = TempDir::new()?;
    let none = "bench-test/none:1";
    let output = command(bench, none, &dir.path().join("run"), &["--quiet"]).output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.code() == Some(2), "{}: {said}", output.status);
    ensure!(said.contains("no image `bench-test/none:1`") && said.contains("pull"), "{said}");
    Ok(())
}

/// A run in its first stage, which lasts too long, and its record's id.
fn begun(bench: &Bench, out: &Path) -> Result<(Child, String)> {
    let mut command = command(bench, &bench.image, out, &["--quiet", "--duration", "600s"]);
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let mut id = String::new();
    pause_until(in_seconds(60), || {
        let Ok(run) = record::read(out) else { return Ok(false) };
        id = run.id;
        Ok(run.targets[0].idle.is_some())
    })?;
    ensure!(bench.containers(&id)?.len() == 1, "one container of the run");
    Ok((child, id))
}

fn interrupted(bench: &Bench) -> Result<()> {
    let dir = TempDir::new()?;
    let (mut child, id) = begun(bench, &dir.path().join("run"))?;
    kill_process(Pid::from_child(&child), Signal::INT)?;
    let status = child.wait()?;
    ensure!(status.code() == Some(2), "{status}");
    bench.nothing_left_of(&id)
}

fn killed(bench: &Bench) -> Result<()> {
    let dir = TempDir::new()?;
    // Beside it the container of a run that lives: of this program, at another port.
    let port = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let mut elsewhere = bench.spec("");
    elsewhere.url = Some(format!("http://127.0.0.1:{port}/").parse()?);
    let serve = [SERVER, "serve", "--address", &format!("127.0.0.1:{port}")].map(str::to_owned);
    elsewhere.command = Some(serve.into());
    let alive = bench.start(&elsewhere)?;

    let (mut child, id) = begun(bench, &dir.path().join("run"))?;
    child.kill()?;
    child.wait()?;
    ensure!(bench.containers(&id)?.len() == 1, "nobody was there to remove it");
    // The next run of whatever kind, here one that has no container.
    let next = bench_user()
        .args(["run", "--builtin", "lean", "--no-control", "--connections", "1"])
        .args(["--warmup", "10ms", "--duration", "50ms", "--out"])
        .arg(dir.path().join("next"))
        .output()?;
    let said = String::from_utf8_lossy(&next.stderr).into_owned();
    ensure!(next.status.success(), "{said}");
    ensure!(said.contains("removed a leftover of an earlier run: container"), "{said}");
    bench.nothing_left_of(&id)?;
    ensure!(bench.containers("images")?.len() == 1, "the container of a run that lives");
    drop(alive);
    bench.nothing_left_of("images")
}
