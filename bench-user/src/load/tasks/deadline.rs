//! Time limits that cost a request nothing unless they are met.
//!
//! Arming a timer for every request would touch the runtime's timer wheel twice a request. One
//! timer a connection is enough: when it fires for a request that is long over, it is set to
//! the present one's limit. It never fires early, and at most about 1 ms late, the granularity
//! of tokio's timers.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep_until};

use crate::clock;

/// Turns ns of `CLOCK_MONOTONIC` into the runtime's instants; both are the same clock.
#[derive(Debug, Clone, Copy)]
pub(super) struct Timeline {
    instant: Instant,
    ns: u64,
}

impl Timeline {
    pub(super) fn new() -> Self {
        Self { instant: Instant::now(), ns: clock::now_ns() }
    }

    /// That instant; one before the timeline began is its beginning.
    pub(super) fn at(&self, ns: u64) -> Instant {
        self.instant + Duration::from_nanos(ns.saturating_sub(self.ns))
    }

    /// Waits until `ns`; not at all when it has passed.
    pub(super) async fn sleep_until(&self, ns: u64) {
        sleep_until(self.at(ns)).await;
    }
}

/// The timer of one connection.
#[derive(Debug)]
pub(super) struct Deadline {
    timeline: Timeline,
    timer: Pin<Box<Sleep>>,
}

impl Deadline {
    pub(super) fn new(timeline: Timeline) -> Self {
        Self { timeline, timer: Box::pin(sleep_until(timeline.at(0))) }
    }

    /// What `work` gives, or `None` when it has not ended by `limit_ns`.
    pub(super) async fn within<F: Future>(&mut self, limit_ns: u64, work: F) -> Option<F::Output> {
        let limit = self.timeline.at(limit_ns);
        if self.timer.deadline() > limit {
            self.timer.as_mut().reset(limit);
        }
        let mut work = pin!(work);
        poll_fn(|cx| {
            if let Poll::Ready(output) = work.as_mut().poll(cx) {
                return Poll::Ready(Some(output));
            }
            while self.timer.as_mut().poll(cx).is_ready() {
                if self.timer.deadline() >= limit {
                    return Poll::Ready(None);
                }
                self.timer.as_mut().reset(limit);
            }
            Poll::Pending
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_limit_is_met_for_the_present_request_and_not_for_a_past_one() {
        let mut deadline = Deadline::new(Timeline::new());
        let ms = 1_000_000;
        let now = clock::now_ns();
        assert_eq!(deadline.within(now + 5 * ms, async { 1 }).await, Some(1));
        // The timer, armed or not for the first limit, must not cut this longer one short.
        let limit = clock::now_ns() + 20 * ms;
        assert_eq!(deadline.within(limit, std::future::pending::<()>()).await, None);
        assert!(clock::now_ns() >= limit);
        // Nor does a fired timer spoil the next request.
        let limit = clock::now_ns() + 10_000 * ms;
        let work = tokio::task::yield_now();
        assert_eq!(deadline.within(limit, work).await, Some(()));
    }
}
