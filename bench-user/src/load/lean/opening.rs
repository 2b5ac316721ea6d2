//! How connections of a stage are opened, and opened again.
//!
//! The policies are those of the hyper client: a connection that does not open is one failed
//! request; after a failure there is a pause that doubles; a close that a server is entitled to is
//! followed by a new connection at once.

use std::cmp::Reverse;

use rustix::event::epoll::{self, EventData, EventFlags};

use super::connection::Phase;
use super::socket::{Dialed, dial, established};
use super::stage::{Stage, token};
use crate::clock;
use crate::load::failure::Failure;
use crate::load::pause::pause_ns;

impl Stage<'_> {
    /// Begins to open a connection, unless the stage takes no requests and none waits for it.
    pub(super) fn open(&mut self, nth: usize) {
        self.now_ns = clock::now_ns();
        let own = &mut *self.own;
        let connection = &mut own.connections[nth];
        if connection.flights.is_empty() && !self.recorder.accepts_requests(self.now_ns) {
            connection.phase = Phase::Closed;
            return;
        }
        let began_ns = self.now_ns;
        let dialed = dial(&own.dialer, connection.place).and_then(|Dialed { socket, is_open }| {
            // Registered once for all it will tell. A unix socket is open at once and tells of
            // every byte that its peer reads, so it is asked for room only when that is short.
            let out = if is_open { EventFlags::empty() } else { EventFlags::OUT };
            let flags = EventFlags::IN | EventFlags::RDHUP | EventFlags::ET | out;
            let data = EventData::new_u64(token(nth, connection.generation));
            epoll::add(own.waits.epoll(), &socket, data, flags)?;
            Ok(Dialed { socket, is_open })
        });
        match dialed {
            Ok(Dialed { socket, is_open }) => {
                connection.socket = Some(socket);
                if is_open {
                    self.opened(nth, began_ns);
                } else {
                    connection.phase = Phase::Opening(began_ns);
                    self.opening += 1;
                }
            }
            Err(error) => self.opening_failed(nth, &Failure::connecting(&error)),
        }
    }

    /// The kernel knows how the connection came out.
    pub(super) fn opening_ended(&mut self, nth: usize, began_ns: u64) {
        self.opening -= 1;
        let own = &*self.own;
        let result = match &own.connections[nth].socket {
            Some(socket) => established(socket, &own.dialer),
            None => return,
        };
        self.now_ns = clock::now_ns();
        match result {
            Ok(()) => self.opened(nth, began_ns),
            Err(error) => self.opening_failed(nth, &Failure::connecting(&error)),
        }
    }

    fn opened(&mut self, nth: usize, began_ns: u64) {
        self.now_ns = clock::now_ns();
        let own = &mut *self.own;
        let connection = &mut own.connections[nth];
        self.recorder.opened(self.now_ns - began_ns, self.now_ns, connection.was_open);
        connection.was_open = true;
        connection.live = Some(own.live.hold());
        connection.phase = Phase::Open;
        // What met a close is sent a second time, before anything new.
        connection.unwritten = connection.flights.len();
        self.welcome(nth);
    }

    /// An open connection enters the stage.
    pub(super) fn welcome(&mut self, nth: usize) {
        let connection = &self.own.connections[nth];
        for _ in connection.flights.len()..self.own.depth {
            self.is_free(nth);
        }
        self.now_ns = clock::now_ns();
        self.fill(nth);
    }

    /// A connection did not open: one failed request, or those that waited for it.
    pub(super) fn opening_failed(&mut self, nth: usize, failure: &Failure) {
        let connection = &mut self.own.connections[nth];
        connection.close();
        let flights = std::mem::take(&mut connection.flights);
        if flights.is_empty() {
            let intended_ns = match &mut self.pacer {
                None => Some(self.now_ns),
                Some(pacer) => {
                    pacer.notice(self.now_ns);
                    pacer.take(self.now_ns)
                }
            };
            if let Some(intended_ns) = intended_ns {
                self.recorder.never_sent(intended_ns, failure.clone());
            }
        }
        for flight in &flights {
            self.fail(flight, 0, failure.clone());
        }
        self.replace(nth, false);
    }

    /// A connection was closed; `is_good` when nothing failed by it. Opens it again, after a
    /// failure with a pause, which is not longer than the window.
    pub(super) fn replace(&mut self, nth: usize, is_good: bool) {
        let connection = &mut self.own.connections[nth];
        connection.unwritten = 0;
        if !is_good {
            connection.failures_in_a_row = connection.failures_in_a_row.saturating_add(1);
        }
        if is_good || !connection.flights.is_empty() {
            return self.open(nth);
        }
        let until_ns = self.now_ns + pause_ns(connection.failures_in_a_row);
        let until_ns = until_ns.min(self.recorder.window().end_ns);
        connection.phase = Phase::Waiting(until_ns);
        self.timers.push(Reverse((until_ns, nth)));
        self.due_ns = self.due_ns.min(until_ns);
    }
}
