//! One execution of a prepared command, from its release to its end: what `exec` and the jobs of a
//! plan have in common.
//!
//! It is counted from a reading on that was made while the command was still stopped before its
//! `execve`, so nothing of it is missed and nothing before it is in it. Ratios and rates are over its
//! own time, from the release to the end, and not over the time between the readings.

use std::io;
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
    /// Its main process ended, and whether others run on cannot be read.
    Unseen,
}

/// A command that was run.
#[derive(Debug)]
pub struct Execution {
    /// From its release to its end, ns; the window of its sample is the same, unless processes of it
    /// run on that were not to be waited for.
    pub wall_ns: u64,
    /// How its main process ended.
    pub exit: Exit,
    /// Why it is over.
    pub ending: Ending,
    /// What it did; `None` where nobody watched.
    pub sample: Option<Sample>,
}

/// A command whose time is over and which is not yet counted to its last switch.
pub struct Over {
    started: Started,
    observers: Option<ObserverSet>,
    wall_ns: u64,
    ending: Ending,
}

/// Releases a command, waits for its end and counts it; its observers have begun.
///
/// # Errors
/// When the kernel cannot execute it.
pub fn execute(
    spawned: Spawned,
    observers: Option<ObserverSet>,
    watched: Watched<'_>,
) -> Result<Execution, TargetError> {
    Ok(run_out(spawned, observers, watched)?.counted())
}

/// Releases a command and waits for its end, for callers that read more at that moment; its
/// observers have begun.
///
/// # Errors
/// When the kernel cannot execute it.
pub fn run_out(
    spawned: Spawned,
    mut observers: Option<ObserverSet>,
    watched: Watched<'_>,
) -> Result<Over, TargetError> {
    let mut started = spawned.release()?;
    let released_ns = started.released_ns();
    if let Some(observers) = &mut observers {
        observers.released(released_ns);
    }
    let ending = wait(&mut started, observers.as_mut(), watched);
    let over_ns = clock::now_ns();
    // What runs on is counted to the reading, and then its time goes to there too.
    let is_over = watched.to_the_last_process || is_empty(&started).is_ok_and(|is_empty| is_empty);
    if let Some(observers) = observers.as_mut().filter(|_| is_over) {
        observers.over(over_ns);
    }
    Ok(Over { started, observers, wall_ns: over_ns - released_ns, ending })
}

impl Over {
    /// Counts it, when its last threads are in the kernel's books, and removes its cgroup.
    #[must_use]
    pub fn counted(self) -> Execution {
        let Self { started, mut observers, wall_ns, ending } = self;
        let sample = observers.as_mut().and_then(|observers| {
            if ending == Ending::Ended {
                observers.settle();
            }
            observers.end()
        });
        Execution { wall_ns, exit: started.stop(), ending, sample }
    }
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
            if !watched.to_the_last_process {
                return Ending::Ended;
            }
            match is_empty(started) {
                Ok(true) => return Ending::Ended,
                Ok(false) => std::thread::sleep(LOOK_AGAIN),
                Err(error) => {
                    log::warn!("the processes of a cgroup: {error}");
                    return Ending::Unseen;
                }
            }
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

/// Whether no process is left in its cgroup.
///
/// # Errors
/// When that cannot be read, or the cgroup is in no v2 tree.
fn is_empty(started: &Started) -> io::Result<bool> {
    let dir = started.cgroup().v2();
    let dir = dir.as_result().map_err(|why| io::Error::other(why.to_string()))?;
    Ok(processes_below(dir)?.is_empty())
}
