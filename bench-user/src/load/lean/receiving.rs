//! What comes on open connections: responses, and bytes that nobody asked for.

use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};

use super::response::Whole;
use super::stage::Stage;
use crate::clock;
use crate::load::failure::{Failure, FailureClass, SWITCHING_PROTOCOLS};
use crate::load::outcome::Status;
use crate::load::tally::Ended;

/// Reads of a whole buffer that one connection may do before the others have their turn.
const READS: usize = 16;

/// How the reading of a connection came out.
enum Reading {
    /// All that was there is read.
    Drained,
    /// There may be more.
    Unread,
    /// The server has ended its side, or the socket failed.
    Ended(Option<Errno>),
    /// It was closed, by our own decision; with a failure or without one.
    Closed { is_good: bool },
}

impl Stage<'_> {
    /// Reads what is there; `is_ending` when the end of the connection is known to be there, or
    /// may be.
    pub(super) fn read(&mut self, nth: usize, is_ending: bool) {
        let mut buffer = std::mem::take(&mut self.own.buffer);
        let reading = self.read_into(&mut buffer, nth, is_ending);
        self.own.buffer = buffer;
        match reading {
            Reading::Drained => match self.own.connections[nth].write_error {
                Some(error) => self.ended(nth, Some(error)),
                None => self.fill(nth),
            },
            Reading::Unread => {
                self.unread.push((nth, self.own.connections[nth].generation));
                self.due_ns = 0;
            }
            Reading::Ended(error) => self.ended(nth, error),
            Reading::Closed { is_good } => self.replace(nth, is_good),
        }
    }

    fn read_into(&mut self, buffer: &mut [u8], nth: usize, is_ending: bool) -> Reading {
        for _ in 0..READS {
            let Some(socket) = &self.own.connections[nth].socket else {
                return Reading::Ended(None);
            };
            match recv(socket, &mut *buffer, RecvFlags::empty()).map(|(bytes, _)| bytes) {
                Ok(0) => return Reading::Ended(None),
                Ok(bytes) => {
                    self.now_ns = clock::now_ns();
                    if let Some(is_good) = self.feed(nth, &buffer[..bytes]) {
                        return Reading::Closed { is_good };
                    }
                    // A read that was not filled has emptied the socket, but for its end.
                    if bytes < buffer.len() && !is_ending {
                        return Reading::Drained;
                    }
                }
                Err(Errno::AGAIN) => return Reading::Drained,
                Err(Errno::INTR) => {}
                Err(error) => return Reading::Ended(Some(error)),
            }
        }
        Reading::Unread
    }

    /// Takes bytes that came. Closes the connection where they say so, and tells then whether
    /// nothing failed by it.
    fn feed(&mut self, nth: usize, mut bytes: &[u8]) -> Option<bool> {
        while !bytes.is_empty() {
            let own = &mut *self.own;
            let connection = &mut own.connections[nth];
            let Some(flight) = connection.flights.front() else {
                self.recorder.unasked_bytes();
                let has_answered = connection.has_answered;
                connection.close();
                return Some(has_answered);
            };
            let is_head = own.requests.at(flight.request).is_head;
            let fed = connection.response.feed(bytes, self.now_ns, is_head, &mut own.heads);
            let (used, whole) = match fed {
                Ok(None) => return None,
                Ok(Some(whole)) => whole,
                Err(broken) => {
                    let failure = Failure::new(FailureClass::Parse, broken.to_string());
                    self.close_failed(nth, &failure);
                    return Some(false);
                }
            };
            if whole.status == SWITCHING_PROTOCOLS {
                self.close_failed(nth, &Failure::switched());
                return Some(false);
            }
            bytes = &bytes[used..];
            let is_last = connection.flights.len() == 1;
            if whole.keeps_open && is_last && !bytes.is_empty() {
                let message = "bytes after the end of a response";
                self.close_failed(nth, &Failure::new(FailureClass::UnexpectedBytes, message));
                return Some(false);
            }
            // The server has answered without having read it all; what it takes the rest for is
            // in doubt.
            let is_early = connection.unwritten == connection.flights.len();
            self.complete(nth, &whole);
            if is_early || !whole.keeps_open {
                return Some(self.close_met(nth, None));
            }
        }
        None
    }

    /// The oldest request has its whole response.
    pub(super) fn complete(&mut self, nth: usize, whole: &Whole) {
        let connection = &mut self.own.connections[nth];
        let Some(flight) = connection.flights.pop_front() else { return };
        connection.unwritten = connection.unwritten.min(connection.flights.len());
        connection.has_answered = true;
        connection.failures_in_a_row = 0;
        self.in_flight -= 1;
        self.recorder.end(Ended {
            intended_ns: flight.intended_ns,
            sent_ns: flight.sent_ns,
            first_byte_ns: Some(whole.first_byte_ns),
            end_ns: self.now_ns,
            bytes_in: whole.body,
            bytes_out: flight.bytes_out(),
            informational: whole.informational,
            is_retried: flight.first_sending.is_some(),
            is_timed: true,
            how: Ok(Status::http(whole.status)),
        });
        self.is_free(nth);
    }
}
