//! Plans with a `[job]`: every run is counted to the last call, is as long as it says itself, and
//! one that fails says so.

use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};
use bench_user::analyze::metrics;
use bench_user::record::{self, ClaimVerdict, JobRun, Loop, RunRecord, StageRecord};
use libtest_mimic::Trial;
use tempfile::TempDir;

use crate::place::trial;
use crate::server::bench_user;

pub(crate) fn tests() -> Vec<Trial> {
    vec![
        trial("job_plan::every_run_has_every_call_and_nothing_before_it", every_call),
        trial("job_plan::a_run_is_over_with_its_last_process", last_process),
        trial("job_plan::a_run_is_no_shorter_than_it_says_itself", own_time),
        trial("job_plan::every_rate_is_over_the_time_of_the_run", rates),
        trial("job_plan::a_program_that_is_missing_is_said_before_the_first_run", missing),
        trial("job_plan::one_that_fails_says_so_and_carries_no_claim", fails),
        trial("job_plan::one_that_takes_too_long_is_ended", takes_too_long),
        trial("job_plan::a_before_that_fails_ends_the_run", before_fails),
    ]
}

/// A plan in a folder of its own, and what became of it.
struct Done {
    dir: TempDir,
    code: Option<i32>,
    said: String,
}

impl Done {
    /// Runs a plan in which `@TEST@` is this program, which becomes the workload of its environment.
    fn run(text: &str) -> Result<Self> {
        let dir = TempDir::new()?;
        let test = std::env::current_exe()?;
        let text = text.replace("@TEST@", &test.display().to_string());
        std::fs::write(dir.path().join("plan.toml"), text)?;
        let mut command = bench_user();
        command.arg("run").arg(dir.path().join("plan.toml"));
        let output = command.arg("--out").arg(dir.path().join("run")).output()?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        Ok(Self { dir, code: output.status.code(), said })
    }

    fn out(&self) -> PathBuf {
        self.dir.path().join("run")
    }

    fn record(&self) -> Result<RunRecord> {
        record::read(&self.out()).with_context(|| self.said.clone())
    }
}

fn job(stage: &StageRecord) -> Result<&JobRun> {
    stage.job.as_ref().context("a stage without a job")
}

fn count(stage: &StageRecord, metric: &str) -> Result<f64> {
    metrics::value(stage, metric).map_err(anyhow::Error::msg)
}

/// Two jobs that make other numbers of the same call; what is run before them makes it too.
fn every_call() -> Result<()> {
    let target = |name: &str, calls: u32| {
        format!(
            "[[target]]\nname = \"{name}\"\ncommand = [\"@TEST@\"]\nbefore = [\"@TEST@\"]\n\
             env = {{ BENCH_TEST_WORKLOAD = \"getppid-at-once 2 {calls}\" }}\n"
        )
    };
    let done = Done::run(&format!(
        "repeat = 3\n[job]\nwork = 50.0\nunit = \"rounds\"\n{}{}\
         [[claim]]\nid = \"calls\"\nmetric = \"syscalls.by_name.getppid.count\"\nof = \"few\"\n\
         against = \"many\"\nexpect = \"-75% +- 1%\"\n",
        target("many", 20_000),
        target("few", 5000),
    ))?;
    ensure!(done.code == Some(0), "{:?}: {}", done.code, done.said);
    let run = done.record()?;
    for (target, calls) in run.targets.iter().zip([20_000.0, 5000.0]) {
        ensure!(target.stages.len() == 3, "{} runs", target.stages.len());
        for stage in &target.stages {
            let made = count(stage, "syscalls.by_name.getppid.count")?;
            ensure!(made == calls, "{} made {made}", target.name);
            ensure!(count(stage, "syscalls.by_name.execve.count")? == 1.0, "one program");
            ensure!(stage.kind == Loop::Job && job(stage)?.failed.is_none(), "{:?}", stage.job);
            let per_sec = count(stage, "job.work_per_sec")?;
            let seconds = count(stage, "job.wall_ns")? / 1e9;
            ensure!((per_sec * seconds - 50.0).abs() < 1e-6, "{per_sec} in {seconds} s");
        }
    }
    ensure!(run.claims[0].verdict == ClaimVerdict::Holds, "{}", run.claims[0].because);
    let stage = serde_json::to_value(&run.targets[0].stages[0])?;
    for absent in ["load", "connections"] {
        ensure!(stage.get(absent).is_none(), "`{absent}` is made up: {}", stage[absent]);
    }
    Ok(())
}

