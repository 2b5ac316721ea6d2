//! `setup`: makes sure that something here can build the probes.
//!
//! It looks before it installs, so a second call only looks. Two ways are known: a rustup toolchain
//! with the `rust-src` component, and Debian's `rustc-web` with `rust-web-src`. The linker goes into
//! `target/tools` and nothing of the user's own tools is changed.

pub(crate) mod apt;
mod linker;
mod toolchain;

use std::process::Command;

use anyhow::{Result, bail};

use crate::privilege;
use crate::process::{capture, run};
use crate::workspace::Workspace;
pub(crate) use toolchain::ProbeToolchain;

/// What builds and lints the probes on Debian without rustup's help.
const DEBIAN: [&str; 4] = ["rustc-web", "cargo-web", "rust-web-src", "rust-web-clippy"];

/// Finds what builds the probes, or installs it.
///
/// # Errors
/// When neither way can be had: what each way lacks, and that `bench-user` builds without probes.
pub(crate) fn ensure(workspace: &Workspace) -> Result<ProbeToolchain> {
    let toolchain = match toolchain::find() {
        Some(found) => found,
        None => provide(workspace)?,
    };
    let linker = linker::ensure(workspace)?;
    ProbeToolchain::new(workspace, toolchain, linker)
}

/// Installs a toolchain: rustup's component first, because that needs no root.
fn provide(workspace: &Workspace) -> Result<toolchain::Toolchain> {
    let mut lacks = Vec::new();
    for (way, install) in
        [("rustup", add_component as fn(&Workspace) -> Result<()>), ("apt", install_debian)]
    {
        match install(workspace) {
            Ok(()) => match toolchain::find() {
                Some(found) => return Ok(found),
                None => lacks.push(format!("{way}: installed, but {}", toolchain::refusals())),
            },
            Err(error) => lacks.push(format!("{way}: {error:#}")),
        }
    }
    bail!(
        "nothing here can compile the probes.\n  {}\nRepair one of the two and call again; \
         `cargo xtask build` makes a `bench-user` without probes meanwhile.",
        lacks.join("\n  ")
    )
}

fn add_component(workspace: &Workspace) -> Result<()> {
    if privilege::on_path("rustup").is_none() {
        bail!("there is no rustup here (https://rustup.rs installs it)");
    }
    let active = capture(
        Command::new("rustup").args(["show", "active-toolchain"]).current_dir(&workspace.root),
    )?;
    let name = active.split_whitespace().next().unwrap_or_default();
    run(Command::new("rustup")
        .args(["component", "add", "rust-src", "--toolchain", name])
        .env_remove("RUST_BACKTRACE"))
}

fn install_debian(_: &Workspace) -> Result<()> {
    apt::install(&DEBIAN)
}
