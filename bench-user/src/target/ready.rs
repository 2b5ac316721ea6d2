//! Whether a target answers, and when a started one first does.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use url::Url;

use super::logs::Logs;
use super::newcomer::Newcomer;
use super::{StartOptions, TargetError};
use crate::clock;
use crate::fetch::{self, FetchError, Fetched, Fetcher};
use crate::plan::TargetSpec;

/// Between two questions to a target that is starting.
const ASK_AGAIN: Duration = Duration::from_millis(3);
/// How long one answer may take: a server may compile its first page.
const ANSWER_WITHIN: Duration = Duration::from_secs(10);
/// How long a stranger on a command's port may take to show itself.
const STRANGER_WITHIN: Duration = Duration::from_secs(1);

/// How a target is asked whether it is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Contact<'a> {
    /// By a GET, in the protocol of the load; a ws:// or wss:// address takes none.
    #[default]
    Http,
    /// By a connection alone: it speaks something else.
    Connection,
    /// By a connection to this unix socket.
    Unix(&'a Path),
}

impl Contact<'_> {
    /// A GET of this address has an answer.
    #[must_use]
    pub fn speaks_http(self, url: &Url) -> bool {
        self == Self::Http && matches!(url.scheme(), "http" | "https")
    }
}

/// The question that tells whether a target is ready.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Question {
    /// Is there an answer; only a 2xx will do where success is needed.
    Get {
        /// Where it is asked.
        url: Url,
        /// Else any answer will do.
        needs_success: bool,
        /// Not at the port of the load: another server, which is asked in HTTP/1.1.
        is_elsewhere: bool,
    },
    /// Is a connection taken at this address.
    Knock(Url),
    /// Is a connection taken at this unix socket.
    KnockUnix(PathBuf),
}

impl Question {
    /// The target's `ready`, or its address itself.
    ///
    /// # Errors
    /// When `ready` is neither a path nor an address.
    pub(super) fn of(
        spec: &TargetSpec,
        url: &Url,
        contact: Contact<'_>,
    ) -> Result<Self, TargetError> {
        let Some(ready) = &spec.ready else {
            return Ok(match contact {
                Contact::Unix(path) => Self::KnockUnix(path.to_owned()),
                _ if contact.speaks_http(url) => {
                    Self::Get { url: url.clone(), needs_success: false, is_elsewhere: false }
                }
                _ => Self::Knock(url.clone()),
            });
        };
        let port = url.port_or_known_default();
        let mut url = url.join(ready).map_err(|e| TargetError::Ready(ready.clone(), e))?;
        if url.scheme() == "ws" {
            // Both have the same default port, and the change is one that the URL standard allows.
            url.set_scheme("http").ok();
        }
        if url.scheme() == "wss" {
            url.set_scheme("https").ok();
        }
        let is_elsewhere = url.port_or_known_default() != port;
        Ok(Self::Get { url, needs_success: true, is_elsewhere })
    }

    /// Asks once: the status of an answer that is not good enough, or why there is none.
    fn ask(&self, by: &Fetcher, within: Duration) -> Result<Result<(), u16>, FetchError> {
        match self {
            Self::Get { url, needs_success, .. } => self.get(by, url, within).map(|got| {
                if *needs_success && !got.is_success() { Err(got.status) } else { Ok(()) }
            }),
            Self::Knock(url) => fetch::knock(url, within).map(Ok),
            Self::KnockUnix(path) => fetch::knock_unix(path).map(Ok),
        }
    }

    fn get(&self, by: &Fetcher, url: &Url, within: Duration) -> Result<Fetched, FetchError> {
        match self {
            Self::Get { is_elsewhere: true, .. } => by.in_http1().get(url, within),
            _ => by.get(url, within),
        }
    }

    /// Asks a target that should be running already, for as long as it may take to get ready. What
    /// refuses a connection or gives a wrong answer is told at once.
    ///
    /// # Errors
    /// When it does not answer, or not as it should.
    pub(super) fn ask_running(
        &self,
        spec: &TargetSpec,
        options: &StartOptions<'_>,
    ) -> Result<(), TargetError> {
        let within = spec.ready_within.0;
        let began_ns = clock::now_ns();
        loop {
            let taken = Duration::from_nanos(clock::now_ns().saturating_sub(began_ns));
            // A connect wants a time limit above nothing.
            let left = within.saturating_sub(taken).max(Duration::from_nanos(1));
            match (self.ask(options.fetcher, ANSWER_WITHIN.min(left)), self) {
                (Ok(Err(status)), Self::Get { url, .. }) => {
                    return Err(TargetError::Unready(url.clone(), status));
                }
                (Ok(_), _) => return Ok(()),
                (Err(FetchError::Timeout(url, _)), _) if left <= ANSWER_WITHIN => {
                    return Err(TargetError::Silent(Box::new(FetchError::Timeout(url, within))));
                }
                (Err(FetchError::Timeout(..)), _) => {}
                (Err(error), _) => return Err(TargetError::Silent(Box::new(error))),
            }
            not_interrupted(options.interrupted)?;
        }
    }

