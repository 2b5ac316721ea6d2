//! `ci`: what decides whether a change may land; the same on a laptop and on a server.
//!
//! The HTML report is tried in a browser, which is installed for that where there is none. The
//! studies and the tests on other kernels come last: they take what the tests have built.

use anyhow::Result;

use crate::setup::apt;
use crate::workspace::Workspace;
use crate::{lint, privilege, setup, studies, test, tidy, vm_test};

/// The verb.
pub(crate) fn main(workspace: &Workspace) -> Result<()> {
    setup::ensure(workspace)?;
    lint::main(workspace)?;
    tidy::main(workspace)?;
    provide_browser();
    test::main(workspace, &test::Args::default())?;
    studies::in_ci(workspace)?;
    vm_test::in_ci(workspace)
}

/// A Chromium for the tests of the HTML report. Without one they are counted as ignored, with that
/// reason, because some distributions have none by apt.
fn provide_browser() {
    const NAMES: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];
    if NAMES.iter().any(|name| privilege::on_path(name).is_some()) {
        return;
    }
    if let Err(why) = apt::install(&["chromium"]) {
        eprintln!("warning: the HTML report is not tried in a browser: {why:#}");
    }
}
