//! From the order to start a container to its first process: a thread of its own, so that no
//! question to the engine falls between two questions whether the target is ready.

use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

use bollard::models::{ContainerInspectResponse, ContainerState};
use rustix::io::Errno;

use super::short;
use crate::clock;
use crate::target::container::{FirstProcess, running_pid};
use crate::target::engine::{Engine, EngineError, Wish};
use crate::target::watch::Watch;

/// How long an engine may take to notice an end that the kernel has told already, ns.
pub(super) const NOTICED_WITHIN_NS: u64 = 2_000_000_000;
/// Between two looks whether it has.
pub(super) const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// A container that was started.
#[derive(Debug)]
pub(super) enum Begun {
    /// Its first process is held.
    Alive(Alive),
    /// It ended before that.
    Ended(ContainerState),
}

/// Its first process.
#[derive(Debug)]
pub(super) struct Alive {
    pub(super) process: FirstProcess,
    pub(super) watch: Watch,
}

/// An order to start a container, while the engine works on it.
#[derive(Debug)]
pub(super) struct Beginning {
    engine: Engine,
    thread: JoinHandle<Result<Begun, EngineError>>,
    /// When the order was given, `CLOCK_MONOTONIC` ns.
    pub(super) began_ns: u64,
}

impl Beginning {
    /// Gives the order, and does not wait until it is done.
    ///
    /// # Errors
    /// When the engine cannot be asked.
    pub(super) fn order(engine: &Engine, id: &str) -> Result<Self, EngineError> {
        let (by, container) = (engine.clone(), id.to_owned());
        let (tell, told) = mpsc::channel();
        let thread = std::thread::Builder::new().name("container".into()).spawn(move || {
            by.ask_long(Wish::START, async |client| {
                // What came before was to agree on a version, which is no part of a start.
                tell.send(clock::now_ns()).ok();
                client.start_container(&container, None).await
            })?;
            first_process(&by, &container, NOTICED_WITHIN_NS)
        });
        let thread = thread.map_err(|error| engine.fails(error))?;
        let mut beginning = Self { engine: engine.clone(), thread, began_ns: 0 };
        match told.recv() {
            Ok(began_ns) => beginning.began_ns = began_ns,
            // The thread ended before that, with the reason.
            Err(mpsc::RecvError) => return beginning.done().and(Err(lost(engine))),
        }
        Ok(beginning)
    }

    /// Whether the engine has done it; never blocks.
    pub(super) fn is_done(&self) -> bool {
        self.thread.is_finished()
    }

    /// Waits until it has.
    ///
    /// # Errors
    /// When it cannot be started, or its process cannot be seen.
    pub(super) fn done(self) -> Result<Begun, EngineError> {
        let Self { engine, thread, .. } = self;
        thread.join().unwrap_or_else(|_panic| Err(lost(&engine)))
    }
}

fn lost(engine: &Engine) -> EngineError {
    engine.fails("the order to start a container was lost")
}

/// Takes hold of the first process, or sees that there is none any more. The kernel may know of an
/// end that the engine has yet to notice, so a process that is not there is looked for again.
///
/// # Errors
/// When the engine says that it runs, and it is not seen within `within_ns`.
pub(super) fn first_process(
    engine: &Engine,
    id: &str,
    within_ns: u64,
) -> Result<Begun, EngineError> {
    let deadline_ns = clock::now_ns() + within_ns;
    loop {
        let found = inspect(engine, id)?;
        let state = found.state.clone().unwrap_or_default();
        if state.running != Some(true) {
            return Ok(Begun::Ended(state));
        }
        let why = match running_pid(&found) {
            Ok(pid) => match Watch::open(pid) {
                Ok(watch) => {
                    let restarts = found.restart_count.unwrap_or(0);
                    let (engine, id) = (engine.clone(), id.to_owned());
                    let process = FirstProcess { engine, id, pid, restarts };
                    return Ok(Begun::Alive(Alive { process, watch }));
                }
                Err(error) => {
                    let why = format!("process {pid}: {error}");
                    if Errno::from_io_error(&error) != Some(Errno::SRCH) {
                        return Err(unseen(id, why));
                    }
                    why
                }
            },
            Err(_state) => "the engine tells no process".into(),
        };
        if clock::now_ns() > deadline_ns {
            return Err(unseen(id, why));
        }
        std::thread::sleep(LOOK_AGAIN);
    }
}

fn unseen(id: &str, why: String) -> EngineError {
    EngineError::Unseen(short(id).to_owned(), why)
}

fn inspect(engine: &Engine, id: &str) -> Result<ContainerInspectResponse, EngineError> {
    engine.ask(async |client| client.inspect_container(id, None).await)
}
