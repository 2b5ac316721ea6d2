//! Syscalls of a client, counted by the probes of `bench-user exec` in a cgroup of the client's
//! own: no ptrace, so it runs as fast as it does for users.
//!
//! The probes are at every syscall of the machine, so what a client does while they are attached
//! is counted here and timed elsewhere.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::child;
use super::cpus::Cpu;
use crate::privilege;

/// Runs the client once more; what it printed, and its syscalls from its execve(2) to its end.
///
/// # Errors
/// When we cannot be root, the probes do not load, or the client fails.
pub(super) fn count(
    bench_user: &Path,
    client: &Command,
    cpu: Cpu,
    folder: &Path,
    limit: Duration,
) -> Result<(String, u64)> {
    if !privilege::can_be_root() {
        bail!("loading probes needs root, and there is no sudo");
    }
    let kept = folder.join("exec");
    let mut exec = privilege::as_root(bench_user);
    exec.args(["exec", "--json", "--out"]).arg(&kept).arg("--dir").arg(folder).arg("--");
    exec.arg(client.get_program()).args(client.get_args().map(OsStr::to_owned));
    let (figures, _) = child::run(&mut exec, cpu, folder, limit)?;
    let output = fs::read(kept.join("stdout.log")).context("read what the client printed")?;
    Ok((String::from_utf8_lossy(&output).into_owned(), parse(&figures)?))
}

/// The syscalls in the figures of `exec`, if all of them were counted.
fn parse(figures: &str) -> Result<u64> {
    let figures: Value = serde_json::from_str(figures).context("read the figures of `exec`")?;
    let syscalls = figures.get("syscalls").context("the figures have no syscalls")?;
    if let Some(why) = syscalls.get("unavailable").and_then(Value::as_str) {
        bail!("{why}");
    }
    match (syscalls["total"].as_u64(), syscalls["missed"].as_u64()) {
        (Some(total), Some(0)) => Ok(total),
        (Some(_), Some(missed)) => bail!("the probes missed {missed} syscalls"),
        _ => bail!("the figures have no count of syscalls"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIGURES: &str = include_str!("captured/exec.json");

    #[test]
    fn all_syscalls_are_read_from_the_figures() {
        assert_eq!(parse(FIGURES).expect("figures"), 99);
    }

    #[test]
    fn a_count_that_is_not_whole_is_none_and_says_why() {
        let refusal = |figures: &str| parse(figures).expect_err("no whole count").to_string();
        let missed = FIGURES.replace("\"missed\": 0", "\"missed\": 7");
        assert!(refusal(&missed).contains("missed 7"));
        assert_eq!(refusal(r#"{"syscalls":{"unavailable":"no BTF"}}"#), "no BTF");
        assert!(refusal(r#"{"syscalls":{}}"#).contains("no count"));
    }
}
