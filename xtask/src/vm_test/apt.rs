//! Debian's archive through apt, without touching the machine's own lists or packages.
//!
//! Which mirror that is, the machine's sources say; apt itself reads them, whatever their format.
//! Lists and packages of ours lie in `target/vm/apt`, and are taken anew after a day.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use crate::privilege;
use crate::process::{capture, run};
use crate::workspace::Workspace;

/// Older lists may name packages that the mirror has removed.
const FRESH: Duration = Duration::from_hours(24);

/// Suites beside the machine's own in which kernels of other series are.
const SUITES: [(&str, &str); 7] = [
    ("Debian", "bookworm"),
    ("Debian", "bookworm-backports"),
    ("Debian", "trixie"),
    ("Debian", "trixie-backports"),
    ("Debian", "sid"),
    ("Debian-Security", "bullseye-security"),
    ("Debian-Security", "trixie-security"),
];

/// A set of sources with lists of its own.
pub(super) struct Apt {
    folder: PathBuf,
    /// Other sources than the machine's.
    sources: Option<PathBuf>,
}

/// One repository that the machine trusts.
struct Repository {
    label: String,
    url: String,
}

impl Apt {
    /// The sources of this machine as they are.
    pub(super) fn of_the_machine(workspace: &Workspace) -> Result<Self> {
        for tool in ["apt-get", "dpkg"] {
            ensure!(privilege::on_path(tool).is_some(), "there is no {tool} here: it takes Debian");
        }
        let apt = Self { folder: folder(workspace).join("apt/machine"), sources: None };
        apt.refresh()?;
        Ok(apt)
    }

    /// Suites of all supported releases, on the mirrors of this machine's sources.
    pub(super) fn of_all_suites(&self, workspace: &Workspace) -> Result<Self> {
        let folder = folder(workspace).join("apt/suites");
        let text = self.sources(&SUITES)?;
        fs::create_dir_all(&folder).with_context(|| format!("make {}", folder.display()))?;
        let sources = folder.join("sources.list");
        fs::write(&sources, text).with_context(|| format!("write {}", sources.display()))?;
        let apt = Self { folder, sources: Some(sources) };
        apt.refresh()?;
        Ok(apt)
    }

    /// Lines of a `sources.list` for suites by the label of their archive, on the mirrors of this
    /// machine's sources.
    pub(super) fn sources(&self, suites: &[(&str, &str)]) -> Result<String> {
        let repositories = self.repositories()?;
        let mut text = String::new();
        for (label, suite) in suites {
            if let Some(found) = repositories.iter().find(|one| one.label == *label) {
                text.push_str(&format!("deb {} {suite} main\n", found.url));
            }
        }
        ensure!(!text.is_empty(), "the sources of this machine name no Debian archive");
        Ok(text)
    }

    /// Whether Debian's archive is among the sources.
    pub(super) fn is_debian(&self) -> bool {
        self.repositories().is_ok_and(|all| all.iter().any(|one| one.label == "Debian"))
    }

    /// Names of packages that begin so.
    pub(super) fn names(&self, beginning: &str) -> Result<Vec<String>> {
        let names = capture(self.command("apt-cache")?.args(["pkgnames", beginning]))?;
        Ok(names.lines().map(str::to_owned).collect())
    }

    /// A package and all that it needs, less what is installed here.
    pub(super) fn missing_for(&self, package: &str) -> Result<Vec<String>> {
        let listed = capture(self.command("apt-cache")?.args([
            "depends",
            "--recurse",
            "--no-recommends",
            "--no-suggests",
            "--no-conflicts",
            "--no-breaks",
            "--no-replaces",
            "--no-enhances",
            package,
        ]))?;
        let installed =
            capture(Command::new("dpkg-query").args(["--show", "--showformat=${Package}\n"]))?;
        let mut missing: Vec<String> = listed
            .lines()
            // Indented lines say who needs it, and names in angle brackets are of no package.
            .filter(|line| !line.starts_with([' ', '|', '<']))
            .filter(|name| !installed.lines().any(|there| there == *name))
            .map(str::to_owned)
            .collect();
        missing.sort();
        missing.dedup();
        Ok(missing)
    }

