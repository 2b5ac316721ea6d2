//! What runs beside the targets: there before the first climb and gone after the last, however the
//! run ends, and told when it ends too soon.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use bench_user::clock;
use bench_user::host::CgroupTrees;
use bench_user::ladder::Interrupt;
use bench_user::record::{self, RunRecord};
use libtest_mimic::Trial;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::place::trial;
use crate::server::bench_user;

pub(crate) fn tests() -> Vec<Trial> {
    vec![
        trial("services::one_is_there_for_the_whole_run_and_gone_after_it", whole_run),
        trial("services::one_that_ends_is_told_and_spoils_the_stages_since", ends_too_soon),
        trial("services::a_signal_stops_it", stopped_by_a_signal),
        trial("services::a_run_that_cannot_begin_stops_it", stopped_by_an_error),
        trial("services::one_that_does_not_start_ends_the_run", does_not_start),
    ]
}

/// A plan whose one target is the service's own address, so that every request tells whether the
/// service is there.
struct Plan {
    dir: TempDir,
    port: u16,
}

impl Plan {
    fn new(service: &[&str], ladder: &str) -> Result<Self> {
        let dir = TempDir::new()?;
        let port = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let address = format!("127.0.0.1:{port}");
        let program = env!("CARGO_BIN_EXE_bench-user");
        let words = service.iter().map(|word| match *word {
            "BENCH-USER" => program,
            "ADDRESS" => &address,
            word => word,
        });
        let command: Vec<String> = words.map(|word| format!("{word:?}")).collect();
        let text = format!(
            "[ladder]\n{ladder}\n[stop]\nerrors = false\n[observe]\ncontrol = false\n\
             [[service]]\nname = \"model\"\ncommand = [{}]\nurl = \"http://{address}/\"\n\
             [[target]]\nname = \"lean\"\nbuiltin = \"lean\"\n\
             [[target]]\nname = \"model-itself\"\nurl = \"http://{address}/\"\n",
            command.join(", ")
        );
        std::fs::write(dir.path().join("plan.toml"), text)?;
        Ok(Self { dir, port })
    }

    fn out(&self) -> PathBuf {
        self.dir.path().join("run")
    }

    fn command(&self) -> Command {
        let mut command = bench_user();
        command.arg("run").arg(self.dir.path().join("plan.toml")).arg("--out").arg(self.out());
        command
    }

    fn record(&self) -> Result<RunRecord> {
        Ok(record::read(&self.out())?)
    }

    /// Nothing listens any more, and no cgroup of the run is left.
    fn is_gone(&self) -> Result<()> {
        let address = ("127.0.0.1", self.port);
        ensure!(std::net::TcpStream::connect(address).is_err(), "the service still listens");
        let id = self.record()?.id;
        for mount in CgroupTrees::discover()?.mounts() {
            let dirs = bench_user::host::children(&mount.join("bench-user"));
            let left = dirs.into_iter().find(|dir| dir.to_string_lossy().contains(&id));
            ensure!(left.is_none(), "{left:?} is left");
        }
        Ok(())
    }
}

const SHORT: &str = "connections = [2]\nwarmup = \"100ms\"\nduration = \"300ms\"\npause = \"10ms\"";
const SERVES: [&str; 4] = ["BENCH-USER", "serve", "--address", "ADDRESS"];

fn whole_run() -> Result<()> {
    let plan = Plan::new(&SERVES, SHORT)?;
    let output = plan.command().output()?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(output.status.success(), "{}: {said}", output.status);
    let run = plan.record()?;
    let exit = run.services[0].exit.as_ref().context("it was stopped")?;
    ensure!(run.services[0].name == "model" && exit.by_us, "{exit:?}");
    for target in &run.targets {
        let [model] = &target.stages[0].services[..] else { anyhow::bail!("one service") };
        let cpus = *model.cpu_ratio.value().context("it has a cgroup")?;
        ensure!(model.exit.is_none() && target.stages[0].load.requests > 0, "{target:?}");
        // Only the second target asks it for anything; it waits in `accept` else.
        let works = target.name == "model-itself";
        ensure!(if works { cpus > 0.01 } else { cpus < 0.01 }, "{}: {cpus}", target.name);
    }
    let log = std::fs::read_to_string(plan.out().join("logs/model.stdout.log"))?;
    ensure!(log.contains("listening on"), "{log}");
    plan.is_gone()
}

