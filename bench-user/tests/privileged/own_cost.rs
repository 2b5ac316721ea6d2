//! What the instruments themselves cost, and the limit on it.

use anyhow::{Context as _, Result, ensure};
use bench_user::observe::{Options, probe_estimate};
use bench_user::record::{self, RunRecord};
use libtest_mimic::Trial;
use tempfile::TempDir;

use crate::place::{Place, measured, trial};
use crate::probes::observe;
use crate::server::bench_user;
use crate::workload::Workload;

pub(crate) fn tests() -> Vec<Trial> {
    vec![
        trial("own_cost::the_estimate_counts_its_own_calls_and_leaves_nothing", estimate),
        trial("own_cost::a_run_has_its_estimate_its_figure_and_its_control", run_with_its_cost),
        trial("own_cost::a_limit_that_the_probes_pass_refuses_the_run", refused),
        trial("own_cost::run_time_of_probes_is_that_of_their_runs", calibration_counts_runs),
    ]
}

/// It fails by itself where the probes missed one of the calls that it made.
fn estimate() -> Result<()> {
    let found = probe_estimate("test", &Options::default());
    let found = measured(&found)?;
    ensure!(found.syscall_bare_ns > 0.0 && found.switch_bare_ns > 0.0, "{found:?}");
    let added = found.syscall_inside_ns;
    ensure!(added.low <= added.median && added.median <= added.high, "{found:?}");
    let trees = bench_user::host::CgroupTrees::discover()?;
    let runs = trees.v2.context("the probes were tried in it")?.join("bench-user");
    let own = format!("test-{}-", std::process::id());
    let left = std::fs::read_dir(runs).into_iter().flatten().flatten();
    let left = left.filter(|dir| dir.file_name().to_string_lossy().starts_with(&own)).count();
    ensure!(left == 0, "{left} cgroups are left behind");
    Ok(())
}

fn run(more: &[&str]) -> Result<(Option<i32>, String, RunRecord)> {
    let dir = TempDir::new()?;
    let out = dir.path().join("run");
    let output = bench_user()
        .args(["run", "--builtin", "lean", "--connections", "2", "--warmup", "150ms"])
        .args(["--duration", "250ms", "--pause", "1ms", "--out"])
        .arg(&out)
        .args(more)
        .output()?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    Ok((output.status.code(), said, record::read(&out)?))
}

fn run_with_its_cost() -> Result<()> {
    let (code, said, run) = run(&["--repeat", "3", "--max-overhead", "100%"])?;
    ensure!(code == Some(0), "{said}");
    ensure!(said.contains("to a syscall of the target"), "no estimate in: {said}");
    ensure!(run.probe_estimate.value().is_some(), "{:?}", run.probe_estimate);
    let stages = &run.targets[0].stages;
    let roles: Vec<_> = stages.iter().map(|stage| (stage.repetition, stage.observed)).collect();
    let expected = (0..3).flat_map(|climb| [(climb, true), (climb, false)]).collect::<Vec<_>>();
    ensure!(roles == expected, "{roles:?}");
    for stage in stages {
        let cost = &stage.observer_cost;
        ensure!(cost.probe_cpu_ratio.is_some() == stage.observed, "{cost:?}");
        ensure!(cost.probe_overhead_ratio.is_some() == stage.observed, "{cost:?}");
        let parts: Vec<_> = cost.probe_ns_by_part.keys().map(String::as_str).collect();
        ensure!(!stage.observed || parts == ["sched", "syscalls", "tasks"], "{parts:?}");
    }
    let analysis = run.analysis.context("the run is over")?;
    let ratio = analysis.ladders[0].observed_ratio.context("there were control stages")?;
    ensure!(ratio.repetitions == 3 && !ratio.within_stage, "{ratio:?}");
    ensure!(ratio.low <= Some(ratio.value) && Some(ratio.value) <= ratio.high, "{ratio:?}");
    Ok(())
}

fn refused() -> Result<()> {
    let (code, said, run) = run(&["--max-overhead", "0%"])?;
    ensure!(code == Some(2), "exit code {code:?}: {said}");
    let last = said.lines().last().unwrap_or_default();
    ensure!(last.contains("more than the 0% of `max_overhead`"), "{said}");
    ensure!(run.targets[0].stages.is_empty(), "no window was begun");
    ensure!(run.probe_estimate.value().is_some(), "what was measured is kept");
    ensure!(run.interrupted.is_some_and(|why| last.contains(&why)), "{said}");
    Ok(())
}

/// Runs are counted at least once for every call of the target while the kernel measures.
fn calibration_counts_runs() -> Result<()> {
    let place = Place::new(&[])?;
    let mut workload = Workload::start("getppid 2 100000")?;
    place.take_in(workload.pid())?;
    let mut set = observe(&place)?;
    set.begin_calibration();
    workload.work()?;
    set.end_calibration();
    let overhead = set.overhead().context("it was calibrated")?.map_err(anyhow::Error::msg)?;
    ensure!(overhead.base_ns > 0 && overhead.busy_ns > 0, "{overhead:?}");
    ensure!(overhead.explain_ns.is_empty(), "nothing was asked for: {overhead:?}");
    set.begin();
    let cost = set.end().context("a window was begun")?.observer_cost;
    let runs = cost.bpf_runs.context("measured")?;
    ensure!(runs >= 100_000, "{runs} runs at 100000 calls");
    set.begin();
    let again = set.end().context("a window was begun")?.observer_cost;
    ensure!(again.bpf_runs.is_none(), "a calibration belongs to one window");
    Ok(())
}
