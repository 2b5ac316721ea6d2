//! The closed loop of one connection: request, whole response, next request.
//!
//! Retry rule. A server may close a keep-alive connection whenever no request is on it, and a
//! client cannot see that close before it sends. A request that meets it (not the first on its
//! connection, no byte of an answer came) is sent once more on a new connection; it is one
//! request with one response time, from its first sending. Every request is a GET, so sending it
//! twice is allowed. Anything else that breaks is a failure.

use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Empty;
use hyper::Request;

use super::deadline::{Deadline, Timeline};
use super::link::{Answer, Link};
use super::outcome::{Failure, FailureKind};
use super::recorder::Recorder;
use super::requests::Requests;
use super::tally::Ended;
use crate::clock;

/// First pause after a failure, ns; it doubles with every further one in a row.
const PAUSE_FIRST_NS: u64 = 1_000_000;

/// Longest pause, ns. A dead target costs each connection ten attempts a second and no CPU.
const PAUSE_LONGEST_NS: u64 = 100_000_000;

/// What the connections of a worker have in common.
#[derive(Debug, Clone)]
pub(super) struct Setting {
    pub(super) address: SocketAddr,
    pub(super) requests: Rc<Requests>,
    pub(super) recorder: Rc<Recorder>,
    pub(super) timeline: Timeline,
    pub(super) timeout: Duration,
}

/// Keeps connection number `place` of the stage busy until the window ends, and open until the
/// stage is finished.
pub(super) async fn keep_busy(setting: Setting, place: usize) {
    let mut timer = Deadline::new(setting.timeline);
    let mut line = Line { setting, link: None, was_open: false, retry: None };
    let mut next = place;
    let mut failures_in_a_row = 0;
    while line.setting.recorder.accepts_requests() {
        let is_good = if line.is_open() {
            let request = line.setting.requests.at(next);
            next += 1;
            line.request(&mut timer, request).await
        } else if line.open_or_fail(&mut timer).await {
            // Opening is no part of a request's time, and no proof that the target answers: the
            // count of failures stands. The loop's condition is asked again before the first
            // request goes out on the new connection.
            continue;
        } else {
            false
        };
        if is_good {
            failures_in_a_row = 0;
        } else {
            failures_in_a_row += 1;
            line.setting.pause(failures_in_a_row).await;
        }
    }
    // Whoever reads the kernel's counters at the end of the window must not find the work of
    // closing every connection in them.
    line.setting.recorder.may_close().await;
}

impl Setting {
    fn limit_ns(&self, start_ns: u64) -> u64 {
        start_ns.saturating_add(u64::try_from(self.timeout.as_nanos()).unwrap_or(u64::MAX))
    }

    /// Not past the window's end, where nothing is left to wait for.
    async fn pause(&self, failures_in_a_row: u32) {
        let until_ns = clock::now_ns() + pause_ns(failures_in_a_row);
        self.timeline.sleep_until(until_ns.min(self.recorder.window().end_ns)).await;
    }
}

fn pause_ns(failures_in_a_row: u32) -> u64 {
    let doublings = failures_in_a_row.saturating_sub(1).min(16);
    (PAUSE_FIRST_NS << doublings).min(PAUSE_LONGEST_NS)
}

/// One connection of the stage, through all the links it needs.
#[derive(Debug)]
struct Line {
    setting: Setting,
    link: Option<Link>,
    was_open: bool,
    /// Set once the present request was sent a second time: bytes of its first sending.
    retry: Option<u64>,
}

impl Line {
    fn is_open(&self) -> bool {
        self.link.as_ref().is_some_and(Link::is_open)
    }

    /// One request with its deadline; whether a whole response came.
    async fn request(&mut self, timer: &mut Deadline, request: Request<Empty<Bytes>>) -> bool {
        self.retry = None;
        self.setting.recorder.begin();
        let start_ns = clock::now_ns();
        let limit_ns = self.setting.limit_ns(start_ns);
        let result = timer.within(limit_ns, self.answer(request)).await;
        let bytes_out = self.retry.unwrap_or(0) + self.link.as_ref().map_or(0, Link::written);
        let is_timeout = result.is_none();
        let result = result.unwrap_or_else(|| Err(self.timeout("no whole response")));
        if result.is_err() {
            self.link = None;
        }
        let is_good = result.is_ok();
        self.setting.recorder.end(Ended {
            start_ns,
            end_ns: result.as_ref().map_or_else(|_| clock::now_ns(), |answer| answer.end_ns),
            bytes_in: result.as_ref().map_or(0, |answer| answer.bytes_in),
            bytes_out,
            is_retried: self.retry.is_some(),
            is_timed: is_good || is_timeout,
            how: result.map(|answer| answer.status),
        });
        is_good
    }

    /// Sends the request, a second time where the retry rule says so.
    async fn answer(&mut self, request: Request<Empty<Bytes>>) -> Result<Answer, Failure> {
        loop {
            if !self.is_open() {
                self.open().await?;
            }
            let Some(link) = &mut self.link else { continue };
            let result = link.exchange(request.clone()).await;
            if result.is_ok() || !link.met_keep_alive_close() {
                return result;
            }
            // Never sent again counts only what was sent: a request that met the close before
            // a byte of it was written is simply sent on the new connection.
            if link.written() > 0 {
                self.retry = Some(link.written());
            }
            self.link = None;
        }
    }

    /// Opens the link, or records one failed request; whether it is open.
    async fn open_or_fail(&mut self, timer: &mut Deadline) -> bool {
        let start_ns = clock::now_ns();
        let limit_ns = self.setting.limit_ns(start_ns);
        let result = timer.within(limit_ns, self.open()).await;
        let Err(failure) = result.unwrap_or_else(|| Err(self.connect_timeout())) else {
            return true;
        };
        let recorder = &self.setting.recorder;
        recorder.begin();
        recorder.end(Ended {
            start_ns,
            end_ns: clock::now_ns(),
            bytes_in: 0,
            bytes_out: 0,
            is_retried: false,
            is_timed: false,
            how: Err(failure),
        });
        false
    }

    async fn open(&mut self) -> Result<(), Failure> {
        let recorder = Rc::clone(&self.setting.recorder);
        self.link = None;
        self.link = Some(Link::open(self.setting.address, recorder, self.was_open).await?);
        self.was_open = true;
        Ok(())
    }

    fn timeout(&self, what: &str) -> Failure {
        let message = format!("{what} within {:?}", self.setting.timeout);
        Failure::new(FailureKind::Timeout, message)
    }

    fn connect_timeout(&self) -> Failure {
        Failure { kind: FailureKind::Connect, ..self.timeout("no connection") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_from_one_millisecond_to_a_hundred() {
        let ms: Vec<_> = [1, 2, 3, 7, 8, 40, u32::MAX].map(|n| pause_ns(n) / 1_000_000).into();
        assert_eq!(ms, [1, 2, 4, 64, 100, 100, 100]);
    }
}
