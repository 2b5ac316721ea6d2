//! Why a target cannot be measured: each variant is one sentence with its remedy. Which target
//! it is, the caller says.

use std::io;
use std::path::PathBuf;

use url::Url;

use super::cgroup::CgroupError;
use super::program::ProgramError;
use crate::fetch::FetchError;

/// Why a target could not be started or found.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// Its program cannot be run.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// Its working folder is not there.
    #[error("the working folder {0} is not a folder; correct the target's `dir`")]
    WorkingFolder(PathBuf),
    /// A log in the run folder cannot be written.
    #[error("cannot keep the target's output in {0}: {1}")]
    Log(PathBuf, io::Error),
    /// The process did not come to the point of executing its program.
    #[error("cannot start a process for `{0}`: {1}")]
    Prepare(String, String),
    /// The kernel refused to execute the program.
    #[error("the kernel cannot execute {0}: {1}{hint}", hint = exec_hint(.1))]
    Exec(PathBuf, io::Error),
    /// Its cgroup could not be made, limited or filled.
    #[error(transparent)]
    Cgroup(#[from] CgroupError),
    /// A job, where no cgroup v2 tells when its last process has ended.
    #[error("a job is timed to the end of its last process, and {0}")]
    LastProcess(&'static str),
    /// A command without an address.
    #[error("target `{0}` has no `url`; say where its requests go")]
    NoUrl(String),
    /// `ready` is neither a path nor an address.
    #[error("`ready = {0:?}` is neither a path such as \"/healthz\" nor an address: {1}")]
    Ready(String, url::ParseError),
    /// Somebody else answers at its address.
    #[error("something answers at {0} before `{1}` was started; stop it or choose another port")]
    Taken(Url, String),
    /// Somebody else takes connections at its unix socket.
    #[error("something listens at {0} before `{1}` was started; stop it or choose another path")]
    TakenSocket(String, String),
    /// A command that ended before it was ready.
    #[error("it ended before it was ready: {exit}; {last_words}")]
    Died {
        /// How it ended.
        exit: super::Exit,
        /// The end of its standard error.
        last_words: String,
    },
    /// A command that did not become ready in time.
    #[error("it was not ready within {within}: {last}; {last_words}")]
    NotReady {
        /// How long it was given.
        within: crate::units::Span,
        /// The last answer to the question.
        last: String,
        /// The end of its standard error.
        last_words: String,
    },
    /// The user ended the wait.
    #[error("a signal ended the wait until it is ready")]
    Interrupted,
    /// A running target that does not answer.
    #[error("it does not answer: {0}")]
    Silent(Box<FetchError>),
    /// A running target that answers something else than 2xx where it says that it is ready.
    #[error("it is not ready: {0} answers {1}; correct `ready` or wait until it is")]
    Unready(Url, u16),
    /// No such process.
    #[error("there is no process {0}; it may have ended")]
    NoProcess(u32),
    /// The path is no cgroup v2 directory.
    #[error("{0} is {1}; name a directory of the cgroup v2 tree{2}")]
    NotV2(PathBuf, &'static str, String),
    /// Watching the cgroup would watch ourselves or the whole machine.
    #[error("{0} {1}; {2}")]
    TooWide(PathBuf, &'static str, &'static str),
    /// Adopting would move ourselves.
    #[error(
        "bench-user itself runs below process {0}, so it cannot move that process; name another"
    )]
    Ancestor(u32),
    /// The unit cannot be found.
    #[error("cannot find unit `{0}`: {1}")]
    Unit(String, String),
    /// The container cannot be found or made.
    #[error(transparent)]
    Engine(#[from] super::engine::EngineError),
}

fn exec_hint(error: &io::Error) -> &'static str {
    match rustix::io::Errno::from_io_error(error) {
        Some(rustix::io::Errno::NOEXEC) => {
            "; a script needs a first line such as #!/bin/sh, a binary the right architecture"
        }
        Some(rustix::io::Errno::NOENT) => "; its interpreter (first line) or loader is not there",
        _ => "",
    }
}
