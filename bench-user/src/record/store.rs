//! The folder of a run: writes the record after every stage so that a crash, a kill or a full
//! disk loses no finished one, and reads records back.
//!
//! The only file I/O of the pure half of the program. It holds no wall clock and no randomness:
//! the caller names the run.

mod reading;

use std::fs::{self, File, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, fchown, lchown};
use std::path::{Path, PathBuf};

pub use self::reading::{parse, read, text};

use self::reading::decode;
use super::{RunRecord, SCHEMA};
use crate::host::owner::{make_folder, owner_from_sudo};

/// Name of the record inside the folder of a run.
const FILE: &str = "run.json";

/// Name of the report beside it, for whoever opens the folder.
const PAGE: &str = "report.html";

/// Folder for runs where the user names none, below the current directory.
const RUNS: &str = "bench-runs";

/// Why a record was not written or read; each is one sentence with its remedy.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The folder that was asked for holds another run.
    #[error("{} already holds a run: name another folder with --out, or move it away", .0.display())]
    Occupied(PathBuf),
    /// No room for the record; what was saved before is untouched.
    #[error("the disk is full; the last saved stage is kept in {}", .0.display())]
    Full(PathBuf),
    /// No room even for the first record.
    #[error("the disk is full and nothing could be saved in {}: free some space or use --out", .0.display())]
    FullFromTheStart(PathBuf),
    /// Another failure of a file operation.
    #[error("cannot {doing} {}: {cause}", path.display())]
    Io {
        /// What was being done, as a verb.
        doing: &'static str,
        /// To what.
        path: PathBuf,
        /// What the kernel said.
        cause: io::Error,
    },
    /// The record holds a number that JSON cannot carry, or that does not come back as it was.
    #[error("the record was not saved: {0} holds a figure that is not finite (please report this)")]
    NotFinite(String),
    /// Nothing there.
    #[error("no run at {}: name a folder that `bench-user run` made, or the run.json in it", .0.display())]
    Missing(PathBuf),
    /// Written by another version of the format.
    #[error(
        "{} has the schema `{found}` but this version reads `{SCHEMA}`: use the bench-user that wrote it",
        path.display()
    )]
    Schema {
        /// The file.
        path: PathBuf,
        /// Its `schema` field.
        found: String,
    },
    /// Not a record of a run.
    #[error("{} is not a whole run record: {problem}", path.display())]
    NotARecord {
        /// The file.
        path: PathBuf,
        /// Where in it the problem is, and which.
        problem: String,
    },
}

/// The folder of one run.
#[derive(Debug)]
pub struct RunDir {
    path: PathBuf,
    owner: Option<(u32, u32)>,
    /// Folders that were not there before, the innermost first.
    made: Vec<PathBuf>,
}

impl RunDir {
    /// Makes the folder of a run: `out`, or `bench-runs/<plan>-<run id>` below the current
    /// directory. What is made belongs to the user behind sudo.
    ///
    /// # Errors
    /// [`StoreError::Occupied`] when `out` holds a run already; else what the kernel said.
    pub fn create(out: Option<&Path>, plan_name: &str, run_id: &str) -> Result<Self, StoreError> {
        Self::create_for(out, plan_name, run_id, owner_from_sudo())
    }

    /// The same for a given owner (user and group id); `None` leaves everything to whoever runs.
    ///
    /// # Errors
    /// As [`RunDir::create`].
    pub fn create_for(
        out: Option<&Path>,
        plan_name: &str,
        run_id: &str,
        owner: Option<(u32, u32)>,
    ) -> Result<Self, StoreError> {
        let path = match out {
            Some(folder) => folder.to_path_buf(),
            None => Path::new(RUNS).join(file_name(&format!("{plan_name}-{run_id}"))),
        };
        if path.join(FILE).symlink_metadata().is_ok() {
            return Err(StoreError::Occupied(path));
        }
        let new = |folder: &&Path| *folder != Path::new("") && !folder.exists();
        let made = path.ancestors().take_while(new).map(Path::to_path_buf).collect();
        let dir = Self { path, owner, made };
        dir.make(&dir.path)?;
        dir.make(&dir.logs_dir())?;
        Ok(dir)
    }

    /// The folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where the output of targets goes; it exists. Files made in it are given to the owner at
    /// the next [`RunDir::save`].
    #[must_use]
    pub fn logs_dir(&self) -> PathBuf {
        self.path.join("logs")
    }

    /// Replaces the record in one step: readers, and a crash at any moment, see the old one or
    /// the new one.
    ///
    /// # Errors
    /// [`StoreError::Full`] and others; the record that was saved before is then still there.
    /// [`StoreError::NotFinite`] when the record would not be read back as it is.
    pub fn save(&self, record: &RunRecord) -> Result<(), StoreError> {
        let text = encode(record)?;
        self.replace(FILE, &text).map_err(|cause| self.save_error(cause))?;
        self.give_logs().map_err(|cause| io_error("give to its owner", &self.logs_dir(), cause))
    }

