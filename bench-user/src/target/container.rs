//! A running Docker or Podman container, by name or id, asked from its engine's API socket.
//!
//! Only what the engine alone knows comes from it: the main process, the image and, in the end,
//! the exit code. The cgroup comes from the process.

use std::io;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use bollard::errors::Error as EngineError;
use bollard::models::{ContainerInspectResponse, ContainerState};
use bollard::{API_DEFAULT_VERSION, Docker};

use super::{Exit, Image};
use crate::measured::Measured;

/// How long an engine may take for one answer, s.
const ANSWER_WITHIN_S: u64 = 10;
/// Names that are offered for one that is not there.
const SUGGESTIONS: usize = 3;

/// Why a container cannot be found.
#[derive(Debug, thiserror::Error)]
pub enum ContainerError {
    /// No socket answers.
    #[error(
        "no container engine answers ({0}); start it (`podman system service` for Podman) or name its socket with `engine`"
    )]
    NoEngine(String),
    /// An engine over the network: its processes may be on another machine.
    #[error(
        "{0} is not a unix socket; the engine must run on this machine, as in unix:///var/run/docker.sock"
    )]
    NotASocket(String),
    /// The engine does not know it.
    #[error("there is no container `{0}`; {1}")]
    Missing(String, String),
    /// It has no process.
    #[error("container `{0}` is {1}, not running; start it first")]
    NotRunning(String, String),
    /// The engine answers something unexpected.
    #[error(
        "the container engine at {0} fails: {1}; mend it, or name another's socket with `engine`"
    )]
    Engine(PathBuf, String),
}

impl ContainerError {
    /// Of what several engines answer, the heaviest is said: an engine that knows the container
    /// before one that may know it, and that before one that does not.
    const fn weight(&self) -> u8 {
        match self {
            Self::Missing(..) => 0,
            Self::NoEngine(_) | Self::NotASocket(_) | Self::Engine(..) => 1,
            Self::NotRunning(..) => 2,
        }
    }
}

/// A running container.
#[derive(Debug)]
pub(super) struct Container {
    engine: PathBuf,
    id: String,
    /// Its first process, in our pid namespace.
    pub(super) pid: u32,
    /// What it was made from.
    pub(super) image: Option<Image>,
}

impl Container {
    /// Asks every engine there is (or `engine` alone) for the container.
    ///
    /// # Errors
    /// When none can be asked, none has it, or it does not run.
    pub(super) fn find(name: &str, engine: Option<&str>) -> Result<Self, ContainerError> {
        Self::find_at(name, &reachable(&sockets(engine)?)?)
    }

    /// One engine that fails, as a socket does whose service cannot be started, hides no container
    /// of another.
    fn find_at(name: &str, engines: &[PathBuf]) -> Result<Self, ContainerError> {
        let mut complaint = ContainerError::Missing(name.to_owned(), String::new());
        for engine in engines {
            match block_on(engine, inspect(engine, name)).and_then(|answer| answer) {
                Ok(container) => return Ok(container),
                Err(error) if error.weight() >= complaint.weight() => complaint = error,
                Err(_lighter) => {}
            }
        }
        Err(complaint)
    }

    /// How it ended, as the engine saw it: the kernel tells only the parent, which is the engine.
    /// `None` while the engine has not noticed yet.
    pub(super) fn exit(&self, oom_killed: Measured<bool>) -> Option<Exit> {
        let state = block_on(&self.engine, state(&self.engine, &self.id)).and_then(|state| state);
        match state {
            Ok(state) => exit_of(&state, self.pid, oom_killed),
            Err(error) => {
                log::warn!("the end of container {}: {error}", self.id);
                Some(Exit::of_stranger(oom_killed))
            }
        }
    }
}

/// The end of process `pid` in what the engine says of its container.
fn exit_of(state: &ContainerState, pid: u32, oom_killed: Measured<bool>) -> Option<Exit> {
    let stranger = Exit::of_stranger(oom_killed);
    match (state.running, state.pid.and_then(|pid| u32::try_from(pid).ok())) {
        (Some(true), Some(running)) if running == pid => None,
        // Started again meanwhile: the code of the first end is gone.
        (Some(true), _) => Some(stranger),
        _ => Some(Exit {
            code: state.exit_code.and_then(|code| i32::try_from(code).ok()),
            // The engine removes the cgroup with its event counter. Its own "no" is no answer:
            // Podman 4.3 says it on cgroup v1 of a container that the OOM killer has ended.
            oom_killed: match state.oom_killed {
                Some(true) => Measured::Value(true),
                _ => stranger.oom_killed,
            },
            ..stranger
        }),
    }
}

