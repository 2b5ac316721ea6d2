//! A container engine on this machine, Docker or Podman, asked over its API socket.
//!
//! Both serve Docker's API. Here is where an engine listens and how it is asked; what it is asked
//! for is said in `images`, `container` and `own_container`. No image is ever pulled.

mod error;
mod images;
mod names;

use std::io;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use bollard::errors::Error as ApiError;
use bollard::{API_DEFAULT_VERSION, Docker};

pub use error::{EngineError, Wish};
pub use names::{local_images, running_containers};

use crate::host::engines::{self, Place, Variables};

/// How long an engine may take for one answer, s.
const ANSWER_WITHIN_S: u64 = 10;
/// How long it may take where nothing depends on the answer, s.
const GLANCE_WITHIN_S: u64 = 2;
/// How long it may take for what it has to do first, such as the copy of an image that some
/// storage drivers make for every container, s.
const WORK_WITHIN_S: u64 = 120;

/// An engine that takes connections.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Engine {
    socket: PathBuf,
}

impl Engine {
    /// The engine `docker` (at `DOCKER_HOST` or its usual socket), `podman` (at `CONTAINER_HOST` or
    /// one of its usual sockets), or that of a socket, as a path or `unix://` and a path.
    ///
    /// # Errors
    /// When it is on another machine, or nobody listens there.
    pub fn named(name: &str) -> Result<Self, EngineError> {
        // At least one was reached.
        Ok(reachable(&places(name, &engines::environment)?)?.swap_remove(0))
    }

    /// Every engine that listens where the variables say or at a usual place, or the named one
    /// alone.
    ///
    /// # Errors
    /// When none listens.
    pub(super) fn all(name: Option<&str>) -> Result<Vec<Self>, EngineError> {
        match name {
            Some(name) => Self::named(name).map(|engine| vec![engine]),
            None => reachable(&engines::all(&engines::environment)),
        }
    }

    /// Where it listens.
    #[must_use]
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// Asks it one question, which it must answer soon.
    ///
    /// # Errors
    /// When it does not answer, or refuses.
    pub(super) fn ask<T, F>(&self, question: impl FnOnce(Docker) -> F) -> Result<T, EngineError>
    where
        F: Future<Output = Result<T, ApiError>>,
    {
        self.ask_within(ANSWER_WITHIN_S, Wish::LOOK, question)
    }

    /// Asks it what may as well stay unknown.
    ///
    /// # Errors
    /// When it does not answer, or refuses.
    pub(super) fn glance<T, F>(&self, question: impl FnOnce(Docker) -> F) -> Result<T, EngineError>
    where
        F: Future<Output = Result<T, ApiError>>,
    {
        self.ask_within(GLANCE_WITHIN_S, Wish::LOOK, question)
    }

    /// Asks it for something that it has to do first.
    ///
    /// # Errors
    /// When it does not answer, or refuses.
    pub(super) fn ask_long<T, F>(
        &self,
        wish: Wish,
        question: impl FnOnce(Docker) -> F,
    ) -> Result<T, EngineError>
    where
        F: Future<Output = Result<T, ApiError>>,
    {
        self.ask_within(WORK_WITHIN_S, wish, question)
    }

    fn ask_within<T, F>(
        &self,
        seconds: u64,
        wish: Wish,
        question: impl FnOnce(Docker) -> F,
    ) -> Result<T, EngineError>
    where
        F: Future<Output = Result<T, ApiError>>,
    {
        let answer = self.block_on(async {
            let socket = self.socket.to_string_lossy();
            // Old and new engines refuse each other's versions: ask which one this speaks.
            let client = Docker::connect_with_unix(&socket, seconds, API_DEFAULT_VERSION)?
                .negotiate_version()
                .await?;
            question(client).await
        });
        answer?.map_err(|error| match error {
            // Engines call a program that is missing or a refused cpuset a failure of the server
            // (Docker some, Podman all), so only what is merely looked at makes 5xx the engine's.
            ApiError::DockerResponseServerError { status_code, message }
                if status_code < 500 || wish != Wish::LOOK =>
            {
                self.refuses(wish, message)
            }
            error => self.fails(error),
        })
    }

    /// The API client needs a runtime; the targets are otherwise free of one.
    fn block_on<T>(&self, work: impl Future<Output = T>) -> Result<T, EngineError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        Ok(runtime.map_err(|error| self.fails(error))?.block_on(work))
    }

    fn refuses(&self, wish: Wish, said: String) -> EngineError {
        EngineError::Refused(self.socket.clone(), wish, said)
    }

    pub(super) fn fails(&self, why: impl ToString) -> EngineError {
        EngineError::Engine(self.socket.clone(), why.to_string())
    }
}

/// The answer, or `None` where the engine knows no such thing.
pub(super) fn if_known<T>(answer: Result<T, ApiError>) -> Result<Option<T>, ApiError> {
    match answer {
        Ok(found) => Ok(Some(found)),
        Err(ApiError::DockerResponseServerError { status_code: 404, .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Where the engine of this name may listen, most wanted first.
fn places(name: &str, variables: Variables<'_>) -> Result<Vec<Place>, EngineError> {
    match name {
        "docker" => Ok(engines::docker(variables)),
        "podman" => Ok(engines::podman(variables)),
        address => match engines::socket(address) {
            Some(path) => Ok(vec![Place::Socket(path)]),
            None => Err(EngineError::NotASocket(address.to_owned())),
        },
    }
}

/// The engines that take a connection, each once, or why none does. What is no socket of this
/// machine hides no engine at another place.
fn reachable(places: &[Place]) -> Result<Vec<Engine>, EngineError> {
    if let [Place::Elsewhere { variable, address }] = places {
        return Err(EngineError::VariableElsewhere(variable, address.clone()));
    }
    let mut reachable: Vec<Engine> = Vec::new();
    let mut reasons = Vec::new();
    for place in places {
        let Place::Socket(socket) = place else {
            reasons.push(format!("{place}: not a unix socket"));
            continue;
        };
        match UnixStream::connect(socket) {
            Ok(_) if reachable.iter().any(|engine| engine.socket == *socket) => {}
            Ok(_) => reachable.push(Engine { socket: socket.clone() }),
            Err(error) => reasons.push(format!("{place}: {}", reason(&error))),
        }
    }
    if reachable.is_empty() {
        return Err(EngineError::NoEngine(reasons.join(", ")));
    }
    Ok(reachable)
}

fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "not there".into(),
        io::ErrorKind::PermissionDenied => "no permission, run with sudo".into(),
        io::ErrorKind::ConnectionRefused => "nobody listens".into(),
        _ => error.to_string(),
    }
}

#[cfg(test)]
pub(super) mod fake;
#[cfg(test)]
mod tests;
