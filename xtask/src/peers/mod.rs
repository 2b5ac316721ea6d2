//! `peers`: one workload whose counts are known, counted at once by `bench-user` and by the tools
//! that others use, side by side with the truth.
//!
//! The truth is what the workload made (calls) and what the kernel's own books say of its threads
//! (switches, times put on a CPU). A peer that is not installed, or cannot run here, is left out
//! with its reason. Where counts differ, `why.rs` says why, from figures of the same run where it
//! can.

mod table;
mod why;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Result, bail};

use crate::cgroup::{self, Cgroup};
use crate::counters::{
    BenchUser, Bpftrace, PerfStat, PerfTrace, Runqlat, Script, Syscount, bpftrace_value,
};
use crate::workload::{Work, Workload};
use crate::workspace::Workspace;
use crate::{build, privilege, run};

/// The number of `getppid` in this machine's table.
const GETPPID: u32 = if cfg!(target_arch = "x86_64") { 110 } else { 173 };

/// Arguments of `peers`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Threads that make calls at once
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=1000))]
    threads: u32,
    /// Calls of getppid in each of them
    #[arg(long, default_value_t = 250_000, value_parser = clap::value_parser!(u32).range(1000..))]
    calls: u32,
    /// Context switches between two threads
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(1000..))]
    switches: u32,
    /// Sleeps that a timer ends
    #[arg(long, default_value_t = 5000, value_parser = clap::value_parser!(u32).range(100..))]
    naps: u32,
    /// Measure with this binary instead of a release build
    #[arg(long, hide = true)]
    binary: Option<PathBuf>,
}

/// What one tool said; `None` where it does not count that, or not as one number.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Column {
    name: &'static str,
    /// Calls of getppid.
    calls: Option<u64>,
    /// Switches away from the cgroup's threads.
    switches: Option<u64>,
    /// Waits for a CPU.
    waits: Option<u64>,
    /// Events that it says it did not count.
    lost: Option<u64>,
}

