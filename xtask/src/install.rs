//! `install`: puts a release `bench-user` where root's PATH has it.

use std::env;
use std::fs;
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
    let Some(root) = &args.root else {
        if !privilege::can_be_root() {
            bail!("installing for sudo needs root: use --root DIR to install elsewhere");
        }
        let folder = folder_of_root()?;
        let prefix = folder.parent().context("it is below another")?;
        let as_root = || privilege::as_root("install");
        return all(&as_root, workspace, (folder, prefix));
    };
    all(&|| Command::new("install"), workspace, (&root.join("bin"), root))?;
    eprintln!("Run it as `sudo {}/bin/bench-user`.", root.display());
    Ok(())
}

/// The program, its manual pages and its completions for bash, into a folder of programs and below
/// the prefix that goes with it.
fn all(
    install: &dyn Fn() -> Command,
    workspace: &Workspace,
    (programs, prefix): (&Path, &Path),
) -> Result<()> {
    let binary = workspace.release_binary();
    copy(install(), "755", &binary, &programs.join("bench-user"))?;

    let made = workspace.target.join("install");
    let pages = made.join("man1");
    run(Command::new(&binary).args(["man", "--out"]).arg(&pages))?;
    for page in fs::read_dir(&pages)? {
        let page = page?;
        let there = prefix.join("share/man/man1").join(page.file_name());
        copy(install(), "644", &page.path(), &there)?;
    }
    let completions = made.join("bench-user.bash");
    fs::write(&completions, capture(Command::new(&binary).args(["completions", "bash"]))?)?;
    let there = prefix.join("share/bash-completion/completions/bench-user");
    copy(install(), "644", &completions, &there)
}

/// By way of `install`, which replaces a running program instead of failing on it.
fn copy(mut install: Command, mode: &str, from: &Path, to: &Path) -> Result<()> {
    run(install.arg("-D").arg(format!("--mode={mode}")).arg(from).arg(to))
        .with_context(|| format!("install {}", to.display()))
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
