//! Where the connections of one worker write what happened in a stage; one thread, no locks.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::SyncSender;

use super::Window;
use super::control::Control;
use super::events::{Event, EventTally};
use super::failure::Failure;
use super::interval;
use super::pacer::Paced;
use super::published::Piece;
use super::tally::{Ended, Tally};
use super::usage::Edge;
use crate::clock;

/// The counters of one worker in one stage, shared by its connections.
#[derive(Debug)]
pub(super) struct Recorder {
    control: Arc<Control>,
    worker: usize,
    interval_ns: u64,
    is_open_loop: bool,
    tally: RefCell<Tally>,
    live: Live,
    start: Cell<Option<Edge>>,
    /// Where intervals that are over are shown, and how many were.
    pieces: Option<SyncSender<Piece>>,
    published: Cell<u64>,
}

/// How many connections of a worker are open; lives as long as the worker.
#[derive(Debug, Clone, Default)]
pub(super) struct Live(Rc<Cell<u32>>);

/// Held by an open connection.
#[derive(Debug)]
pub(super) struct IsLive(Live);

impl Live {
    /// One more connection is open, until the result is dropped.
    pub(super) fn hold(&self) -> IsLive {
        self.0.set(self.0.get() + 1);
        IsLive(self.clone())
    }
}

impl Drop for IsLive {
    fn drop(&mut self) {
        self.0.0.set(self.0.0.get() - 1);
    }
}

impl Recorder {
    pub(super) fn new(
        control: Arc<Control>,
        worker: usize,
        interval_ns: u64,
        is_open_loop: bool,
        live: Live,
    ) -> Self {
        Self {
            control,
            worker,
            interval_ns,
            is_open_loop,
            tally: RefCell::new(Tally::new()),
            live,
            start: Cell::new(None),
            pieces: None,
            published: Cell::new(0),
        }
    }

    /// It shows every interval there when it is over.
    pub(super) fn publishing(self, pieces: SyncSender<Piece>) -> Self {
        Self { pieces: Some(pieces), ..self }
    }

    /// What ends the stage.
    pub(super) fn control(&self) -> &Control {
        &self.control
    }

    /// Length of an interval, ns.
    pub(super) fn interval_ns(&self) -> u64 {
        self.interval_ns
    }

    /// The window as it is now.
    pub(super) fn window(&self) -> Window {
        self.control.window()
    }

    /// A new request may begin: neither the window's end nor a stop has come.
    pub(super) fn accepts_requests(&self, now_ns: u64) -> bool {
        now_ns < self.window().end_ns
    }

    /// A request begins.
    pub(super) fn begin(&self) {
        let mut tally = self.tally.borrow_mut();
        tally.account.started += 1;
        tally.account.in_flight_at_end += 1;
    }

    /// Connections hold streams in this stage; so many of an earlier one are still open.
    pub(super) fn carried(&self, streams: u64) {
        let mut tally = self.tally.borrow_mut();
        tally.account.carried = streams;
        tally.account.in_flight_at_end = streams;
        tally.events.get_or_insert_with(EventTally::new);
    }

    /// A request that began has ended; it counts in the window if its end lies there.
    pub(super) fn end(&self, ended: Ended) {
        let mut tally = self.tally.borrow_mut();
        tally.settle(&ended);
        let slot = self.control.slot(self.worker);
        slot.show(tally.account.completed, tally.account.failed);
        slot.show_live(self.live.0.get());
        if let Some(interval) = self.interval_of(ended.end_ns) {
            tally.count(ended, interval, self.is_open_loop);
        }
    }

    /// A request that failed before it could be sent, for want of a connection.
    pub(super) fn never_sent(&self, intended_ns: u64, failure: Failure) {
        self.begin();
        let end_ns = clock::now_ns();
        self.end(Ended {
            intended_ns,
            sent_ns: end_ns,
            first_byte_ns: None,
            end_ns,
            bytes_in: 0,
            bytes_out: 0,
            informational: 0,
            is_retried: false,
            is_timed: false,
            how: Err(failure),
        });
    }

