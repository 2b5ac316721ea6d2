//! How requests end without a response.
//!
//! Retry rule: as in the hyper client. A close that comes before a byte of an answer, on a
//! connection that has answered before, is one that a server is entitled to: the requests that it
//! meets are sent once more on a new connection if their method is idempotent, or if no byte of
//! them had left. With pipelining that holds for each of them; after any other end all of them
//! have failed.

use rustix::io::Errno;

use super::connection::{Flight, Phase};
use super::stage::Stage;
use crate::clock;
use crate::load::failure::{Failure, FailureClass};
use crate::load::tally::Ended;

impl Stage<'_> {
    /// A request has failed.
    pub(super) fn fail(&mut self, flight: &Flight, informational: u32, failure: Failure) {
        self.in_flight -= 1;
        self.recorder.end(Ended {
            intended_ns: flight.intended_ns,
            sent_ns: flight.sent_ns,
            first_byte_ns: None,
            end_ns: self.now_ns,
            bytes_in: 0,
            bytes_out: flight.bytes_out(),
            informational,
            is_retried: flight.first_sending.is_some(),
            is_timed: failure.class == FailureClass::Timeout,
            how: Err(failure),
        });
    }

    /// The server, or the network, has ended the connection.
    pub(super) fn ended(&mut self, nth: usize, error: Option<Errno>) {
        self.now_ns = clock::now_ns();
        if error.is_none()
            && let Some(whole) = self.own.connections[nth].response.at_eof()
        {
            self.complete(nth, &whole);
        }
        let is_good = self.close_met(nth, error);
        self.replace(nth, is_good);
    }

    /// Closes a connection that has ended, and settles what was out on it by the retry rule;
    /// whether nothing has failed by it.
    pub(super) fn close_met(&mut self, nth: usize, error: Option<Errno>) -> bool {
        let connection = &mut self.own.connections[nth];
        let has_answered = connection.has_answered;
        let is_touched = connection.response.is_touched();
        let informational = connection.response.informational();
        let mut flights = std::mem::take(&mut connection.flights);
        connection.close();
        if flights.is_empty() {
            // Who closes at once, unused, is left alone for a while.
            return has_answered;
        }
        let is_entitled = has_answered && !is_touched;
        let mut is_front = true;
        flights.retain_mut(|flight| {
            let request = self.own.requests.at(flight.request);
            let may_repeat = request.is_idempotent || flight.written == 0;
            if is_entitled && may_repeat && !flight.was_repeated {
                flight.repeat();
                return true;
            }
            let failure = met(error, is_touched && is_front);
            let seen = if is_front { informational } else { 0 };
            is_front = false;
            self.fail(flight, seen, failure);
            false
        });
        let has_failed = !is_front;
        self.own.connections[nth].flights = flights;
        !has_failed
    }

    /// Closes a connection on which the oldest request has failed, and with it all the others.
    pub(super) fn close_failed(&mut self, nth: usize, first: &Failure) {
        let connection = &mut self.own.connections[nth];
        let informational = connection.response.informational();
        let flights = std::mem::take(&mut connection.flights);
        connection.close();
        for (place, flight) in flights.iter().enumerate() {
            let failure = if place == 0 {
                first.clone()
            } else {
                Failure::new(FailureClass::ClosedBeforeBytes, AFTER_FAILURE)
            };
            self.fail(flight, if place == 0 { informational } else { 0 }, failure);
        }
    }

    /// What the connection is at has taken too long.
    pub(super) fn time_out(&mut self, nth: usize) {
        let connection = &mut self.own.connections[nth];
        self.opening -= usize::from(matches!(connection.phase, Phase::Opening(_)));
        let timeout = self.own.timeout;
        let flights = std::mem::take(&mut connection.flights);
        if flights.is_empty() {
            let failure = Failure::connect_timeout(self.own.dialer.timeout);
            return self.opening_failed(nth, &failure);
        }
        let mut informational = connection.response.informational();
        connection.close();
        for flight in &flights {
            let is_late = flight.sent_ns.saturating_add(self.timeout_ns) <= self.now_ns;
            let failure = if is_late {
                Failure::timeout(timeout)
            } else {
                Failure::new(FailureClass::ClosedBeforeBytes, AFTER_FAILURE)
            };
            self.fail(flight, std::mem::take(&mut informational), failure);
        }
        self.replace(nth, false);
    }
}

/// What is said of pipelined requests behind one that failed.
const AFTER_FAILURE: &str = "closed by the client: a request before it on the connection failed";

/// The failure of a request that met the end of its connection.
fn met(error: Option<Errno>, is_touched: bool) -> Failure {
    use FailureClass as Class;
    match (error, is_touched) {
        (Some(error), false) => Failure::new(Class::ResetBeforeBytes, error.to_string()),
        (Some(error), true) => Failure::new(Class::ResetMidBody, error.to_string()),
        (None, false) => {
            Failure::new(Class::ClosedBeforeBytes, "connection closed before a byte of an answer")
        }
        (None, true) => {
            Failure::new(Class::ShortBody, "connection closed before the end of a response")
        }
    }
}
