//! What the connections of a worker have in common in one stage, whichever protocol they speak.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use super::deadline::Timeline;
use super::desk::Desk;
use crate::clock;
use crate::load::LoadSetup;
use crate::load::dial::Dialer;
use crate::load::pause::pause_ns;
use crate::load::recorder::{Live, Recorder};
use crate::load::requests::Requests;
use crate::units::ns;

/// Shared by all of them, and cheap to copy.
#[derive(Debug, Clone)]
pub(super) struct Setting {
    pub(super) setup: Arc<LoadSetup>,
    pub(super) requests: Requests,
    pub(super) dialer: Dialer,
    pub(super) live: Live,
    pub(super) recorder: Rc<Recorder>,
    pub(super) desk: Rc<Desk>,
    pub(super) timeline: Timeline,
}

impl Setting {
    pub(super) fn limit_ns(&self, start_ns: u64) -> u64 {
        after(start_ns, self.setup.timeout)
    }

    /// Not past the window's end, where nothing is left to wait for.
    pub(super) async fn pause(&self, failures_in_a_row: u32) {
        let until_ns = clock::now_ns() + pause_ns(failures_in_a_row);
        self.timeline.sleep_until(until_ns.min(self.recorder.window().end_ns)).await;
    }
}

pub(super) fn after(start_ns: u64, span: Duration) -> u64 {
    start_ns.saturating_add(ns(span))
}
