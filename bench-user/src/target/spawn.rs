//! A command in a cgroup of its own, stopped right before its `execve`.
//!
//! ```text
//! prepare: fork -> shim -> dies with us -> own session -> stopped -> moved into the cgroup
//! (the caller reads its counters: everything the target does comes after this)
//! release: continued -> execve -> the target
//! ```
//!
//! The started process is killed by the kernel when the thread that prepared it ends: prepare
//! targets on a thread that lives as long as they shall.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use url::Url;

use super::cgroup::OwnCgroup;
use super::limits::Limits;
use super::process::Started;
use super::{TargetError, TargetHandle, TargetKind, program, shim};
use crate::clock;
use crate::host::CgroupTrees;

/// This very program, also when its file was replaced meanwhile.
pub(super) const OURSELVES: &str = "/proc/self/exe";

/// A command and everything that is fixed before it starts.
#[derive(Debug)]
pub struct CommandLine<'a> {
    /// Names its cgroup.
    pub name: &'a str,
    /// Names the run in its cgroup.
    pub run_id: &'a str,
    /// Program and arguments.
    pub argv: &'a [OsString],
    /// Added to our own environment.
    pub env: &'a BTreeMap<String, String>,
    /// Working folder.
    pub dir: &'a Path,
    /// What it may use.
    pub limits: Limits,
    /// The `bench-user` binary, where the running program is another one (tests).
    pub shim: Option<&'a Path>,
}

/// Where a command's standard streams lead.
#[derive(Debug)]
pub struct Streams {
    /// Standard input.
    pub stdin: Stdio,
    /// Standard output.
    pub stdout: Stdio,
    /// Standard error.
    pub stderr: Stdio,
}

/// A process that is stopped inside its cgroup, before its `execve`. Dropping it kills it and
/// removes the cgroup.
#[derive(Debug)]
pub struct Spawned {
    process: Started,
    program: PathBuf,
    /// Ends when the `execve` closes the other side; holds the errno when it failed.
    report: File,
}

impl Spawned {
    /// Makes the cgroup, and the stopped process in it.
    ///
    /// # Errors
    /// When the program is missing, or the cgroup or the process cannot be made.
    pub fn prepare(command: &CommandLine<'_>, streams: Streams) -> Result<Self, TargetError> {
        let first = command.argv.first().map_or(OsStr::new(""), OsString::as_os_str);
        let failed =
            |e: io::Error| TargetError::Prepare(first.display().to_string(), e.to_string());
        let (dir, program) = program_of(first, command.dir, command.env)?;
        let trees = CgroupTrees::discover().map_err(super::cgroup::CgroupError::from)?;
        let cgroup = OwnCgroup::create(&trees, command.run_id, command.name, &command.limits)?;

        let (report, writer) = pipe_with(PipeFlags::CLOEXEC).map_err(|e| failed(e.into()))?;
        let us = std::process::id();
        let order = shim::Order {
            parent: us,
            report: format!("/proc/{us}/fd/{}", writer.as_raw_fd()).into(),
            program: program.clone().into(),
            argv: command.argv.to_vec(),
        };
        let mut shim = Command::new(command.shim.unwrap_or(Path::new(OURSELVES)));
        order.put(&mut shim);
        let child = shim
            .envs(command.env)
            .current_dir(&dir)
            .stdin(streams.stdin)
            .stdout(streams.stdout)
            .stderr(streams.stderr)
            .spawn()
            .map_err(failed)?;
        let pid = child.id();
        // From here on the process is killed and waited for, whatever fails.
        let process = Started::new(child, cgroup).map_err(failed)?;
        wait_until_stopped(process.child()).map_err(failed)?;
        process.cgroup().admit(pid)?;
        Ok(Self { process, program, report: report.into() })
    }

    /// Its pid, which stays the target's.
    #[must_use]
    pub const fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// Its cgroup.
    #[must_use]
    pub const fn cgroup(&self) -> &OwnCgroup {
        self.process.cgroup()
    }

    /// The handle for the observers.
    #[must_use]
    pub fn handle(&self, name: &str, kind: TargetKind, urls: Vec<Url>) -> TargetHandle {
        TargetHandle {
            name: name.to_owned(),
            kind,
            urls,
            cgroup: self.cgroup().v2(),
            controllers: self.cgroup().controllers().clone(),
            main_pid: Some(self.pid()),
        }
    }

    /// Lets it go on into the program; comes back when that is executed.
    ///
    /// # Errors
    /// When the kernel cannot execute the program.
    pub fn release(mut self) -> Result<Started, TargetError> {
        let failed = |e: io::Error| TargetError::Exec(self.program.clone(), e);
        self.process.released_ns = clock::now_ns();
        kill_process(pid_of(self.process.child()), Signal::CONT).map_err(|e| failed(e.into()))?;
        let mut errno = Vec::new();
        self.report.read_to_end(&mut errno).map_err(failed)?;
        match <[u8; 4]>::try_from(errno) {
            Ok(bytes) => Err(failed(io::Error::from_raw_os_error(i32::from_ne_bytes(bytes)))),
            Err(_nothing) => Ok(self.process),
        }
    }
}

/// The working folder of a command, absolute because the shim looks at it from there, and the file
/// of its first word.
///
/// # Errors
/// What of the two is not there.
pub(super) fn program_of(
    first: &OsStr,
    dir: &Path,
    env: &BTreeMap<String, String>,
) -> Result<(PathBuf, PathBuf), TargetError> {
    if !dir.is_dir() {
        return Err(TargetError::WorkingFolder(dir.to_owned()));
    }
    let failed = |e: io::Error| TargetError::Prepare(first.display().to_string(), e.to_string());
    let dir = std::path::absolute(dir).map_err(failed)?;
    let ours = std::env::var_os("PATH").unwrap_or_default();
    let search = env.get("PATH").map_or(ours.as_os_str(), OsStr::new);
    let program = program::resolve(first, &dir, search)?;
    Ok((dir, program))
}

pub(super) fn pid_of(child: &Child) -> Pid {
    Pid::from_child(child)
}

/// A shim that ended instead was never continued, and says why on its standard error.
fn wait_until_stopped(child: &Child) -> io::Result<()> {
    let options = WaitIdOptions::STOPPED | WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    loop {
        match waitid(WaitId::Pid(pid_of(child)), options) {
            Ok(Some(status)) if status.stopped() => return Ok(()),
            Ok(_) => return Err(io::Error::other("it ended early; its standard error says why")),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}
