//! A container engine on this machine, Docker or Podman, asked over its API socket.
//!
//! Both serve Docker's API. Here is where an engine listens and how it is asked; what it is asked
//! for is said in `images`, `container` and `own_container`. No image is ever pulled.

mod error;
mod images;

use std::io;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use bollard::errors::Error as ApiError;
use bollard::{API_DEFAULT_VERSION, Docker};

pub use error::EngineError;

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
        reachable(&named(name)?)?
            .into_iter()
            .next()
            .ok_or_else(|| EngineError::NoEngine(format!("{name} is the name of no socket")))
    }

    /// Every engine that listens at one of the usual places, or the named one alone.
    ///
    /// # Errors
    /// When none listens.
    pub(super) fn all(name: Option<&str>) -> Result<Vec<Self>, EngineError> {
        match name {
            Some(name) => Self::named(name).map(|engine| vec![engine]),
            None => reachable(&usual()?),
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
        self.ask_within(ANSWER_WITHIN_S, question)
    }

    /// Asks it what may as well stay unknown.
    ///
    /// # Errors
    /// When it does not answer, or refuses.
    pub(super) fn glance<T, F>(&self, question: impl FnOnce(Docker) -> F) -> Result<T, EngineError>
    where
        F: Future<Output = Result<T, ApiError>>,
    {
        self.ask_within(GLANCE_WITHIN_S, question)
    }

    /// Asks it for something that it has to do first.
    ///
    /// # Errors
    /// When it does not answer, or refuses.
    pub(super) fn order<T, F>(&self, question: impl FnOnce(Docker) -> F) -> Result<T, EngineError>
    where
        F: Future<Output = Result<T, ApiError>>,
    {
        self.ask_within(WORK_WITHIN_S, question)
    }

    fn ask_within<T, F>(
        &self,
        seconds: u64,
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
        answer?.map_err(|error| self.fails(error))
    }

    /// The API client needs a runtime; the targets are otherwise free of one.
    fn block_on<T>(&self, work: impl Future<Output = T>) -> Result<T, EngineError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        Ok(runtime.map_err(|error| self.fails(error))?.block_on(work))
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
fn named(name: &str) -> Result<Vec<PathBuf>, EngineError> {
    match name {
        "docker" => Ok(match variable("DOCKER_HOST") {
            Some(host) => vec![socket_at(&host)?],
            None => vec![PathBuf::from(DOCKER)],
        }),
        "podman" => match variable("CONTAINER_HOST") {
            Some(host) => Ok(vec![socket_at(&host)?]),
            None => Ok([PathBuf::from(PODMAN)].into_iter().chain(users_podman()).collect()),
        },
        address => Ok(vec![socket_at(address)?]),
    }
}

const DOCKER: &str = "/var/run/docker.sock";
const PODMAN: &str = "/run/podman/podman.sock";

/// Where engines listen, most wanted first.
fn usual() -> Result<Vec<PathBuf>, EngineError> {
    let hosts = ["DOCKER_HOST", "CONTAINER_HOST"].into_iter().filter_map(variable);
    let mut sockets = hosts.map(|host| socket_at(&host)).collect::<Result<Vec<_>, _>>()?;
    sockets.extend([DOCKER, PODMAN].map(PathBuf::from));
    sockets.extend(users_podman());
    Ok(sockets)
}

/// Under sudo the variable is gone, but the user's own engine is not.
fn users_podman() -> Option<PathBuf> {
    let folder = variable("XDG_RUNTIME_DIR")
        .or_else(|| variable("SUDO_UID").map(|uid| format!("/run/user/{uid}")))?;
    Some(Path::new(&folder).join("podman/podman.sock"))
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

fn socket_at(address: &str) -> Result<PathBuf, EngineError> {
    match (address.strip_prefix("unix://"), address.contains("://")) {
        (Some(path), _) => Ok(PathBuf::from(path)),
        (None, false) => Ok(PathBuf::from(address)),
        (None, true) => Err(EngineError::NotASocket(address.to_owned())),
    }
}

/// The sockets that take a connection, each once.
fn reachable(sockets: &[PathBuf]) -> Result<Vec<Engine>, EngineError> {
    let mut reachable: Vec<Engine> = Vec::new();
    let mut reasons = Vec::new();
    for socket in sockets {
        match UnixStream::connect(socket) {
            Ok(_) if reachable.iter().any(|engine| engine.socket == *socket) => {}
            Ok(_) => reachable.push(Engine { socket: socket.clone() }),
            Err(error) => reasons.push(format!("{}: {}", socket.display(), reason(&error))),
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
