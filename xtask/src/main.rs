//! `cargo xtask`: set-up, build, test and measurement of the workspace.
//!
//! One verb, one file. Nothing here is part of what `bench-user` does at run time; the only code
//! shared with it is `stamp.rs`, which its build script includes to tell fresh probes from stale.

mod build;
mod build_ebpf;
mod cgroup;
mod ci;
mod counters;
mod engine_test;
mod install;
mod lint;
mod load_bench;
mod peers;
mod privilege;
mod probe_cost;
mod process;
mod results;
mod run;
mod setup;
mod stamp;
mod statistics;
mod studies;
mod test;
mod throughput;
mod tidy;
mod vm_test;
mod workload;
mod workspace;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

use workspace::Workspace;

/// Set-up, build, test and measurement of the workspace.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Install what building the probes needs; at once when it is there
    Setup,
    /// Compile the probes to `target/bpf/`
    BuildEbpf(build_ebpf::Args),
    /// Build `bench-user`, with probes where they can be built
    Build(build::Args),
    /// Set up, build and run the main job: `bench-user run`, as root
    Run(run::Args),
    /// Put `bench-user` where `sudo` finds it
    Install(install::Args),
    /// Set up and run every test, the privileged ones as root
    Test(test::Args),
    /// Check format and lints, of the host's code and of the probes
    Lint,
    /// Check what no compiler does: file lengths, module arrows, leftovers, README
    Tidy,
    /// Everything that CI runs, in its order
    Ci,
    /// Run the privileged tests on other kernels, under emulation
    VmTest(vm_test::Args),
    /// Measure servers of systemd, Podman and Docker in a Debian of pure cgroup v2, under emulation
    HostTest(vm_test::hosts::Args),
    /// Measure containers that bench-user starts itself, with Docker and Podman of this machine
    EngineTest(engine_test::Args),
    /// Count one workload with bench-user and its peers at once, beside the truth
    Peers(peers::Args),
    /// Measure what the probes and their peers add to a syscall and to a context switch
    ProbeCost(probe_cost::Args),
    /// Measure what the probes cost the throughput of a plaintext server
    Throughput(throughput::Args),
    /// Measure the load generator against wrk, h2load, autocannon and oha
    LoadBench(load_bench::Args),
    /// Keep what the studies gave with the project, and make the page of it
    StudyResults(results::Args),
    /// The measured program of `probe-cost` and `peers`: obeys commands on standard input
    #[command(hide = true)]
    Workload,
    /// The server of `load-bench`: serves until its standard input ends
    #[command(hide = true)]
    EpollServer,
}

fn main() -> ExitCode {
    match dispatch(Cli::parse().verb) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn dispatch(verb: Verb) -> Result<ExitCode> {
    let workspace = Workspace::find();
    match verb {
        Verb::Setup => setup::ensure(&workspace).map(|toolchain| {
            eprintln!("The probes are built by {toolchain}.");
        })?,
        Verb::BuildEbpf(args) => build_ebpf::main(&workspace, &args)?,
        Verb::Build(args) => build::main(&workspace, &args)?,
        Verb::Run(args) => return run::main(&workspace, &args),
        Verb::Install(args) => install::main(&workspace, &args)?,
        Verb::Test(args) => test::main(&workspace, &args)?,
        Verb::Lint => lint::main(&workspace)?,
        Verb::Tidy => tidy::main(&workspace)?,
        Verb::Ci => ci::main(&workspace)?,
        Verb::VmTest(args) => vm_test::main(&workspace, &args)?,
        Verb::HostTest(args) => vm_test::hosts::main(&workspace, &args)?,
        Verb::EngineTest(args) => engine_test::main(&workspace, &args)?,
        Verb::Peers(args) => return peers::main(&workspace, &args),
        Verb::ProbeCost(args) => return probe_cost::main(&workspace, &args),
        Verb::Throughput(args) => return throughput::main(&workspace, &args),
        Verb::LoadBench(args) => load_bench::main(&workspace, &args)?,
        Verb::StudyResults(args) => results::main(&workspace, &args)?,
        Verb::Workload => workload::serve()?,
        Verb::EpollServer => load_bench::epoll_server()?,
    }
    Ok(ExitCode::SUCCESS)
}
