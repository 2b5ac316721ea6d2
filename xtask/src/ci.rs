//! `ci`: what decides whether a change may land; the same on a laptop and on a server.
//!
//! The tests on other kernels come last: they take what the tests on this one have built.

use anyhow::Result;

use crate::workspace::Workspace;
use crate::{lint, setup, test, tidy, vm_test};

/// The verb.
pub(crate) fn main(workspace: &Workspace) -> Result<()> {
    setup::ensure(workspace)?;
    lint::main(workspace)?;
    tidy::main(workspace)?;
    test::main(workspace, &test::Args::default())?;
    vm_test::in_ci(workspace)
}
