//! A WebSocket as a link: a message is a request, the next message from the server its response.
//!
//! What is in it is not compared. Pings are answered and pongs passed over. A message is seen
//! when it is whole, so its first byte came when its last did. A close by the server between
//! two messages replaces the link; while one is out, that message fails.

use std::pin::Pin;
use std::rc::Rc;
use std::task::Poll;

use futures_util::{SinkExt as _, Stream as _, StreamExt as _};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::{Error, Message};

use super::link::Answer;
use super::setting::Setting;
use super::upgrade::{self, broken};
use super::wire::{Wire, WireState};
use crate::clock;
use crate::load::failure::{Failure, FailureClass};
use crate::load::outcome::Status;
use crate::load::recorder::IsLive;

/// An open WebSocket.
#[derive(Debug)]
pub(super) struct Websocket {
    socket: WebSocketStream<Wire>,
    wire: Rc<WireState>,
    message: Message,
    is_closed: bool,
    _live: IsLive,
}

/// What came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Came {
    /// A message of so many bytes.
    Message(u64),
    /// A ping, which is answered with the next read.
    Ping,
    Pong,
    /// The server closes.
    Close,
}

impl Websocket {
    /// Opens one; `again` when it replaces one that was closed.
    pub(super) async fn open(
        setting: &Setting,
        place: usize,
        again: bool,
    ) -> Result<Self, Failure> {
        let (socket, wire) = upgrade::open(setting, place, again).await?;
        let message = upgrade::message(setting.setup.requests.body.as_ref());
        Ok(Self { socket, wire, message, is_closed: false, _live: setting.live.hold() })
    }

    /// Another message may be sent.
    pub(super) fn is_open(&self) -> bool {
        !self.is_closed
    }

    /// What the socket did.
    pub(super) fn wire(&self) -> &WireState {
        &self.wire
    }

    /// Sends the message and waits for one.
    pub(super) async fn exchange(&mut self) -> Result<Answer, Failure> {
        self.send().await?;
        let bytes_in = loop {
            match self.next().await? {
                Came::Message(bytes) => break bytes,
                Came::Ping | Came::Pong => {}
                Came::Close => {
                    let message = "the server closed the WebSocket while a message was out";
                    return Err(Failure::new(FailureClass::Protocol, message));
                }
            }
        };
        let end_ns = clock::now_ns();
        self.settle().await?;
        Ok(Answer { status: Status::http(200), bytes_in, first_byte_ns: end_ns, end_ns })
    }

    /// Sends the message; bytes are counted from here.
    pub(super) async fn send(&mut self) -> Result<(), Failure> {
        self.wire.begin();
        let sent = self.socket.send(self.message.clone()).await;
        sent.map_err(|error| broken(&error, &self.wire))
    }

    /// Waits for what comes next; cancel-safe.
    pub(super) async fn next(&mut self) -> Result<Came, Failure> {
        let next = self.socket.next().await;
        let came = came(next).map_err(|error| broken(&error, &self.wire))?;
        if came == Came::Close {
            self.is_closed = true;
            // Our half of the closing handshake, whether or not it is still wanted.
            drop(self.socket.flush().await);
        }
        Ok(came)
    }

    /// Looks at what came in the same read as an answer: another message makes that answer
    /// doubtful, a close makes room for a new link. The socket itself is not asked: a read that
    /// did not fill its buffer emptied it, which the runtime knows.
    async fn settle(&mut self) -> Result<(), Failure> {
        loop {
            let next =
                std::future::poll_fn(|cx| Poll::Ready(Pin::new(&mut self.socket).poll_next(cx)));
            let Poll::Ready(next) = next.await else { return Ok(()) };
            match came(next) {
                Ok(Came::Ping | Came::Pong) => {}
                Ok(Came::Message(_)) => {
                    let message = "a second message came with the answer";
                    return Err(Failure::new(FailureClass::UnexpectedBytes, message));
                }
                Ok(Came::Close) | Err(_) => {
                    self.is_closed = true;
                    return Ok(());
                }
            }
        }
    }

    /// Waits, with no message out, until the link ends; whether by a message nobody asked for.
    pub(super) async fn ended_by_itself(&mut self) -> bool {
        loop {
            match self.next().await {
                Ok(Came::Ping | Came::Pong) => {}
                Ok(Came::Message(_)) => {
                    self.is_closed = true;
                    return true;
                }
                Ok(Came::Close) | Err(_) => {
                    self.is_closed = true;
                    return false;
                }
            }
        }
    }
}

fn came(next: Option<Result<Message, Error>>) -> Result<Came, Error> {
    Ok(match next.transpose()? {
        Some(message @ (Message::Text(_) | Message::Binary(_))) => {
            Came::Message(message.len() as u64)
        }
        Some(Message::Ping(_)) => Came::Ping,
        // A raw frame is never read.
        Some(Message::Pong(_) | Message::Frame(_)) => Came::Pong,
        Some(Message::Close(_)) => Came::Close,
        None => return Err(Error::ConnectionClosed),
    })
}
