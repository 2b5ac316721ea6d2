//! One hyper connection, driven inside the task of whoever waits for its answer.
//!
//! hyper wants its connection future polled beside the request. A task for each of the two would
//! cost two wake-ups a request; here the one task polls both, and dropping the link closes the
//! socket at once.

use std::future::{Future, poll_fn};
use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::Poll;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Empty};
use hyper::Request;
use hyper::body::Body as _;
use hyper::client::conn::http1::{Connection, SendRequest};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use super::outcome::{Failure, FailureKind};
use super::recorder::Recorder;
use super::wire::{Wire, WireState};
use crate::clock;
use crate::fetch::lenient_client;

/// A whole response.
#[derive(Debug, Clone, Copy)]
pub(super) struct Answer {
    pub(super) status: u16,
    /// Bytes of the body, chunk framing taken off.
    pub(super) bytes_in: u64,
    /// When the last byte was there.
    pub(super) end_ns: u64,
}

/// An open connection.
#[derive(Debug)]
pub(super) struct Link {
    sender: SendRequest<Empty<Bytes>>,
    driver: Driver,
    wire: Rc<WireState>,
    has_answered: bool,
    recorder: Rc<Recorder>,
}

impl Drop for Link {
    fn drop(&mut self) {
        self.recorder.closed();
    }
}

impl Link {
    /// Opens a connection; `again` when it replaces one that was closed.
    pub(super) async fn open(
        address: SocketAddr,
        recorder: Rc<Recorder>,
        again: bool,
    ) -> Result<Self, Failure> {
        let began_ns = clock::now_ns();
        let stream = connect(address).await.map_err(|e| Failure::connecting(&e))?;
        let open_ns = clock::now_ns();
        let wire = Rc::new(WireState::default());
        let io = TokioIo::new(Wire::new(stream, Rc::clone(&wire)));
        let (sender, connection) =
            lenient_client().handshake(io).await.map_err(|e| Failure::exchanging(&e, &wire))?;
        recorder.opened(open_ns - began_ns, open_ns, again);
        let driver = Driver { connection: Some(connection), broken: None };
        Ok(Self { sender, driver, wire, has_answered: false, recorder })
    }

    /// Another request may be tried.
    pub(super) fn is_open(&self) -> bool {
        self.driver.connection.is_some()
    }

    /// Bytes of the present request that went out.
    pub(super) fn written(&self) -> u64 {
        self.wire.written()
    }

    /// The present request met a close that a server is entitled to between two requests: not
    /// the first on this connection, and no byte of an answer came.
    pub(super) fn met_keep_alive_close(&self) -> bool {
        let has_ended = self.wire.is_at_eof() || self.wire.has_failed();
        self.has_answered && has_ended && self.wire.read() == 0
    }

    /// Sends a request and waits for the last byte of its response.
    pub(super) async fn exchange(
        &mut self,
        request: Request<Empty<Bytes>>,
    ) -> Result<Answer, Failure> {
        self.wire.begin();
        let answer = self.whole_answer(request).await;
        let answer = answer.map_err(|e| Failure::exchanging(&e, &self.wire))?;
        self.settle().await?;
        self.has_answered = true;
        Ok(answer)
    }

    async fn whole_answer(&mut self, request: Request<Empty<Bytes>>) -> hyper::Result<Answer> {
        let response = self.sender.send_request(request);
        // Informational responses are skipped by hyper: this is the final head.
        let response = self.driver.until(response).await?;
        let status = response.status().as_u16();
        let mut body = response.into_body();
        let mut bytes_in = 0;
        while !body.is_end_stream() {
            let Some(frame) = self.driver.until(body.frame()).await else { break };
            bytes_in += frame?.data_ref().map_or(0, |data| data.len() as u64);
        }
        Ok(Answer { status, bytes_in, end_ns: clock::now_ns() })
    }

    /// Lets hyper finish with the response, so that the link is ready for the next request or
    /// known to be closed. Bytes after the end of a response make it a broken one.
    async fn settle(&mut self) -> Result<(), Failure> {
        let ready = self.driver.until(poll_fn(|cx| self.sender.poll_ready(cx))).await;
        if ready.is_err() {
            self.driver.connection = None;
        }
        match self.driver.broken.take() {
            // A reset after a whole response is a close like any other.
            Some(error) if !self.wire.has_failed() => {
                let message = format!("after a whole response: {error}");
                Err(Failure::new(FailureKind::Protocol, message))
            }
            _ => Ok(()),
        }
    }
}

/// hyper's side of the connection, and how it ended once it has.
#[derive(Debug)]
struct Driver {
    connection: Option<Connection<TokioIo<Wire>, Empty<Bytes>>>,
    broken: Option<hyper::Error>,
}

impl Driver {
    /// Waits for `work` while the connection makes progress.
    async fn until<F: Future>(&mut self, work: F) -> F::Output {
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

async fn connect(address: SocketAddr) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(address).await?;
    // On loopback, a connect to a free port of the ephemeral range can meet itself.
    if address.ip().is_loopback() && stream.local_addr()? == address {
        return Err(io::ErrorKind::ConnectionRefused.into());
    }
    stream.set_nodelay(true)?;
    Ok(stream)
}