    /// Downloads packages and unpacks them into a folder, which is there only when it is whole.
    pub(super) fn unpack(&self, packages: &[String], into: &Path) -> Result<()> {
        if into.is_dir() {
            return Ok(());
        }
        let partial = into.with_extension("partial");
        let debs = into.with_extension("debs");
        for folder in [&partial, &debs] {
            if folder.exists() {
                fs::remove_dir_all(folder)
                    .with_context(|| format!("empty {}", folder.display()))?;
            }
            fs::create_dir_all(folder).with_context(|| format!("make {}", folder.display()))?;
        }
        run(self
            .command("apt-get")?
            .args(["--quiet=2", "download"])
            .args(packages)
            .current_dir(&debs))?;
        for deb in fs::read_dir(&debs).context("list the packages")? {
            let deb = deb.context("list the packages")?.path();
            capture(Command::new("dpkg").arg("--extract").arg(&deb).arg(&partial))?;
        }
        fs::remove_dir_all(&debs).with_context(|| format!("remove {}", debs.display()))?;
        fs::rename(&partial, into).with_context(|| format!("make {}", into.display()))
    }

    fn repositories(&self) -> Result<Vec<Repository>> {
        let text = capture(self.command("apt-get")?.args([
            "indextargets",
            "--format",
            "$(ORIGIN)|$(LABEL)|$(REPO_URI)",
            "Created-By: Packages",
        ]))?;
        Ok(repositories(&text))
    }

    fn refresh(&self) -> Result<()> {
        let stamp = self.folder.join("updated");
        let is_fresh = fs::metadata(&stamp)
            .and_then(|meta| meta.modified())
            .is_ok_and(|then| then.elapsed().is_ok_and(|age| age < FRESH));
        if is_fresh {
            return Ok(());
        }
        eprintln!("Reading the lists of packages ...");
        // One source that does not answer, perhaps not Debian's, leaves the others.
        if let Err(error) = capture(self.command("apt-get")?.args(["--quiet=2", "update"])) {
            eprintln!("warning: {error:#}");
        }
        if self.repositories()?.is_empty() {
            bail!("apt could read no list of packages: is the mirror reachable?");
        }
        fs::write(&stamp, "").with_context(|| format!("write {}", stamp.display()))
    }

    fn command(&self, program: &str) -> Result<Command> {
        let lists = self.folder.join("lists");
        fs::create_dir_all(&lists).with_context(|| format!("make {}", lists.display()))?;
        let mut command = Command::new(program);
        let set = |name: &str, path: &Path| format!("{name}={}", path.display());
        command
            .args(["-o", &set("Dir::State::lists", &lists)])
            .args(["-o", &set("Dir::Cache", &self.folder)])
            // Descriptions and icons are of no use here.
            .args(["-o", "Acquire::Languages=none"])
            .args(["-o", "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false"])
            // Its own user could not write here.
            .args(["-o", "APT::Sandbox::User=root"]);
        if let Some(sources) = &self.sources {
            command
                .args(["-o", &set("Dir::Etc::sourcelist", sources)])
                .args(["-o", "Dir::Etc::sourceparts=-"]);
        }
        Ok(command)
    }
}

/// Where all of this lies.
pub(super) fn folder(workspace: &Workspace) -> PathBuf {
    workspace.target.join("vm")
}

fn repositories(text: &str) -> Vec<Repository> {
    text.lines()
        .filter_map(|line| {
            let mut parts = line.splitn(3, '|');
            let (origin, label, url) = (parts.next()?, parts.next()?, parts.next()?);
            (origin == "Debian").then(|| Repository { label: label.into(), url: url.into() })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_debians_own_repositories_are_taken() {
        let found = repositories(
            "Debian|Debian|http://mirror.example/debian/\n\
             Somebody|Debian|http://else.example/\n\
             Debian|Debian-Security|http://mirror.example/debian-security/\n",
        );
        let labels: Vec<_> = found.iter().map(|one| (&*one.label, &*one.url)).collect();
        assert_eq!(
            labels,
            [
                ("Debian", "http://mirror.example/debian/"),
                ("Debian-Security", "http://mirror.example/debian-security/")
            ]
        );
    }
}