/// A shell ends the server, and itself with the code 7, in the middle of the first stage.
fn ends_too_soon() -> Result<()> {
    let script = "\"$0\" serve --address \"$1\" & sleep 3; kill $!; exit 7";
    let service = ["sh", "-c", script, "BENCH-USER", "ADDRESS"];
    let ladder = "connections = [1, 2]\nwarmup = \"100ms\"\nduration = \"5s\"\npause = \"10ms\"";
    let plan = Plan::new(&service, ladder)?;
    let output = plan.command().output()?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let told = "the service `model` ended by itself: exit code 7";
    ensure!(said.matches(told).count() == 1, "{said}");
    let before = said.split(told).next().unwrap_or_default();
    ensure!(!before.contains("stage 2 of 2"), "it is told in the stage in which it ends: {said}");
    let run = plan.record()?;
    let exit = run.services[0].exit.as_ref().context("it ended")?;
    ensure!((exit.code, exit.by_us) == (Some(7), false), "{exit:?}");
    ensure!(run.targets[0].stages.len() == 2, "the run goes on: {said}");
    for stage in &run.targets[0].stages {
        let why = &stage.verdict.invalid;
        ensure!(why.iter().any(|why| why.contains("the service `model` had ended")), "{why:?}");
    }
    plan.is_gone()
}

fn pause_until(is_done: impl Fn() -> bool, child: &mut Child) -> Result<()> {
    let waiting = Interrupt::default();
    let deadline_ns = clock::now_ns() + 60_000_000_000;
    while !is_done() {
        ensure!(clock::now_ns() < deadline_ns && child.try_wait()?.is_none(), "it came to nothing");
        ensure!(waiting.wait_until(clock::now_ns() + 2_000_000), "nobody sends a signal here");
    }
    Ok(())
}

fn stopped_by_a_signal() -> Result<()> {
    let ladder = SHORT.replace("[2]", "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]");
    let plan = Plan::new(&SERVES, &ladder)?;
    let mut child = plan.command().stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let has_stage = || plan.record().is_ok_and(|run| !run.targets[0].stages.is_empty());
    pause_until(has_stage, &mut child)?;
    kill_process(Pid::from_child(&child), Signal::INT)?;
    let status = child.wait()?;
    ensure!(status.code() == Some(2), "{status}");
    let run = plan.record()?;
    let exit = run.services[0].exit.as_ref().context("it was stopped")?;
    ensure!(exit.by_us && run.interrupted.is_some(), "{run:?}");
    plan.is_gone()
}

fn replaced(plan: &Plan, what: &str, by: &str) -> Result<()> {
    let path: &Path = &plan.dir.path().join("plan.toml");
    let text = std::fs::read_to_string(path)?;
    ensure!(text.contains(what), "{text}");
    Ok(std::fs::write(path, text.replacen(what, by, 1))?)
}

fn stopped_by_an_error() -> Result<()> {
    let plan = Plan::new(&SERVES, SHORT)?;
    replaced(&plan, "builtin = \"lean\"", "pid = 4194305\nurl = \"http://127.0.0.1:9/\"")?;
    let output = plan.command().output()?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(output.status.code() == Some(2) && said.contains("4194305"), "{said}");
    let run = plan.record()?;
    ensure!(run.services[0].exit.as_ref().is_some_and(|exit| exit.by_us), "{run:?}");
    plan.is_gone()
}

fn does_not_start() -> Result<()> {
    let plan = Plan::new(&["sh", "-c", "echo no such model >&2; exit 3"], SHORT)?;
    let output = plan.command().output()?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(output.status.code() == Some(2), "{}: {said}", output.status);
    for part in ["service `model`", "exit code 3", "no such model"] {
        ensure!(said.contains(part), "{part}: {said}");
    }
    plan.is_gone()
}
