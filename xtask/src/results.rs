//! `study-results`: what the studies gave on this machine, kept with the project: the records of
//! each study's last run, compressed, and the page that is made of them and of nothing else.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::workspace::Workspace;
use crate::{build, process};

/// Arguments of `study-results`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Folder that the studies were run in; without it the page is made anew of the records that
    /// are kept already
    #[arg(long, value_name = "FOLDER")]
    from: Option<PathBuf>,
    /// Make the page with this binary instead of a new build
    #[arg(long, hide = true)]
    binary: Option<PathBuf>,
}

/// The verb.
pub(crate) fn main(workspace: &Workspace, args: &Args) -> Result<()> {
    let studies = workspace.root.join("bench-user/studies");
    let kept = studies.join("records");
    if let Some(from) = &args.from {
        fs::create_dir_all(&kept).with_context(|| format!("make {}", kept.display()))?;
        keep(from, &kept)?;
    }
    let program = match &args.binary {
        Some(given) => given.clone(),
        None => {
            build::main(workspace, &build::Args { release: false })?;
            workspace.target.join("debug/bench-user")
        }
    };
    let mut results = Command::new(program);
    results.args(["study", "results", "--format", "markdown", "--dir"]).arg(&kept);
    let page = process::capture(&mut results)? + "\n";
    fs::write(studies.join("RESULTS.md"), page).context("write RESULTS.md")
}

/// Replaces what is kept of every study that has results in `from` by its last ones, once they are
/// compressed whole.
fn keep(from: &Path, kept: &Path) -> Result<()> {
    let mut count = 0;
    for study in folders(from)? {
        let results = study.join("results");
        let shown = |run: &PathBuf| !run.to_string_lossy().ends_with("-smoke");
        let runs = if results.is_dir() { folders(&results)? } else { Vec::new() };
        let Some(last) = runs.into_iter().filter(shown).max() else { continue };
        let name = study.file_name().context("a folder has a name")?;
        let new = tempfile::tempdir_in(kept).context("make a folder for the records")?;
        let to = new.path().join("results").join(last.file_name().context("a folder has a name")?);
        let parts = folders(&last)?;
        for part in &parts {
            compress(part, &to.join(part.file_name().context("a folder has a name")?))?;
        }
        let old = kept.join(name);
        if old.exists() {
            ensure_no_less(&old, parts.len())?;
            fs::remove_dir_all(&old).with_context(|| format!("remove {}", old.display()))?;
        }
        fs::rename(new.keep(), &old).with_context(|| format!("keep {}", old.display()))?;
        count += 1;
    }
    ensure!(count > 0, "no study was run in {}: name the --dir of `study run`", from.display());
    Ok(())
}

/// A run of some parts does not replace one of all.
fn ensure_no_less(old: &Path, parts: usize) -> Result<()> {
    for run in folders(&old.join("results"))? {
        let had = folders(&run)?.len();
        ensure!(
            parts >= had,
            "{} holds {had} parts and the last run has {parts}: run the study whole",
            old.display()
        );
    }
    Ok(())
}

/// The record of one part, without the output of its targets.
fn compress(part: &Path, to: &Path) -> Result<()> {
    let record = part.join("run.json");
    let mut source = File::open(&record).with_context(|| format!("open {}", record.display()))?;
    fs::create_dir_all(to).with_context(|| format!("make {}", to.display()))?;
    let file = File::create(to.join("run.json.gz")).context("make a compressed record")?;
    let mut target = GzEncoder::new(file, Compression::best());
    io::copy(&mut source, &mut target).context("compress a record")?;
    target.finish().context("compress a record")?;
    Ok(())
}

fn folders(of: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(of).with_context(|| format!("read {}", of.display()))?;
    let mut folders = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            folders.push(path);
        }
    }
    folders.sort();
    Ok(folders)
}
