//! What a lane sends its requests on, whatever is spoken.

use std::rc::Rc;

use super::http1::Http1;
use super::http2::Http2;
use super::setting::Setting;
use super::trunk::Trunk;
use super::websocket::Websocket;
use crate::load::failure::Failure;
use crate::load::outcome::Status;
use crate::load::requests::Prepared;
use crate::plan::Protocol;

/// A whole response.
#[derive(Debug, Clone, Copy)]
pub(super) struct Answer {
    pub(super) status: Status,
    /// Bytes of the body, framing taken off.
    pub(super) bytes_in: u64,
    /// When the head of the final response was there.
    pub(super) first_byte_ns: u64,
    /// When the last byte was there.
    pub(super) end_ns: u64,
}

/// Whether a request that failed may be made once more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Repeat {
    /// It has failed for good.
    #[default]
    No,
    /// Nothing of it went out, so that is not even a second sending.
    Unsent,
    /// It went out, and the server cannot have acted on it, or would do no harm if it had.
    Sent,
}

/// An open link; dropped, it is closed.
#[derive(Debug)]
pub(super) enum Link {
    /// A connection of HTTP/1.1.
    Http1(Box<Http1>),
    /// A WebSocket that echoes.
    Websocket(Box<Websocket>),
    /// A share of a connection of HTTP/2, for one stream at a time.
    Http2(Box<Http2>),
}

impl Link {
    /// Opens a link for connection number `place` of the stage, or one more on it.
    pub(super) async fn open(
        setting: &Setting,
        place: usize,
        trunk: &Rc<Trunk>,
    ) -> Result<Self, Failure> {
        Ok(match setting.setup.protocol {
            Protocol::Http2 | Protocol::Grpc => {
                Self::Http2(Box::new(Http2::open(setting, place, trunk).await?))
            }
            Protocol::Websocket => {
                let link = Websocket::open(setting, place, trunk.was_open()).await?;
                trunk.opened();
                Self::Websocket(Box::new(link))
            }
            Protocol::Http1 | Protocol::Sse | Protocol::Idle => {
                let link = Http1::open(setting, place, trunk.was_open()).await?;
                trunk.opened();
                Self::Http1(Box::new(link))
            }
        })
    }

    /// Another request may be tried.
    pub(super) fn is_open(&self) -> bool {
        match self {
            Self::Http1(link) => link.is_open(),
            Self::Websocket(link) => link.is_open(),
            Self::Http2(link) => link.is_open(),
        }
    }

    /// Sends a request and waits for the last byte of its response.
    pub(super) async fn exchange(&mut self, request: &Prepared) -> Result<Answer, Failure> {
        match self {
            Self::Http1(link) => link.exchange(request).await,
            Self::Websocket(link) => link.exchange().await,
            Self::Http2(link) => link.exchange(request).await,
        }
    }

    /// Bytes that went out for the present request; counted once.
    pub(super) fn take_written(&self) -> u64 {
        match self {
            Self::Http1(link) => link.take_written(),
            Self::Http2(link) => link.take_written(),
            Self::Websocket(link) => link.wire().take_written(),
        }
    }

    /// 1xx responses to the present request so far; counted once.
    pub(super) fn informational(&mut self) -> u32 {
        match self {
            Self::Http1(link) => link.informational(),
            Self::Websocket(_) => 0,
            Self::Http2(link) => link.informational(),
        }
    }

    /// Whether the present request, which failed, may be made again.
    pub(super) fn repeat(&self, is_idempotent: bool) -> Repeat {
        match self {
            Self::Http1(link) => link.repeat(is_idempotent),
            Self::Http2(link) => link.repeat(is_idempotent),
            Self::Websocket(_) => Repeat::No,
        }
    }

    /// Bytes came before any of the present request went out, so they are no answer to it.
    pub(super) fn met_unasked_bytes(&self) -> bool {
        match self {
            Self::Http1(link) => link.met_unasked_bytes(),
            Self::Http2(_) | Self::Websocket(_) => false,
        }
    }

    /// Waits, with no request out, until the link ends; whether bytes came that nobody asked for.
    pub(super) async fn ended_by_itself(&mut self) -> bool {
        match self {
            Self::Http1(link) => link.ended_by_itself().await,
            Self::Websocket(link) => link.ended_by_itself().await,
            Self::Http2(link) => link.ended_by_itself().await,
        }
    }
}
