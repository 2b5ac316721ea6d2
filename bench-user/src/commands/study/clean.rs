//! `study clean`: removes what was unpacked, installed and built for studies, and keeps what was
//! measured. Only folders of studies are touched, whatever else lies beside them.

use std::cmp::Reverse;
use std::fs;
use std::io;
use std::path::Path;

use anyhow::Context as _;
use bench_user::cli::StudyCleanArgs;
use bench_user::study::{RUNTIMES, Study};
use procfs::process::{MountInfo, Process};
use rustix::mount::{UnmountFlags, unmount};

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
            unmount_below(&folder)?;
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

/// Takes off what a service mounted there that was killed before it could, the innermost first.
fn unmount_below(folder: &Path) -> anyhow::Result<()> {
    let folder = folder.canonicalize().context("the folder of a study cannot be found")?;
    let mounts =
        Process::myself().and_then(|me| me.mountinfo()).context("mounts of this process")?;
    let below = |mount: MountInfo| Some(mount.mount_point).filter(|at| at.starts_with(&folder));
    let mut places: Vec<_> = mounts.into_iter().filter_map(below).collect();
    places.sort_unstable_by_key(|at| Reverse(at.components().count()));
    for at in places {
        unmount(&at, UnmountFlags::DETACH)
            .with_context(|| format!("cannot unmount {}: run this with sudo", at.display()))?;
    }
    Ok(())
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
