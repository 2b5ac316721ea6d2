//! Where the workspace and its build output are, and the cargo that builds the host's side.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::stamp;

/// The workspace.
pub(crate) struct Workspace {
    /// The folder of the top `Cargo.toml`.
    pub(crate) root: PathBuf,
    /// Cargo's output, `target` unless `CARGO_TARGET_DIR` says otherwise.
    pub(crate) target: PathBuf,
}

impl Workspace {
    /// The workspace that this program was built in.
    pub(crate) fn find() -> Self {
        // Cargo sets the variable for `cargo run`, so a moved checkout is found without a rebuild;
        // the value from compile time serves when sudo has cleared the environment.
        let manifest = env::var_os("CARGO_MANIFEST_DIR")
            .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
        let root = manifest.parent().unwrap_or(Path::new(".")).to_path_buf();
        let target = stamp::target_dir(&root);
        Self { root, target }
    }

    /// The cargo that runs us, started in the root.
    pub(crate) fn cargo(&self) -> Command {
        let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command.current_dir(&self.root);
        command
    }

    /// The `bench-user` that a release build leaves.
    pub(crate) fn release_binary(&self) -> PathBuf {
        self.target.join("release").join("bench-user")
    }

    /// The release build of this program.
    pub(crate) fn release_xtask(&self) -> PathBuf {
        self.target.join("release").join("xtask")
    }

    /// Tools that were installed for this workspace only.
    pub(crate) fn tools(&self) -> PathBuf {
        self.target.join("tools")
    }
}
