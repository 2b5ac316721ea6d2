//! `exec`: a command is counted from its `execve` to its end, and nothing before.

use anyhow::{Context as _, Result, ensure};
use libtest_mimic::Trial;

use crate::place::trial;
use crate::server::bench_user;

pub(crate) fn tests() -> Vec<Trial> {
    vec![
        trial("exec::a_command_is_counted_from_its_execve", counts_from_the_execve),
        trial("exec::the_command_begins_at_its_release", begins_at_the_release),
    ]
}

fn counts_from_the_execve() -> Result<()> {
    let output = bench_user()
        .args(["exec", "--json", "--env", "BENCH_TEST_WORKLOAD=getppid-at-once 4 100000", "--"])
        .arg(std::env::current_exe()?)
        .output()?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(output.status.success(), "{}: {said}", output.status);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    let count = |name: &str| json["syscalls"]["by_name"][name]["count"].as_u64();
    ensure!(count("getppid") == Some(100_000), "{:?} calls", count("getppid"));
    ensure!(count("execve") == Some(1), "{:?} execs", count("execve"));
    ensure!(json["exit"]["code"] == 0, "{}", json["exit"]);
    let threads = json["threads"].as_array().context("threads")?;
    ensure!(threads.len() == 5 && threads.iter().all(|t| t["exited"] == true), "{threads:?}");
    Ok(())
}

/// The command is stopped while the instruments are attached: that is no wait of its own.
fn begins_at_the_release() -> Result<()> {
    let output = bench_user()
        .args(["exec", "--json", "--explain=off-cpu"])
        .args(["--env", "BENCH_TEST_WORKLOAD=sleepers-at-once 1 20", "--"])
        .arg(std::env::current_exe()?)
        .output()?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(output.status.success(), "{}: {said}", output.status);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    let off_cpu = &json["explain"]["off_cpu"];
    let reasons = off_cpu["by_reason"].as_object().with_context(|| said.clone())?;
    ensure!(reasons.contains_key("clock_nanosleep"), "{reasons:?}");
    ensure!(!reasons.contains_key("stopped"), "{reasons:?}");
    // The command's own time is there from its first instruction on.
    let on_cpu = off_cpu["on_cpu"]["ns"].as_u64();
    ensure!(on_cpu >= json["sched"]["oncpu_ns"].as_u64(), "{on_cpu:?} of {}", json["sched"]);
    Ok(())
}
