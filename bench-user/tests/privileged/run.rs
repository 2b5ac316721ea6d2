//! The whole program against its own servers, whose work is known to the syscall.

use std::path::{Path, PathBuf};
use std::process::{Child, Output, Stdio};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use bench_user::clock;
use bench_user::ladder::Interrupt;
use bench_user::load::{
    DialSpec, Generator, LoadSample, LoadSetup, RequestSpec, StageLoad, Window,
};
use bench_user::plan::{Builtin, LoadSpec};
use bench_user::record::{self, Bottleneck, RunRecord};
use bench_user::target::builtin::syscalls_per_request;
use libtest_mimic::Trial;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use url::Url;

use crate::place::{CannotRun, Place, room, trial};
use crate::probes::{any_is_loaded, observe, programs_of};
use crate::server::{Server, bench_user};

pub(crate) fn tests() -> Vec<Trial> {
    vec![
        trial("run::the_servers_make_the_syscalls_they_are_known_to_make", known_syscalls),
        trial("run::client_and_server_agree_in_every_stage", client_and_server_agree),
        trial("run::quotients_of_a_stage_are_those_of_the_server", quotients_of_a_stage),
        trial("run::a_killed_run_keeps_its_stages_and_leaves_nothing", killed_run),
        trial("run::a_signal_ends_a_run_in_order", interrupted_run),
        trial("run::a_target_that_ends_in_a_stage_is_said_to", target_that_ends),
        trial("run::probes_built_with_log_output_log", probes_log),
    ]
}

pub(crate) fn pause_until(
    deadline_ns: u64,
    mut is_done: impl FnMut() -> Result<bool>,
) -> Result<()> {
    let waiting = Interrupt::default();
    while !is_done()? {
        ensure!(clock::now_ns() < deadline_ns, "it took too long");
        ensure!(waiting.wait_until(clock::now_ns() + 2_000_000), "nobody sends a signal here");
    }
    Ok(())
}

pub(crate) fn in_seconds(s: u64) -> u64 {
    clock::now_ns() + s * 1_000_000_000
}

/// One stage of a third of a second over one worker.
pub(crate) fn load(url: &Url, connections: u32) -> Result<LoadSample> {
    let spec = LoadSpec::default();
    let setup = LoadSetup {
        protocol: spec.protocol,
        client: spec.client_for(false),
        pipeline: spec.pipeline,
        streams: spec.streams,
        websocket: spec.websocket,
        requests: RequestSpec {
            urls: Arc::from([url.clone()]),
            method: None,
            headers: std::collections::BTreeMap::new(),
            body: None,
            basic_auth: None,
            seed: 0,
        },
        dial: DialSpec::default(),
        workers: 1,
        cpus: Vec::new(),
        timeout: Duration::from_secs(10),
        interval_ns: 100_000_000,
    };
    let mut generator = Generator::start(setup)?;
    let start_ns = clock::now_ns() + 50_000_000;
    let stage = StageLoad {
        connections,
        open_loop: None,
        window: Window { start_ns, end_ns: start_ns + 300_000_000 },
        cooldown: Duration::from_secs(5),
    };
    Ok(generator.begin(stage)?.finish().0)
}

/// Read at rest before the first connection and after the last close, so there is no edge: for
/// every request one receive and the known sends, for every connection the receive of its end.
fn known_syscalls() -> Result<()> {
    for (kind, name) in [(Builtin::Lean, "lean"), (Builtin::Chatty, "chatty")] {
        let place = Place::new(&[])?;
        let server = Server::start(name, &place)?;
        let mut set = observe(&place)?;
        set.begin();
        let sample = load(&server.url, 7)?;
        let threads = || -> Result<usize> {
            Ok(std::fs::read_dir(format!("/proc/{}/task", server.child.id()))?.count())
        };
        // Its thread for a connection ends when it has seen the close.
        pause_until(in_seconds(5), || Ok(threads()? == 1))?;
        let kernel = set.end().context("a window was begun")?;
        let requests = sample.account.completed;
        ensure!(sample.account.failed == 0 && sample.account.in_flight_at_end == 0, "{sample:?}");
        let by_name = &kernel.syscalls.value().context("measured")?.by_name;
        let count = |syscall| by_name.get(syscall).map_or(0, |count| count.count);
        let (receives, sends) = (count("recvfrom"), count("sendto"));
        ensure!(receives == requests + 7, "{name}: {receives} receives, {requests} requests");
        let expected = (syscalls_per_request(kind) - 1) * requests;
        ensure!(sends == expected, "{name}: {sends} sends and not {expected}");
    }
    Ok(())
}

