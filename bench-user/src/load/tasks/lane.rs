//! The loop of one lane: request, whole response, next request.
//!
//! Retry rule of HTTP/1.1. A server may close a keep-alive connection whenever no request is on
//! it, and a client cannot see that close before it sends. A request that meets it (not the first
//! on its connection, no byte of an answer came) is sent once more on a new connection if its
//! method is idempotent; it is one request with one response time, from its first sending. The
//! rule of HTTP/2 stands with its connection. Anything else that breaks is a failure.

use std::rc::Rc;

use super::InFlight;
use super::deadline::Deadline;
use super::link::{Answer, Link, Repeat};
use super::setting::{Setting, after};
use super::trunk::{Trunk, Turn};
use crate::clock;
use crate::load::failure::Failure;
use crate::load::requests::Prepared;
use crate::load::tally::Ended;

/// One lane, through all the links it needs.
#[derive(Debug)]
pub(super) struct Lane {
    /// Number of its connection in the stage.
    place: usize,
    trunk: Rc<Trunk>,
    /// Held from the first attempt to open the link to the one that succeeds.
    turn: Option<Turn>,
    link: Option<Link>,
    /// Set once the present request was sent a second time: bytes of its first sending.
    retry: Option<u64>,
}

impl Lane {
    pub(super) fn new(place: usize, trunk: Rc<Trunk>) -> Self {
        Self { place, trunk, turn: None, link: None, retry: None }
    }

    /// What it shares with the other lanes of its connection.
    pub(super) fn trunk(&self) -> &Rc<Trunk> {
        &self.trunk
    }

    /// Makes requests until the stage takes no more.
    pub(super) async fn keep_busy(&mut self, setting: &Setting, in_flight: &InFlight) {
        let mut timer = Deadline::new(setting.timeline);
        let mut failures_in_a_row = 0;
        while setting.recorder.accepts_requests(clock::now_ns()) {
            let is_good = if self.is_open() {
                match self.next(setting).await {
                    Next::Request(intended_ns) => {
                        let is_good =
                            self.request(setting, &mut timer, intended_ns, in_flight).await;
                        in_flight.set(0);
                        is_good
                    }
                    Next::LinkEnded => continue,
                    Next::Over => break,
                }
            } else if self.open_or_fail(setting, &mut timer).await {
                // Opening is no part of a request's time, and no proof that the target answers:
                // the count of failures stands. The loop's condition is asked again before the
                // first request goes out on the new connection.
                continue;
            } else {
                false
            };
            if is_good {
                failures_in_a_row = 0;
            } else {
                failures_in_a_row += 1;
                setting.pause(failures_in_a_row).await;
            }
        }
        // Whoever waits for it looks at the time then, and ends too.
        self.turn = None;
    }

    fn is_open(&self) -> bool {
        self.link.as_ref().is_some_and(Link::is_open)
    }

    /// Waits for the next request while the link is watched.
    async fn next(&mut self, setting: &Setting) -> Next {
        let Some(link) = &mut self.link else { return Next::LinkEnded };
        tokio::select! {
            // In this order: a request that was handed over is not left behind.
            biased;
            next = setting.desk.next() => next.map_or(Next::Over, Next::Request),
            had_bytes = link.ended_by_itself() => {
                if had_bytes {
                    setting.recorder.unasked_bytes();
                }
                self.link = None;
                Next::LinkEnded
            }
        }
    }

    /// One request with its deadline; whether a whole response came.
    async fn request(
        &mut self,
        setting: &Setting,
        timer: &mut Deadline,
        intended_ns: u64,
        in_flight: &InFlight,
    ) -> bool {
        self.retry = None;
        setting.recorder.begin();
        let sent_ns = clock::now_ns();
        in_flight.set(sent_ns);
        let request = setting.requests.next();
        let result = timer.within(setting.limit_ns(sent_ns), self.answer(setting, request)).await;
        let bytes_out = self.retry.unwrap_or(0) + self.link.as_ref().map_or(0, Link::take_written);
        let is_timeout = result.is_none();
        let result = result.unwrap_or_else(|| Err(Failure::timeout(setting.setup.timeout)));
        let informational = self.link.as_mut().map_or(0, Link::informational);
        if result.is_err() {
            self.link = None;
        }
        let is_good = result.is_ok();
        let answer = result.as_ref().ok();
        setting.recorder.end(Ended {
            intended_ns: if setting.desk.is_open_loop() { intended_ns } else { sent_ns },
            sent_ns,
            first_byte_ns: answer.map(|answer| answer.first_byte_ns),
            end_ns: answer.map_or_else(clock::now_ns, |answer| answer.end_ns),
            bytes_in: answer.map_or(0, |answer| answer.bytes_in),
            bytes_out,
            informational,
            is_retried: self.retry.is_some(),
            is_timed: is_good || is_timeout,
            how: result.map(|answer| answer.status),
        });
        is_good
    }

    /// Sends the request, a second time where the retry rule says so.
    async fn answer(&mut self, setting: &Setting, request: &Prepared) -> Result<Answer, Failure> {
        let mut was_unsent = false;
        loop {
            if !self.is_open() {
                self.open(setting).await?;
            }
            let Some(link) = &mut self.link else { continue };
            let result = link.exchange(request).await;
            if result.is_err() && link.met_unasked_bytes() {
                setting.recorder.unasked_bytes();
                self.link = None;
                continue;
            }
            if result.is_ok() {
                return result;
            }
            match link.repeat(request.is_idempotent) {
                Repeat::Unsent if !was_unsent => was_unsent = true,
                Repeat::Sent if self.retry.is_none() => self.retry = Some(link.take_written()),
                _ => return result,
            }
            self.link = None;
        }
    }

    /// Opens the link, or records one failed request; whether it did not fail. A lane that waited
    /// for another to open the connection first looks whether there is still time.
    async fn open_or_fail(&mut self, setting: &Setting, timer: &mut Deadline) -> bool {
        if self.turn.is_none() {
            self.turn = self.trunk.turn().await;
            if !setting.recorder.accepts_requests(clock::now_ns()) {
                return true;
            }
        }
        let limit_ns = after(clock::now_ns(), setting.dialer.timeout);
        let result = timer.within(limit_ns, self.open(setting)).await;
        let limit = setting.dialer.timeout;
        let result = result.unwrap_or_else(|| Err(Failure::connect_timeout(limit)));
        let Err(failure) = result else { return true };
        if let Some(intended_ns) = setting.desk.next_to_fail() {
            setting.recorder.never_sent(intended_ns, failure);
        }
        false
    }

    async fn open(&mut self, setting: &Setting) -> Result<(), Failure> {
        self.link = None;
        if self.turn.is_none() {
            self.turn = self.trunk.turn().await;
        }
        self.link = Some(Link::open(setting, self.place, &self.trunk).await?);
        self.turn = None;
        Ok(())
    }
}

/// What a free lane does next.
enum Next {
    /// Sends a request with this intended time.
    Request(u64),
    /// Opens another link: this one ended while nothing was on it.
    LinkEnded,
    /// Nothing more in this stage.
    Over,
}
