//! Root, or the way to it.

use std::env;
use std::ffi::OsStr;
use std::io::{IsTerminal, stdin};
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Whether we are root already.
pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Whether a command can be run as root: by being root, or by a sudo that asks nothing or has a
/// terminal to ask on.
pub(crate) fn can_be_root() -> bool {
    is_root() || (on_path("sudo").is_some() && (stdin().is_terminal() || sudo_asks_nothing()))
}

/// `program` as root: itself when we are root, else through sudo.
pub(crate) fn as_root(program: impl AsRef<OsStr>) -> Command {
    if is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("sudo");
    command.arg(program);
    command
}

/// The first `program` on our PATH.
pub(crate) fn on_path(program: &str) -> Option<PathBuf> {
    env::split_paths(&env::var_os("PATH")?)
        .map(|folder| folder.join(program))
        .find(|file| file.is_file())
}

fn sudo_asks_nothing() -> bool {
    Command::new("sudo")
        .args(["-n", "true"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}
