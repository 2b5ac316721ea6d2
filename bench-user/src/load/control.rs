//! What the workers of a stage share: when it ends, and a slot each to show how far they are.
//!
//! Written rarely (the end) or by one thread only (a slot, on cache lines of its own), so that
//! workers do not slow each other.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use tokio::sync::watch;

use super::{Progress, Window};
use crate::clock;

/// Shared by the workers and whoever runs the stage.
#[derive(Debug)]
pub(super) struct Control {
    start_ns: u64,
    end_ns: AtomicU64,
    stopped: watch::Sender<bool>,
    slots: Box<[Slot]>,
}

/// One worker's progress; 128 bytes, since CPUs fetch cache lines in pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(super) struct Slot {
    completed: AtomicU64,
    failed: AtomicU64,
    live: AtomicU32,
}

impl Slot {
    pub(super) fn show(&self, completed: u64, failed: u64) {
        self.completed.store(completed, Relaxed);
        self.failed.store(failed, Relaxed);
    }

    pub(super) fn show_live(&self, live: u32) {
        self.live.store(live, Relaxed);
    }
}

impl Control {
    pub(super) fn new(window: Window, workers: usize) -> Self {
        Self {
            start_ns: window.start_ns,
            end_ns: AtomicU64::new(window.end_ns),
            stopped: watch::Sender::new(false),
            slots: std::iter::repeat_with(Slot::default).take(workers).collect(),
        }
    }

    /// The window as it is now: [`Self::stop`] brings its end forward.
    pub(super) fn window(&self) -> Window {
        Window { start_ns: self.start_ns, end_ns: self.end_ns.load(Relaxed) }
    }

    /// Ends the window now and asks the workers to give up what is in flight.
    pub(super) fn stop(&self) {
        self.end_ns.fetch_min(clock::now_ns(), Relaxed);
        self.stopped.send_replace(true);
    }

    /// Whether [`Self::stop`] was called.
    pub(super) fn is_stopped(&self) -> bool {
        *self.stopped.borrow()
    }

    /// Returns when [`Self::stop`] was called.
    pub(super) async fn stopped(&self) {
        // An error would mean that the sender is gone, and it is this very struct.
        drop(self.stopped.subscribe().wait_for(|stopped| *stopped).await);
    }

    pub(super) fn slot(&self, worker: usize) -> &Slot {
        &self.slots[worker]
    }

    pub(super) fn progress(&self) -> Progress {
        self.slots.iter().fold(Progress::default(), |sum, slot| Progress {
            completed: sum.completed + slot.completed.load(Relaxed),
            failed: sum.failed + slot.failed.load(Relaxed),
            live: sum.live + slot.live.load(Relaxed),
        })
    }
}
