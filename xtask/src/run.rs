//! `run`: from a fresh checkout to the main job in one command.

use std::path::Path;
use std::process::{ExitCode, ExitStatus};

use anyhow::{Result, bail};

use crate::workspace::Workspace;
use crate::{build, privilege, process};

/// Arguments of `run`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Arguments of `bench-user run`
    #[arg(last = true)]
    bench_user: Vec<String>,
}

/// The verb; its exit code is that of `bench-user`.
pub(crate) fn main(workspace: &Workspace, args: &Args) -> Result<ExitCode> {
    build::release_with_probes(workspace)?;
    if !privilege::can_be_root() {
        let program = workspace.release_binary();
        bail!(
            "measuring needs root and there is no sudo: as root, run `{} run`",
            program.display()
        );
    }
    let mut job = privilege::as_root(workspace.release_binary());
    process::status(job.arg("run").args(&args.bench_user)).map(exit_code)
}

/// The child's code as ours; a child that a signal ended has none and counts as a failure.
pub(crate) fn exit_code(status: ExitStatus) -> ExitCode {
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    code.map_or(ExitCode::FAILURE, ExitCode::from)
}

/// Runs this program again as root, with its own arguments and the binary to measure with.
///
/// # Errors
/// When it has one already, and so was meant to be root, or cannot become root.
pub(crate) fn again_as_root(binary: &Path, was_given: bool) -> Result<ExitCode> {
    if was_given || !privilege::can_be_root() {
        bail!("attaching probes needs root and there is no sudo: call this as root");
    }
    let mut again = privilege::as_root(std::env::current_exe()?);
    again.args(std::env::args_os().skip(1)).arg("--binary").arg(binary);
    process::status(&mut again).map(exit_code)
}
