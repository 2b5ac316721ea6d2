//! The second disk: `bench-user` and the script of the checks, as a tar.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::process::run;
use crate::vm_test::apt::folder;
use crate::workspace::Workspace;

const SCRIPTS: [(&str, &str); 2] =
    [("guest.sh", include_str!("guest.sh")), ("nested.sh", include_str!("nested.sh"))];

/// Packs them; the program is the given one without its symbols.
pub(super) fn pack(workspace: &Workspace, program: &Path) -> Result<PathBuf> {
    let folder = folder(workspace).join("debian");
    let (tree, file) = (folder.join("payload"), folder.join("payload.tar"));
    fs::create_dir_all(&tree).with_context(|| format!("make {}", tree.display()))?;
    for (name, text) in SCRIPTS {
        fs::write(tree.join(name), text).with_context(|| format!("write {name}"))?;
    }
    run(Command::new("strip").arg("-o").arg(tree.join("bench-user")).arg(program))?;
    let owner = ["--owner=0", "--group=0"];
    run(Command::new("tar").args(owner).arg("-C").arg(&tree).arg("-cf").arg(&file).arg("."))?;
    Ok(file)
}
