//! The studies in CI: whether the two that take the least still work with real runtimes from npm. What
//! they measure in a fraction of a second is removed with all else.

use anyhow::{Result, ensure};

use crate::setup::apt;
use crate::workspace::Workspace;
use crate::{privilege, process};

const IN_CI: [&str; 2] = ["fibonacci", "plaintext"];

/// Runs them with the program that the tests have built.
pub(crate) fn in_ci(workspace: &Workspace) -> Result<()> {
    if !privilege::can_be_root() {
        eprintln!("warning: no root and no sudo: no study is tried");
        return Ok(());
    }
    if privilege::on_path("npm").is_none() {
        apt::install(&["npm"])?;
    }
    let folder = workspace.target.join("studies");
    for study in IN_CI {
        let mut run = privilege::as_root(workspace.target.join("debug/bench-user"));
        run.args(["study", "run", study, "--smoke", "--dir"]).arg(&folder);
        let status = process::status(&mut run)?;
        ensure!(status.success(), "the study {study} could not be run: {status}");
    }
    // The servers ran as root, and so some of it is root's.
    process::run(privilege::as_root("rm").arg("-rf").arg(&folder))
}
