//! `tidy`: rules about the sources that no compiler checks. It only reads, and reports every breach.

mod arrows;
mod readme;
mod sources;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::workspace::Workspace;

/// A Rust file: its path from the root, with `/`, and its text.
struct Source {
    path: String,
    text: String,
}

/// The verb.
pub(crate) fn main(workspace: &Workspace) -> Result<()> {
    let mut sources = Vec::new();
    for package in ["bench-ebpf", "bench-user", "xtask"] {
        collect(&workspace.root, &workspace.root.join(package), &mut sources)?;
    }
    let lib = read(&workspace.root.join("bench-user/src/lib.rs"))?;
    let order = arrows::order(&lib);

    let mut breaches: Vec<String> = sources.iter().flat_map(sources::check).collect();
    breaches.extend(sources.iter().flat_map(|source| arrows::check(source, &order)));
    // It builds `bench-user`, which may fail: what was found until then is still worth reading.
    let readme = readme::check(workspace);
    breaches.extend(readme.iter().flatten().cloned());
    for breach in &breaches {
        eprintln!("{breach}");
    }
    readme?;
    if !breaches.is_empty() {
        bail!("tidy: {} breaches of the rules in xtask/src/tidy", breaches.len());
    }
    eprintln!("tidy: {} files in order", sources.len());
    Ok(())
}

fn collect(root: &Path, folder: &Path, sources: &mut Vec<Source>) -> Result<()> {
    let listing = || format!("list {}", folder.display());
    let mut paths: Vec<PathBuf> = fs::read_dir(folder)
        .with_context(listing)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()
        .with_context(listing)?;
    paths.sort();
    for path in paths {
        if path.ends_with("target") {
            // What cargo made for the fuzz targets, which are a workspace of their own.
            continue;
        } else if path.is_dir() {
            collect(root, &path, sources)?;
        } else if path.extension().is_some_and(|end| end == "rs") {
            let text = read(&path)?;
            let name = path.strip_prefix(root).unwrap_or(&path).display().to_string();
            sources.push(Source { path: name, text });
        }
    }
    Ok(())
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("read {}", path.display()))
}