/// One run for each stage, so that the server's count can be read between them.
fn client_and_server_agree() -> Result<()> {
    let place = Place::new(&[])?;
    let server = Server::start("lean", &place)?;
    for connections in ["1", "5", "32"] {
        let before = server.answered()?;
        let run = measured(&place, &server, &["--connections", connections])?;
        let answered = server.answered()? - before;
        let account = &run.targets[0].stages[0].load.account;
        ensure!(account.started == account.completed + account.failed + account.in_flight_at_end);
        ensure!(account.in_flight_at_end == 0 && account.failed == 0, "{account:?}");
        // Before the run and before the climb the tool asks whether the server is there, then
        // whether it answers well, and at the end whether it still is.
        let expected = account.completed + 4;
        ensure!(answered == expected, "the server answered {answered}, the client says {expected}");
    }
    Ok(())
}

/// In a stage the edges cut requests in two: each connection may have one at either edge of
/// which one side is counted and the other is not. And the thread that reads the client's count
/// and then the kernel's may lose its CPU between the two, here for a scheduler's slice of 5 ms;
/// one syscall more a request would be off by at least four times as much.
fn quotients_of_a_stage() -> Result<()> {
    for (kind, name) in [(Builtin::Lean, "lean"), (Builtin::Chatty, "chatty")] {
        let place = Place::new(&[])?;
        let server = Server::start(name, &place)?;
        let run = measured(&place, &server, &["--connections", "4"])?;
        let stage = &run.targets[0].stages[0];
        let syscalls = stage.syscalls.value().context("measured")?;
        ensure!(syscalls.missed == 0, "{syscalls:?}");
        let work = syscalls.by_name["recvfrom"].count + syscalls.by_name["sendto"].count;
        let each = syscalls_per_request(kind);
        let slices = stage.observed_requests * 2 * 5 * room() / 400;
        let bound = each * (4 * 2 + slices);
        let expected = each * stage.observed_requests;
        ensure!(work.abs_diff(expected) <= bound, "{name}: {work} and not {expected}");
        let shown = syscalls.per_request.context("requests were made")?;
        ensure!((shown - each as f64).abs() < 0.5, "{name}: {shown} syscalls a request");
    }
    Ok(())
}

fn measured(place: &Place, server: &Server, more: &[&str]) -> Result<RunRecord> {
    let dir = TempDir::new()?;
    let out = dir.path().join("run");
    let output = bench_user()
        .args(["run", "--quiet", "--no-control", "--warmup", "100ms", "--duration", "400ms"])
        .arg("--cgroup")
        .arg(&place.v2)
        .args(["--url", server.url.as_str(), "--out"])
        .arg(&out)
        .args(more)
        .output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(record::read(&out)?)
}

fn long_run(out: &Path) -> Result<Child> {
    Ok(bench_user()
        .args(["run", "--builtin", "lean", "--no-control", "--connections", "1,2,3,4,5,6,7,8"])
        .args(["--warmup", "50ms", "--duration", "250ms", "--pause", "1ms", "--out"])
        .arg(out)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?)
}

fn stages(out: &Path) -> usize {
    record::read(out).map_or(0, |run| run.targets[0].stages.len())
}

