//! `build`: `bench-user`, with probes where they can be built.

use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::process::run;
use crate::workspace::Workspace;
use crate::{build_ebpf, setup, stamp};

/// Arguments of `build`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Build with optimisations
    #[arg(long)]
    pub(crate) release: bool,
}

/// The verb. Without a toolchain for the probes it says so and builds all the same.
pub(crate) fn main(workspace: &Workspace, args: &Args) -> Result<()> {
    match setup::ensure(workspace) {
        Ok(toolchain) => build_ebpf::compile(workspace, &toolchain, stamp::SILENT)?,
        Err(error) => eprintln!("warning: building without probes: {error:#}"),
    }
    let mut build = workspace.cargo();
    build.args(["build", "--package", "bench-user"]);
    if args.release {
        build.arg("--release");
    }
    run(&mut build)
}

/// The program to measure with: the given one, or a release build that holds probes.
///
/// # Errors
/// When that cannot be built: a measurement without probes is not what was asked for.
pub(crate) fn to_measure(workspace: &Workspace, given: Option<&Path>) -> Result<PathBuf> {
    if let Some(given) = given {
        return Ok(given.to_owned());
    }
    release_with_probes(workspace)?;
    Ok(workspace.release_binary())
}

/// Sets up, and builds the probes and a release `bench-user` that holds them.
///
/// # Errors
/// When one of these cannot be done: a measurement without probes is not what was asked for.
pub(crate) fn release_with_probes(workspace: &Workspace) -> Result<()> {
    let toolchain = setup::ensure(workspace)?;
    build_ebpf::compile(workspace, &toolchain, stamp::SILENT)?;
    run(workspace.cargo().args(["build", "--package", "bench-user", "--release"]))
}
