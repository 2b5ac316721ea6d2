//! Whether a target answers, and when a started one first does.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use url::Url;

use super::TargetError;
use super::logs::Logs;
use super::process::Started;
use crate::clock;
use crate::fetch::{self, FetchError};
use crate::plan::TargetSpec;

/// Between two questions to a target that is starting.
const ASK_AGAIN: Duration = Duration::from_millis(3);
/// How long one answer may take: a server may compile its first page.
const ANSWER_WITHIN: Duration = Duration::from_secs(10);
/// How long a stranger on a command's port may take to show itself.
const STRANGER_WITHIN: Duration = Duration::from_secs(1);

/// The question that tells whether a target is ready.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Question {
    /// Where it is asked.
    pub(super) url: Url,
    /// Only a 2xx will do; else any answer.
    pub(super) needs_success: bool,
}

impl Question {
    /// The target's `ready`, or its address itself.
    ///
    /// # Errors
    /// When `ready` is neither a path nor an address.
    pub(super) fn of(spec: &TargetSpec, url: &Url) -> Result<Self, TargetError> {
        match &spec.ready {
            None => Ok(Self { url: url.clone(), needs_success: false }),
            Some(ready) => match url.join(ready) {
                Ok(url) => Ok(Self { url, needs_success: true }),
                Err(error) => Err(TargetError::Ready(ready.clone(), error)),
            },
        }
    }

    /// Asks a target that should be running already.
    ///
    /// # Errors
    /// When it does not answer, or not as it should.
    pub(super) fn ask_running(&self) -> Result<(), TargetError> {
        match fetch::get(&self.url, ANSWER_WITHIN) {
            Ok(got) if self.needs_success && !got.is_success() => {
                Err(TargetError::Unready(self.url.clone(), got.status))
            }
            Ok(_) => Ok(()),
            Err(error) => Err(TargetError::Silent(Box::new(error))),
        }
    }

    /// Asks a started target until it is ready, and gives the time since its start, ns.
    ///
    /// # Errors
    /// When it ends before that, or is not ready in time.
    pub(super) fn ask_until_ready(
        &self,
        spec: &TargetSpec,
        process: &mut Started,
        logs: &Logs,
        interrupted: Option<&AtomicBool>,
    ) -> Result<u64, TargetError> {
        loop {
            let left = spec.ready_within.as_ns().saturating_sub(age_ns(process));
            let last = match fetch::get(&self.url, ANSWER_WITHIN.min(Duration::from_nanos(left))) {
                Ok(got) if !self.needs_success || got.is_success() => {
                    let startup_ns = age_ns(process);
                    // Dead and yet answered: the answer came from somebody else.
                    return still_alive(process, logs).map(|()| startup_ns);
                }
                Ok(got) => format!("{} answers {}", self.url, got.status),
                Err(error @ FetchError::Scheme(_)) => {
                    return Err(TargetError::Silent(Box::new(error)));
                }
                Err(error) => error.to_string(),
            };
            still_alive(process, logs)?;
            not_interrupted(interrupted)?;
            if left == 0 {
                return Err(not_ready(spec, logs, last));
            }
            thread::sleep(ASK_AGAIN);
        }
    }

    /// Whether one GET answers 2xx.
    pub(super) fn is_healthy(&self) -> bool {
        fetch::get(&self.url, ANSWER_WITHIN).is_ok_and(|got| got.is_success())
    }
}

/// Makes sure that nobody answers at the address of a command that is yet to be started: we
/// would measure a stranger.
///
/// # Errors
/// When somebody does.
pub(super) fn refuse_stranger(name: &str, url: &Url) -> Result<(), TargetError> {
    match fetch::get(url, STRANGER_WITHIN) {
        Err(FetchError::Connect(..)) => Ok(()),
        Err(error @ FetchError::Scheme(_)) => Err(TargetError::Silent(Box::new(error))),
        Ok(_) | Err(FetchError::Http(..) | FetchError::Timeout(..)) => {
            Err(TargetError::Taken(url.clone(), name.to_owned()))
        }
    }
}

/// Waits for the line with which a built-in server tells its address.
///
/// # Errors
/// When the server ends before that, or does not tell it in time.
pub(super) fn announced_url(
    spec: &TargetSpec,
    process: &mut Started,
    logs: &Logs,
    interrupted: Option<&AtomicBool>,
) -> Result<Url, TargetError> {
    loop {
        if let Some(text) = logs.stdout.line_after(super::builtin::ANNOUNCEMENT) {
            return text.parse().map_err(|e| TargetError::Ready(text.clone(), e));
        }
        still_alive(process, logs)?;
        not_interrupted(interrupted)?;
        if age_ns(process) > spec.ready_within.as_ns() {
            return Err(not_ready(spec, logs, "it has not told its address".into()));
        }
        thread::sleep(ASK_AGAIN);
    }
}

fn still_alive(process: &mut Started, logs: &Logs) -> Result<(), TargetError> {
    match process.poll_exit() {
        None => Ok(()),
        Some(exit) => {
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

fn not_ready(spec: &TargetSpec, logs: &Logs, last: String) -> TargetError {
    TargetError::NotReady { within: spec.ready_within, last, last_words: logs.stderr.last_words() }
}

fn age_ns(process: &Started) -> u64 {
    clock::now_ns().saturating_sub(process.released_ns())
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    fn spec(ready: Option<&str>) -> TargetSpec {
        let spec: TargetSpec = toml::from_str("name = \"web\"").unwrap();
        TargetSpec { ready: ready.map(str::to_owned), ..spec }
    }

    #[test]
    fn ready_is_a_path_or_an_address_and_then_needs_a_2xx() {
        let url: Url = "http://127.0.0.1:1/a/b?c".parse().unwrap();
        let question = |ready| Question::of(&spec(ready), &url).unwrap();
        assert_eq!(question(None), Question { url: url.clone(), needs_success: false });
        let path = question(Some("/healthz"));
        assert_eq!((path.url.as_str(), path.needs_success), ("http://127.0.0.1:1/healthz", true));
        assert_eq!(question(Some("http://127.0.0.1:2/")).url.port(), Some(2));
        assert!(Question::of(&spec(Some("http://:x")), &url).is_err());
    }

    #[test]
    fn a_free_port_is_no_stranger_and_a_listener_that_says_nothing_is_one() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url: Url = format!("http://{}/", listener.local_addr().unwrap()).parse().unwrap();
        let error = refuse_stranger("web", &url).unwrap_err().to_string();
        assert!(error.contains(url.as_str()) && error.contains("another port"), "{error}");
        drop(listener);
        assert!(refuse_stranger("web", &url).is_ok());
        assert!(matches!(
            Question::of(&spec(None), &url).unwrap().ask_running(),
            Err(TargetError::Silent(error)) if matches!(*error, FetchError::Connect(..))
        ));
    }

    #[test]
    fn https_is_refused_at_once() {
        let url: Url = "https://127.0.0.1:1/".parse().unwrap();
        assert!(matches!(refuse_stranger("web", &url), Err(TargetError::Silent(..))));
    }
}
