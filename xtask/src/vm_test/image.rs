//! The initramfs: busybox, `bench-user` and the privileged tests with their libraries.
//!
//! It is not compressed, because unpacking is what an emulated CPU takes longest for. The programs
//! are the debug builds that the tests of this machine use, stripped: building others would take
//! longer than they would save.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::apt::{Apt, folder};
use crate::privilege;
use crate::process::{capture, run};
use crate::workspace::Workspace;

/// Packages whose programs are unpacked and never installed.
const TOOLS: [&str; 2] = ["busybox-static", "cpio"];

/// A finished initramfs.
pub(super) struct Image {
    /// Where it is and logs may go.
    pub(super) folder: PathBuf,
    pub(super) file: PathBuf,
}

impl Image {
    /// Builds the programs and packs them.
    pub(super) fn build(workspace: &Workspace, apt: &Apt) -> Result<Self> {
        let programs = build(workspace)?;
        let folder = folder(workspace);
        let tools = folder.join("tools");
        apt.unpack(&TOOLS.map(str::to_owned), &tools)?;
        let tree = folder.join("tree");
        if tree.exists() {
            fs::remove_dir_all(&tree).with_context(|| format!("empty {}", tree.display()))?;
        }
        let init = concat!(env!("CARGO_MANIFEST_DIR"), "/src/vm_test/init.sh");
        put(&tree, Path::new(init), Path::new("/init"))?;
        fs::set_permissions(tree.join("init"), PermissionsExt::from_mode(0o755))
            .context("make init executable")?;
        put(&tree, &busybox(&tools)?, Path::new("/bin/busybox"))?;
        for (name, program) in [("bench-user", &programs.tool), ("privileged", &programs.tests)] {
            for library in libraries(program)? {
                put(&tree, &library, &library)?;
            }
            // The tests know the tool by the path of its build.
            let stripped = tree.join(inside(program));
            fs::create_dir_all(stripped.parent().context("a path of a file")?)
                .context("make a folder of the image")?;
            run(Command::new("strip").arg("-o").arg(&stripped).arg(program))?;
            symlink(program, tree.join("bin").join(name)).context("link a program")?;
        }
        let fixtures = workspace.root.join("bench-user/tests/fixtures");
        for entry in fs::read_dir(&fixtures).context("list the fixtures")? {
            let path = entry.context("list the fixtures")?.path();
            if path.is_file() {
                put(&tree, &path, &path)?;
            }
        }
        let file = folder.join("initramfs");
        pack(&tools, &tree, &file)?;
        Ok(Self { folder, file })
    }
}

struct Programs {
    tool: PathBuf,
    tests: PathBuf,
}

/// The tests and, because they need it, the tool.
fn build(workspace: &Workspace) -> Result<Programs> {
    let mut cargo = workspace.cargo();
    cargo.args(["test", "--package", "bench-user", "--test", "privileged", "--no-run"]);
    run(&mut cargo)?;
    let messages = capture(cargo.args(["--quiet", "--message-format", "json"]))?;
    let find = |name: &str, kind: &str| {
        executables(&messages)
            .find(|(found, kinds, _)| found == name && kinds.iter().any(|one| one == kind))
            .map(|(.., path)| path)
            .with_context(|| format!("cargo built no {name}"))
    };
    Ok(Programs { tool: find("bench-user", "bin")?, tests: find("privileged", "test")? })
}

/// Name, kinds and path of everything that can be run.
fn executables(messages: &str) -> impl Iterator<Item = (String, Vec<String>, PathBuf)> {
    messages.lines().filter_map(|line| {
        let message: serde_json::Value = serde_json::from_str(line).ok()?;
        let target = &message["target"];
        let kinds = target["kind"].as_array()?.iter().filter_map(|kind| kind.as_str());
        Some((
            target["name"].as_str()?.to_owned(),
            kinds.map(str::to_owned).collect(),
            message["executable"].as_str()?.into(),
        ))
    })
}

fn busybox(tools: &Path) -> Result<PathBuf> {
    ["bin/busybox", "usr/bin/busybox"]
        .map(|path| tools.join(path))
        .into_iter()
        .find(|path| path.is_file())
        .context("the package busybox-static holds no busybox")
}

/// The shared libraries of a program, and the loader that it names.
fn libraries(program: &Path) -> Result<Vec<PathBuf>> {
    let listed = capture(Command::new("ldd").arg(program))?;
    ensure!(!listed.contains("not found"), "{} lacks a library: {listed}", program.display());
    Ok(listed.split_whitespace().filter(|word| word.starts_with('/')).map(PathBuf::from).collect())
}

fn put(tree: &Path, file: &Path, at: &Path) -> Result<()> {
    let place = tree.join(inside(at));
    let parent = place.parent().context("a path of a file")?;
    fs::create_dir_all(parent).with_context(|| format!("make {}", parent.display()))?;
    // A link is followed: what it leads to need not be in the image.
    fs::copy(file, &place).map(drop).with_context(|| format!("copy {}", file.display()))
}

/// The path without the slash that would leave the tree.
fn inside(path: &Path) -> &Path {
    path.strip_prefix("/").unwrap_or(path)
}

fn pack(tools: &Path, tree: &Path, file: &Path) -> Result<()> {
    let own = ["bin/cpio", "usr/bin/cpio"].map(|path| tools.join(path));
    let cpio = own.into_iter().find(|path| path.is_file());
    let cpio = cpio.or_else(|| privilege::on_path("cpio")).context("there is no cpio")?;
    let script = "find . | \"$0\" --quiet --create --format=newc --owner=+0:+0 >\"$1\"";
    run(Command::new("sh").args(["-c", script]).arg(cpio).arg(file).current_dir(tree))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_by_name_and_kind() {
        let messages = r#"
{"reason":"compiler-artifact","target":{"kind":["lib"],"name":"bench_user"},"executable":null}
{"reason":"compiler-artifact","target":{"kind":["bin"],"name":"bench-user"},"executable":"/a/b"}
{"reason":"compiler-artifact","target":{"kind":["test"],"name":"privileged"},"executable":"/a/p"}
{"reason":"build-finished","success":true}"#;
        let found: Vec<_> = executables(messages).map(|(name, ..)| name).collect();
        assert_eq!(found, ["bench-user", "privileged"]);
    }
}
