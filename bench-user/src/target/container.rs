//! A running Docker or Podman container, by name or id, asked from its engine's API socket.
//!
//! Only what the engine alone knows comes from it: the main process, the image and, in the end,
//! the exit code. The cgroup comes from the process.

use bollard::Docker;
use bollard::errors::Error as ApiError;
use bollard::models::{ContainerInspectResponse, ContainerState};

use super::engine::{Engine, EngineError, if_known};
use super::exit::signal_of_code;
use super::{Exit, Image};
use crate::measured::Measured;

/// Names that are offered for one that is not there.
const SUGGESTIONS: usize = 3;

/// A running container.
#[derive(Debug)]
pub(super) struct Container {
    /// Its first process.
    pub(super) process: FirstProcess,
    /// What it was made from.
    pub(super) image: Option<Image>,
}

/// The first process of a container, of which its engine is the parent.
#[derive(Debug)]
pub(super) struct FirstProcess {
    pub(super) engine: Engine,
    /// The container's id, whole.
    pub(super) id: String,
    /// In our pid namespace.
    pub(super) pid: u32,
    /// How often the engine had started the container again before.
    pub(super) restarts: i64,
}

impl Container {
    /// Asks every engine there is (or `engine` alone) for the container.
    ///
    /// # Errors
    /// When none can be asked, none has it, or it does not run.
    pub(super) fn find(name: &str, engine: Option<&str>) -> Result<Self, EngineError> {
        Self::find_at(name, &Engine::all(engine)?)
    }

    /// One engine that fails, as a socket does whose service cannot be started, hides no container
    /// of another.
    fn find_at(name: &str, engines: &[Engine]) -> Result<Self, EngineError> {
        let mut complaint = EngineError::Missing(name.to_owned(), String::new());
        for engine in engines {
            match Self::at(engine, name) {
                Ok(container) => return Ok(container),
                Err(error) if error.weight() >= complaint.weight() => complaint = error,
                Err(_lighter) => {}
            }
        }
        Err(complaint)
    }

    fn at(engine: &Engine, name: &str) -> Result<Self, EngineError> {
        let found = engine.ask(async |client| if_known(client.inspect_container(name, None).await));
        let Some(found) = found? else {
            let names = engine.ask(async |client| running_names(&client).await)?;
            return Err(EngineError::Missing(name.to_owned(), nearest(name, names)));
        };
        let pid = running_pid(&found).map_err(|s| EngineError::NotRunning(name.to_owned(), s))?;
        let restarts = found.restart_count.unwrap_or(0);
        let image = found.image.map(|id| {
            // The image of a running container may have been deleted by force.
            let size_bytes = engine.image_bytes(&id).ok();
            Image { id, size_bytes }
        });
        let id = found.id.unwrap_or_else(|| name.to_owned());
        Ok(Self { process: FirstProcess { engine: engine.clone(), id, pid, restarts }, image })
    }
}

impl FirstProcess {
    /// How it ended, as the engine saw it: the kernel tells only the parent, which is the engine.
    /// `None` while the engine has not noticed yet.
    pub(super) fn exit(&self, oom_killed: Measured<bool>) -> Option<Exit> {
        match self.engine.ask(async |client| client.inspect_container(&self.id, None).await) {
            Ok(found) => exit_of(&found, self, oom_killed),
            Err(error) => {
                log::warn!("the end of container {}: {error}", self.id);
                Some(Exit::of_stranger(oom_killed))
            }
        }
    }
}

/// The end of a process in what the engine says of its container.
fn exit_of(
    found: &ContainerInspectResponse,
    process: &FirstProcess,
    oom_killed: Measured<bool>,
) -> Option<Exit> {
    let state = found.state.clone().unwrap_or_default();
    let restarts = found.restart_count.map(|count| count.saturating_sub(process.restarts));
    let restarts = restarts.and_then(|count| u64::try_from(count).ok());
    let unknown = Exit { restarts, ..Exit::of_stranger(oom_killed) };
    match (state.running, state.pid.and_then(|pid| u32::try_from(pid).ok())) {
        (Some(true), Some(running)) if running == process.pid => None,
        // Started again meanwhile: the code of the first end is gone.
        (Some(true), _) => Some(unknown),
        _ => Some(ended(&state, unknown)),
    }
}

/// What the engine says of an end, over what is known without it.
pub(super) fn ended(state: &ContainerState, known: Exit) -> Exit {
    let code = state.exit_code.and_then(|code| i32::try_from(code).ok());
    Exit {
        code,
        signal: code.and_then(signal_of_code),
        // The engine removes the cgroup with its event counter. Its own "no" is no answer: Podman
        // 4.3 says it on cgroup v1 of a container that the OOM killer has ended.
        oom_killed: match state.oom_killed {
            Some(true) => Measured::Value(true),
            _ => known.oom_killed,
        },
        ..known
    }
}

/// The main pid, or the state of a container that has none.
pub(super) fn running_pid(found: &ContainerInspectResponse) -> Result<u32, String> {
    let state = found.state.as_ref();
    let pid = state.and_then(|s| s.pid).and_then(|pid| u32::try_from(pid).ok());
    pid.filter(|pid| *pid != 0).ok_or_else(|| {
        state.and_then(|s| s.status).map_or_else(|| "stopped".into(), |s| s.to_string())
    })
}

async fn running_names(client: &Docker) -> Result<Vec<String>, ApiError> {
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
