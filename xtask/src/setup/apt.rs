//! Debian packages: which are missing, and installing those.

use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::privilege;
use crate::process::{capture, run};

/// Installs what is missing of `packages`. Never removes a package to make room for another.
///
/// # Errors
/// When there is no apt, no root or no such package, each with the command that would help.
pub(crate) fn install(packages: &[&str]) -> Result<()> {
    if privilege::on_path("apt-get").is_none() {
        bail!("there is no apt-get here");
    }
    let missing: Vec<&str> = packages.iter().copied().filter(|name| !is_installed(name)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let names = missing.join(" ");
    if !privilege::can_be_root() {
        bail!("{names} missing and no root: run `sudo apt-get install {names}`");
    }
    eprintln!("Installing {names} ...");
    run(privilege::as_root("apt-get").arg("update")).context("refresh the package lists")?;
    for name in &missing {
        if !has_candidate(name) {
            bail!("this distribution has no package {name}");
        }
    }
    run(privilege::as_root("env")
        .args(["DEBIAN_FRONTEND=noninteractive", "apt-get", "install", "--yes"])
        .args(["--no-install-recommends", "--no-remove"])
        .args(&missing))
    .with_context(|| format!("install {names}"))
}

fn is_installed(package: &str) -> bool {
    capture(Command::new("dpkg-query").args(["--show", "--showformat=${Status}", package]))
        .is_ok_and(|status| status == "install ok installed")
}

fn has_candidate(package: &str) -> bool {
    capture(Command::new("apt-cache").args(["show", "--no-all-versions", package]))
        .is_ok_and(|description| !description.is_empty())
}
