//! Reads records back: from the folder of a run, from its file, or from a file of `gzip`, as whoever
//! keeps many of them makes it.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;
use serde::Deserialize;

use super::{FILE, StoreError, io_error};
use crate::record::{Loop, RunRecord, SCHEMA, StageRecord};

/// The ending of a compressed record.
const GZIP: &str = "gz";

/// Reads a record: the folder of a run, with its `run.json` or else `run.json.gz`, or such a file
/// itself.
///
/// # Errors
/// [`StoreError::Missing`], [`StoreError::Schema`] for another version of the format,
/// [`StoreError::NotARecord`] with the place of the problem, or what the kernel said.
pub fn read(path: &Path) -> Result<RunRecord, StoreError> {
    parse(&text(path)?, &file_at(path))
}

/// The text of a record, not looked at, for who wants to know little of many.
///
/// # Errors
/// [`StoreError::Missing`], [`StoreError::NotARecord`] where it cannot be decompressed, or what the
/// kernel said.
pub fn text(path: &Path) -> Result<Vec<u8>, StoreError> {
    let file = file_at(path);
    bytes(&file).map_err(|cause| match cause.kind() {
        io::ErrorKind::NotFound => StoreError::Missing(path.to_path_buf()),
        io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof => {
            StoreError::NotARecord { path: file, problem: cause.to_string() }
        }
        _ => io_error("read", &file, cause),
    })
}

fn file_at(path: &Path) -> PathBuf {
    if !path.is_dir() {
        return path.to_path_buf();
    }
    let plain = path.join(FILE);
    let compressed = plain.with_added_extension(GZIP);
    if !plain.exists() && compressed.exists() { compressed } else { plain }
}

fn bytes(file: &Path) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    let mut source = File::open(file)?;
    if file.extension().is_some_and(|ending| ending == GZIP) {
        MultiGzDecoder::new(source).read_to_end(&mut text)?;
    } else {
        source.read_to_end(&mut text)?;
    }
    Ok(text)
}

/// Parses the text of a record. `path` stands for it in errors.
///
/// # Errors
/// [`StoreError::Schema`] and [`StoreError::NotARecord`], as [`read`].
pub fn parse(text: &[u8], path: &Path) -> Result<RunRecord, StoreError> {
    let broken = |problem: String| StoreError::NotARecord { path: path.into(), problem };
    let Head { schema } = serde_json::from_slice(text).map_err(|e| broken(e.to_string()))?;
    if schema != SCHEMA {
        return Err(StoreError::Schema { path: path.into(), found: schema });
    }
    let run = decode(text).map_err(|e| broken(format!("at {}: {}", e.path(), e.inner())))?;
    for (t, target) in run.targets.iter().enumerate() {
        for (s, stage) in target.stages.iter().enumerate() {
            if let Some(problem) = contradiction(stage) {
                return Err(broken(format!("at targets[{t}].stages[{s}]: {problem}")));
            }
        }
    }
    Ok(run)
}

/// What of a stage cannot be: a job's leaves out what a load has, and a load's may not.
fn contradiction(stage: &StageRecord) -> Option<&'static str> {
    let StageRecord { kind, connections, load, job, .. } = stage;
    match (kind, job) {
        (Loop::Job, None) => Some("`loop` is \"job\", and `job` is missing"),
        (Loop::Job, Some(_)) if !load.is_none() => Some("a job has a `load`"),
        (Loop::Job, Some(_)) if *connections > 0 => Some("a job has `connections`"),
        (Loop::Job, Some(_)) => None,
        (_, Some(_)) => Some("it has a `job`, and its `loop` is another"),
        (_, None) if load.is_none() => Some("`load` is missing"),
        (_, None) if *connections == 0 => Some("`connections` is missing or 0"),
        (_, None) => None,
    }
}

/// The part of a record that every version of the format has.
#[derive(Deserialize)]
struct Head {
    schema: String,
}

pub(super) fn decode(
    text: &[u8],
) -> Result<RunRecord, serde_path_to_error::Error<serde_json::Error>> {
    serde_path_to_error::deserialize(&mut serde_json::Deserializer::from_slice(text))
}
