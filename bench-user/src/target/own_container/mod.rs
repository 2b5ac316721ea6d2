//! A container of our own: made of a local image, started, watched, stopped, removed.
//!
//! ```text
//! create: the container, with a label that names the run
//! start:  the order to start it; from here on its age is counted, and it is asked whether it is
//!         ready while the engine still works on the order
//! settle: the engine has done so (`begin`); its process is held and its cgroup found
//! stop:   the image's own signal, a grace period, SIGKILL; the engine tells the end
//! drop:   its output is kept, and it is removed with the volumes that were made for it
//! ```
//!
//! The cgroup comes from the process, never from the engine's words.

mod begin;
mod creation;
mod leftovers;
mod output;

use std::sync::Arc;

use bollard::Docker;
use bollard::query_parameters::{RemoveContainerOptions, StopContainerOptions};

pub use leftovers::remove_left_containers;

use self::begin::{Alive, Beginning, Begun, LOOK_AGAIN, NOTICED_WITHIN_NS};
use super::container::ended;
use super::engine::{Engine, EngineError, Wish, if_known};
use super::logs::Logs;
use super::newcomer::Newcomer;
use super::oom::{KernelLog, OomKills};
use super::owner::mark;
use super::{ControllerDir, Exit, Image, TargetError};
use crate::clock;
use crate::plan::TargetSpec;

/// How long a target may take to end by itself after its signal, s.
const GRACE_S: i32 = 3;
/// A container that we made. Dropping it removes it.
#[derive(Debug)]
pub(super) struct OwnContainer {
    engine: Engine,
    id: String,
    /// What it was made of.
    pub(super) image: Image,
    logs: Arc<Logs>,
    /// Its output is in the logs already.
    is_told: bool,
    began_ns: u64,
    /// Its start, while the engine works on it.
    beginning: Option<Beginning>,
    alive: Option<Alive>,
    oom: OomKills,
    exit: Option<Exit>,
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
        run_id: &str,
        logs: Arc<Logs>,
    ) -> Result<Self, TargetError> {
        let (engine, image) = Engine::with_image(reference, spec.engine.as_deref())?;
        let run = mark(run_id).map_err(super::cgroup::CgroupError::from)?;
        let body = creation::body(spec, &image.id, &run)?;
        let create = async |client: Docker| client.create_container(None, body).await;
        let made = engine.ask_long(Wish::CREATE, create)?;
        let oom = OomKills::watch(None).with_log(KernelLog::open(&made.id, None));
        Ok(Self {
            engine,
            id: made.id,
            image,
            logs,
            is_told: false,
            began_ns: 0,
            beginning: None,
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
        let beginning = Beginning::order(&self.engine, &self.id)?;
        self.began_ns = beginning.began_ns;
        self.beginning = Some(beginning);
        Ok(())
    }

    /// Waits until the engine has started it, and takes hold of its process.
    ///
    /// # Errors
    /// When it cannot be started, or its process cannot be seen.
    pub(super) fn settle(&mut self) -> Result<(), EngineError> {
        let Some(beginning) = self.beginning.take() else { return Ok(()) };
        match beginning.done()? {
            Begun::Alive(alive) => self.alive = Some(alive),
            Begun::Ended(state) => {
                self.exit = Some(ended(&state, Exit::of_stranger(self.oom.happened())));
            }
        }
        Ok(())
    }

    /// Its first process, while it has one.
    pub(super) fn pid(&self) -> Option<u32> {
        self.alive.as_ref().map(|alive| alive.process.pid)
    }

    /// Why it cannot be measured although it runs.
    pub(super) fn unseen(&self, why: &str) -> EngineError {
        EngineError::Unseen(short(&self.id).to_owned(), why.to_owned())
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
        self.engine.ask_long(Wish::STOP, async |client| {
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
}

impl Newcomer for OwnContainer {
    fn began_ns(&self) -> u64 {
        self.began_ns
    }

    fn ended(&mut self) -> Result<Option<Exit>, TargetError> {
        if self.beginning.as_ref().is_some_and(|beginning| !beginning.is_done()) {
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
        if let Some(beginning) = self.beginning.take()
            && let Err(error) = beginning.done()
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
    let removed = engine.ask_long(Wish::REMOVE, async |client| {
        if_known(client.remove_container(id, Some(options)).await)
    });
    removed.map(drop)
}

/// As people see it.
fn short(id: &str) -> &str {
    id.get(..12).unwrap_or(id)
}

#[cfg(test)]
mod tests;
