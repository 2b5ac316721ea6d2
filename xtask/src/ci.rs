//! `ci`: what decides whether a change may land; the same on a laptop and on a server.
//!
//! The tests come last, so that their closing line is the last one.

use anyhow::Result;

use crate::workspace::Workspace;
use crate::{build_ebpf, lint, setup, stamp, test, tidy};

/// The verb.
pub(crate) fn main(workspace: &Workspace) -> Result<()> {
    let toolchain = setup::ensure(workspace)?;
    build_ebpf::compile(workspace, &toolchain, stamp::SILENT)?;
    lint::main(workspace)?;
    tidy::main(workspace)?;
    test::all(workspace, &test::Args::default())
}
