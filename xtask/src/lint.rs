//! `lint`: format, and clippy with every warning an error, of the host's code and of the probes.

use anyhow::Result;

use crate::process::run;
use crate::setup;
use crate::workspace::Workspace;

/// The verb.
pub(crate) fn main(workspace: &Workspace) -> Result<()> {
    run(workspace.cargo().args(["fmt", "--all", "--check"]))?;
    run(workspace.cargo().args(["clippy", "--workspace", "--all-targets"]).args(DENY))?;

    let toolchain = setup::ensure(workspace)?;
    run(toolchain.clippy(workspace)?.args(DENY))?;
    run(toolchain.clippy(workspace)?.args(["--features", "probe-log"]).args(DENY))
}

const DENY: [&str; 3] = ["--", "--deny", "warnings"];
