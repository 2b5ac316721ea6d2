//! One execution of a prepared command, from its release to its end: what `exec` and the jobs of a
//! plan have in common.
//!
//! The window begins while the command is still stopped before its `execve`, so nothing of it is
//! missed and nothing before it is counted.

use std::path::PathBuf;
use std::time::Duration;

use super::Interrupt;
use crate::clock;
use crate::host::processes_below;
use crate::observe::{ObserverSet, Sample};
use crate::target::{Exit, Spawned, Started, TargetError};

/// How often a signal is looked for while the command runs, ns.
const POLL_NS: u64 = 50_000_000;

/// Between two looks whether what the main process started has ended too.
const LOOK_AGAIN: Duration = Duration::from_millis(1);

/// Until when a command is watched.
#[derive(Debug, Clone, Copy)]
pub struct Watched<'a> {
    /// Ends it early.
    pub interrupt: &'a Interrupt,
    /// It may take no longer, ns.
    pub timeout_ns: Option<u64>,
    /// It has ended when no process of its cgroup is left, not with its main process.
    pub to_the_last_process: bool,
}

/// How the wait for a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// By itself.
    Ended,
    /// It took too long and was ended by us.
    TimedOut,
    /// This signal ended it.
    Interrupted(&'static str),
}

/// A command that was run.
#[derive(Debug)]
pub struct Execution {
    /// From its release to its end, ns.
    pub wall_ns: u64,
    /// How its main process ended.
    pub exit: Exit,
    /// Why it is over.
    pub ending: Ending,
    /// What it did; `None` where nobody watched.
    pub sample: Option<Sample>,
}

/// Releases a command, waits for its end and counts it.
///
/// # Errors
/// When the kernel cannot execute it.
pub fn execute(
    spawned: Spawned,
    mut observers: Option<ObserverSet>,
    watched: Watched<'_>,
) -> Result<Execution, TargetError> {
    if let Some(observers) = &mut observers {
        observers.begin();
    }
    let mut started = spawned.release()?;
    let ending = wait(&mut started, observers.as_mut(), watched);
    let wall_ns = clock::now_ns() - started.released_ns();
    let sample = observers.as_mut().and_then(|observers| {
        if ending == Ending::Ended {
            observers.settle();
        }
        observers.end()
    });
    Ok(Execution { wall_ns, exit: started.stop(), ending, sample })
}

fn wait(
    started: &mut Started,
    mut observers: Option<&mut ObserverSet>,
    watched: Watched<'_>,
) -> Ending {
    let deadline_ns = watched.timeout_ns.map(|ns| started.released_ns().saturating_add(ns));
    let mut next_look_ns = clock::now_ns() + POLL_NS;
    loop {
        let now_ns = clock::now_ns();
        let left_ns = deadline_ns.map_or(POLL_NS, |at| at.saturating_sub(now_ns));
        if started.exits_within(left_ns.min(POLL_NS)).is_some() {
            if !watched.to_the_last_process || is_empty(started) {
                return Ending::Ended;
            }
            std::thread::sleep(LOOK_AGAIN);
        }
        if let Some(signal) = watched.interrupt.signal() {
            return Ending::Interrupted(signal);
        }
        let now_ns = clock::now_ns();
        if deadline_ns.is_some_and(|at| now_ns >= at) {
            return Ending::TimedOut;
        }
        if let Some(observers) = observers.as_deref_mut().filter(|_| now_ns >= next_look_ns) {
            // Takes ended threads out of the hash, which a command that forks a lot would fill.
            observers.look();
            next_look_ns = clock::now_ns() + POLL_NS;
        }
    }
}

/// Whether no process is left in its cgroup. Where that cannot be read, there is nothing to wait
/// for.
fn is_empty(started: &Started) -> bool {
    let dir = started.cgroup().v2();
    let left = dir.value().map(PathBuf::as_path).map(processes_below);
    left.and_then(Result::ok).is_none_or(|pids| pids.is_empty())
}