/// The main process ends at once, what it left behind counts on.
fn last_process() -> Result<()> {
    let done = Done::run(
        "[job]\n[[target]]\nname = \"parent\"\n\
         command = [\"sh\", \"-c\", \"(sleep 0.2; BENCH_TEST_WORKLOAD='getppid-at-once 1 7777' @TEST@) &\"]\n",
    )?;
    let stage = &done.record()?.targets[0].stages[0];
    let made = count(stage, "syscalls.by_name.getppid.count")?;
    ensure!(made >= 7777.0, "{made} calls: the orphan is not in it");
    let wall_ns = job(stage)?.wall_ns;
    ensure!(wall_ns >= 200_000_000, "{wall_ns} ns");
    Ok(())
}

/// The job tells its own time from its first line to its last, by a clock of 10 ms that every shell
/// can read.
fn own_time() -> Result<()> {
    const STEP_NS: u64 = 10_000_000;
    let done = Done::run(
        "[job]\n[[target]]\nname = \"timed\"\ncommand = [\"sh\", \"-c\", \
         \"read a _ < /proc/uptime; sleep 0.1; read b _ < /proc/uptime; \
         echo $(( ${b%.*}${b#*.} - ${a%.*}${a#*.} )) > told\"]\n",
    )?;
    let record = done.record()?;
    let told = std::fs::read_to_string(done.dir.path().join("told"))?;
    let told_ns = told.trim().parse::<u64>()? * STEP_NS;
    let wall_ns = job(&record.targets[0].stages[0])?.wall_ns;
    ensure!(wall_ns + STEP_NS >= told_ns && told_ns >= 9 * STEP_NS, "{wall_ns} ns, not {told_ns}");
    Ok(())
}

/// A CPU is burnt for 300 ms after a hundred threads have come and gone, whose last switches are
/// waited for after the end.
fn rates() -> Result<()> {
    let done = Done::run(
        "[job]\n[[target]]\nname = \"busy\"\ncommand = [\"sh\", \"-c\", \
         \"BENCH_TEST_WORKLOAD='storm-at-once 100' @TEST@; \
         BENCH_TEST_WORKLOAD='spin-at-once 300' @TEST@\"]\n",
    )?;
    let run = done.record()?;
    let stage = &run.targets[0].stages[0];
    ensure!(job(stage)?.failed.is_none(), "{:?}", job(stage)?.failed);
    let wall_ns = count(stage, "job.wall_ns")?;
    let is_over_it = |rate: &str, seconds: f64, of: f64| -> Result<()> {
        let rate_of = count(stage, rate)?;
        ensure!((rate_of * wall_ns / seconds / of - 1.0).abs() < 1e-9, "{rate}: {rate_of} of {of}");
        Ok(())
    };
    is_over_it("syscalls.per_sec", 1e9, count(stage, "syscalls.total")?)?;
    is_over_it("sched.per_sec", 1e9, count(stage, "sched.switches")?)?;
    let threads = stage.threads.as_result().map_err(|why| anyhow::anyhow!(why.to_owned()))?;
    #[expect(clippy::cast_precision_loss, reason = "far below 2^53 ns")]
    let busiest_ns = threads.first().context("no thread")?.oncpu_ns as f64;
    is_over_it("threads.busiest.oncpu_ratio", 1.0, busiest_ns)?;
    let cpu_ns = count(stage, "job.cpu_ns")?;
    ensure!(cpu_ns >= 3e8 && wall_ns >= 3e8, "{cpu_ns} ns of CPU in {wall_ns}");
    // User and system time are the kernel's division of the same books, each cut to a microsecond.
    let cpus = count(stage, "cgroup.cpu_ratio")?;
    ensure!((cpus * wall_ns - cpu_ns).abs() < 1e4, "{cpus} of {wall_ns} ns, {cpu_ns}");
    Ok(())
}

