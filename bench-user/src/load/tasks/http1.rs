//! One hyper connection, driven inside the task of whoever waits for its answer.
//!
//! hyper wants its connection future polled beside the request. A task for each of the two would
//! cost two wake-ups a request; here the one task polls both, and dropping the link closes the
//! socket at once.

use std::error::Error;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::task::Poll;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::Request;
use hyper::body::Body as _;
use hyper::client::conn::http1::{Connection, SendRequest};
use hyper::ext::on_informational;
use hyper_util::rt::TokioIo;

use super::link::{Answer, Repeat};
use super::setting::Setting;
use super::stream;
use super::wire::{Wire, WireState};
use crate::clock;
use crate::fetch::lenient_client;
use crate::load::failure::{Failure, FailureClass, SWITCHING_PROTOCOLS, chain};
use crate::load::outcome::Status;
use crate::load::recorder::IsLive;
use crate::load::requests::Prepared;

/// An open connection.
#[derive(Debug)]
pub(super) struct Http1 {
    sender: SendRequest<Full<Bytes>>,
    driver: Driver,
    wire: Rc<WireState>,
    has_answered: bool,
    informational: Arc<AtomicU32>,
    _live: IsLive,
}

impl Http1 {
    /// Opens a connection; `again` when it replaces one that was closed.
    pub(super) async fn open(
        setting: &Setting,
        place: usize,
        again: bool,
    ) -> Result<Self, Failure> {
        let (io, wire) = Wire::for_hyper(stream::open(setting, place, again).await?);
        let (sender, connection) =
            lenient_client().handshake(io).await.map_err(|e| exchanging(&e, &wire))?;
        let driver = Driver::new(connection);
        let live = setting.live.hold();
        let informational = Arc::default();
        Ok(Self { sender, driver, wire, has_answered: false, informational, _live: live })
    }

    /// Another request may be tried.
    pub(super) fn is_open(&self) -> bool {
        self.driver.connection.is_some()
    }

    /// Bytes of the present request that went out; counted once.
    pub(super) fn take_written(&self) -> u64 {
        self.wire.take_written()
    }

    /// 1xx responses to the present request so far; counted once.
    pub(super) fn informational(&self) -> u32 {
        self.informational.swap(0, Relaxed)
    }

    /// The present request may have met a close that a server is entitled to between two
    /// requests: not the first on this connection, and no byte of an answer came.
    pub(super) fn repeat(&self, is_idempotent: bool) -> Repeat {
        let has_ended = self.wire.is_at_eof() || self.wire.has_failed();
        let met_close = self.has_answered && has_ended && self.wire.read() == 0;
        match (met_close, self.wire.written()) {
            (true, 0) => Repeat::Unsent,
            (true, _) if is_idempotent => Repeat::Sent,
            _ => Repeat::No,
        }
    }

    /// Bytes came before any of the present request went out, so they are no answer to it.
    pub(super) fn met_unasked_bytes(&self) -> bool {
        self.has_answered && self.wire.written() == 0 && self.wire.read() > 0
    }

    /// Sends a request and waits for the last byte of its response.
    pub(super) async fn exchange(&mut self, request: &Prepared) -> Result<Answer, Failure> {
        self.wire.begin();
        let mut request = request.template.clone();
        let seen = Arc::clone(&self.informational);
        on_informational(&mut request, move |_head| _ = seen.fetch_add(1, Relaxed));
        let answer = self.whole_answer(request).await.map_err(|e| exchanging(&e, &self.wire))?;
        // Final for hyper, and no answer to any request of ours.
        if answer.status.http == SWITCHING_PROTOCOLS {
            return Err(Failure::switched());
        }
        self.settle().await?;
        self.has_answered = true;
        Ok(answer)
    }

