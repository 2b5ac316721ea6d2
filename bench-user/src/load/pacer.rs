//! The open loop of one worker: which requests are due, and which may be sent now.
//!
//! Two cursors run along the same schedule: `noticed`, the next request that the loop has not
//! looked at, and `unsent`, the next one that was not handed to a connection. What lies between
//! them waits, so a queue of any length takes no memory. Knows no clock: every call is told the
//! time.
//!
//! ```text
//!   intended   | | | | | | | |
//!   sent       x x x|waiting|      take() moves `unsent`,
//!               unsent    noticed  notice() moves `noticed`
//! ```

use super::Window;
use super::schedule::Schedule;
use super::timing::Timing;
use crate::plan::CatchUp;
use crate::units::ns;

/// With [`CatchUp::Cap`], late requests are sent at this multiple of the rate.
pub(super) const CAP: f64 = 2.0;

/// The open loop of one worker.
#[derive(Debug)]
pub(super) struct Pacer {
    noticed: Schedule,
    unsent: Schedule,
    waiting: u64,
    policy: CatchUp,
    /// Least time between two sendings of this worker while it catches up, ns.
    gap_ns: u64,
    /// With a cap: not before this instant.
    may_send_ns: u64,
    window: Window,
    paced: Paced,
}

/// What a worker's part of the schedule came to, for requests that were intended in the window.
#[derive(Debug)]
pub(super) struct Paced {
    pub(super) scheduled: u64,
    pub(super) sent: u64,
    pub(super) skipped: u64,
    /// From the intended time to the loop's first look at it.
    pub(super) lateness: Timing,
}

impl Pacer {
    /// `rps` is the rate of all `workers` together, for the cap.
    pub(super) fn new(
        schedule: Schedule,
        policy: CatchUp,
        rps: f64,
        workers: usize,
        window: Window,
    ) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "workers are few")]
        let gap = std::time::Duration::from_secs_f64(workers as f64 / (rps * CAP));
        Self {
            noticed: schedule.clone(),
            unsent: schedule,
            waiting: 0,
            policy,
            gap_ns: ns(gap),
            may_send_ns: 0,
            window,
            paced: Paced { scheduled: 0, sent: 0, skipped: 0, lateness: Timing::new() },
        }
    }

    /// Takes up every request that is due.
    pub(super) fn notice(&mut self, now_ns: u64) {
        while self.noticed.next_ns() <= now_ns && self.noticed.next_ns() < self.window.end_ns {
            let intended_ns = self.noticed.next_ns();
            if self.is_measured(intended_ns) {
                self.paced.scheduled += 1;
                self.paced.lateness.record(now_ns - intended_ns);
            }
            self.waiting += 1;
            self.noticed.advance();
        }
    }

    /// The intended time of a request that may be sent now. Only what was noticed is sent.
    pub(super) fn take(&mut self, now_ns: u64) -> Option<u64> {
        if self.waiting == 0 || self.may_send_ns > now_ns {
            return None;
        }
        let intended_ns = self.pass();
        self.paced.sent += u64::from(self.is_measured(intended_ns));
        if self.policy == CatchUp::Cap {
            self.may_send_ns = now_ns.saturating_add(self.gap_ns);
        }
        Some(intended_ns)
    }

    /// A request that was taken was not sent after all: its lane was given up at that moment.
    pub(super) fn was_not_sent(&mut self, intended_ns: u64) {
        self.paced.sent -= u64::from(self.is_measured(intended_ns));
    }

    /// To be called when no connection is free any more: with [`CatchUp::Skip`], what is still
    /// due then is never sent.
    pub(super) fn none_is_free(&mut self) {
        if self.policy == CatchUp::Skip {
            while self.waiting > 0 {
                let intended_ns = self.pass();
                self.paced.skipped += u64::from(self.is_measured(intended_ns));
            }
        }
    }

    /// When there is something to do next, for a loop with a free connection or without one.
    pub(super) fn wake_ns(&self, is_one_free: bool) -> u64 {
        let due_ns = self.noticed.next_ns();
        if is_one_free && self.waiting > 0 { due_ns.min(self.may_send_ns) } else { due_ns }
    }

    /// The counts, once the window is over; a stop has brought `end_ns` forward. What was not
    /// even noticed by then counts as scheduled too.
    pub(super) fn into_paced(mut self, end_ns: u64) -> Paced {
        self.window.end_ns = self.window.end_ns.min(end_ns);
        self.notice(self.window.end_ns);
        self.paced
    }

    fn pass(&mut self) -> u64 {
        let intended_ns = self.unsent.next_ns();
        self.unsent.advance();
        self.waiting -= 1;
        intended_ns
    }

    fn is_measured(&self, intended_ns: u64) -> bool {
        (self.window.start_ns..self.window.end_ns).contains(&intended_ns)
    }
}

impl Paced {
    /// Adds another worker's part.
    pub(super) fn merge(&mut self, other: &Self) {
        self.scheduled += other.scheduled;
        self.sent += other.sent;
        self.skipped += other.skipped;
        self.lateness.merge(&other.lateness);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Arrivals;

    /// 1,000 a second over a window of 10 ms that begins with the schedule.
    fn pacer(policy: CatchUp) -> Pacer {
        let schedule = Schedule::new((1_000.0, Arrivals::Constant, 0), 0, 0, 1);
        let window = Window { start_ns: 0, end_ns: 10 * MS };
        Pacer::new(schedule, policy, 1_000.0, 1, window)
    }

    const MS: u64 = 1_000_000;

    #[test]
    fn late_requests_keep_their_intended_times_and_are_sent_at_once() {
        let mut pacer = pacer(CatchUp::Queue);
        pacer.notice(3 * MS);
        let sent: Vec<_> = std::iter::from_fn(|| pacer.take(3 * MS)).collect();
        assert_eq!(sent, [0, MS, 2 * MS, 3 * MS]);
        assert_eq!(pacer.wake_ns(true), 4 * MS);
        let paced = pacer.into_paced(u64::MAX);
        assert_eq!((paced.scheduled, paced.sent, paced.skipped), (10, 4, 0));
        let lateness = paced.lateness.distribution();
        assert_eq!((lateness.count, lateness.min, lateness.max), (10, Some(0), Some(6 * MS)));
    }

    #[test]
    fn with_skip_what_finds_no_free_connection_is_never_sent() {
        let mut pacer = pacer(CatchUp::Skip);
        pacer.notice(3 * MS);
        assert_eq!(pacer.take(3 * MS), Some(0));
        pacer.none_is_free();
        assert_eq!(pacer.take(3 * MS), None);
        pacer.notice(4 * MS);
        assert_eq!(pacer.take(4 * MS), Some(4 * MS));
        let paced = pacer.into_paced(u64::MAX);
        assert_eq!((paced.scheduled, paced.sent, paced.skipped), (10, 2, 3));
    }

    #[test]
    fn with_cap_late_requests_are_sent_at_twice_the_rate() {
        let mut pacer = pacer(CatchUp::Cap);
        pacer.notice(3 * MS);
        assert_eq!((pacer.take(3 * MS), pacer.take(3 * MS)), (Some(0), None));
        assert_eq!((pacer.wake_ns(true), pacer.wake_ns(false)), (3 * MS + MS / 2, 4 * MS));
        assert_eq!(pacer.take(3 * MS + MS / 2), Some(MS));
    }

    #[test]
    fn nothing_is_due_at_or_after_the_end_of_the_window() {
        let mut pacer = pacer(CatchUp::Queue);
        pacer.notice(20 * MS);
        assert_eq!(std::iter::from_fn(|| pacer.take(20 * MS)).count(), 10);
    }
}
