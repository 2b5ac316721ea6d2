//! `throughput`: what the default probes cost a plaintext server that does nothing but syscalls.
//!
//! `bench-user run` climbs a short ladder to its own server many times; its last stage is repeated
//! without probes each time. Two ratios come of each such pair: of the rates, which is what a user
//! asks, and of the CPU time that server and load need for a request, which says the same where
//! CPUs are what limits, and which other programs on the machine disturb less. The interval is
//! that of the median by order statistics: it holds for any distribution.

use std::path::PathBuf;
use std::process::{ExitCode, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::workspace::Workspace;
use crate::{build, privilege, statistics};

/// Arguments of `throughput`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Pairs of stages with and without probes
    #[arg(long, default_value_t = 21, value_parser = clap::value_parser!(u32).range(6..=500))]
    pairs: u32,
    /// Connections of the measured stages
    #[arg(long, default_value_t = 32)]
    connections: u32,
    /// Length of each window
    #[arg(long, default_value = "1s")]
    duration: String,
    /// Measure with this binary instead of a release build
    #[arg(long, hide = true)]
    binary: Option<PathBuf>,
}

/// The verb. Builds as the user and measures as root.
#[expect(clippy::print_stdout, reason = "the figures are what the command is for")]
pub(crate) fn main(workspace: &Workspace, args: &Args) -> Result<ExitCode> {
    let binary = build::to_measure(workspace, args.binary.as_deref())?;
    if !privilege::can_be_root() {
        bail!("attaching probes needs root and there is no sudo: call this as root");
    }
    let folder = tempfile::tempdir().context("make a folder for the run")?;
    let pairs = measure(&binary, folder.path(), args)?;
    for (title, ratios) in [
        ("rate with the probes over that without", pairs.iter().map(|pair| pair.0).collect()),
        ("CPU time a request without the probes over that with", column(&pairs)),
    ] {
        println!("{title}: {}", shown(&ratios));
    }
    Ok(ExitCode::SUCCESS)
}

fn column(pairs: &[(f64, f64)]) -> Vec<f64> {
    pairs.iter().map(|pair| pair.1).collect()
}

/// Of every climb, the ratio of rates and that of CPU time a request.
fn measure(
    binary: &std::path::Path,
    folder: &std::path::Path,
    args: &Args,
) -> Result<Vec<(f64, f64)>> {
    let out = folder.join("run");
    let connections = format!("{},{}", args.connections.saturating_sub(1).max(1), args.connections);
    let pairs = args.pairs.to_string();
    let mut run = privilege::as_root(binary);
    run.args(["run", "--builtin", "lean", "--json", "--workers", "1", "--warmup", "300ms"])
        .args(["--pause", "100ms", "--stop-p99", "off", "--connections", &connections])
        .args(["--duration", &args.duration, "--repeat", &pairs, "--out"])
        .arg(&out)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit());
    let output = run.output().context("start bench-user")?;
    let record: Value = serde_json::from_slice(&output.stdout).context("read its record")?;
    let stages = record.pointer("/targets/0/stages").and_then(Value::as_array);
    let found = pairs_of(stages.context("the record has no stages")?);
    if found.is_empty() {
        bail!("the run made no pair of stages");
    }
    Ok(found)
}

fn pairs_of(stages: &[Value]) -> Vec<(f64, f64)> {
    let is_control = |stage: &Value| stage["observed"] == false;
    let pairs = stages.windows(2).filter(|pair| !is_control(&pair[0]) && is_control(&pair[1]));
    let ratios = |pair: &[Value]| {
        let (with, without) = (figures(&pair[0])?, figures(&pair[1])?);
        Some((with.0 / without.0, without.1 / with.1))
    };
    pairs.filter_map(ratios).collect()
}

/// Rate, and CPUs that server and load used for it, over it.
fn figures(stage: &Value) -> Option<(f64, f64)> {
    let number = |place: &str| stage.pointer(place).and_then(Value::as_f64);
    let rps = number("/load/achieved_rps").filter(|rps| *rps > 0.0)?;
    let cpus = number("/cgroup/cpu_ratio")? + number("/load/generator/cpu_ratio")?;
    Some((rps, cpus / rps))
}

fn shown(ratios: &[f64]) -> String {
    let percent = |ratio: f64| format!("{:.1} %", ratio * 100.0);
    let interval = statistics::median_interval(ratios).map_or_else(
        || "too few pairs for an interval".to_owned(),
        |(low, high)| format!("95 % interval {} to {}", percent(low), percent(high)),
    );
    let median = statistics::Quartiles::of(ratios.iter().copied());
    let median = median.map_or_else(String::new, |quartiles| percent(quartiles.median));
    format!("{median} ({interval}, {} pairs)", ratios.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_is_an_observed_stage_and_the_control_behind_it() {
        let stage = |observed: bool, rps: f64, cpus: f64| {
            serde_json::json!({
                "observed": observed,
                "load": { "achieved_rps": rps, "generator": { "cpu_ratio": 0.5 } },
                "cgroup": { "cpu_ratio": cpus },
            })
        };
        let stages = [stage(true, 10.0, 1.0), stage(true, 90.0, 0.4), stage(false, 100.0, 0.5)];
        let found = pairs_of(&stages);
        assert_eq!(found.len(), 1);
        assert!((found[0].0 - 0.9).abs() < 1e-9 && (found[0].1 - 1.0).abs() < 1e-9, "{found:?}");
    }
}
