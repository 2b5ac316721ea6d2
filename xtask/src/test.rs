//! `test`: every test, those that need the kernel as root and last.
//!
//! Cargo runs as the user in any case, so that nothing in `target` comes to belong to root: only
//! the finished binary of the privileged tests is started through sudo.

use std::process::Command;
use std::{env, fs};

use anyhow::{Context, Result, bail};

use crate::workspace::Workspace;
use crate::{build_ebpf, privilege, process, setup, stamp};

/// The test target of `bench-user` that loads probes and makes cgroups.
const PRIVILEGED: &str = "privileged";

/// Arguments of `test`.
#[derive(clap::Args, Default)]
pub(crate) struct Args {
    /// Arguments of every test binary, such as a part of a test's name
    #[arg(last = true)]
    binaries: Vec<String>,
}

/// The verb.
pub(crate) fn main(workspace: &Workspace, args: &Args) -> Result<()> {
    let toolchain = setup::ensure(workspace)?;
    for object in [stamp::SILENT, stamp::LOGGING] {
        build_ebpf::compile(workspace, &toolchain, object)?;
    }
    all(workspace, args)
}

/// Runs the tests. A failure does not keep the later ones from running.
///
/// # Errors
/// When a test fails, naming the group of tests.
fn all(workspace: &Workspace, args: &Args) -> Result<()> {
    let mut failed = Vec::new();
    for (group, mut command) in [
        ("documentation", documentation(workspace)),
        ("unprivileged", unprivileged(workspace)?),
        ("privileged", privileged(workspace)),
    ] {
        command.arg("--").args(&args.binaries);
        if !process::status(&mut command)?.success() {
            failed.push(group);
        }
    }
    if !failed.is_empty() {
        bail!("tests failed: {}", failed.join(", "));
    }
    Ok(())
}

fn documentation(workspace: &Workspace) -> Command {
    let mut command = workspace.cargo();
    command.args(["test", "--workspace", "--doc", "--no-fail-fast"]);
    command
}

/// Names each test target but the privileged one, because cargo has no way to leave one out.
fn unprivileged(workspace: &Workspace) -> Result<Command> {
    let mut command = workspace.cargo();
    command.args(["test", "--workspace", "--no-fail-fast", "--lib", "--bins"]);
    let folder = workspace.root.join("bench-user/tests");
    for entry in fs::read_dir(&folder).with_context(|| format!("list {}", folder.display()))? {
        let path = entry.with_context(|| format!("list {}", folder.display()))?.path();
        let name = path.file_stem().unwrap_or_default();
        let is_target =
            path.join("main.rs").is_file() || path.extension().is_some_and(|end| end == "rs");
        if is_target && name != PRIVILEGED {
            command.arg("--test").arg(name);
        }
    }
    Ok(command)
}

/// The privileged tests, run as root where that is possible.
pub(crate) fn privileged(workspace: &Workspace) -> Command {
    let mut command = workspace.cargo();
    command.args(["test", "--package", "bench-user", "--test", PRIVILEGED]);
    if privilege::is_root() {
        return command;
    }
    if privilege::can_be_root() {
        let runner = format!(
            "CARGO_TARGET_{}_UNKNOWN_LINUX_{}_RUNNER",
            env::consts::ARCH.to_uppercase(),
            if cfg!(target_env = "musl") { "MUSL" } else { "GNU" },
        );
        command.env(runner, "sudo --preserve-env");
    } else {
        eprintln!("warning: no root and no sudo: the privileged tests are counted as ignored");
    }
    command
}
