//! Opens a WebSocket: the HTTP upgrade of RFC 6455 section 4 on a stream of our own.
//!
//! No extension is offered, so messages are not compressed.

use std::rc::Rc;

use bytes::Bytes;
use hyper::header::{
    CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HeaderValue, SEC_WEBSOCKET_KEY,
    SEC_WEBSOCKET_VERSION, UPGRADE,
};
use hyper::{Request, Uri};
use tokio_tungstenite::tungstenite::handshake::client::generate_key;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Error, Message, error::ProtocolError};
use tokio_tungstenite::{WebSocketStream, client_async_with_config};
use url::Position;

use super::setting::Setting;
use super::stream;
use super::wire::{Wire, WireState};
use crate::clock;
use crate::load::failure::{Failure, FailureClass, chain};
use crate::load::requests::Prepared;

/// Of each connection, bytes; the crate's own choice is 128 KiB, for few connections.
const READ_BUFFER: usize = 4096;

/// What is sent where the plan has no body.
const MESSAGE: &str = "hello";

/// An open WebSocket with what its socket saw.
pub(super) type Socket = (WebSocketStream<Wire>, Rc<WireState>);

/// Opens connection number `place` of the stage and upgrades it; `again` when it replaces one that
/// was closed.
pub(super) async fn open(setting: &Setting, place: usize, again: bool) -> Result<Socket, Failure> {
    let stream = stream::open(setting, place, again).await?;
    let began_ns = clock::now_ns();
    let wire = Rc::new(WireState::default());
    let request = upgrade(setting.requests.next())
        .map_err(|error| Failure::new(FailureClass::NotSentOther, chain(&error)))?;
    // Messages are written at once: each is waited for, or is the only one.
    let config = WebSocketConfig::default().read_buffer_size(READ_BUFFER).write_buffer_size(0);
    let wired = Wire::new(stream, Rc::clone(&wire));
    let (socket, _response) = client_async_with_config(request, wired, Some(config))
        .await
        .map_err(|error| broken(&error, &wire))?;
    setting.recorder.upgraded(clock::now_ns() - began_ns);
    Ok((socket, wire))
}

/// The request of the upgrade: a GET with the headers of the plan.
fn upgrade(request: &Prepared) -> Result<Request<()>, hyper::http::Error> {
    let (url, template) = (&request.url, &request.template);
    // The crate wants to be told whether TLS is used, which here is the stream's business.
    let host = &url[Position::BeforeHost..Position::AfterPort];
    let uri: Uri = format!("ws://{host}{}", template.uri()).parse()?;
    let mut upgrade = Request::get(uri).body(())?;
    let headers = upgrade.headers_mut();
    for (name, value) in template.headers() {
        // The body is a message here, and no part of the upgrade.
        if name != CONTENT_LENGTH && name != CONTENT_TYPE {
            headers.append(name, value.clone());
        }
    }
    headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
    headers.insert(SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"));
    headers.insert(SEC_WEBSOCKET_KEY, HeaderValue::try_from(generate_key())?);
    Ok(upgrade)
}

/// The body of the plan as a message: text where it is UTF-8.
pub(super) fn message(body: Option<&Bytes>) -> Message {
    let Some(body) = body else { return Message::text(MESSAGE) };
    match std::str::from_utf8(body) {
        Ok(text) => Message::text(text),
        Err(_is_binary) => Message::Binary(body.clone()),
    }
}

/// A WebSocket that broke. What the socket did decides first, as for HTTP; an end of the
/// connection is none that the protocol knows.
pub(super) fn broken(error: &Error, wire: &WireState) -> Failure {
    use FailureClass as Class;
    let is_untouched = wire.read() == 0;
    let is_cut = match error {
        Error::Io(_) | Error::ConnectionClosed | Error::AlreadyClosed => true,
        Error::Protocol(violation) => matches!(
            violation,
            ProtocolError::ResetWithoutClosingHandshake | ProtocolError::HandshakeIncomplete
        ),
        _ => false,
    };
    let class = match (is_cut, wire.has_failed()) {
        (false, _) => Class::Protocol,
        (true, true) if is_untouched => Class::ResetBeforeBytes,
        (true, true) => Class::ResetMidBody,
        (true, false) if is_untouched => Class::ClosedBeforeBytes,
        (true, false) => Class::ShortBody,
    };
    Failure::new(class, chain(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_a_text_where_it_can_be_one() {
        assert_eq!(message(None), Message::text("hello"));
        assert_eq!(message(Some(&Bytes::from("h\u{e9}"))), Message::text("h\u{e9}"));
        let bytes = Bytes::from_static(b"\xff");
        assert_eq!(message(Some(&bytes)), Message::Binary(bytes));
    }
}
