//! What the parsers of bytes from the network make of a stream: for those who test them from
//! outside, such as the fuzz targets. Nothing here is used by a stage.

use super::lean::{Heads, Response};
use super::sse::{Item, Parser};

/// What a stream of server-sent events held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EventsIn {
    /// Events.
    pub events: u64,
    /// Bytes of their data.
    pub bytes: u64,
    /// Comments.
    pub comments: u64,
}

/// What the event-stream parser finds in bytes that come in these pieces.
pub fn events_in<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> EventsIn {
    let (mut parser, mut found) = (Parser::default(), EventsIn::default());
    for piece in pieces {
        parser.take(piece, |item| match item {
            Item::Event { bytes } => {
                found.events += 1;
                found.bytes += bytes;
            }
            Item::Comment => found.comments += 1,
        });
    }
    found
}

/// What a connection of HTTP/1.1 held, from the server's side.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ResponsesIn {
    /// Status and body bytes of each whole response.
    pub whole: Vec<(u16, u64)>,
    /// Informational responses to those.
    pub informational: u64,
    /// What was no HTTP, as a sentence, and ended it.
    pub broken: Option<String>,
}

/// What the lean client's parser finds in bytes that come in these pieces, until one says that the
/// connection ends after it.
pub fn responses_in<'a>(pieces: impl IntoIterator<Item = &'a [u8]>, is_head: bool) -> ResponsesIn {
    let (mut response, mut heads) = (Response::new(), Heads::new());
    let mut found = ResponsesIn::default();
    for mut piece in pieces {
        while !piece.is_empty() {
            match response.feed(piece, 0, is_head, &mut heads) {
                Ok(None) => break,
                Ok(Some((used, whole))) => {
                    piece = &piece[used..];
                    found.whole.push((whole.status, whole.body));
                    found.informational += u64::from(whole.informational);
                    if !whole.keeps_open {
                        return found;
                    }
                }
                Err(broken) => {
                    found.broken = Some(broken.to_string());
                    return found;
                }
            }
        }
    }
    if let Some(whole) = response.at_eof() {
        found.whole.push((whole.status, whole.body));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_comes_to_the_same_in_any_pieces() {
        let events: &[u8] = b": ping\n\ndata: one\ndata: two\n\ndata: [DONE]\r\n\r\n";
        let expect = EventsIn { events: 2, bytes: 13, comments: 1 };
        let http: &[u8] = b"HTTP/1.1 103 X\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok\
                            HTTP/1.1 404 No\r\n\r\nuntil the end";
        for size in 1..http.len() {
            assert_eq!(events_in(events.chunks(size)), expect, "{size}");
            let found = responses_in(http.chunks(size), false);
            assert_eq!((found.whole, found.informational), (vec![(200, 2), (404, 13)], 1));
        }
        assert!(responses_in([&b"garbage\r\n\r\n"[..]], false).broken.is_some());
    }
}