    async fn whole_answer(&mut self, request: Request<Full<Bytes>>) -> hyper::Result<Answer> {
        let response = self.sender.send_request(request);
        // Informational responses are passed over by hyper: this is the final head.
        let response = self.driver.until(response).await?;
        let first_byte_ns = clock::now_ns();
        let status = Status::http(response.status().as_u16());
        let mut body = response.into_body();
        let mut bytes_in = 0;
        while !body.is_end_stream() {
            let Some(frame) = self.driver.until(body.frame()).await else { break };
            bytes_in += frame?.data_ref().map_or(0, |data| data.len() as u64);
        }
        Ok(Answer { status, bytes_in, first_byte_ns, end_ns: clock::now_ns() })
    }

    /// Lets hyper finish with the response, so that the link is ready for the next request or
    /// known to be closed. Bytes after the end of a response make it a broken one: where it ended
    /// is in doubt.
    async fn settle(&mut self) -> Result<(), Failure> {
        let ready = self.driver.until(poll_fn(|cx| self.sender.poll_ready(cx))).await;
        if ready.is_err() {
            self.driver.connection = None;
        }
        match self.driver.broken.take() {
            // A reset after a whole response is a close like any other, and so is an end of TLS
            // without its words.
            Some(error) if !self.wire.has_failed() && !self.wire.was_cut() => {
                let message = format!("after a whole response: {error}");
                Err(Failure::new(FailureClass::UnexpectedBytes, message))
            }
            _ => Ok(()),
        }
    }

    /// Waits, with no request out, until the connection ends; whether bytes came first.
    pub(super) async fn ended_by_itself(&mut self) -> bool {
        self.wire.begin();
        let Some(connection) = &mut self.driver.connection else { return false };
        // hyper reads while it has nothing to send, and ends with an error when bytes come.
        let _whatever = Pin::new(connection).await;
        self.driver.connection = None;
        self.wire.read() > 0
    }
}

/// An exchange that broke on an open connection. What the socket did decides before hyper's words
/// do: the same keep-alive race comes out of hyper as three different errors, depending on which
/// poll saw it.
pub(super) fn exchanging(error: &hyper::Error, wire: &WireState) -> Failure {
    use FailureClass as Class;
    let is_untouched = wire.read() == 0;
    let class = if wire.was_refused() {
        Class::Tls
    } else if error.is_parse() || says_invalid(error) {
        Class::Parse
    } else if wire.has_failed() {
        if is_untouched { Class::ResetBeforeBytes } else { Class::ResetMidBody }
    } else if wire.is_at_eof() {
        if is_untouched { Class::ClosedBeforeBytes } else { Class::ShortBody }
    } else if wire.written() == 0 {
        Class::NotSentOther
    } else {
        Class::Protocol
    };
    Failure::new(class, chain(error))
}

/// A chunk size that is not a number reaches us as an `io::Error` that no socket made.
fn says_invalid(error: &hyper::Error) -> bool {
    let mut cause = error.source();
    while let Some(e) = cause {
        if let Some(io) = e.downcast_ref::<io::Error>() {
            return matches!(io.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData);
        }
        cause = e.source();
    }
    false
}

/// hyper's side of the connection, and how it ended once it has.
#[derive(Debug)]
pub(super) struct Driver {
    connection: Option<Connection<TokioIo<Wire>, Full<Bytes>>>,
    broken: Option<hyper::Error>,
}

impl Driver {
    pub(super) fn new(connection: Connection<TokioIo<Wire>, Full<Bytes>>) -> Self {
        Self { connection: Some(connection), broken: None }
    }

    /// Waits for `work` while the connection makes progress.
    pub(super) async fn until<F: Future>(&mut self, work: F) -> F::Output {
        let mut work = pin!(work);
        poll_fn(|cx| {
            if let Poll::Ready(output) = work.as_mut().poll(cx) {
                return Poll::Ready(output);
            }
            if let Some(connection) = &mut self.connection
                && let Poll::Ready(end) = Pin::new(connection).poll(cx)
            {
                self.broken = end.err();
                // A request still queued in it is handed its error by this drop.
                self.connection = None;
            }
            work.as_mut().poll(cx)
        })
        .await
    }
}
