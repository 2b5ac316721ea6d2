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
    state: Arc<(Mutex<Option<&'static str>>, Condvar)>,
    came: Arc<AtomicBool>,
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
        *self.state.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until this instant of [`clock::now_ns`]; `false` when a signal ended the wait.
    #[must_use]
    pub fn wait_until(&self, deadline_ns: u64) -> bool {
        let (lock, wake) = &*self.state;
        let mut signal = lock.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if signal.is_some() {
                return false;
            }
            let left = deadline_ns.saturating_sub(clock::now_ns());
            if left == 0 {
                return true;
            }
            let waited = wake.wait_timeout(signal, Duration::from_nanos(left));
            signal = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn tell(&self, name: &'static str) {
        *self.state.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(name);
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
}