/// Where engines listen, most wanted first.
fn sockets(engine: Option<&str>) -> Result<Vec<PathBuf>, ContainerError> {
    let path = |address: &str| match (address.strip_prefix("unix://"), address.contains("://")) {
        (Some(path), _) => Ok(PathBuf::from(path)),
        (None, false) => Ok(PathBuf::from(address)),
        (None, true) => Err(ContainerError::NotASocket(address.to_owned())),
    };
    if let Some(engine) = engine {
        return Ok(vec![path(engine)?]);
    }
    let variable = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    let mut sockets = Vec::new();
    if let Some(host) = variable("DOCKER_HOST") {
        sockets.push(path(&host)?);
    }
    sockets.extend(["/var/run/docker.sock", "/run/podman/podman.sock"].map(PathBuf::from));
    // Under sudo the variable is gone, but the user's own engine is not.
    let users = variable("XDG_RUNTIME_DIR")
        .or_else(|| variable("SUDO_UID").map(|uid| format!("/run/user/{uid}")));
    sockets.extend(users.map(|dir| Path::new(&dir).join("podman/podman.sock")));
    Ok(sockets)
}

/// The sockets that take a connection.
fn reachable(sockets: &[PathBuf]) -> Result<Vec<PathBuf>, ContainerError> {
    let mut reachable = Vec::new();
    let mut reasons = Vec::new();
    for socket in sockets {
        match UnixStream::connect(socket) {
            Ok(_) => reachable.push(socket.clone()),
            Err(error) => reasons.push(format!("{}: {}", socket.display(), reason(&error))),
        }
    }
    if reachable.is_empty() {
        return Err(ContainerError::NoEngine(reasons.join(", ")));
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

/// The API client needs a runtime; the targets are otherwise free of one.
fn block_on<T>(engine: &Path, question: impl Future<Output = T>) -> Result<T, ContainerError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|e| ContainerError::Engine(engine.to_owned(), e.to_string()))?;
    Ok(runtime.block_on(question))
}

async fn connect(engine: &Path) -> Result<Docker, EngineError> {
    let socket = engine.to_string_lossy();
    // Old and new engines refuse each other's versions: ask which one this speaks.
    Docker::connect_with_unix(&socket, ANSWER_WITHIN_S, API_DEFAULT_VERSION)?
        .negotiate_version()
        .await
}

async fn state(engine: &Path, id: &str) -> Result<ContainerState, ContainerError> {
    let failed = |e: EngineError| ContainerError::Engine(engine.to_owned(), e.to_string());
    let client = connect(engine).await.map_err(failed)?;
    let found = client.inspect_container(id, None).await.map_err(failed)?;
    Ok(found.state.unwrap_or_default())
}

async fn inspect(engine: &Path, name: &str) -> Result<Container, ContainerError> {
    let failed = |e: EngineError| ContainerError::Engine(engine.to_owned(), e.to_string());
    let client = connect(engine).await.map_err(failed)?;
    let found = match client.inspect_container(name, None).await {
        Ok(found) => found,
        Err(EngineError::DockerResponseServerError { status_code: 404, .. }) => {
            let names = running_names(&client).await.map_err(failed)?;
            return Err(ContainerError::Missing(name.to_owned(), nearest(name, names)));
        }
        Err(error) => return Err(failed(error)),
    };
    let pid = running_pid(&found).map_err(|s| ContainerError::NotRunning(name.to_owned(), s))?;
    let image = match found.image {
        Some(id) => {
            // The image of a running container may have been deleted by force.
            let size = client.inspect_image(&id).await.ok().and_then(|image| image.size);
            Some(Image { id, size_bytes: size.and_then(|bytes| u64::try_from(bytes).ok()) })
        }
        None => None,
    };
    let id = found.id.unwrap_or_else(|| name.to_owned());
    Ok(Container { engine: engine.to_owned(), id, pid, image })
}

/// The main pid, or the state of a container that has none.
fn running_pid(found: &ContainerInspectResponse) -> Result<u32, String> {
    let state = found.state.as_ref();
    let pid = state.and_then(|s| s.pid).and_then(|pid| u32::try_from(pid).ok());
    pid.filter(|pid| *pid != 0).ok_or_else(|| {
        state.and_then(|s| s.status).map_or_else(|| "stopped".into(), |s| s.to_string())
    })
}

async fn running_names(client: &Docker) -> Result<Vec<String>, EngineError> {
    let running = client.list_containers(None).await?;
    let names = running.into_iter().filter_map(|c| c.names).flatten();
    Ok(names.map(|name| name.trim_start_matches('/').to_owned()).collect())
}

fn nearest(name: &str, mut running: Vec<String>) -> String {
    // A common begin weighs more here: `web` is more likely meant for `webserver` than for `db`.
    let likeness = |other: &str| strsim::jaro_winkler(name, other);
    running.sort_by(|a, b| likeness(b).total_cmp(&likeness(a)));
    running.truncate(SUGGESTIONS);
    match running.as_slice() {
        [] => "no container is running".into(),
        names => format!("running ones nearest to it: {}", names.join(", ")),
    }
}

#[cfg(test)]
mod tests;
