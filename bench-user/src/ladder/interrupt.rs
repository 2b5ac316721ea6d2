//! Ctrl-C and friends: a wait that a signal ends early.
//!
//! A run that is told to stop keeps every finished stage, stops its target and removes what it
//! made, so nothing may sleep through a signal.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result};
use tokio::signal::unix::{SignalKind, signal};

use crate::clock;

/// Says whether the user wants the program to end, and by which signal.
#[derive(Debug, Clone, Default)]
pub struct Interrupt {
    state: Arc<(Mutex<State>, Condvar)>,
    came: Arc<AtomicBool>,
}

/// What may end a wait before its time.
#[derive(Debug, Clone, Copy, Default)]
struct State {
    signal: Option<&'static str>,
    is_nudged: bool,
}

/// How a wait ended that a nudge may end too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waited {
    /// At its time.
    Reached,
    /// By [`Interrupt::nudge`].
    Nudged,
    /// By a signal.
    Interrupted,
}

impl Interrupt {
    /// From now on SIGINT, SIGTERM and SIGHUP end waits instead of the program.
    ///
    /// # Errors
    /// When the signals cannot be taken over or the thread that waits for them cannot start.
    pub fn install() -> Result<Self> {
        let interrupt = Self::default();
        let told = interrupt.clone();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        // Taken over before the thread runs, so that no signal falls into the gap.
        let mut signals = {
            let _inside = runtime.enter();
            [
                (signal(SignalKind::interrupt())?, "SIGINT"),
                (signal(SignalKind::terminate())?, "SIGTERM"),
                (signal(SignalKind::hangup())?, "SIGHUP"),
            ]
        };
        std::thread::Builder::new()
            .name("signals".into())
            .spawn(move || {
                runtime.block_on(async {
                    let [(int, int_name), (term, term_name), (hup, hup_name)] = &mut signals;
                    loop {
                        let name = tokio::select! {
                            _ = int.recv() => *int_name,
                            _ = term.recv() => *term_name,
                            _ = hup.recv() => *hup_name,
                        };
                        told.tell(name);
                    }
                });
            })
            .context("start the thread that waits for signals")?;
        Ok(interrupt)
    }

    /// Whether one came, for modules that cannot know this one.
    #[must_use]
    pub fn flag(&self) -> &AtomicBool {
        &self.came
    }

    /// The signal that came, if one did.
    #[must_use]
    pub fn signal(&self) -> Option<&'static str> {
        self.state.0.lock().unwrap_or_else(PoisonError::into_inner).signal
    }

    /// Waits until this instant of [`clock::now_ns`]; `false` when a signal ended the wait.
    #[must_use]
    pub fn wait_until(&self, deadline_ns: u64) -> bool {
        self.wait(deadline_ns, false) == Waited::Reached
    }

    /// The same, but a nudge ends it as well, also one that came before.
    #[must_use]
    pub fn wait_until_or_nudge(&self, deadline_ns: u64) -> Waited {
        self.wait(deadline_ns, true)
    }

    /// Another thread has work for the one that waits.
    pub fn nudge(&self) {
        self.state.0.lock().unwrap_or_else(PoisonError::into_inner).is_nudged = true;
        self.state.1.notify_all();
    }

    fn wait(&self, deadline_ns: u64, heeds_nudges: bool) -> Waited {
        let (lock, wake) = &*self.state;
        let mut state = lock.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if state.signal.is_some() {
                return Waited::Interrupted;
            }
            if heeds_nudges && std::mem::take(&mut state.is_nudged) {
                return Waited::Nudged;
            }
            let left = deadline_ns.saturating_sub(clock::now_ns());
            if left == 0 {
                return Waited::Reached;
            }
            let waited = wake.wait_timeout(state, Duration::from_nanos(left));
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn tell(&self, name: &'static str) {
        self.state.0.lock().unwrap_or_else(PoisonError::into_inner).signal = Some(name);
        self.came.store(true, Ordering::Relaxed);
        self.state.1.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_ends_a_long_wait_and_every_later_one() {
        let interrupt = Interrupt::default();
        assert!(interrupt.wait_until(clock::now_ns()), "a deadline that is past is reached");
        let waiter = interrupt.clone();
        let waiting = std::thread::spawn(move || waiter.wait_until(u64::MAX));
        interrupt.tell("SIGINT");
        assert!(!waiting.join().unwrap());
        assert!(!interrupt.wait_until(u64::MAX));
        assert_eq!(interrupt.signal(), Some("SIGINT"));
    }

    #[test]
    fn a_nudge_ends_one_wait_that_heeds_it() {
        let interrupt = Interrupt::default();
        let waiter = interrupt.clone();
        let waiting = std::thread::spawn(move || waiter.wait_until_or_nudge(u64::MAX));
        interrupt.nudge();
        assert_eq!(waiting.join().unwrap(), Waited::Nudged);
        let now = clock::now_ns();
        assert_eq!(interrupt.wait_until_or_nudge(now), Waited::Reached);
        interrupt.nudge();
        assert!(interrupt.wait_until(now), "this one does not heed it");
        interrupt.tell("SIGINT");
        assert_eq!(interrupt.wait_until_or_nudge(u64::MAX), Waited::Interrupted);
    }
}
