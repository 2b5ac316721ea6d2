//! `ci`: what decides whether a change may land; the same on a laptop and on a server.
//!
//! The tests come last, so that their closing line is the last one.

use anyhow::Result;

use crate::workspace::Workspace;
use crate::{lint, setup, test, tidy};

/// The verb.
pub(crate) fn main(workspace: &Workspace) -> Result<()> {
    setup::ensure(workspace)?;
    lint::main(workspace)?;
    tidy::main(workspace)?;
    test::main(workspace, &test::Args::default())
}
