//! A kernel of Debian by the name of its series.
//!
//! The flavour is the one for virtual machines: same sources and options, fewer drivers.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Context, Result, bail, ensure};

use super::apt::{Apt, folder};
use crate::workspace::Workspace;

const FLAVOUR: &str = "-cloud-amd64";

/// `linux-binary` holds the kernel where there is one (since 6.19); before, `linux-image` does.
const PREFIXES: [&str; 2] = ["linux-binary-", "linux-image-"];

/// `6.12`, or a whole version as Debian's packages have it in their names, such as `6.1.0-57`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Series(String);

impl FromStr for Series {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        let numbers = text.split(['.', '-', '+']).take(2);
        let is_version = text.contains('.') && numbers.clone().all(|n| n.parse::<u32>().is_ok());
        ensure!(is_version, "`{text}` is no kernel: give a series such as 6.12");
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Display for Series {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Series {
    /// `6.1` has `6.1.0-57` and not `6.12.3`.
    fn has(&self, version: &str) -> bool {
        version.strip_prefix(&self.0).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    }
}

/// A kernel that can be booted.
pub(super) struct Kernel {
    /// As the package's name has it, such as `6.12.117+deb12`.
    pub(super) version: String,
    /// The bootable file.
    pub(super) image: PathBuf,
}

impl Kernel {
    /// The newest of a series: from the machine's own sources if they have one, else from all.
    pub(super) fn get(workspace: &Workspace, machine: &Apt, series: &Series) -> Result<Self> {
        if let Some(found) = newest(machine, series)? {
            return Self::unpack(workspace, machine, &found);
        }
        let all = machine.of_all_suites(workspace)?;
        match newest(&all, series)? {
            Some(found) => Self::unpack(workspace, &all, &found),
            None => bail!("Debian's archive has no linux-image-{series}*{FLAVOUR}"),
        }
    }

    fn unpack(workspace: &Workspace, apt: &Apt, package: &str) -> Result<Self> {
        let version = version_of(package).context("a kernel's package")?.to_owned();
        let kernels = folder(workspace).join("kernels");
        let image = kernels.join(format!("vmlinuz-{version}"));
        if !image.is_file() {
            // Whole modules lie beside it, which are not needed.
            let unpacked = kernels.join("unpacked");
            apt.unpack(&[package.to_owned()], &unpacked)?;
            let found = bootable(&unpacked)
                .with_context(|| format!("the package {package} holds no kernel"))?;
            fs::rename(&found, &image).with_context(|| format!("keep {}", found.display()))?;
            fs::remove_dir_all(&unpacked)
                .with_context(|| format!("remove {}", unpacked.display()))?;
        }
        Ok(Self { version, image })
    }
}

fn newest(apt: &Apt, series: &Series) -> Result<Option<String>> {
    for prefix in PREFIXES {
        let names = apt.names(&format!("{prefix}{series}"))?;
        if let Some(name) = newest_of(names, series) {
            return Ok(Some(name));
        }
    }
    Ok(None)
}

fn newest_of(names: Vec<String>, series: &Series) -> Option<String> {
    names
        .into_iter()
        .filter(|name| version_of(name).is_some_and(|version| series.has(version)))
        .max_by_key(|name| numbers(name))
}

/// `6.12.117+deb12` of `linux-image-6.12.117+deb12-cloud-amd64`; nothing of a meta package.
fn version_of(package: &str) -> Option<&str> {
    let version = PREFIXES.iter().find_map(|prefix| package.strip_prefix(prefix))?;
    let version = version.strip_suffix(FLAVOUR)?;
    (version.split('.').count() > 2).then_some(version)
}

fn numbers(text: &str) -> Vec<u32> {
    text.split(|c: char| !c.is_ascii_digit()).filter_map(|n| n.parse().ok()).collect()
}

/// `boot/vmlinuz-VERSION` before 7.0, `usr/lib/modules/VERSION/vmlinuz` since.
fn bootable(unpacked: &Path) -> Option<PathBuf> {
    let entries = |folder: PathBuf| fs::read_dir(folder).into_iter().flatten().flatten();
    let old = entries(unpacked.join("boot")).map(|entry| entry.path()).find(|path| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("vmlinuz-"))
    });
    let new = || entries(unpacked.join("usr/lib/modules")).map(|e| e.path().join("vmlinuz"));
    old.or_else(|| new().find(|path| path.is_file()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn newest(series: &str, names: &[&str]) -> Option<String> {
        newest_of(names.iter().map(|&name| name.to_owned()).collect(), &series.parse().unwrap())
    }

    #[test]
    fn the_newest_of_a_series_is_by_numbers_and_not_by_letters() {
        let names = [
            "linux-image-6.12.99+deb12-cloud-amd64",
            "linux-image-6.12.117+deb12-cloud-amd64",
            "linux-image-6.12-cloud-amd64",
            "linux-image-6.12.118+deb12-amd64",
        ];
        assert_eq!(newest("6.12", &names).as_deref(), Some(names[1]));
    }

    #[test]
    fn a_series_is_not_another_one_that_begins_alike() {
        let names = ["linux-image-6.1.0-57-cloud-amd64", "linux-image-6.12.3+deb12-cloud-amd64"];
        assert_eq!(newest("6.1", &names).as_deref(), Some(names[0]));
    }

    #[test]
    fn a_whole_version_is_itself() {
        let names = ["linux-image-6.1.0-5-cloud-amd64", "linux-image-6.1.0-57-cloud-amd64"];
        assert_eq!(newest("6.1.0-5", &names).as_deref(), Some(names[0]));
        assert_eq!(newest("6.1.0-56", &names), None);
    }

    #[test]
    fn what_is_no_version_is_refused_with_an_example() {
        let error = "trixie".parse::<Series>().expect_err("a release is no series");
        assert!(error.to_string().contains("such as 6.12"), "{error}");
    }
}
