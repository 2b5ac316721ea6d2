//! One connection of HTTP/2, and a lane's share of it.
//!
//! The protocol is spoken by the h2 crate, on which hyper's own is built: it needs no task a
//! request and tells a GOAWAY, a reset and a refusal apart. A task of its own drives the
//! connection, from stage to stage.
//!
//! * Flow control does not limit: its windows are 1 GiB.
//! * No more streams are open than the server allows; a request above that waits, and the wait is
//!   part of its service time. None but the first is sent before that limit is known.
//! * A stream that the server refused, or that is above the last one of its GOAWAY, was not acted
//!   on: it is made once more, after a GOAWAY on a new connection.
//! * h2 ends a connection at its 101st empty DATA frame that does not end a stream, as an attack
//!   (0.4.20, `MAX_RECV_EMPTY_DATA_FRAMES`); the requests on it then fail as `parse`, and say so.
//! * `bytes_in` are those of bodies. `bytes_out` are all that the connection wrote, compressed
//!   heads and frames of the connection itself included, on account of the request that ends next.

use std::cell::Cell;
use std::future::{Future as _, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::task::Poll;

use bytes::Bytes;
use h2::client::{Builder, ResponseFuture, SendRequest};
use h2::{Reason, RecvStream};
use hyper::{Request, Response};
use tokio::sync::Notify;
use tokio::task::AbortHandle;

use super::grpc::{self, Messages};
use super::link::{Answer, Repeat};
use super::setting::Setting;
use super::stream;
use super::trunk::Trunk;
use super::wire::{Wire, WireState};
use crate::clock;
use crate::load::failure::{Failure, FailureClass, chain};
use crate::load::outcome::Status;
use crate::load::requests::Prepared;
use crate::plan::Protocol;

/// Of a stream and of the connection, bytes.
const WINDOW: u32 = 1 << 30;

/// An open connection; dropped, it is closed.
#[derive(Debug)]
pub(super) struct Connection {
    sender: SendRequest<Bytes>,
    state: Rc<State>,
    driver: AbortHandle,
}

#[derive(Debug, Default)]
struct State {
    wire: Rc<WireState>,
    has_answered: Cell<bool>,
    /// It takes no further request: it ended, or the server said that it will.
    is_over: Cell<bool>,
    ended: Notify,
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

impl Connection {
    async fn open(setting: &Setting, place: usize, again: bool) -> Result<Self, Failure> {
        let stream = stream::open(setting, place, again).await?;
        let state = Rc::new(State::default());
        let wire = Wire::new(stream, Rc::clone(&state.wire));
        let (sender, connection) = Builder::new()
            .enable_push(false)
            .initial_window_size(WINDOW)
            .initial_connection_window_size(WINDOW)
            .initial_max_send_streams(1)
            .handshake::<_, Bytes>(wire)
            .await
            .map_err(|e| state.failure(&e, false))?;
        let (driven, live) = (Rc::clone(&state), setting.live.hold());
        let driver = tokio::task::spawn_local(async move {
            // Its error is handed to every stream, and so to the requests.
            let _whatever = connection.await;
            drop(live);
            driven.is_over.set(true);
            driven.ended.notify_waiters();
        });
        Ok(Self { sender, state, driver: driver.abort_handle() })
    }

    /// Another request may be tried.
    pub(super) fn is_open(&self) -> bool {
        !self.state.is_over.get()
    }
}

impl State {
    /// An exchange that broke; `has_head`: inside its response.
    fn failure(&self, error: &h2::Error, has_head: bool) -> Failure {
        use FailureClass as Class;
        let wire = &self.wire;
        if wire.was_refused() {
            return Failure::new(Class::Tls, chain(error));
        }
        if error.is_library() {
            let hint = if self.has_answered.get() { "" } else { "; does the server speak HTTP/2?" };
            return Failure::new(Class::Parse, format!("{}{hint}", chain(error)));
        }
        let class = if error.is_remote() {
            Class::Protocol
        } else if wire.has_failed() {
            if has_head { Class::ResetMidBody } else { Class::ResetBeforeBytes }
        } else if wire.is_at_eof() {
            if has_head { Class::ShortBody } else { Class::ClosedBeforeBytes }
        } else {
            Class::NotSentOther
        };
        Failure::new(class, chain(error))
    }
}

/// A lane's share of a connection.
#[derive(Debug)]
pub(super) struct Http2 {
    connection: Rc<Connection>,
    sender: SendRequest<Bytes>,
    is_grpc: bool,
    informational: u32,
    broken: Option<Broken>,
}

/// What broke the present exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Broken {
    /// The server cannot have acted on the request.
    Unprocessed,
    /// The request was not sent.
    Unsent,
    /// The connection ended without a head of a response.
    Ended,
}

impl Http2 {
    /// A share of the trunk's connection, which is opened where it is not open.
    pub(super) async fn open(
        setting: &Setting,
        place: usize,
        trunk: &Trunk,
    ) -> Result<Self, Failure> {
        let connection = match trunk.shared() {
            Some(connection) => connection,
            None => {
                let opened = Connection::open(setting, place, trunk.was_open()).await?;
                let opened = Rc::new(opened);
                trunk.share(&opened);
                opened
            }
        };
        let sender = connection.sender.clone();
        let is_grpc = setting.setup.protocol == Protocol::Grpc;
        Ok(Self { connection, sender, is_grpc, informational: 0, broken: None })
    }

    pub(super) fn is_open(&self) -> bool {
        self.connection.is_open()
    }

    pub(super) fn take_written(&self) -> u64 {
        self.connection.state.wire.take_written()
    }

    pub(super) fn informational(&mut self) -> u32 {
        std::mem::take(&mut self.informational)
    }

    pub(super) fn repeat(&self, is_idempotent: bool) -> Repeat {
        match self.broken {
            Some(Broken::Unsent) => Repeat::Unsent,
            Some(Broken::Unprocessed) => Repeat::Sent,
            Some(Broken::Ended) if is_idempotent && self.connection.state.has_answered.get() => {
                Repeat::Sent
            }
            _ => Repeat::No,
        }
    }

    /// Waits until the connection ends; on one of HTTP/2, nothing comes unasked.
    pub(super) async fn ended_by_itself(&mut self) -> bool {
        while self.is_open() {
            self.connection.state.ended.notified().await;
        }
        false
    }

    /// Sends a request and waits for the end of its stream.
    pub(super) async fn exchange(&mut self, request: &Prepared) -> Result<Answer, Failure> {
        self.broken = None;
        let response = self.send(request).await.map_err(|e| {
            self.connection.state.is_over.set(true);
            self.broken = Some(Broken::Unsent);
            self.connection.state.failure(&e, false)
        })?;
        let response = self.head(response).await.map_err(|e| {
            self.broken = self.broken_by(&e);
            self.connection.state.failure(&e, false)
        })?;
        let first_byte_ns = clock::now_ns();
        let answer = self.rest(response, first_byte_ns).await?;
        self.connection.state.has_answered.set(true);
        Ok(answer)
    }

    async fn send(&mut self, request: &Prepared) -> Result<ResponseFuture, h2::Error> {
        poll_fn(|cx| self.sender.poll_ready(cx)).await?;
        let (head, _) = request.template.clone().into_parts();
        let is_whole = request.body.is_empty();
        let (response, mut body) =
            self.sender.send_request(Request::from_parts(head, ()), is_whole)?;
        if !is_whole {
            // Queued until the server's window takes it. What goes wrong with it from here on,
            // the response tells.
            drop(body.send_data(request.body.clone(), true));
        }
        Ok(response)
    }

    /// The final head; informational ones are counted.
    async fn head(
        &mut self,
        mut response: ResponseFuture,
    ) -> Result<Response<RecvStream>, h2::Error> {
        poll_fn(|cx| {
            while let Poll::Ready(Some(Ok(_))) = response.poll_informational(cx) {
                self.informational += 1;
            }
            Pin::new(&mut response).poll(cx)
        })
        .await
    }

    /// Whether a request without a head of a response may be made again.
    fn broken_by(&self, error: &h2::Error) -> Option<Broken> {
        if error.is_remote() && error.is_go_away() {
            // Streams up to the last one of the GOAWAY go on; this one is above it.
            self.connection.state.is_over.set(true);
            return Some(Broken::Unprocessed);
        }
        if error.is_remote() && error.reason() == Some(Reason::REFUSED_STREAM) {
            return Some(Broken::Unprocessed);
        }
        error.is_io().then_some(Broken::Ended)
    }

    async fn rest(
        &self,
        response: Response<RecvStream>,
        first_byte_ns: u64,
    ) -> Result<Answer, Failure> {
        let broke = |e: h2::Error| self.connection.state.failure(&e, true);
        let (head, mut body) = response.into_parts();
        let (mut bytes_in, mut messages) = (0, Messages::default());
        while let Some(data) = body.data().await {
            let data = data.map_err(broke)?;
            bytes_in += data.len() as u64;
            messages.read(&data);
            body.flow_control().release_capacity(data.len()).map_err(broke)?;
        }
        let trailers = body.trailers().await.map_err(broke)?;
        let http = head.status.as_u16();
        let status = if self.is_grpc {
            grpc::status(http, &head.headers, trailers.as_ref(), &messages)?
        } else {
            Status::http(http)
        };
        Ok(Answer { status, bytes_in, first_byte_ns, end_ns: clock::now_ns() })
    }
}