    /// A request that was sent at `sent_ns` is given up: the cool-down is over.
    pub(super) fn give_up(&self, sent_ns: u64, now_ns: u64) {
        let age_ns = now_ns.saturating_sub(sent_ns);
        let oldest = &mut self.tally.borrow_mut().account.in_flight_age_ns_max;
        *oldest = (*oldest).max(Some(age_ns));
    }

    /// A connection is open after `took_ns`; `again` when it replaces one that was closed.
    pub(super) fn opened(&self, took_ns: u64, at_ns: u64, again: bool) {
        let mut tally = self.tally.borrow_mut();
        tally.connect.record(took_ns);
        if again && self.interval_of(at_ns).is_some() {
            tally.outcomes.reconnects += 1;
        }
    }

    /// A TLS handshake is done after `took_ns`.
    pub(super) fn secured(&self, took_ns: u64) {
        self.tally.borrow_mut().tls.record(took_ns);
    }

    /// A WebSocket opening handshake is done after `took_ns`.
    pub(super) fn upgraded(&self, took_ns: u64) {
        self.tally.borrow_mut().upgrade.record(took_ns);
    }

    /// A connection is closed because bytes came on it while no request was out.
    pub(super) fn unasked_bytes(&self) {
        if self.interval_of(clock::now_ns()).is_some() {
            self.tally.borrow_mut().outcomes.unasked_bytes += 1;
        }
    }

    /// Writes down what came on a stream that stays open; `change` is called when `at_ns` lies in
    /// the window.
    pub(super) fn events(&self, at_ns: u64, change: impl FnOnce(&mut EventTally)) {
        let is_inside = self.interval_of(at_ns).is_some();
        let mut tally = self.tally.borrow_mut();
        let events = tally.events.get_or_insert_with(EventTally::new);
        if is_inside {
            change(events);
        }
    }

    /// An event came.
    pub(super) fn event(&self, event: Event) {
        self.events(event.at_ns, |events| events.event(event));
    }

    /// A stream had its first event so long after it was asked for; whole stage.
    pub(super) fn first_event(&self, took_ns: u64) {
        self.tally.borrow_mut().events.get_or_insert_with(EventTally::new).first(took_ns);
    }

    /// What became of this worker's part of an open loop's schedule.
    pub(super) fn paced(&self, paced: Paced) {
        self.tally.borrow_mut().paced = Some(paced);
    }

    /// The event loop woke this late.
    pub(super) fn late(&self, lag_ns: u64) {
        self.tally.borrow_mut().lag.record(lag_ns);
    }

    /// Notes the open connections, for the record.
    pub(super) fn sample_live(&self) {
        self.tally.borrow_mut().live.push(self.live.0.get());
    }

    /// Shows the open connections to whoever runs the stage.
    pub(super) fn show_live(&self) {
        self.control.slot(self.worker).show_live(self.live.0.get());
    }

    /// Shows the intervals that are over and were not shown; what finds no room is left out.
    pub(super) fn publish(&self, now_ns: u64) {
        let Some(pieces) = &self.pieces else { return };
        let over = interval::count_over(self.window(), self.interval_ns, now_ns);
        for place in self.published.get()..over {
            let nth = usize::try_from(place).unwrap_or(usize::MAX);
            let piece = self.tally.borrow().intervals.get(nth).cloned();
            drop(pieces.try_send((place, piece)));
        }
        self.published.set(over.max(self.published.get()));
    }

    /// The window begins for this worker.
    pub(super) fn enter_window(&self) {
        self.start.set(Some(Edge::now()));
    }

    /// The window ends for this worker; only the first call after its begin counts.
    pub(super) fn leave_window(&self) {
        if let Some(start) = self.start.take() {
            self.tally.borrow_mut().usage = start.until(Edge::now());
        }
    }

    /// What was counted, for good: nothing is counted any more.
    pub(super) fn into_tally(self) -> Tally {
        self.tally.into_inner()
    }

    /// Which interval of the window an instant lies in, if any.
    fn interval_of(&self, at_ns: u64) -> Option<usize> {
        let window = self.window();
        let is_inside = (window.start_ns..window.end_ns).contains(&at_ns);
        let since = at_ns.saturating_sub(window.start_ns) / self.interval_ns;
        is_inside.then_some(usize::try_from(since).ok()).flatten()
    }
}

#[cfg(test)]
mod tests;
