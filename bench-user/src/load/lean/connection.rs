//! One connection and the requests that are out on it; one more than one only with pipelining.

use std::collections::VecDeque;
use std::io::IoSlice;
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::{SendAncillaryBuffer, SendFlags, send, sendmsg};

use super::response::Response;
use crate::load::recorder::IsLive;
use crate::load::requests::Requests;

/// Requests that are written with one syscall at most.
const BATCH: usize = 64;

/// What a connection is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// Not open, and nothing is to be done about it.
    Closed,
    /// To be opened at this instant.
    Waiting(u64),
    /// Being opened since then.
    Opening(u64),
    Open,
}

/// A request that is out, or to be sent again.
#[derive(Debug)]
pub(super) struct Flight {
    /// Its place in the list of requests.
    pub(super) request: usize,
    pub(super) intended_ns: u64,
    /// When its (first) sending began.
    pub(super) sent_ns: u64,
    /// Bytes that the kernel took, of the present sending.
    pub(super) written: usize,
    /// It may not be sent again.
    pub(super) was_repeated: bool,
    /// It was sent a second time: bytes of the first sending.
    pub(super) first_sending: Option<u64>,
}

impl Flight {
    /// Bytes that the kernel took, of both sendings.
    pub(super) fn bytes_out(&self) -> u64 {
        self.first_sending.unwrap_or(0) + self.written as u64
    }

    /// It is to be sent a second time. Where not a byte of it had left, this is its first sending.
    pub(super) fn repeat(&mut self) {
        self.was_repeated = true;
        self.first_sending = (self.written > 0).then_some(self.written as u64);
        self.written = 0;
    }
}

/// A connection, through all the sockets it needs.
#[derive(Debug)]
pub(super) struct Connection {
    /// Its number in the stage that made it.
    pub(super) place: usize,
    pub(super) phase: Phase,
    pub(super) socket: Option<OwnedFd>,
    /// Tells news of this socket from those of the ones before it.
    pub(super) generation: u32,
    /// There was a socket that became open.
    pub(super) was_open: bool,
    /// A whole response came on this socket.
    pub(super) has_answered: bool,
    /// Writing failed: what has come is read, and that is the end.
    pub(super) write_error: Option<Errno>,
    pub(super) failures_in_a_row: u32,
    /// Oldest first.
    pub(super) flights: VecDeque<Flight>,
    /// So many of them, the last ones, have bytes that the kernel has not taken.
    pub(super) unwritten: usize,
    pub(super) response: Response,
    pub(super) live: Option<IsLive>,
}

impl Connection {
    pub(super) fn new(place: usize, phase: Phase) -> Self {
        Self {
            place,
            phase,
            socket: None,
            generation: 0,
            was_open: false,
            has_answered: false,
            write_error: None,
            failures_in_a_row: 0,
            flights: VecDeque::new(),
            unwritten: 0,
            response: Response::new(),
            live: None,
        }
    }

    /// Which socket it is that is open, if one is.
    pub(super) fn open_generation(&self) -> Option<u32> {
        (self.phase == Phase::Open).then_some(self.generation)
    }

    /// Closes the socket. What was out on it is still here, for the caller to settle.
    pub(super) fn close(&mut self) {
        self.socket = None;
        self.live = None;
        self.phase = Phase::Closed;
        self.generation = self.generation.wrapping_add(1);
        self.has_answered = false;
        self.write_error = None;
        self.response = Response::new();
    }

    /// Writes what the kernel takes of what is unwritten.
    pub(super) fn write(&mut self, requests: &Requests) -> Result<(), Errno> {
        while self.unwritten > 0 {
            let Some(socket) = &self.socket else { return Ok(()) };
            let from = self.flights.len() - self.unwritten;
            let flight = &self.flights[from];
            let first = &requests.at(flight.request).wire[flight.written..];
            let result = if self.unwritten == 1 {
                send(socket, first, SendFlags::NOSIGNAL)
            } else {
                let mut parts = [IoSlice::new(&[]); BATCH];
                parts[0] = IoSlice::new(first);
                let rest = self.flights.iter().skip(from + 1).take(BATCH - 1);
                for (part, flight) in parts[1..].iter_mut().zip(rest) {
                    *part = IoSlice::new(&requests.at(flight.request).wire);
                }
                let parts = &parts[..self.unwritten.min(BATCH)];
                sendmsg(socket, parts, &mut SendAncillaryBuffer::default(), SendFlags::NOSIGNAL)
            };
            match result {
                Ok(bytes) => self.wrote(bytes, requests),
                Err(Errno::AGAIN) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// The kernel took so many bytes more.
    fn wrote(&mut self, mut bytes: usize, requests: &Requests) {
        while bytes > 0 && self.unwritten > 0 {
            let from = self.flights.len() - self.unwritten;
            let flight = &mut self.flights[from];
            let left = requests.at(flight.request).wire.len() - flight.written;
            let taken = left.min(bytes);
            flight.written += taken;
            bytes -= taken;
            self.unwritten -= usize::from(taken == left);
        }
    }
}
