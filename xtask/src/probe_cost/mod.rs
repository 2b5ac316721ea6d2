//! `probe-cost`: what the probes add to a syscall and to a context switch, beside the tools that
//! others use, in the same rounds.
//!
//! One program of ours does known work in rounds and times itself. In a round every tool is attached
//! in turn to a cgroup; the program works inside of it, outside of it, and just before and after
//! without any tool. What is reported is the median of the differences within rounds, so that a
//! machine that gets slower or faster over minutes does not look like a cost, and the median of the
//! ratios to each peer. A round also checks that `bench-user` counted the calls exactly: a probe
//! that misses events would look cheap.

mod peers;
mod table;

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Result, bail};

use crate::cgroup::{self, Cgroup};
use crate::counters::BenchUser;
use crate::workload::{Work, Workload};
use crate::workspace::Workspace;
use crate::{build, privilege, run};
use peers::Peer;

/// Arguments of `probe-cost`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// How often to measure each case
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u32).range(3..=1000))]
    rounds: u32,
    /// Calls of getppid in a round
    #[arg(long, default_value_t = 200_000, value_parser = clap::value_parser!(u32).range(1000..))]
    calls: u32,
    /// Context switches in a round
    #[arg(long, default_value_t = 50_000, value_parser = clap::value_parser!(u32).range(1000..))]
    switches: u32,
    /// Leave the peers out
    #[arg(long)]
    alone: bool,
    /// Measure with this binary instead of a release build
    #[arg(long, hide = true)]
    binary: Option<std::path::PathBuf>,
}

/// What the rounds gave, in the order they ran.
#[derive(Default)]
struct Measurements {
    ours: Case,
    peers: Vec<(Peer, Case)>,
    /// Peers that are not in the table, and why.
    left_out: Vec<(Peer, String)>,
    /// From starting `bench-user observe` to its word that it is attached, ms.
    attach_ms: Vec<f64>,
    /// Calls that were made inside the cgroup and calls that the probes counted there.
    made: u64,
    counted: u64,
}

/// What a tool costs, one for each round.
#[derive(Default)]
struct Case(Vec<Round>);

/// ns per event in one round.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Round {
    call: Event,
    /// A switch with its two syscalls.
    switch: Event,
}

/// ns of CPU time of one event.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Event {
    bare: f64,
    outside: f64,
    inside: f64,
}

/// The verb. Builds as the user and measures as root.
pub(crate) fn main(workspace: &Workspace, args: &Args) -> Result<ExitCode> {
    let binary = build::to_measure(workspace, args.binary.as_deref())?;
    if privilege::is_root() {
        let all = measure(&binary, args)?;
        table::print(&all);
        if all.counted != all.made {
            bail!("the probes did not count every call: what they cost says nothing");
        }
        return Ok(ExitCode::SUCCESS);
    }
    run::again_as_root(&binary, args.binary.is_some())
}

fn measure(binary: &Path, args: &Args) -> Result<Measurements> {
    let mount = cgroup::mount()?;
    let mut bench = Bench {
        watched: Cgroup::create(&mount, "watched")?,
        elsewhere: Cgroup::create(&mount, "elsewhere")?,
        // Started last, so that it has ended when its cgroups are removed.
        program: Workload::start()?,
        calls: args.calls,
        switches: args.switches,
    };
    let mut all = Measurements::default();
    for peer in Peer::ALL.into_iter().filter(|_| !args.alone) {
        if peer.is_installed() {
            all.peers.push((peer, Case::default()));
        } else {
            all.left_out.push((peer, "it is not installed".to_owned()));
        }
    }
    for round in 0..args.rounds {
        eprintln!("round {} of {}", round + 1, args.rounds);
        bench.ours(binary, &mut all)?;
        let mut failed = Vec::new();
        // To and fro, so that none always follows the same one.
        let mut order: Vec<_> = all.peers.iter_mut().collect();
        if round % 2 == 1 {
            order.reverse();
        }
        for (peer, case) in order {
            match bench.round(|cgroup| peer.attach(cgroup), peers::Attached::detach) {
                Ok((round, ())) => case.0.push(round),
                Err(error) => failed.push((*peer, format!("{error:#}"))),
            }
        }
        all.peers.retain(|(peer, _)| failed.iter().all(|(other, _)| other != peer));
        all.left_out.extend(failed);
    }
    Ok(all)
}

/// The program and the two cgroups that it works in.
struct Bench {
    program: Workload,
    watched: Cgroup,
    elsewhere: Cgroup,
    calls: u32,
    switches: u32,
}

impl Bench {
    fn ours(&mut self, binary: &Path, all: &mut Measurements) -> Result<()> {
        let attach = |cgroup: &Path| BenchUser::attach(binary, cgroup);
        let mut attach_ms = 0.0;
        let (round, counted) = self.round(attach, |observer| {
            attach_ms = observer.attach_ms();
            observer.detach()?.calls("getppid")
        })?;
        all.ours.0.push(round);
        all.attach_ms.push(attach_ms);
        all.counted += counted;
        all.made += u64::from(self.calls);
        Ok(())
    }

    /// One tool: without it, inside, outside, and without it again.
    fn round<T, U>(
        &mut self,
        attach: impl FnOnce(&Path) -> Result<T>,
        detach: impl FnOnce(T) -> Result<U>,
    ) -> Result<(Round, U)> {
        self.elsewhere.admit(self.program.pid())?;
        let (calls, switches) = (Work::Calls(self.calls), Work::Switches(self.switches));
        let before = (self.program.time(calls)?, self.program.time(switches)?);
        let tool = attach(self.watched.path())?;
        let outside = (self.program.time(calls)?, self.program.time(switches)?);
        self.watched.admit(self.program.pid())?;
        let inside = (self.program.time(calls)?, self.program.time(switches)?);
        self.elsewhere.admit(self.program.pid())?;
        let said = detach(tool)?;
        let after = (self.program.time(calls)?, self.program.time(switches)?);
        let event = |before: f64, after, outside, inside| Event {
            bare: f64::midpoint(before, after),
            outside,
            inside,
        };
        let call = event(before.0, after.0, outside.0, inside.0);
        let switch = event(before.1, after.1, outside.1, inside.1);
        Ok((Round { call, switch }, said))
    }
}
