//! The program as a user calls it first: `doctor`, and a run without a plan, with each client.

use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use bench_user::host::CgroupTrees;
use bench_user::plan::Builtin;
use bench_user::record::{self, ClaimVerdict, StageRecord};
use bench_user::target::builtin::syscalls_per_request;
use libtest_mimic::Trial;
use tempfile::TempDir;

use crate::place::{room, trial};
use crate::server::bench_user;

pub(crate) fn tests() -> Vec<Trial> {
    vec![
        trial("whole::doctor_says_that_a_run_can_be_made_here", doctor),
        trial("whole::the_default_run_by_the_lean_client_keeps_its_claims", || run("lean")),
        trial("whole::the_default_run_by_the_hyper_client_keeps_its_claims", || run("hyper")),
        trial("whole::kept_connections_take_their_descriptors_once", kept_connections),
    ]
}

fn doctor() -> Result<()> {
    let child = bench_user().args(["doctor", "--json"]).stdout(Stdio::piped()).spawn()?;
    let scratch = format!("bench-doctor-trial-{}", child.id());
    let output = child.wait_with_output()?;
    let all: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    let all = all.as_array().context("a list of capabilities")?;
    let works = |name: &str| all.iter().any(|one| one["name"] == name && one["works"] == true);
    ensure!(works("rights") && works("probe of syscalls") && works("probe of switches"), "{all:?}");
    for one in all {
        ensure!(one["works"] == true || one["needed"] == false, "{one}");
    }
    ensure!(output.status.success(), "{}", output.status);
    for mount in CgroupTrees::discover()?.mounts() {
        ensure!(!mount.join(&scratch).exists(), "{} is left", mount.display());
    }
    Ok(())
}

/// The second stage keeps the connections of the first: with room for 250 and not for 490 it runs.
fn kept_connections() -> Result<()> {
    let dir = TempDir::new()?;
    let out = dir.path().join("run");
    let program = bench_user().get_program().to_owned();
    let output = Command::new("sh")
        .args(["-c", "ulimit -n 400 && exec \"$0\" \"$@\""])
        .arg(program)
        .args(["run", "--quiet", "--no-control", "--repeat", "1", "--connections", "240,250"])
        .args(["--warmup", "100ms", "--duration", "100ms", "--pause", "10ms", "--out"])
        .arg(&out)
        .output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(matches!(output.status.code(), Some(0 | 1 | 3)), "{}: {said}", output.status);
    let asked: Vec<_> =
        record::read(&out)?.targets[0].stages.iter().map(|s| s.connections).collect();
    ensure!(asked == [240, 250], "{asked:?}: {said}");
    Ok(())
}

/// The built-in plan with shorter stages, of which the claims about syscalls must not fail: they
/// count what the servers are known to do. Those about speed may not, so only an error is a failure.
fn run(client: &str) -> Result<()> {
    let dir = TempDir::new()?;
    let out = dir.path().join("run");
    // Long beside the readings at its edges, which under emulation take a tenth of a second.
    let length = format!("{}ms", 300 + 200 * room());
    let output = bench_user()
        .args(["run", "--quiet", "--no-control", "--repeat", "3", "--connections", "3"])
        .args(["--warmup", "200ms", "--duration", &length, "--pause", "10ms", "--client", client])
        .arg("--out")
        .arg(&out)
        .output()?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(matches!(output.status.code(), Some(0 | 1 | 3)), "{}: {said}", output.status);
    let run = record::read(&out)?;
    for (target, kind) in run.targets.iter().zip([Builtin::Lean, Builtin::Chatty]) {
        ensure!(target.stages.len() == 3, "{} of three stages: {said}", target.stages.len());
        for stage in &target.stages {
            exact(stage, syscalls_per_request(kind))
                .with_context(|| format!("{} by {client}", target.name))?;
        }
    }
    for id in ["lean-two-syscalls", "chatty-more-syscalls", "same-bytes"] {
        let claim = run.claims.iter().find(|one| one.claim.id == id).context("of the plan")?;
        // On a busy machine a stage may be unfit for a claim, which leaves it open.
        let is_open = claim.verdict == ClaimVerdict::Inconclusive;
        ensure!(is_open || claim.verdict == ClaimVerdict::Holds, "{id}: {}", claim.because);
    }
    Ok(())
}

/// At each edge of the window a connection may have one request of which one side is counted and
/// the other is not, and the thread that reads both counts may lose its CPU between the two.
fn exact(stage: &StageRecord, each: u64) -> Result<()> {
    let syscalls = stage.syscalls.value().context("measured")?;
    ensure!(syscalls.missed == 0, "{syscalls:?}");
    let requests = stage.observed_requests;
    // A reading that is held up for a hundredth of the window is off by as much at either edge.
    let bound = each * (requests * room() / 50 + 2 * u64::from(stage.connections));
    ensure!(requests > 0, "no request was made");
    ensure!(
        syscalls.total.abs_diff(each * requests) <= bound,
        "{} syscalls in {requests} requests, of which each makes {each}",
        syscalls.total
    );
    Ok(())
}
