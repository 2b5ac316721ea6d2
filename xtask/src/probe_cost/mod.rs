//! `probe-cost`: what the probes add to a syscall and to a context switch, and how long attaching
//! takes.
//!
//! One program of ours does known work in rounds and times itself. A round does the work without
//! probes, then with them attached to a cgroup that the program is outside of, then inside of it.
//! What is reported is the median of the differences within rounds, so that a machine that gets
//! slower or faster over minutes does not look like a cost. A round also checks that `bench-user`
//! counted the calls exactly: a probe that misses events would look cheap.
//!
//! Where `bpftrace` is installed, its one-line counter of the same hook is measured in some of the
//! same rounds, as a yardstick that others can repeat.

mod cgroup;
mod observer;
mod table;
mod workload;

use std::process::ExitCode;

use anyhow::{Context, Result, bail};

use crate::workspace::Workspace;
use crate::{build, privilege, process, run};
use cgroup::Cgroup;
use observer::{BenchUser, Bpftrace};
use workload::{Work, Workload};

pub(crate) use workload::serve as workload;

/// Attaching bpftrace takes seconds, so only every so manieth round does it.
const BPFTRACE_EVERY: u32 = 3;

/// Arguments of `probe-cost`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// How often to measure each case
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u32).range(3..=1000))]
    rounds: u32,
    /// Calls of getppid in a round
    #[arg(long, default_value_t = 400_000, value_parser = clap::value_parser!(u32).range(1000..))]
    calls: u32,
    /// Context switches in a round
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(1000..))]
    switches: u32,
    /// Measure with the release build as it is
    #[arg(long, hide = true)]
    is_built: bool,
}

/// What the rounds gave, in the order they ran.
#[derive(Default)]
struct Measurements {
    call: Case,
    switch: Case,
    /// From starting `bench-user observe` to its word that it is attached, ms.
    attach_ms: Vec<f64>,
    /// Calls that were made inside the cgroup and calls that the probes counted there.
    made: u64,
    counted: u64,
    /// What bpftrace did, or why it did nothing.
    bpftrace: Yardstick,
}

/// The use of bpftrace.
enum Yardstick {
    /// It was not used, for this reason.
    Without(String),
    /// Calls made while it counted, and what it counted: other syscalls of the program too.
    Counted { made: u64, counted: u64 },
}

impl Default for Yardstick {
    fn default() -> Self {
        Self::Counted { made: 0, counted: 0 }
    }
}

/// One kind of event, ns per event in each round.
#[derive(Default)]
struct Case {
    bare: Vec<f64>,
    outside: Vec<f64>,
    inside: Vec<f64>,
    /// In the rounds that had bpftrace: the time without any probe, and the time with its counter.
    bpftrace: Vec<(f64, f64)>,
}

/// The verb. Builds as the user and measures as root.
pub(crate) fn main(workspace: &Workspace, args: &Args) -> Result<ExitCode> {
    if !args.is_built {
        build::release_with_probes(workspace)?;
    }
    if privilege::is_root() {
        let all = measure(workspace, args)?;
        table::print(&all);
        if all.counted != all.made {
            bail!("the probes did not count every call: what they cost says nothing");
        }
        return Ok(ExitCode::SUCCESS);
    }
    if args.is_built || !privilege::can_be_root() {
        bail!("attaching probes needs root and there is no sudo: call this as root");
    }
    let own = std::env::current_exe().context("find this program")?;
    let mut again = privilege::as_root(own);
    again.args(["probe-cost", "--is-built"]);
    for (option, value) in
        [("--rounds", args.rounds), ("--calls", args.calls), ("--switches", args.switches)]
    {
        again.arg(option).arg(value.to_string());
    }
    process::status(&mut again).map(run::exit_code)
}

fn measure(workspace: &Workspace, args: &Args) -> Result<Measurements> {
    let mount = cgroup::mount()?;
    let watched = Cgroup::create(&mount, "watched")?;
    let elsewhere = Cgroup::create(&mount, "elsewhere")?;
    // Started last, so that it has ended when its cgroups are removed.
    let mut program = Workload::start()?;

    let mut all = Measurements::default();
    if privilege::on_path("bpftrace").is_none() {
        all.bpftrace = Yardstick::Without("it is not installed".to_owned());
    }
    for round in 0..args.rounds {
        eprintln!("round {} of {}", round + 1, args.rounds);
        elsewhere.admit(program.pid())?;
        let bare_call = program.time(Work::Calls(args.calls))?;
        all.call.bare.push(bare_call);
        all.switch.bare.push(program.time(Work::Switches(args.switches))?);

        let observer = BenchUser::attach(&workspace.release_binary(), watched.path())?;
        all.attach_ms.push(observer.attach_ms());
        all.call.outside.push(program.time(Work::Calls(args.calls))?);
        all.switch.outside.push(program.time(Work::Switches(args.switches))?);
        watched.admit(program.pid())?;
        all.call.inside.push(program.time(Work::Calls(args.calls))?);
        all.switch.inside.push(program.time(Work::Switches(args.switches))?);
        all.counted += observer.detach()?;
        all.made += u64::from(args.calls);

        if round % BPFTRACE_EVERY == 0
            && let Yardstick::Counted { made, counted } = &mut all.bpftrace
        {
            match counted_by_bpftrace(&mut program, args.calls) {
                Ok((ns, count)) => {
                    all.call.bpftrace.push((bare_call, ns));
                    *made += u64::from(args.calls);
                    *counted += count;
                }
                Err(error) => all.bpftrace = Yardstick::Without(format!("{error:#}")),
            }
        }
    }
    Ok(all)
}

/// ns per call while bpftrace counts the program's syscalls, and its count.
fn counted_by_bpftrace(program: &mut Workload, calls: u32) -> Result<(f64, u64)> {
    let counter = Bpftrace::attach(program.pid())?;
    let ns = program.time(Work::Calls(calls))?;
    Ok((ns, counter.detach()?))
}
