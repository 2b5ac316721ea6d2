//! A container of our own: made of a local image, started, watched, stopped, removed.
//!
//! ```text
//! create: the container, with a label that names the run
//! start:  the order to start it; from here on its age is counted, and it is asked whether it is
//!         ready while the engine still works on the order
//! settle: the engine has done so; its process is held and its cgroup found
//! stop:   the image's own signal, a grace period, SIGKILL; the engine tells the end
//! drop:   its output is kept, and it is removed with the volumes that were made for it
//! ```
//!
//! The cgroup comes from the process, never from the engine's words.

mod leftovers;
mod order;
mod output;

use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

use bollard::models::ContainerInspectResponse;
use bollard::query_parameters::{RemoveContainerOptions, StopContainerOptions};

pub use leftovers::remove_left_containers;
pub(super) use leftovers::remove_leftovers_at;

use super::container::{FirstProcess, ended, running_pid};
use super::engine::{Engine, EngineError, if_known};
use super::logs::Logs;
use super::newcomer::Newcomer;
use super::oom::{KernelLog, OomKills};
use super::owner::run_dir;
use super::watch::Watch;
use super::{ControllerDir, Exit, Image, StartOptions, TargetError};
use crate::clock;
use crate::plan::TargetSpec;

/// How long a target may take to end by itself after its signal, s.
const GRACE_S: i32 = 3;
/// How long an engine may take to notice an end that the kernel has told already, ns.
const NOTICED_WITHIN_NS: u64 = 2_000_000_000;
/// Between two looks whether it has.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// A container that we made. Dropping it removes it.
#[derive(Debug)]
pub(super) struct OwnContainer {
    engine: Engine,
    id: String,
    /// What it was made of.
    pub(super) image: Image,
    logs: Logs,
    /// Its output is in the logs already.
    is_told: bool,
    began_ns: u64,
    /// The order to start it, while the engine works on it.
    starting: Option<JoinHandle<Result<(), EngineError>>>,
    alive: Option<Alive>,
    oom: OomKills,
    exit: Option<Exit>,
}

/// Its first process, once there is one.
#[derive(Debug)]
struct Alive {
    process: FirstProcess,
    watch: Watch,
}

impl OwnContainer {
    /// Whether one can be made: an engine is there, and it has the image.
    ///
    /// # Errors
    /// Why not.
    pub(super) fn can_be_made(reference: &str, spec: &TargetSpec) -> Result<(), EngineError> {
        Engine::with_image(reference, spec.engine.as_deref()).map(drop)
    }

    /// Makes it; nothing runs yet.
    ///
    /// # Errors
    /// When no engine has the image, or it refuses.
    pub(super) fn create(
        reference: &str,
        spec: &TargetSpec,
        options: &StartOptions<'_>,
    ) -> Result<Self, TargetError> {
        let logs = Logs::open(options.logs_dir, &spec.name)?;
        let (engine, image) = Engine::with_image(reference, spec.engine.as_deref())?;
        // Named by its socket, it may be one that a look at the usual places does not find.
        remove_leftovers_at(&engine)?;
        let run = run_dir(options.run_id).map_err(super::cgroup::CgroupError::from)?;
        let order = order::order(spec, &image.id, &run)?;
        let made =
            engine.order(async |client| client.create_container(None, order.clone()).await)?;
        let oom = OomKills::watch(None).with_log(KernelLog::open(&made.id, None));
        Ok(Self {
            engine,
            id: made.id,
            image,
            logs,
            is_told: false,
            began_ns: 0,
            starting: None,
            alive: None,
            oom,
            exit: None,
        })
    }

    /// Orders the engine to start it, and does not wait until that is done.
    ///
    /// # Errors
    /// When the engine cannot be asked.
    pub(super) fn start(&mut self) -> Result<(), EngineError> {
        let (engine, id) = (self.engine.clone(), self.id.clone());
        let (tell, told) = mpsc::channel();
        let started = std::thread::Builder::new().name("container".into()).spawn(move || {
            engine.order(async |client| {
                // What came before was to agree on a version, which is no part of a start.
                tell.send(clock::now_ns()).ok();
                client.start_container(&id, None).await
            })
        });
        let starting = started.map_err(|error| self.engine.fails(error))?;
        match told.recv() {
            Ok(began_ns) => self.began_ns = began_ns,
            // The thread ended before that, with the reason.
            Err(mpsc::RecvError) => return joined(starting, &self.engine),
        }
        self.starting = Some(starting);
        Ok(())
    }

    /// Waits until the engine has started it, and takes hold of its process.
    ///
    /// # Errors
    /// When it cannot be started.
    pub(super) fn settle(&mut self) -> Result<(), EngineError> {
        let Some(starting) = self.starting.take() else { return Ok(()) };
        joined(starting, &self.engine)?;
        let found = inspect(&self.engine, &self.id)?;
        let restarts = found.restart_count.unwrap_or(0);
        let process = running_pid(&found).ok().and_then(|pid| {
            let (engine, id) = (self.engine.clone(), self.id.clone());
            let watch = Watch::open(pid).ok()?;
            Some(Alive { process: FirstProcess { engine, id, pid, restarts }, watch })
        });
        match process {
            Some(alive) => self.alive = Some(alive),
            // It has ended already.
            None => self.exit = Some(self.unseen_exit()?),
        }
        Ok(())
    }

