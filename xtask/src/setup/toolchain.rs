//! Finding a compiler for the probes: one that has the sources of `core`, and the right LLVM.
//!
//! A toolchain is asked, not guessed at: its rustc for version and sysroot, the sysroot for sources.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use anyhow::{Context, Result};

use crate::process::capture;
use crate::workspace::Workspace;

/// The LLVM that `bpf-linker` was built for: it reads no newer bitcode.
const LLVM: &str = "22";

/// The oldest minor version of rustc 1 that the workspace's `rust-version` admits.
const OLDEST_MINOR: u32 = 95;

/// A rustc and cargo that can compile `core` for the BPF target.
pub(super) struct Toolchain {
    /// The folder of its programs, never rustup's proxies.
    bin: PathBuf,
    /// Its version, such as `1.96.0`.
    version: String,
    /// The shared LLVM that it runs on, which the linker can load too.
    llvm: PathBuf,
}

/// A toolchain and the linker that goes with it.
pub(crate) struct ProbeToolchain {
    toolchain: Toolchain,
    linker: PathBuf,
    /// Holds nothing but a link to the toolchain's LLVM: the linker takes the first library it
    /// finds in such a folder, and a system folder may hold several versions.
    llvm_folder: PathBuf,
}

impl fmt::Display for ProbeToolchain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Toolchain { bin, version, .. } = &self.toolchain;
        write!(f, "rustc {version} of {} and {}", bin.display(), self.linker.display())
    }
}

impl ProbeToolchain {
    /// Readies the pair for use.
    pub(super) fn new(
        workspace: &Workspace,
        toolchain: Toolchain,
        linker: PathBuf,
    ) -> Result<Self> {
        let llvm_folder = workspace.tools().join("llvm").join(&toolchain.version);
        let link = llvm_folder.join(format!("libLLVM-{LLVM}.so"));
        fs::create_dir_all(&llvm_folder)
            .with_context(|| format!("make {}", llvm_folder.display()))?;
        if fs::read_link(&link).ok().as_ref() != Some(&toolchain.llvm) {
            if link.symlink_metadata().is_ok() {
                fs::remove_file(&link).with_context(|| format!("replace {}", link.display()))?;
            }
            std::os::unix::fs::symlink(&toolchain.llvm, &link)
                .with_context(|| format!("make {}", link.display()))?;
        }
        Ok(Self { toolchain, linker, llvm_folder })
    }

    /// The command that builds the probes: arguments of `cargo build` can follow.
    pub(crate) fn build(&self, workspace: &Workspace) -> Command {
        let mut command = self.command(workspace, "cargo");
        command.arg("build");
        self.select(workspace, &mut command);
        command
    }

    /// The command that lints the probes: arguments of `cargo clippy` can follow.
    ///
    /// # Errors
    /// When the toolchain has no clippy.
    pub(crate) fn clippy(&self, workspace: &Workspace) -> Result<Command> {
        let program = self.toolchain.bin.join("cargo-clippy");
        program.is_file().then_some(()).with_context(|| {
            format!(
                "{} is missing: install `rust-web-clippy` or `rustup component add clippy`",
                program.display()
            )
        })?;
        // Not `cargo clippy`: cargo looks for subcommands in its home first, where rustup has put
        // proxies that lead back to another toolchain.
        let mut command = self.command(workspace, "cargo-clippy");
        command.arg("clippy");
        self.select(workspace, &mut command);
        Ok(command)
    }

    fn select(&self, workspace: &Workspace, command: &mut Command) {
        command
            .args(["--package", "bench-ebpf", "--bins", "--release"])
            .args(["--target", "bpfel-unknown-none", "-Zbuild-std=core", "--target-dir"])
            .arg(workspace.target.join("bpf-build"));
    }

    fn command(&self, workspace: &Workspace, program: &str) -> Command {
        let bin = &self.toolchain.bin;
        let flags = [
            format!("--cfg=bpf_target_arch=\"{}\"", env::consts::ARCH),
            format!("-Clinker={}", self.linker.display()),
            // The linker is not asked for type information: names such as `MaybeUninit<u32>` make
            // the kernel refuse it, and the probes need the kernel's only, not their own.
            "-Cdebuginfo=0".to_owned(),
        ];
        let mut command = Command::new(bin.join(program));
        command
            .current_dir(&workspace.root)
            .env("PATH", format!("{}:/usr/bin:/bin", bin.display()))
            .env("CARGO", bin.join("cargo"))
            .env("RUSTC", bin.join("rustc"))
            .env("LD_LIBRARY_PATH", &self.llvm_folder)
            .env("CARGO_ENCODED_RUSTFLAGS", flags.join("\x1f"))
            // `-Zbuild-std` and aya's inline assembly are nightly features on a stable compiler.
            .env("RUSTC_BOOTSTRAP", "1")
            .env_remove("RUSTC_WRAPPER")
            .env_remove("RUSTC_WORKSPACE_WRAPPER")
            .env_remove("RUSTUP_TOOLCHAIN");
        command
    }
}

