//! Where the connections of one worker write what happened; one thread, no locks.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use super::control::Control;
use super::tally::{Ended, Tally};
use super::usage::Edge;
use super::{StageLoad, Window};
use crate::clock;

/// The counters of one worker, shared by its tasks.
#[derive(Debug)]
pub(super) struct Recorder {
    control: Arc<Control>,
    worker: usize,
    interval_ns: u64,
    tally: RefCell<Tally>,
    live: Cell<u32>,
    start: Cell<Option<Edge>>,
}

impl Recorder {
    pub(super) fn new(control: Arc<Control>, worker: usize, interval_ns: u64) -> Self {
        let tally = RefCell::new(Tally::new());
        Self { control, worker, interval_ns, tally, live: Cell::new(0), start: Cell::new(None) }
    }

    /// Returns when connections with nothing in flight may be closed.
    pub(super) async fn may_close(&self) {
        self.control.may_close().await;
    }

    /// The window as it is now.
    pub(super) fn window(&self) -> Window {
        self.control.window()
    }

    /// A new request may begin: neither the window's end nor a stop has come.
    pub(super) fn accepts_requests(&self) -> bool {
        clock::now_ns() < self.window().end_ns
    }

    /// A request begins.
    pub(super) fn begin(&self) {
        let mut tally = self.tally.borrow_mut();
        tally.account.started += 1;
        tally.account.in_flight_at_end += 1;
    }

    /// A request that began has ended; it counts in the window if its end lies there.
    pub(super) fn end(&self, ended: Ended) {
        let mut tally = self.tally.borrow_mut();
        tally.account.in_flight_at_end -= 1;
        match ended.how {
            Ok(_) => tally.account.completed += 1,
            Err(_) => tally.account.failed += 1,
        }
        let slot = self.control.slot(self.worker);
        slot.show(tally.account.completed, tally.account.failed);
        if let Some(interval) = self.interval_of(ended.end_ns) {
            tally.count(ended, interval);
        }
    }

    /// A connection is open after `took_ns`; `again` when it replaces one that was closed.
    pub(super) fn opened(&self, took_ns: u64, at_ns: u64, again: bool) {
        let mut tally = self.tally.borrow_mut();
        tally.connect.record(took_ns);
        if again && self.interval_of(at_ns).is_some() {
            tally.outcomes.reconnects += 1;
        }
        self.set_live(self.live.get() + 1);
    }

    /// A connection is no longer open.
    pub(super) fn closed(&self) {
        self.set_live(self.live.get() - 1);
    }

    /// The event loop woke this late.
    pub(super) fn late(&self, lag_ns: u64) {
        self.tally.borrow_mut().lag.record(lag_ns);
    }

    pub(super) fn sample_live(&self) {
        self.tally.borrow_mut().live.push(self.live.get());
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

    /// What was counted.
    pub(super) fn into_tally(self) -> Tally {
        self.tally.into_inner()
    }

    fn set_live(&self, live: u32) {
        self.live.set(live);
        self.control.slot(self.worker).show_live(live);
    }

    /// Which interval of the window an instant lies in, if any.
    fn interval_of(&self, at_ns: u64) -> Option<usize> {
        let window = self.window();
        let is_inside = (window.start_ns..window.end_ns).contains(&at_ns);
        let since = at_ns.saturating_sub(window.start_ns) / self.interval_ns;
        is_inside.then_some(usize::try_from(since).ok()).flatten()
    }
}

/// The length of an interval: as asked, or the whole window.
pub(super) fn interval_ns(stage: &StageLoad) -> u64 {
    match stage.interval_ns {
        0 => stage.window.end_ns.saturating_sub(stage.window.start_ns).max(1),
        ns => ns,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorder(start_ns: u64, end_ns: u64) -> Recorder {
        Recorder::new(Arc::new(Control::new(Window { start_ns, end_ns }, 1)), 0, 100)
    }

    fn ending_at(recorder: &Recorder, end_ns: u64) {
        recorder.begin();
        recorder.end(Ended {
            start_ns: end_ns - 1,
            end_ns,
            bytes_in: 0,
            bytes_out: 0,
            is_retried: false,
            how: Ok(200),
            is_timed: true,
        });
    }

    #[test]
    fn a_request_counts_in_the_window_of_its_end_and_always_in_the_account() {
        //           1000        1100        1200 = end
        //  999 |out  | 1000 1099 | 1100 1199 | 1200 out
        let recorder = recorder(1000, 1200);
        for end_ns in [999, 1000, 1099, 1100, 1199, 1200] {
            ending_at(&recorder, end_ns);
        }
        recorder.begin();
        let tally = recorder.into_tally();
        assert_eq!(tally.outcomes.ok, 4);
        assert_eq!((tally.account.started, tally.account.completed), (7, 6));
        assert_eq!((tally.account.failed, tally.account.in_flight_at_end), (0, 1));
        assert_eq!(tally.intervals.len(), 2);
    }

    #[test]
    fn open_connections_are_sampled_as_they_are_then() {
        let recorder = recorder(0, u64::MAX);
        recorder.sample_live();
        for _ in 0..3 {
            recorder.opened(5, 10, false);
        }
        recorder.sample_live();
        recorder.closed();
        recorder.sample_live();
        assert_eq!(recorder.control.progress().live, 2);
        recorder.opened(5, 20, true);
        let tally = recorder.into_tally();
        assert_eq!((tally.live, tally.outcomes.reconnects), (vec![0, 3, 2], 1));
        assert_eq!(tally.connect.distribution().count, 4);
    }

    #[test]
    fn a_stop_ends_the_window_and_the_requests() {
        let recorder = recorder(0, u64::MAX);
        assert!(recorder.accepts_requests());
        recorder.control.stop();
        assert!(!recorder.accepts_requests());
        ending_at(&recorder, u64::MAX - 1);
        assert_eq!(recorder.into_tally().outcomes.ok, 0);
    }
}