/// The first job is not run in vain.
fn missing() -> Result<()> {
    let jobs = "[job]\n[[target]]\nname = \"a\"\ncommand = [\"touch\", \"made\"]\n";
    for wrong in ["command = [\"nodee\"]\n", "command = [\"true\"]\nbefore = [\"nodee\"]\n"] {
        let done = Done::run(&format!("{jobs}[[target]]\nname = \"b\"\n{wrong}"))?;
        ensure!(done.code == Some(2), "{:?}: {}", done.code, done.said);
        ensure!(done.said.contains("target `b`: there is no program `nodee`"), "{}", done.said);
        ensure!(!done.dir.path().join("made").exists(), "the first was run");
    }
    let made = "command = [\"./it\"]\nbefore = [\"ln\", \"-sf\", \"@TEST@\", \"it\"]\n\
                env = { BENCH_TEST_WORKLOAD = \"getppid-at-once 1 1\" }\n";
    let done = Done::run(&format!("{jobs}[[target]]\nname = \"b\"\n{made}"))?;
    ensure!(done.code == Some(0), "{:?}: {}", done.code, done.said);
    Ok(())
}

const CLAIM: &str =
    "[[claim]]\nid = \"c\"\nmetric = \"job.wall_ns\"\nof = \"a\"\nexpect = \"> 0\"\n";

fn fails() -> Result<()> {
    let plan = "[job]\n[[target]]\nname = \"a\"\ncommand = [\"sh\", \"-c\", \"exit 3\"]\n";
    let done = Done::run(&format!("{plan}{CLAIM}"))?;
    ensure!(done.code == Some(3), "{:?}: {}", done.code, done.said);
    let run = done.record()?;
    let stage = &run.targets[0].stages[0];
    let JobRun { exit, failed, .. } = job(stage)?;
    ensure!(exit.code == Some(3) && failed.as_deref() == Some("failed: exit code 3"), "{failed:?}");
    let claim = &run.claims[0];
    ensure!(claim.verdict == ClaimVerdict::Unavailable, "{}", claim.because);
    ensure!(claim.because.contains("the job failed: exit code 3"), "{}", claim.because);
    let without_claims = Done::run(plan)?;
    ensure!(without_claims.code == Some(2), "{:?}", without_claims.code);
    ensure!(without_claims.said.contains("the job `a` failed: exit code 3"), "{}", done.said);
    Ok(())
}

fn takes_too_long() -> Result<()> {
    let done = Done::run(&format!(
        "[job]\ntimeout = \"200ms\"\n[[target]]\nname = \"a\"\ncommand = [\"sleep\", \"600\"]\n{CLAIM}"
    ))?;
    ensure!(done.code == Some(3), "{:?}: {}", done.code, done.said);
    let run = done.record()?;
    let JobRun { exit, failed, wall_ns, .. } = job(&run.targets[0].stages[0])?;
    ensure!(exit.by_us && *wall_ns >= 200_000_000, "{exit:?} after {wall_ns} ns");
    let why = failed.as_deref().unwrap_or_default();
    ensure!(why.contains("longer than its `timeout` of 200ms"), "{why}");
    Ok(())
}

fn before_fails() -> Result<()> {
    let done =
        Done::run("[job]\n[[target]]\nname = \"a\"\ncommand = [\"true\"]\nbefore = [\"false\"]\n")?;
    ensure!(done.code == Some(2), "{:?}", done.code);
    ensure!(done.said.contains("target `a`: its `before` failed (exit code 1)"), "{}", done.said);
    ensure!(done.said.contains("/a%2Ebefore.stderr.log"), "{}", done.said);
    let slow = "[job]\ntimeout = \"200ms\"\n[[target]]\nname = \"a\"\ncommand = [\"true\"]\n";
    let done = Done::run(&format!("{slow}before = [\"sleep\", \"600\"]\n"))?;
    ensure!(done.code == Some(2), "{:?}", done.code);
    let said =
        "`before` took longer than 200ms, the `timeout` of [job], which is for it too: raise";
    ensure!(done.said.contains(said), "{}", done.said);
    Ok(())
}
