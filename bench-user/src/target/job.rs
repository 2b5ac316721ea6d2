//! A program that runs to its end, stopped right before its `execve` with its output in the run
//! folder. Who releases it, waits for it and counts it is not known here.

use std::ffi::OsString;
use std::path::Path;
use std::process::Stdio;

use super::cgroup::CgroupError;
use super::logs::{self, Logs};
use super::spawn::{CommandLine, Spawned, Streams};
use super::{Limits, NO_V2, TargetError};
use crate::host::CgroupTrees;
use crate::plan::TargetSpec;

/// Where a job's cgroup and its output go.
#[derive(Debug, Clone, Copy)]
pub struct JobPlaces<'a> {
    /// Names the run in the cgroups that we make.
    pub run_id: &'a str,
    /// Gets the output.
    pub logs_dir: &'a Path,
    /// The `bench-user` binary, where the running program is another one (tests).
    pub shim: Option<&'a Path>,
}

/// The target's command, ready to be released.
///
/// # Errors
/// As [`Spawned::prepare`], and when its output cannot be kept.
pub fn prepare_job(spec: &TargetSpec, places: JobPlaces<'_>) -> Result<Spawned, TargetError> {
    let command = spec.command.as_deref().unwrap_or_default();
    prepare(spec, (&spec.name, command, Limits::of(spec)), places)
}

/// What the target has to be run before each run of its command, without the command's limits, in
/// a cgroup of its own; `None` where it has nothing.
///
/// # Errors
/// As [`prepare_job`].
pub fn prepare_before(
    spec: &TargetSpec,
    places: JobPlaces<'_>,
) -> Result<Option<Spawned>, TargetError> {
    let Some(command) = spec.before.as_deref() else { return Ok(None) };
    let name = before_name(spec);
    prepare(spec, (&name, command, Limits::default()), places).map(Some)
}

/// The file in the logs that has the standard error of what is run before.
#[must_use]
pub fn before_log(spec: &TargetSpec) -> String {
    logs::stderr_file(&before_name(spec))
}

fn before_name(spec: &TargetSpec) -> String {
    format!("{}.before", spec.name)
}

/// A run ends with its last process, which the v2 tree alone tells.
///
/// # Errors
/// Where there is none.
pub fn ensure_last_process_is_seen() -> Result<(), TargetError> {
    let trees = CgroupTrees::discover().map_err(CgroupError::from)?;
    trees.v2.map(|_| ()).ok_or(TargetError::LastProcess(NO_V2))
}

fn prepare(
    spec: &TargetSpec,
    (name, command, limits): (&str, &[String], Limits),
    places: JobPlaces<'_>,
) -> Result<Spawned, TargetError> {
    let logs = Logs::open(places.logs_dir, name)?;
    let failed = |e: std::io::Error| TargetError::Prepare(name.to_owned(), e.to_string());
    let streams = Streams {
        stdin: Stdio::null(),
        stdout: logs.stdout.writer().map_err(failed)?.into(),
        stderr: logs.stderr.writer().map_err(failed)?.into(),
    };
    let argv: Vec<OsString> = command.iter().map(OsString::from).collect();
    let command = CommandLine {
        name,
        run_id: places.run_id,
        argv: &argv,
        env: &spec.env,
        dir: spec.dir.as_deref().unwrap_or(Path::new(".")),
        limits,
        shim: places.shim,
    };
    Spawned::prepare(&command, streams)
}
