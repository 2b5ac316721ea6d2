//! What a step of GitHub Actions shows of claims: its summary and annotations.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::PathBuf;

use anyhow::Context as _;
use bench_user::record::RunRecord;
use bench_user::report;

/// Names the file that GitHub shows as the summary of the step.
const SUMMARY: &str = "GITHUB_STEP_SUMMARY";

/// The file of the summary of this step.
///
/// # Errors
/// When this is no step of GitHub Actions.
pub(super) fn summary_file() -> anyhow::Result<PathBuf> {
    let path = std::env::var_os(SUMMARY).filter(|path| !path.is_empty());
    path.map(PathBuf::from).with_context(|| {
        format!(
            "{SUMMARY} is not set: --github is for a step of GitHub Actions (without sudo, which \
             removes it); `bench-user report RUN --format github` prints the summary anywhere"
        )
    })
}

/// Appends the summary; it shares the room of the step with what is there.
///
/// # Errors
/// When the file cannot be written.
pub(super) fn append(path: &PathBuf, run: &RunRecord) -> anyhow::Result<()> {
    let failed = || format!("cannot append to {} ({SUMMARY})", path.display());
    let there = fs::metadata(path).map_or(0, |file| file.len());
    let room = report::SUMMARY_MAX.saturating_sub(usize::try_from(there).unwrap_or(usize::MAX));
    let mut summary = Vec::new();
    report::github_summary(run, room, &mut summary)?;
    let mut file = OpenOptions::new().append(true).create(true).open(path).with_context(failed)?;
    file.write_all(&summary).with_context(failed)
}
