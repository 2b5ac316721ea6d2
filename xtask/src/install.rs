//! `install`: puts a release `bench-user` where root's PATH has it.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::process::{capture, run};
use crate::workspace::Workspace;
use crate::{build, privilege};

/// Where a program that no package owns belongs, in order of preference.
const FOLDERS: [&str; 2] = ["/usr/local/bin", "/usr/local/sbin"];

/// Arguments of `install`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Install into DIR/bin instead of a folder that sudo searches
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
}

/// The verb.
pub(crate) fn main(workspace: &Workspace, args: &Args) -> Result<()> {
    build::release_with_probes(workspace)?;
    let binary = workspace.release_binary();
    let Some(root) = &args.root else {
        if !privilege::can_be_root() {
            bail!("installing for sudo needs root: use --root DIR to install elsewhere");
        }
        return copy(privilege::as_root("install"), &binary, folder_of_root()?);
    };
    copy(Command::new("install"), &binary, &root.join("bin"))?;
    eprintln!("Run it as `sudo {}/bin/bench-user`.", root.display());
    Ok(())
}

/// By way of `install`, which replaces a running program instead of failing on it.
fn copy(mut install: Command, binary: &Path, folder: &Path) -> Result<()> {
    let destination = folder.join("bench-user");
    run(install.args(["-D", "--mode=755"]).arg(binary).arg(&destination))
        .with_context(|| format!("install {}", destination.display()))
}

/// The first of our folders on the PATH that commands get under sudo.
fn folder_of_root() -> Result<&'static Path> {
    let path = match capture(Command::new("sudo").args(["printenv", "PATH"])) {
        Ok(path) => path,
        Err(_) if privilege::is_root() => env::var("PATH").context("PATH is not set")?,
        Err(error) => return Err(error.context("ask sudo for its PATH")),
    };
    first_on(&path).with_context(|| {
        format!("sudo's PATH is {path} and has neither of {FOLDERS:?}: use --root DIR")
    })
}

fn first_on(path: &str) -> Option<&'static Path> {
    FOLDERS.map(Path::new).into_iter().find(|folder| env::split_paths(path).any(|p| &p == folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_is_one_that_sudo_searches() {
        assert_eq!(first_on("/usr/local/sbin:/usr/bin"), Some(Path::new("/usr/local/sbin")));
        assert_eq!(first_on("/usr/local/sbin:/usr/local/bin"), Some(Path::new("/usr/local/bin")));
        assert_eq!(first_on("/sbin:/bin:/usr/sbin:/usr/bin"), None);
    }
}
