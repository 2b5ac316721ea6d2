//! What a held connection is, by protocol: opened, asked for its stream, read until it ends.

use super::super::InFlight;
use super::super::deadline::{Deadline, Timeline};
use super::super::setting::Setting;
use super::super::websocket::Websocket;
use super::idle::Idle;
use super::listen::Listener;
use super::sse::{EventConnection, EventStream};
use super::stage::Current;
use crate::load::failure::{Failure, FailureClass};
use crate::load::outcome::Status;
use crate::load::tally::Ended;
use crate::plan::Protocol;

/// A connection that is not asked for its stream yet.
#[derive(Debug)]
pub(super) enum Attempt {
    Sse(Box<EventConnection>),
    Listen(Box<Websocket>),
    Idle(Idle),
}

/// One that is held; dropped, it is closed.
#[derive(Debug)]
pub(super) enum Open {
    Sse(Box<EventStream>),
    Listen(Box<Listener>),
    Idle(Idle),
}

/// How a held connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Closed {
    /// The server ended a stream; not we, for its silence.
    pub(super) ended_stream: bool,
    /// As the protocol has it, and it was of use.
    pub(super) is_good: bool,
}

impl Attempt {
    /// Opens connection number `place` of the stage; `again` when it replaces one that was closed.
    pub(super) async fn connect(
        setting: &Setting,
        place: usize,
        again: bool,
    ) -> Result<Self, Failure> {
        Ok(match setting.setup.protocol {
            Protocol::Websocket => {
                Self::Listen(Box::new(Websocket::open(setting, place, again).await?))
            }
            Protocol::Idle => Self::Idle(Idle::open(setting, place, again).await?),
            _ => Self::Sse(Box::new(EventConnection::open(setting, place, again).await?)),
        })
    }

    /// Asks for the stream, which is one request where there is one; `None` when it ended already,
    /// in the books.
    pub(super) async fn ask(
        self,
        setting: &Setting,
        timer: &mut Deadline,
        in_flight: &InFlight,
    ) -> Option<Open> {
        match self {
            Self::Sse(connection) => {
                let stream = connection.ask(setting, timer, in_flight).await?;
                Some(Open::Sse(Box::new(stream)))
            }
            Self::Listen(socket) => {
                let listener = Listener::ask(*socket, setting, in_flight).await?;
                Some(Open::Listen(Box::new(listener)))
            }
            Self::Idle(connection) => Some(Open::Idle(connection)),
        }
    }
}

impl Open {
    /// Reads, and notes what comes, until the connection ends.
    pub(super) async fn read(&mut self, current: &Current, timeline: Timeline) -> Closed {
        match self {
            Self::Sse(stream) => stream.read(current, timeline).await,
            Self::Listen(listener) => listener.read(current).await,
            Self::Idle(connection) => connection.read().await,
        }
    }
}

/// A stream as a request: what its account needs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Books {
    /// When it was asked for.
    pub(super) sent_ns: u64,
    /// When the head of its response was there.
    pub(super) head_ns: Option<u64>,
    pub(super) bytes_in: u64,
    pub(super) bytes_out: u64,
}

impl Books {
    /// The stream ended at `end_ns`; its time is that of the whole stream.
    pub(super) fn ended(self, end_ns: u64, how: Result<Status, Failure>) -> Ended {
        let is_timed = how.as_ref().err().is_none_or(|why| why.class == FailureClass::Timeout);
        Ended {
            intended_ns: self.sent_ns,
            sent_ns: self.sent_ns,
            first_byte_ns: self.head_ns.filter(|_| how.is_ok()),
            end_ns,
            bytes_in: if how.is_ok() { self.bytes_in } else { 0 },
            bytes_out: self.bytes_out,
            informational: 0,
            is_retried: false,
            how,
            is_timed,
        }
    }
}