    /// Asks a started target until it is ready, and gives the time since its start, ns.
    ///
    /// # Errors
    /// When it ends before that, or is not ready in time.
    pub(super) fn ask_until_ready(
        &self,
        spec: &TargetSpec,
        newcomer: &mut dyn Newcomer,
        logs: &Logs,
        options: &StartOptions<'_>,
    ) -> Result<u64, TargetError> {
        loop {
            let left = spec.ready_within.as_ns().saturating_sub(age_ns(newcomer));
            // A connect wants a time limit above nothing.
            let within = ANSWER_WITHIN.min(Duration::from_nanos(left.max(1)));
            let last = match self.ask(options.fetcher, within) {
                Ok(Ok(())) => {
                    let startup_ns = age_ns(newcomer);
                    // Dead and yet answered: the answer came from somebody else.
                    return still_alive(newcomer, logs).map(|()| startup_ns);
                }
                Ok(Err(status)) => format!("{self} answers {status}"),
                Err(error) if error.is_ours() => {
                    return Err(TargetError::Silent(Box::new(error)));
                }
                Err(error) => error.to_string(),
            };
            still_alive(newcomer, logs)?;
            not_interrupted(options.interrupted)?;
            if left == 0 {
                return Err(not_ready(spec, newcomer, logs, last));
            }
            thread::sleep(ASK_AGAIN);
        }
    }

    /// Whether one GET answers 2xx, or a connection is taken.
    pub(super) fn is_healthy(&self, by: &Fetcher) -> bool {
        match self {
            Self::Get { url, .. } => {
                self.get(by, url, ANSWER_WITHIN).is_ok_and(|got| got.is_success())
            }
            _ => self.ask(by, ANSWER_WITHIN).is_ok(),
        }
    }
}

impl fmt::Display for Question {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Get { url, .. } | Self::Knock(url) => url.fmt(f),
            Self::KnockUnix(path) => path.display().fmt(f),
        }
    }
}

/// Makes sure that nobody listens at the address of a command that is yet to be started: we
/// would measure a stranger.
///
/// # Errors
/// When somebody does.
pub(super) fn refuse_stranger(
    name: &str,
    url: &Url,
    contact: Contact<'_>,
) -> Result<(), TargetError> {
    let answer = match contact {
        Contact::Unix(path) => fetch::knock_unix(path),
        _ => fetch::knock(url, STRANGER_WITHIN),
    };
    match (answer, contact) {
        (Err(FetchError::Connect(..)), _) => Ok(()),
        (_, Contact::Unix(path)) => {
            Err(TargetError::TakenSocket(path.display().to_string(), name.to_owned()))
        }
        _ => Err(TargetError::Taken(url.clone(), name.to_owned())),
    }
}

/// Waits for the line with which a built-in server tells its address.
///
/// # Errors
/// When the server ends before that, or does not tell it in time.
pub(super) fn announced_url(
    spec: &TargetSpec,
    newcomer: &mut dyn Newcomer,
    logs: &Logs,
    interrupted: Option<&AtomicBool>,
) -> Result<Url, TargetError> {
    loop {
        if let Some(text) = logs.stdout.line_after(super::builtin::ANNOUNCEMENT) {
            return text.parse().map_err(|e| TargetError::Ready(text.clone(), e));
        }
        still_alive(newcomer, logs)?;
        not_interrupted(interrupted)?;
        if age_ns(newcomer) > spec.ready_within.as_ns() {
            return Err(not_ready(spec, newcomer, logs, "it has not told its address".into()));
        }
        thread::sleep(ASK_AGAIN);
    }
}

pub(super) fn still_alive(newcomer: &mut dyn Newcomer, logs: &Logs) -> Result<(), TargetError> {
    match newcomer.ended()? {
        None => Ok(()),
        Some(exit) => {
            newcomer.tell();
            let last_words = logs.stderr.last_words();
            Err(TargetError::Died { exit, last_words })
        }
    }
}

fn not_interrupted(interrupted: Option<&AtomicBool>) -> Result<(), TargetError> {
    match interrupted {
        Some(flag) if flag.load(Ordering::Relaxed) => Err(TargetError::Interrupted),
        _ => Ok(()),
    }
}

fn not_ready(
    spec: &TargetSpec,
    newcomer: &mut dyn Newcomer,
    logs: &Logs,
    last: String,
) -> TargetError {
    newcomer.tell();
    TargetError::NotReady { within: spec.ready_within, last, last_words: logs.stderr.last_words() }
}

fn age_ns(newcomer: &dyn Newcomer) -> u64 {
    clock::now_ns().saturating_sub(newcomer.began_ns())
}

#[cfg(test)]
mod tests;