    /// Keeps the report as a page beside the record, in one step as [`RunDir::save`] does.
    ///
    /// # Errors
    /// What the kernel said; the record does not depend on it.
    pub fn save_page(&self, page: &[u8]) -> Result<PathBuf, StoreError> {
        let path = self.path.join(PAGE);
        match self.replace(PAGE, page) {
            Ok(()) => Ok(path),
            Err(cause) => Err(io_error("write", &path, cause)),
        }
    }

    /// Takes a folder away in which nothing was kept but a record of nothing: the record, empty
    /// logs, and the folders that were made for them. What a target wrote keeps it, and is said by
    /// `false`; so do files of others, silently.
    ///
    /// # Errors
    /// What the kernel said.
    pub fn discard(&self) -> io::Result<bool> {
        let logs = fs::read_dir(self.logs_dir())?.collect::<io::Result<Vec<_>>>()?;
        for log in &logs {
            if log.metadata()?.len() > 0 {
                return Ok(false);
            }
        }
        logs.iter().try_for_each(|log| fs::remove_file(log.path()))?;
        fs::remove_dir(self.logs_dir())?;
        fs::remove_file(self.path.join(FILE))?;
        // Up to the first that others use.
        let _others: io::Result<()> = self.made.iter().try_for_each(fs::remove_dir);
        Ok(true)
    }

    fn replace(&self, name: &str, text: &[u8]) -> io::Result<()> {
        let mut file = tempfile::Builder::new()
            .prefix(".run-")
            .permissions(Permissions::from_mode(0o644))
            .tempfile_in(&self.path)?;
        file.write_all(text)?;
        if let Some((uid, gid)) = self.owner {
            fchown(file.as_file(), Some(uid), Some(gid))?;
        }
        // Before the rename: else a power cut could leave the new name on an empty file.
        file.as_file().sync_all()?;
        file.persist(self.path.join(name))?;
        File::open(&self.path)?.sync_all()
    }

    fn save_error(&self, cause: io::Error) -> StoreError {
        let full =
            matches!(cause.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded);
        let kept = self.path.join(FILE);
        match (full, kept.exists()) {
            (true, true) => StoreError::Full(kept),
            (true, false) => StoreError::FullFromTheStart(self.path.clone()),
            (false, _) => io_error("save the record in", &self.path, cause),
        }
    }

    fn give_logs(&self) -> io::Result<()> {
        let Some((uid, gid)) = self.owner else { return Ok(()) };
        for entry in fs::read_dir(self.logs_dir())? {
            let entry = entry?;
            if entry.metadata()?.uid() != uid {
                lchown(entry.path(), Some(uid), Some(gid))?;
            }
        }
        Ok(())
    }

    /// Makes a folder with its parents; those that are new belong to the owner.
    fn make(&self, folder: &Path) -> Result<(), StoreError> {
        make_folder(folder, self.owner).map_err(|cause| match cause.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                StoreError::FullFromTheStart(folder.to_path_buf())
            }
            _ => io_error("make the folder", folder, cause),
        })
    }
}

/// JSON has no NaN and no infinity: `serde_json` would write `null`, which reads as "not there"
/// or not at all. Reading the text again shows it, whichever field it is.
fn encode(record: &RunRecord) -> Result<Vec<u8>, StoreError> {
    let mut text = serde_json::to_vec_pretty(record)
        .map_err(|e| StoreError::NotFinite(format!("the record ({e})")))?;
    text.push(b'\n');
    match decode(&text) {
        Ok(back) if back == *record => Ok(text),
        Ok(back) => Err(StoreError::NotFinite(place_of_difference(record, &back))),
        Err(e) => Err(StoreError::NotFinite(e.path().to_string())),
    }
}

fn place_of_difference(record: &RunRecord, back: &RunRecord) -> String {
    for (target, target_back) in record.targets.iter().zip(&back.targets) {
        for (stage, stage_back) in target.stages.iter().zip(&target_back.stages) {
            if stage != stage_back {
                return format!("the stage of `{}` at {}", target.name, stage.level());
            }
        }
        if target != target_back {
            return format!("the target `{}`", target.name);
        }
    }
    if record.analysis == back.analysis { "the claims or the plan" } else { "the analysis" }.into()
}

/// A plan's name may hold any character; a folder's name should not.
fn file_name(text: &str) -> String {
    let keep = |c: char| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    text.chars().map(keep).collect::<String>().trim_start_matches('.').to_owned()
}

fn io_error(doing: &'static str, path: &Path, cause: io::Error) -> StoreError {
    StoreError::Io { doing, path: path.to_path_buf(), cause }
}