    /// Its first process, while it has one.
    pub(super) fn pid(&self) -> Option<u32> {
        self.alive.as_ref().map(|alive| alive.process.pid)
    }

    /// Reads its own memory controller too, once its cgroup is known.
    pub(super) fn attend_to_memory(&mut self, memory: Option<&ControllerDir>) {
        self.oom.attend(memory, self.pid());
    }

    /// How its first process ended, if it has and the engine has noticed; never blocks for long.
    pub(super) fn poll_exit(&mut self) -> Option<Exit> {
        if self.exit.is_none()
            && let Some(alive) = &self.alive
            && alive.watch.has_ended().unwrap_or(false)
        {
            self.exit = alive.process.exit(self.oom.happened());
        }
        self.exit.clone()
    }

    /// Ends it as its image wants to be ended, kills it after a grace period, and removes it.
    #[must_use]
    pub(super) fn stop(mut self) -> Exit {
        let runs = |alive: &Alive| !alive.watch.has_ended().unwrap_or(true);
        let by_us = self.exit.is_none() && self.alive.as_ref().is_some_and(runs);
        if by_us && let Err(error) = self.order_to_stop() {
            log::warn!("cannot stop container {}: {error}", self.id);
        }
        let exit = self.noticed_exit();
        Exit { by_us, ..exit.unwrap_or_else(|| Exit::of_stranger(self.oom.happened())) }
    }

    fn order_to_stop(&self) -> Result<(), EngineError> {
        self.engine.order(async |client| {
            let grace = StopContainerOptions { t: Some(GRACE_S), signal: None };
            client.stop_container(&self.id, Some(grace)).await
        })
    }

    /// The end of a process that has ended, as soon as the engine has noticed it too.
    fn noticed_exit(&mut self) -> Option<Exit> {
        let deadline_ns = clock::now_ns() + NOTICED_WITHIN_NS;
        loop {
            let exit = self.poll_exit();
            if exit.is_some() || clock::now_ns() > deadline_ns {
                return exit;
            }
            std::thread::sleep(LOOK_AGAIN);
        }
    }

    /// The end of one that the engine has started and whose process was never seen.
    fn unseen_exit(&mut self) -> Result<Exit, EngineError> {
        let deadline_ns = clock::now_ns() + NOTICED_WITHIN_NS;
        loop {
            let found = inspect(&self.engine, &self.id)?;
            let state = found.state.unwrap_or_default();
            if state.running != Some(true) || clock::now_ns() > deadline_ns {
                return Ok(ended(&state, Exit::of_stranger(self.oom.happened())));
            }
            std::thread::sleep(LOOK_AGAIN);
        }
    }
}

impl Newcomer for OwnContainer {
    fn began_ns(&self) -> u64 {
        self.began_ns
    }

    fn ended(&mut self) -> Result<Option<Exit>, TargetError> {
        if self.starting.as_ref().is_some_and(|starting| !starting.is_finished()) {
            return Ok(None);
        }
        self.settle()?;
        Ok(self.poll_exit())
    }

    fn tell(&mut self) {
        if std::mem::replace(&mut self.is_told, true) {
            return;
        }
        if let Err(error) = output::copy(&self.engine, &self.id, &self.logs) {
            log::warn!("the output of container {} is not kept: {error}", self.id);
        }
    }
}

impl Drop for OwnContainer {
    fn drop(&mut self) {
        // What the engine is at it must end first.
        if let Some(starting) = self.starting.take()
            && let Err(error) = joined(starting, &self.engine)
        {
            log::debug!("{error}");
        }
        self.tell();
        if let Err(error) = remove(&self.engine, &self.id) {
            log::warn!("container {} stays, the next run will try again: {error}", self.id);
        }
    }
}

/// Removes a container, also one that runs, with the volumes that were made for it.
fn remove(engine: &Engine, id: &str) -> Result<(), EngineError> {
    let options = RemoveContainerOptions { v: true, force: true, link: false };
    let removed =
        engine.order(async |client| if_known(client.remove_container(id, Some(options)).await));
    removed.map(drop)
}

fn inspect(engine: &Engine, id: &str) -> Result<ContainerInspectResponse, EngineError> {
    engine.ask(async |client| client.inspect_container(id, None).await)
}

fn joined(
    starting: JoinHandle<Result<(), EngineError>>,
    engine: &Engine,
) -> Result<(), EngineError> {
    starting.join().unwrap_or_else(|_panic| Err(engine.fails("the order to start it was lost")))
}

#[cfg(test)]
mod tests;
