//! The loop of one held connection: open it, read it until it ends, open it again.
//!
//! Pause rule. One that ended is opened again after the first pause, one that failed after a
//! pause that doubles with every failure in a row. A stream that ended without an event counts
//! as a failure there, or a server that ends every stream at once would be hammered.

use std::rc::Rc;

use super::super::InFlight;
use super::super::deadline::{Deadline, Timeline};
use super::super::setting::after;
use super::open::{Attempt, Open};
use super::stage::{Current, Opening};
use crate::clock;
use crate::load::failure::Failure;

/// One connection, through all that it needs.
#[derive(Debug)]
pub(super) struct Holder {
    place: usize,
    current: Rc<Current>,
    in_flight: InFlight,
    /// A connection of this place was open before.
    was_open: bool,
    /// The server ended a stream, and none was asked for since.
    has_ended: bool,
    failures_in_a_row: u32,
}

impl Holder {
    pub(super) fn new(place: usize, current: Rc<Current>, in_flight: InFlight) -> Self {
        let (was_open, has_ended, failures_in_a_row) = (false, false, 0);
        Self { place, current, in_flight, was_open, has_ended, failures_in_a_row }
    }

    /// Holds the connection for good.
    pub(super) async fn run(mut self, timeline: Timeline, due_ns: u64) {
        timeline.sleep_until(due_ns).await;
        let mut pauses = false;
        loop {
            // In a box, which is gone while the stream is read.
            let opened = Box::pin(self.open(pauses)).await;
            pauses = true;
            let Some(mut open) = opened else { continue };
            let closed = open.read(&self.current, timeline).await;
            self.in_flight.set(0);
            self.has_ended = closed.ended_stream;
            self.failures_in_a_row = if closed.is_good { 0 } else { self.failures_in_a_row + 1 };
        }
    }

    /// Opens the connection once a stage is under way that takes it; `None` when it failed or was
    /// given up.
    async fn open(&mut self, pauses: bool) -> Option<Open> {
        let current = Rc::clone(&self.current);
        let opening = current.opening().await;
        let open = tokio::select! {
            biased;
            () = current.ended() => None,
            open = self.try_open(&opening, pauses) => open,
        };
        if open.is_none() {
            self.in_flight.set(0);
        }
        open
    }

    async fn try_open(&mut self, opening: &Opening, pauses: bool) -> Option<Open> {
        if pauses {
            opening.pause(self.failures_in_a_row).await;
            if !opening.recorder.accepts_requests(clock::now_ns()) {
                return None;
            }
        }
        let mut timer = Deadline::new(opening.timeline);
        let limit_ns = after(clock::now_ns(), opening.dialer.timeout);
        let connecting = Attempt::connect(opening, self.place, self.was_open);
        let result = timer
            .within(limit_ns, connecting)
            .await
            .unwrap_or_else(|| Err(Failure::connect_timeout(opening.dialer.timeout)));
        let attempt = match result {
            Ok(attempt) => attempt,
            Err(failure) => {
                self.failures_in_a_row += 1;
                opening.recorder.never_sent(clock::now_ns(), failure);
                return None;
            }
        };
        self.was_open = true;
        if std::mem::take(&mut self.has_ended) {
            opening.recorder.events(clock::now_ns(), |events| events.reopened());
        }
        let open = attempt.ask(opening, &mut timer, &self.in_flight).await;
        if open.is_none() {
            self.failures_in_a_row += 1;
        }
        open
    }
}
