//! `observe --metrics`: the figures so far, read when somebody asks for them.
//!
//! A thread of its own takes connections (`server`); what is asked for is read by the thread that
//! observes, because the instruments are in its hands. It is woken for that, so a scrape has the
//! figures of its own moment and not those of a moment before.

mod server;

use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context as _;
use bench_user::clock;
use bench_user::ladder::Interrupt;
use bench_user::observe::Sample;
use bench_user::report::{Exposition, Observation};
use bench_user::target::TargetHandle;
use tokio::sync::oneshot;

use super::say;

/// A reading is handed out again for so many times what it took, so that scrapes take at most a
/// twentieth of the time.
const REST: u64 = 19;

/// Where metrics will be had.
pub(super) struct Endpoint {
    listener: TcpListener,
    address: SocketAddr,
}

/// Scrapes that wait for the thread that observes.
#[derive(Clone)]
struct Scrapes {
    waiting: Arc<Mutex<Vec<oneshot::Sender<Arc<Exposition>>>>>,
    interrupt: Interrupt,
}

/// What the thread that observes answers scrapes with.
pub(super) struct Metrics {
    scrapes: Scrapes,
    observation: Observation,
    last: Option<Reading>,
}

struct Reading {
    shown: Arc<Exposition>,
    at_ns: u64,
    took_ns: u64,
}

impl Endpoint {
    /// Takes the port.
    ///
    /// # Errors
    /// When it cannot be had.
    pub(super) fn bind(address: SocketAddr) -> anyhow::Result<Self> {
        let remedy =
            || format!("cannot serve metrics at {address}: name another port, or 0 for a free one");
        let listener = TcpListener::bind(address).with_context(remedy)?;
        let address = listener.local_addr().with_context(remedy)?;
        Ok(Self { listener, address })
    }

    /// Serves from now on, until the program ends.
    ///
    /// # Errors
    /// When the thread cannot be started.
    pub(super) fn serve(
        self,
        target: &TargetHandle,
        interrupt: &Interrupt,
    ) -> anyhow::Result<Metrics> {
        let scrapes = Scrapes { waiting: Arc::default(), interrupt: interrupt.clone() };
        server::start(self.listener, scrapes.clone()).context("serve metrics")?;
        say(&format!("metrics at http://{}/metrics", self.address));
        Ok(Metrics { scrapes, observation: Observation::of(target), last: None })
    }
}

impl Scrapes {
    /// The figures, when they have been read; an error where nothing is observed any more.
    fn ask(&self) -> oneshot::Receiver<Arc<Exposition>> {
        let (answer, answered) = oneshot::channel();
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).push(answer);
        self.interrupt.nudge();
        answered
    }
}

impl Metrics {
    /// Answers every scrape that waits, all with one reading.
    pub(super) fn answer(&mut self, read: impl FnOnce() -> Option<Sample>) {
        let waiting = std::mem::take(
            &mut *self.scrapes.waiting.lock().unwrap_or_else(PoisonError::into_inner),
        );
        if waiting.is_empty() {
            return;
        }
        let Some(shown) = self.shown(read) else { return };
        for scrape in waiting {
            // One that has gone away wants no answer.
            drop(scrape.send(shown.clone()));
        }
    }

    fn shown(&mut self, read: impl FnOnce() -> Option<Sample>) -> Option<Arc<Exposition>> {
        let at_ns = clock::now_ns();
        let is_fresh = |last: &&Reading| at_ns < last.at_ns + REST * last.took_ns;
        if let Some(last) = self.last.as_ref().filter(is_fresh) {
            return Some(last.shown.clone());
        }
        let shown = Arc::new(self.observation.take_in(&read()?));
        let end_ns = clock::now_ns();
        self.last = Some(Reading { shown: shown.clone(), at_ns: end_ns, took_ns: end_ns - at_ns });
        Some(shown)
    }
}