/// Everything that was seen.
#[derive(Debug, Default)]
struct Seen {
    truth: Column,
    tools: Vec<Column>,
    /// Tools that are not in the table, and why.
    left_out: Vec<(&'static str, String)>,
    calls_per_sec: f64,
    switches_per_sec: f64,
    /// Of the waits, those that a timer's interrupt began.
    naps: u64,
}

/// The tools while they count.
struct Attached {
    bench_user: BenchUser,
    bpftrace: Option<Bpftrace>,
    syscount: Option<Syscount>,
    runqlat: Option<Runqlat>,
    perf_stat: Option<PerfStat>,
}

/// The verb. Builds as the user and measures as root.
pub(crate) fn main(workspace: &Workspace, args: &Args) -> Result<ExitCode> {
    let binary = build::to_measure(workspace, args.binary.as_deref())?;
    if privilege::is_root() {
        let seen = measure(&binary, args)?;
        table::print(&seen);
        let ours = seen.tools.first();
        if ours.is_none_or(|ours| ours.calls != seen.truth.calls) {
            bail!("bench-user did not count every call");
        }
        return Ok(ExitCode::SUCCESS);
    }
    run::again_as_root(&binary, args.binary.is_some())
}

fn measure(binary: &Path, args: &Args) -> Result<Seen> {
    let mount = cgroup::mount()?;
    let watched = Cgroup::create(&mount, "peers")?;
    // Started last, so that it has ended when its cgroup is removed.
    let mut program = Workload::start()?;
    watched.admit(program.pid())?;

    let mut seen = Seen::default();
    let attached = attach(binary, &mount, watched.path(), &mut seen.left_out)?;
    eprintln!("working under the eyes of all of them ...");
    let shared = program.work(Work::Shared(args.threads, args.calls))?;
    let exchange = program.work(Work::Switches(args.switches))?;
    let naps = program.work(Work::Naps(args.naps))?;
    detach(attached, &mut seen)?;
    trace(&mut program, &mount, watched.path(), args, &mut seen)?;

    let all = [shared, exchange, naps];
    seen.truth = Column {
        name: "truth",
        calls: Some(u64::from(args.threads) * u64::from(args.calls)),
        switches: Some(all.iter().map(|done| done.switches).sum()),
        waits: Some(all.iter().map(|done| done.runs).sum()),
        lost: None,
    };
    seen.calls_per_sec = 1e9 / shared.ns;
    seen.switches_per_sec = 1e9 / exchange.ns;
    seen.naps = u64::from(args.naps);
    Ok(seen)
}

fn attach(
    binary: &Path,
    mount: &Path,
    cgroup: &Path,
    left_out: &mut Vec<(&'static str, String)>,
) -> Result<Attached> {
    Ok(Attached {
        perf_stat: optional("perf stat", "perf", left_out, || PerfStat::attach(mount, cgroup)),
        bpftrace: optional("bpftrace", "bpftrace", left_out, || {
            Bpftrace::attach(Script::Counts(GETPPID), cgroup)
        }),
        syscount: optional("syscount", "syscount", left_out, || Syscount::attach(cgroup)),
        runqlat: optional("runqlat", "runqlat", left_out, || Runqlat::attach(cgroup)),
        bench_user: BenchUser::attach(binary, cgroup)?,
    })
}

/// `perf trace` on the same calls once more, by itself: programs such as those of `syscount` return
/// 0 from a classic tracepoint, and then the kernel hands the event to no perf event
/// (kernel/events/core.c, `perf_trace_run_bpf_submit`).
fn trace(
    program: &mut Workload,
    mount: &Path,
    cgroup: &Path,
    args: &Args,
    seen: &mut Seen,
) -> Result<()> {
    let name = "perf trace -s";
    let attach = || PerfTrace::attach(mount, cgroup);
    let Some(perf) = optional(name, "perf", &mut seen.left_out, attach) else {
        return Ok(());
    };
    eprintln!("working once more, for perf trace ...");
    program.work(Work::Shared(args.threads, args.calls))?;
    match perf.detach("getppid") {
        Ok((calls, lost)) => {
            let (calls, lost) = (Some(calls), Some(lost));
            seen.tools.push(Column { name, calls, lost, ..Column::default() });
        }
        Err(error) => seen.left_out.push((name, format!("{error:#}"))),
    }
    Ok(())
}

/// In the opposite order, so that every tool sees all of the work.
fn detach(attached: Attached, seen: &mut Seen) -> Result<()> {
    let blocks = attached.bench_user.detach()?;
    seen.tools.push(Column {
        name: "bench-user",
        calls: Some(blocks.calls("getppid")?),
        switches: Some(blocks.number("/sched/switches_seen")?),
        waits: Some(blocks.number("/sched/runqlat_ns/count")?),
        lost: Some(blocks.number("/sched/missed")?),
    });
    if let Some(runqlat) = attached.runqlat {
        let waits = Some(runqlat.detach()?);
        seen.tools.push(Column { name: "runqlat", waits, ..Column::default() });
    }
    if let Some(syscount) = attached.syscount {
        let calls = Some(syscount.detach("getppid")?);
        seen.tools.push(Column { name: "syscount", calls, ..Column::default() });
    }
    if let Some(bpftrace) = attached.bpftrace {
        let output = bpftrace.detach()?;
        seen.tools.push(Column {
            name: "bpftrace count()",
            calls: bpftrace_value(&output, "calls"),
            switches: bpftrace_value(&output, "switches"),
            ..Column::default()
        });
        let calls = bpftrace_value(&output, "plain");
        seen.tools.push(Column { name: "bpftrace ++", calls, ..Column::default() });
    }
    if let Some(perf) = attached.perf_stat {
        let switches = Some(perf.detach()?);
        seen.tools.push(Column { name: "perf stat", switches, ..Column::default() });
    }
    Ok(())
}

/// A tool that may be missing.
fn optional<T>(
    name: &'static str,
    program: &str,
    left_out: &mut Vec<(&'static str, String)>,
    attach: impl FnOnce() -> Result<T>,
) -> Option<T> {
    let attached = match privilege::on_path(program) {
        Some(_) => attach().map_err(|error| format!("{error:#}")),
        None => Err(format!("`{program}` is not installed")),
    };
    attached.map_err(|why| left_out.push((name, why))).ok()
}
