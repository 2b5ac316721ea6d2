//! `bpf-linker`: the one on the PATH when its version is the known one, else our own.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::privilege;
use crate::process::{capture, run};
use crate::workspace::Workspace;

/// The version that was tried: it compiles without LLVM's headers, because it loads LLVM 22 at run
/// time. Later ones link LLVM when they are built.
const VERSION: &str = "0.10.1";

/// A `bpf-linker` of the right version, installed into the workspace's tools if there is none.
///
/// # Errors
/// When cargo cannot install it, most likely for want of a network.
pub(crate) fn ensure(workspace: &Workspace) -> Result<PathBuf> {
    let own = workspace.tools().join("bin").join("bpf-linker");
    if let Some(found) = std::iter::once(own.clone())
        .chain(privilege::on_path("bpf-linker"))
        .find(|linker| is_known(linker))
    {
        return Ok(found);
    }
    eprintln!("Installing bpf-linker {VERSION} (about a minute) ...");
    run(workspace
        .cargo()
        .args(["install", "bpf-linker", "--version", VERSION, "--locked", "--root"])
        .arg(workspace.tools()))
    .context("bpf-linker is missing and could not be installed: is crates.io reachable?")?;
    Ok(own)
}

fn is_known(linker: &Path) -> bool {
    linker.is_file()
        && capture(Command::new(linker).arg("--version"))
            .is_ok_and(|version| version == format!("bpf-linker {VERSION}"))
}
