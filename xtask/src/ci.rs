//! `ci`: what decides whether a change may land; the same on a laptop and on a server.
//!
//! The studies and the tests on other kernels come last: they take what the tests have built.

use anyhow::Result;

use crate::workspace::Workspace;
use crate::{lint, setup, studies, test, tidy, vm_test};

/// The verb.
pub(crate) fn main(workspace: &Workspace) -> Result<()> {
    setup::ensure(workspace)?;
    lint::main(workspace)?;
    tidy::main(workspace)?;
    test::main(workspace, &test::Args::default())?;
    studies::in_ci(workspace)?;
    vm_test::in_ci(workspace)
}
