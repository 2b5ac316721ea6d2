//! What a lane sends its requests on, whatever is spoken.

use super::http1::Http1;
use super::lane::Setting;
use super::websocket::Websocket;
use crate::load::outcome::{Failure, Status};
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

/// An open link; dropped, it is closed.
#[derive(Debug)]
pub(super) enum Link {
    /// A connection of HTTP/1.1.
    Http1(Box<Http1>),
    /// A WebSocket that echoes.
    Websocket(Box<Websocket>),
}

impl Link {
    /// Opens a link for connection number `place` of the stage; `again` when it replaces one that
    /// was closed.
    pub(super) async fn open(
        setting: &Setting,
        place: usize,
        again: bool,
    ) -> Result<Self, Failure> {
        Ok(match setting.setup.protocol {
            Protocol::Websocket => {
                Self::Websocket(Box::new(Websocket::open(setting, place, again).await?))
            }
            _ => Self::Http1(Box::new(Http1::open(setting, place, again).await?)),
        })
    }

    /// Another request may be tried.
    pub(super) fn is_open(&self) -> bool {
        match self {
            Self::Http1(link) => link.is_open(),
            Self::Websocket(link) => link.is_open(),
        }
    }

    /// Sends a request and waits for the last byte of its response.
    pub(super) async fn exchange(&mut self, request: &Prepared) -> Result<Answer, Failure> {
        match self {
            Self::Http1(link) => link.exchange(request).await,
            Self::Websocket(link) => link.exchange().await,
        }
    }

    /// Bytes of the present request that went out.
    pub(super) fn written(&self) -> u64 {
        match self {
            Self::Http1(link) => link.written(),
            Self::Websocket(link) => link.wire().written(),
        }
    }

    /// 1xx responses to the present request so far; counted once.
    pub(super) fn informational(&mut self) -> u32 {
        match self {
            Self::Http1(link) => link.informational(),
            Self::Websocket(_) => 0,
        }
    }

    /// The present request met a close that a server is entitled to between two requests: not
    /// the first on this connection, and no byte of an answer came.
    pub(super) fn met_keep_alive_close(&self) -> bool {
        match self {
            Self::Http1(link) => link.met_keep_alive_close(),
            Self::Websocket(_) => false,
        }
    }

    /// Bytes came before any of the present request went out, so they are no answer to it.
    pub(super) fn met_unasked_bytes(&self) -> bool {
        match self {
            Self::Http1(link) => link.met_unasked_bytes(),
            Self::Websocket(_) => false,
        }
    }

    /// Waits, with no request out, until the link ends; whether bytes came that nobody asked for.
    pub(super) async fn ended_by_itself(&mut self) -> bool {
        match self {
            Self::Http1(link) => link.ended_by_itself().await,
            Self::Websocket(link) => link.ended_by_itself().await,
        }
    }
}
