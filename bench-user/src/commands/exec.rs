//! `exec`: runs a command in a cgroup of its own and counts it from its `execve` to its end.

use std::ffi::OsString;
use std::os::fd::AsFd as _;
use std::path::Path;
use std::process::Stdio;

use anyhow::Context as _;
use bench_user::cli::ExecArgs;
use bench_user::host::owner;
use bench_user::ladder::Interrupt;
use bench_user::ladder::execution::{Execution, Watched, execute};
use bench_user::observe::{ObserverSet, Options, Sample};
use bench_user::plan::{TargetSpec, flags};
use bench_user::report::{self, Format};
use bench_user::target::{self, CommandLine, Exit, Limits, Spawned, Streams, TargetKind};
use bench_user::units::show_ns;
use serde::Serialize;

use super::{Outcome, flame, print, print_json, say};

/// The blocks of a stage, with how long the command took and how it ended.
#[derive(Debug, Serialize)]
struct Executed<'a> {
    wall_ns: u64,
    exit: &'a Exit,
    #[serde(flatten)]
    sample: &'a Sample,
}

pub(crate) fn run(args: &ExecArgs) -> anyhow::Result<Outcome> {
    let spec = flags::executed_target(args)?;
    anyhow::ensure!(
        rustix::process::geteuid().is_root(),
        "making and watching a cgroup takes root: run it as `sudo bench-user exec`"
    );
    for leftover in target::remove_leftovers() {
        if !args.quiet {
            say(&format!("removed a leftover of an earlier run: {leftover}"));
        }
    }
    let interrupt = Interrupt::install()?;
    let spawned = prepare(&spec, args)?;
    let handle = spawned.handle(&spec.name, TargetKind::Command, Vec::new());
    let explain = flags::explained_or_drawn(&args.explain, &args.flame);
    let asked = Options { explain, starts_held: true, ..Options::default() };
    let mut observers = ObserverSet::attach(&handle, &asked);
    if let Some(why) = observers.probes_missing() {
        say(&format!("warning: no probes: {why}"));
    }
    let watched = Watched { interrupt: &interrupt, timeout_ns: None, to_the_last_process: false };
    observers.begin();
    let Execution { wall_ns, exit, sample, .. } = execute(spawned, Some(observers), watched)?;
    let sample = sample.context("the window was begun")?;
    flame::draw(&args.flame, &sample)?;
    show(args, &Executed { wall_ns, exit: &exit, sample: &sample })?;
    Ok(Outcome::Answered(code(&exit)))
}

fn prepare(spec: &TargetSpec, args: &ExecArgs) -> anyhow::Result<Spawned> {
    let argv: Vec<OsString> = spec.command.iter().flatten().map(OsString::from).collect();
    let run_id = format!("exec-{}", std::process::id());
    let command = CommandLine {
        name: &spec.name,
        run_id: &run_id,
        argv: &argv,
        env: &spec.env,
        dir: spec.dir.as_deref().unwrap_or(Path::new(".")),
        limits: Limits::of(spec),
        shim: None,
    };
    let (stdout, stderr) = match &args.out {
        // What the command prints must not get into the JSON.
        None if args.json => {
            (std::io::stderr().as_fd().try_clone_to_owned()?.into(), Stdio::inherit())
        }
        None => (Stdio::inherit(), Stdio::inherit()),
        Some(dir) => {
            let owner = owner::owner_from_sudo();
            let cannot = || format!("cannot write into {}", dir.display());
            owner::make_folder(dir, owner).with_context(cannot)?;
            let file = |name| owner::make_file(&dir.join(name), owner).with_context(cannot);
            (file("stdout.log")?.into(), file("stderr.log")?.into())
        }
    };
    let streams = Streams { stdin: Stdio::inherit(), stdout, stderr };
    Ok(Spawned::prepare(&command, streams)?)
}

fn show(args: &ExecArgs, executed: &Executed<'_>) -> anyhow::Result<()> {
    if let Some(dir) = &args.out {
        let owner = owner::owner_from_sudo();
        let file = owner::make_file(&dir.join("exec.json"), owner)
            .with_context(|| format!("cannot write into {}", dir.display()))?;
        serde_json::to_writer_pretty(file, executed)?;
    }
    if args.json {
        return print_json(executed);
    }
    print(|out| {
        #[expect(clippy::cast_precision_loss, reason = "for people")]
        let wall = show_ns(executed.wall_ns as f64);
        writeln!(out, "wall time {wall}, {}", ended(executed.exit))?;
        report::sample(executed.sample, Format::Text, out)
    })
}

fn ended(exit: &Exit) -> String {
    let oom = if exit.oom_killed.value() == Some(&true) { " (out of memory)" } else { "" };
    match (exit.code, &exit.signal) {
        (Some(code), _) => format!("exit code {code}{oom}"),
        (None, Some(signal)) => format!("ended by {signal}{oom}"),
        (None, None) => format!("ended{oom}"),
    }
}

/// The command's own code; 128 where a signal ended it, of which only the name is known here.
fn code(exit: &Exit) -> u8 {
    exit.code.map_or(128, |code| u8::try_from(code & 0xff).unwrap_or(1))
}
