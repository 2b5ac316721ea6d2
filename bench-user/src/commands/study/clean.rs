//! `study clean`: removes what was unpacked, installed and built for studies, and keeps what was
//! measured. Only folders of studies are touched, whatever else lies beside them.

use std::fs;
use std::io;
use std::path::Path;

use anyhow::Context as _;
use bench_user::cli::StudyCleanArgs;
use bench_user::study::{RUNTIMES, Study};

use super::RESULTS;
use crate::commands::{Outcome, say};

pub(super) fn clean(args: &StudyCleanArgs) -> anyhow::Result<Outcome> {
    let mut names = args.names.clone();
    for name in &names {
        Study::named(name)?;
    }
    if names.is_empty() {
        names = Study::all()?.into_iter().map(|study| study.name).collect();
        names.push(RUNTIMES.to_owned());
    }
    let mut found = false;
    for name in names {
        let folder = args.dir.join(name);
        if folder.is_dir() {
            empty(&folder)
                .with_context(|| format!("cannot remove what is in {}", folder.display()))?;
            say(&format!("cleaned {}", folder.display()));
            found = true;
        }
    }
    anyhow::ensure!(
        found,
        "nothing of these studies is in {}: name the folder that they were run in with --dir",
        args.dir.display()
    );
    Ok(Outcome::Done)
}

/// Removes all that is in a study's folder but its results, and the folder where it has none.
fn empty(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name() == RESULTS {
            continue;
        }
        if entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?;
        } else {
            fs::remove_file(entry.path())?;
        }
    }
    match fs::remove_dir(folder) {
        Err(error) if error.kind() != io::ErrorKind::DirectoryNotEmpty => Err(error),
        _ => Ok(()),
    }
}