/// The first toolchain that can compile the probes, the active one before the others.
pub(super) fn find() -> Option<Toolchain> {
    candidates().into_iter().find_map(|bin| inspect(bin).ok())
}

/// Why none of the toolchains here will do, for the error that says so.
pub(super) fn refusals() -> String {
    let refusals: Vec<String> = candidates()
        .into_iter()
        .filter_map(|bin| inspect(bin).err())
        .map(|e| e.to_string())
        .collect();
    if refusals.is_empty() { "no rustc was found".to_owned() } else { refusals.join("; ") }
}

/// The folders of programs to look at.
fn candidates() -> Vec<PathBuf> {
    let mut folders = Vec::new();
    if let Ok(rustc) = capture(Command::new("rustup").args(["which", "rustc"])) {
        folders.extend(Path::new(&rustc).parent().map(Path::to_path_buf));
        let all = Path::new(&rustc).ancestors().nth(3).map(fs::read_dir);
        let mut others: Vec<PathBuf> = all
            .into_iter()
            .flatten()
            .flatten()
            .flatten()
            .map(|toolchain| toolchain.path().join("bin"))
            .filter(|bin| !folders.contains(bin))
            .collect();
        others.sort();
        folders.extend(others);
    }
    folders.push(PathBuf::from("/usr/bin"));
    folders.retain(|bin| bin.join("rustc").is_file() && bin.join("cargo").is_file());
    folders
}

/// Asks the toolchain in `bin` whether it will do.
fn inspect(bin: PathBuf) -> Result<Toolchain> {
    let rustc = bin.join("rustc");
    let about = About::parse(&capture(Command::new(&rustc).arg("-vV"))?)
        .with_context(|| format!("`{} -vV` names no version", rustc.display()))?;
    about.check().map_err(|why| anyhow::anyhow!("{} {why}", rustc.display()))?;
    let sysroot = PathBuf::from(capture(Command::new(&rustc).args(["--print", "sysroot"]))?);
    let sources = sysroot.join("lib/rustlib/src/rust/library/core/Cargo.toml");
    sources
        .is_file()
        .then_some(())
        .with_context(|| format!("{} has no sources of `core`", rustc.display()))?;
    let llvm = shared_llvm(&sysroot)
        .with_context(|| format!("{} has no shared libLLVM.so.{LLVM}", rustc.display()))?;
    Ok(Toolchain { bin, version: about.release, llvm })
}

/// The library itself; the file without `so.` in its name is a linker script in rustup's toolchains.
fn shared_llvm(sysroot: &Path) -> Option<PathBuf> {
    let lib = sysroot.join("lib");
    let multiarch = lib.join(format!("{}-linux-gnu", env::consts::ARCH));
    [lib, multiarch]
        .into_iter()
        .filter_map(|folder| fs::read_dir(folder).ok())
        .flatten()
        .flatten()
        .find_map(|entry| {
            let name = entry.file_name();
            let wanted = format!("libLLVM.so.{LLVM}.");
            name.to_string_lossy().starts_with(&wanted).then(|| entry.path())
        })
}

/// What `rustc -vV` says.
#[derive(Debug, PartialEq)]
struct About {
    release: String,
    llvm: String,
}

impl About {
    fn parse(text: &str) -> Option<Self> {
        let value = |key: &str| text.lines().find_map(|line| line.strip_prefix(key));
        Some(Self {
            release: value("release: ")?.to_owned(),
            llvm: value("LLVM version: ")?.to_owned(),
        })
    }

    /// In a few words why this compiler will not do.
    fn check(&self) -> Result<(), String> {
        let minor = self.release.split('.').nth(1).and_then(|minor| minor.parse::<u32>().ok());
        if minor.is_none_or(|minor| minor < OLDEST_MINOR) {
            return Err(format!("is {}, older than 1.{OLDEST_MINOR}", self.release));
        }
        if self.llvm.split('.').next() != Some(LLVM) {
            return Err(format!("writes bitcode of LLVM {}, not {LLVM}", self.llvm));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(release: &str, llvm: &str) -> Result<(), String> {
        let text = format!(
            "rustc {release} (0 2026-05-25)\nhost: x86_64\nrelease: {release}\nLLVM version: {llvm}\n"
        );
        About::parse(&text).expect("both lines are there").check()
    }

    #[test]
    fn a_compiler_of_the_linkers_llvm_will_do() {
        assert_eq!(check("1.95.0", "22.1.2"), Ok(()));
        assert_eq!(check("1.97.0-nightly", "22.1.8"), Ok(()));
    }

    #[test]
    fn an_older_compiler_is_refused_by_its_version() {
        let why = check("1.85.0", "19.1.7").expect_err("1.85 is too old");
        assert!(why.contains("older than 1.95"), "{why}");
    }

    #[test]
    fn a_compiler_of_a_newer_llvm_is_refused_by_its_llvm() {
        let why = check("1.99.0", "23.1.0").expect_err("the linker cannot read it");
        assert!(why.contains("LLVM 23.1.0"), "{why}");
    }

    #[test]
    fn a_compiler_that_hides_its_version_is_not_guessed_at() {
        assert_eq!(About::parse("rustc 1.95.0"), None);
    }
}