/// Cgroup directories of a run that is found by its record.
fn cgroup_of(out: &Path) -> Result<PathBuf> {
    let run = record::read(out)?;
    let dir = run.targets[0].cgroup.value().context("it has a cgroup")?;
    Ok(PathBuf::from(dir))
}

fn killed_run() -> Result<()> {
    let dir = TempDir::new()?;
    let out = dir.path().join("run");
    let mut child = long_run(&out)?;
    pause_until(in_seconds(20), || Ok(stages(&out) >= 2))?;
    let attached = programs_of(child.id())?;
    ensure!(!attached.is_empty(), "the probes were attached");
    child.kill()?;
    child.wait()?;
    let kept = stages(&out);
    ensure!((2..8).contains(&kept), "{kept} stages are kept");
    pause_until(in_seconds(5), || Ok(!any_is_loaded(&attached)))?;
    let leftover = cgroup_of(&out)?;

    let next = bench_user()
        .args(["run", "--builtin", "lean", "--no-control", "--connections", "1"])
        .args(["--warmup", "10ms", "--duration", "50ms", "--out"])
        .arg(dir.path().join("next"))
        .output()?;
    ensure!(next.status.success(), "{}", String::from_utf8_lossy(&next.stderr));
    ensure!(!leftover.exists(), "{} is still there", leftover.display());
    Ok(())
}

fn interrupted_run() -> Result<()> {
    let dir = TempDir::new()?;
    let out = dir.path().join("run");
    let mut child = long_run(&out)?;
    pause_until(in_seconds(20), || Ok(stages(&out) >= 1))?;
    kill_process(Pid::from_child(&child), Signal::INT)?;
    let status = child.wait()?;
    ensure!(status.code() == Some(2), "{status}");
    let run = record::read(&out)?;
    ensure!(run.interrupted.as_deref().is_some_and(|why| why.contains("SIGINT")), "{run:?}");
    ensure!(run.analysis.is_some(), "what was finished is analysed");
    let left = cgroup_of(&out)?;
    ensure!(!left.exists(), "{} is still there", left.display());
    Ok(())
}

/// A shell ends the server, and itself with the code 124, in the middle of the stage.
fn target_that_ends() -> Result<()> {
    let dir = TempDir::new()?;
    let out = dir.path().join("run");
    let port = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let output: Output = bench_user()
        .args(["run", "--no-control", "--connections", "2", "--warmup", "100ms"])
        .args(["--duration", "60s", "--url", &format!("http://127.0.0.1:{port}/"), "--out"])
        .arg(&out)
        .args(["--", "sh", "-c", "\"$0\" serve --address \"$1\" & sleep 3; kill $!; exit 124"])
        .args([env!("CARGO_BIN_EXE_bench-user"), &format!("127.0.0.1:{port}")])
        .output()?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(output.status.code() == Some(2), "{}: {said}", output.status);
    ensure!(said.contains("124"), "{said}");
    let run = record::read(&out)?;
    let target = &run.targets[0];
    let exit = target.exit.as_ref().context("it ended")?;
    ensure!((exit.code, exit.by_us) == (Some(124), false), "{exit:?}");
    ensure!(target.stages[0].verdict.bottleneck == Bottleneck::TargetDied, "{target:?}");
    Ok(())
}

fn probes_log() -> Result<()> {
    if env!("BENCH_PROBES_LOG") != "ok" {
        return Err(CannotRun(env!("BENCH_PROBES_LOG").into()).into());
    }
    let dir = TempDir::new()?;
    let output = bench_user()
        .args(["run", "--builtin", "lean", "--probe-log", "--no-control", "--connections", "2"])
        .args(["--warmup", "100ms", "--duration", "200ms", "--out"])
        .arg(dir.path().join("run"))
        .output()?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(output.status.success(), "{said}");
    let seen = said.lines().filter(|line| line.ends_with("first seen")).count();
    // Its first thread and one for each connection; three more ask whether it is there.
    ensure!((3..=6).contains(&seen), "{said}");
    Ok(())
}
