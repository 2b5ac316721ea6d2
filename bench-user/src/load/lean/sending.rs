//! What is sent when: in the closed loop a request for every one that has ended, in the open loop
//! what is due, to the connection that has been free for longest.

use rustix::event::epoll::{self, EventData, EventFlags};

use super::connection::Flight;
use super::stage::{Stage, token};
use crate::clock;

impl Stage<'_> {
    /// Sends what is due to be sent to connections that are free; gives the time of the next.
    pub(super) fn hand_out(&mut self) -> u64 {
        if self.pacer.is_none() || !self.recorder.accepts_requests(self.now_ns) {
            return u64::MAX;
        }
        while let Some((nth, intended_ns)) = self.next_handed_out() {
            self.begin_request(nth, intended_ns);
            self.write(nth);
        }
        let is_one_free = !self.free.is_empty();
        let Some(pacer) = &mut self.pacer else { return u64::MAX };
        if !is_one_free {
            pacer.none_is_free();
        }
        pacer.wake_ns(is_one_free)
    }

    fn next_handed_out(&mut self) -> Option<(usize, u64)> {
        self.now_ns = clock::now_ns();
        let pacer = self.pacer.as_mut()?;
        pacer.notice(self.now_ns);
        // Places on connections that are gone.
        while let Some(&(nth, generation)) = self.free.front()
            && self.own.connections[nth].generation != generation
        {
            self.free.pop_front();
        }
        let &(nth, _) = self.free.front()?;
        let intended_ns = pacer.take(self.now_ns)?;
        self.free.pop_front();
        Some((nth, intended_ns))
    }

    /// A connection has room for a request, in the open loop.
    pub(super) fn is_free(&mut self, nth: usize) {
        if let Some(pacer) = &self.pacer {
            self.free.push_back((nth, self.own.connections[nth].generation));
            self.due_ns = self.due_ns.min(pacer.wake_ns(true));
        }
    }

    /// Sends what there is to send: in the closed loop, a request for every one that has ended.
    pub(super) fn fill(&mut self, nth: usize) {
        if self.pacer.is_none() {
            while self.own.connections[nth].flights.len() < self.own.depth
                && self.recorder.accepts_requests(self.now_ns)
            {
                self.begin_request(nth, self.now_ns);
            }
        }
        self.write(nth);
    }

    fn begin_request(&mut self, nth: usize, intended_ns: u64) {
        self.recorder.begin();
        self.in_flight += 1;
        let request = self.own.requests.next_place();
        let connection = &mut self.own.connections[nth];
        connection.unwritten += 1;
        connection.flights.push_back(Flight {
            request,
            intended_ns,
            sent_ns: self.now_ns,
            written: 0,
            was_repeated: false,
            first_sending: None,
        });
    }

    pub(super) fn write(&mut self, nth: usize) {
        let own = &mut *self.own;
        let connection = &mut own.connections[nth];
        if connection.unwritten == 0 || connection.write_error.is_some() {
            return;
        }
        match connection.write(&own.requests) {
            Ok(()) if connection.unwritten == 0 => {}
            Ok(()) => {
                // The socket is full. TCP sockets have been asked to tell of room; asking again
                // is harmless, and rare.
                if let Some(socket) = &connection.socket {
                    let flags =
                        EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
                    let data = EventData::new_u64(token(nth, connection.generation));
                    if let Err(error) = epoll::modify(own.waits.epoll(), socket, data, flags) {
                        connection.write_error = Some(error);
                    }
                }
            }
            Err(error) => connection.write_error = Some(error),
        }
        // An answer that came before the connection broke still counts.
        if connection.write_error.is_some() {
            self.read(nth, true);
        }
    }
}
