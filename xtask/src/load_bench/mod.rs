//! `load-bench`: the load generator against wrk, h2load, autocannon and oha.
//!
//! All of them are run in turn, in one go, against one server of ours that has a CPU of its own,
//! and each gets the same other CPU. A round runs every client at every number of connections, and
//! the next does so in the opposite order, so that a machine that gets slower or faster over
//! minutes does so for all. Clients are compared by requests per second of their own CPU time:
//! that says what a request costs the client, however fast the server is. Peers that are not
//! installed are named, with the command that brings them; nothing is installed here.
//!
//! What a client says that it has completed is compared with what the server has answered.

mod child;
mod contest;
mod cpus;
mod epoll_server;
mod limits;
mod peers;
mod results;
mod server;
mod syscalls;
mod table;

use anyhow::{Context, Result, bail, ensure};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::workspace::Workspace;
use crate::{build, process};
use contest::Contest;
use cpus::Cpu;
use peers::Name;
use server::Server;

pub(crate) use epoll_server::serve as epoll_server;

/// Descriptors of a client or the server besides its connections.
const OTHER_DESCRIPTORS: u64 = 100;

/// Arguments of `load-bench`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// How often to run each client
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// How long a client runs, seconds
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=600))]
    seconds: u32,
    /// Numbers of connections, such as 10,100
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "10,100,400,1600",
          value_parser = clap::value_parser!(u32).range(1..=20_000))]
    connections: Vec<u32>,
    /// Clients, such as wrk,lean [default: all that are there]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_enum)]
    only: Vec<Name>,
    /// The server's CPU [default: the first that we may use]
    #[arg(long, value_name = "N")]
    server_cpu: Option<usize>,
    /// The clients' CPU [default: the last that we may use]
    #[arg(long, value_name = "N")]
    client_cpu: Option<usize>,
    /// Instead of the contest: how late our open loop sends at half of its peak, and our memory over
    /// ten million requests and at 10,000 connections (minutes)
    #[arg(long)]
    limits: bool,
    /// Measure with the release builds of bench-user and xtask as they are
    #[arg(long)]
    is_built: bool,
}

/// The verb.
pub(crate) fn main(workspace: &Workspace, args: &Args) -> Result<()> {
    let (server_cpu, client_cpu) = Cpu::pair(args.server_cpu, args.client_cpu)?;
    let most = args.connections.iter().copied().max().unwrap_or_default();
    allow_descriptors(if args.limits { limits::MANY_CONNECTIONS } else { most })?;
    if !args.is_built {
        build::main(workspace, &build::Args { release: true })?;
        // The server has to be as fast as it can be: a slow one would be what is measured.
        process::run(workspace.cargo().args(["build", "--package", "xtask", "--release"]))?;
    }

    let bench_user = workspace.release_binary();
    let (clients, missing) = peers::find(&args.only, &bench_user);
    ensure!(!clients.is_empty(), "no client to measure: {}", missing.join("; "));
    let server = Server::start(&workspace.release_xtask(), server_cpu)?;
    eprintln!("server on CPU {server_cpu}, clients on CPU {client_cpu}");
    let mut contest =
        Contest { server, clients, bench_user, cpu: client_cpu, seconds: args.seconds };
    if args.limits {
        return limits::measure(&contest, args.rounds);
    }
    let mut results = contest.hold(args.rounds, &args.connections)?;
    results.notes.extend(missing);
    if server_cpu == client_cpu {
        results.notes.insert("server and client shared one CPU".to_owned());
    }
    table::print(&results, args.rounds, args.seconds);
    if results.is_ours_wrong {
        bail!("bench-user and the server counted different requests: see the notes");
    }
    Ok(())
}

/// Raises the limit of open files, which our children inherit, as far as it has to be.
fn allow_descriptors(connections: u32) -> Result<()> {
    let limit = getrlimit(Resource::Nofile);
    let needed = u64::from(connections) + OTHER_DESCRIPTORS;
    if limit.current.is_none_or(|current| current >= needed) {
        return Ok(());
    }
    ensure!(
        limit.maximum.is_none_or(|maximum| maximum >= needed),
        "{connections} connections need {needed} open files: raise `ulimit -Hn`, or ask for fewer"
    );
    setrlimit(Resource::Nofile, Rlimit { current: Some(needed), maximum: limit.maximum })
        .context("raise the limit of open files")
}
