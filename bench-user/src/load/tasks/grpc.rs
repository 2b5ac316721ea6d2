//! Unary gRPC calls: what a response over HTTP/2 says of its call.
//!
//! The status is in the trailers, or in the head of a response that is nothing else. Messages are
//! counted by their length prefixes and not looked into.

use hyper::HeaderMap;

use crate::load::failure::{Failure, FailureClass};
use crate::load::outcome::Status;

/// Bytes before every message: whether it is compressed, and its length.
const PREFIX: usize = 5;

/// The messages of a body that comes in pieces.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Messages {
    prefix: [u8; PREFIX],
    /// Bytes of the present prefix that have come.
    has: usize,
    /// Bytes of the present message that have not.
    lacks: usize,
    whole: u64,
}

impl Messages {
    /// A piece came.
    pub(super) fn read(&mut self, mut piece: &[u8]) {
        while !piece.is_empty() {
            if self.has < PREFIX {
                self.prefix[self.has] = piece[0];
                self.has += 1;
                piece = &piece[1..];
                if self.has == PREFIX {
                    let [_, a, b, c, d] = self.prefix;
                    self.lacks = u32::from_be_bytes([a, b, c, d]) as usize;
                }
            } else {
                let taken = self.lacks.min(piece.len());
                self.lacks -= taken;
                piece = &piece[taken..];
            }
            if self.has == PREFIX && self.lacks == 0 {
                self.whole += 1;
                self.has = 0;
            }
        }
    }

    /// Exactly one, and nothing besides.
    fn is_one(&self) -> bool {
        self.whole == 1 && self.has == 0
    }
}

/// What the response says.
pub(super) fn status(
    http: u16,
    head: &HeaderMap,
    trailers: Option<&HeaderMap>,
    messages: &Messages,
) -> Result<Status, Failure> {
    let from = trailers.unwrap_or(head);
    let grpc = from.get("grpc-status").and_then(|value| value.to_str().ok()?.parse().ok());
    match grpc {
        _ if http / 100 != 2 => Ok(Status { http, grpc }),
        None => {
            let why = format!("HTTP status {http} without a grpc-status; is it a gRPC server?");
            Err(Failure::new(FailureClass::Protocol, why))
        }
        Some(0) if !messages.is_one() => {
            let why = format!("grpc-status 0 with {} whole messages and not one", messages.whole);
            Err(Failure::new(FailureClass::Protocol, why))
        }
        Some(_) => Ok(Status { http, grpc }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_counted_however_they_are_cut() {
        let body = [0, 0, 0, 0, 3, 1, 2, 3, 0, 0, 0, 0, 0];
        for size in 1..=body.len() {
            let mut messages = Messages::default();
            body.chunks(size).for_each(|piece| messages.read(piece));
            assert_eq!((messages.whole, messages.has), (2, 0), "pieces of {size}");
        }
        let mut cut = Messages::default();
        cut.read(&body[..7]);
        assert!(!cut.is_one());
        cut.read(&body[7..8]);
        assert!(cut.is_one());
        cut.read(&body[8..9]);
        assert!(!cut.is_one());
    }

    #[test]
    fn a_status_is_a_number_in_the_trailers_or_in_a_lone_head() {
        let map = |value: &str| {
            let mut map = HeaderMap::new();
            map.insert("grpc-status", value.parse().unwrap());
            map
        };
        let (none, one) = (Messages::default(), Messages { whole: 1, ..Messages::default() });
        let said = |http, head: &HeaderMap, trailers: Option<&HeaderMap>, messages: &Messages| {
            status(http, head, trailers, messages).map(|s| (s.http, s.grpc)).map_err(|e| e.class)
        };
        let nothing = HeaderMap::new();
        assert_eq!(said(200, &nothing, Some(&map("0")), &one), Ok((200, Some(0))));
        assert_eq!(said(200, &map("12"), None, &none), Ok((200, Some(12))));
        assert_eq!(said(503, &nothing, None, &none), Ok((503, None)));
        for (trailers, messages) in [(map("0"), &none), (map("x"), &one), (nothing.clone(), &one)] {
            let class = said(200, &nothing, Some(&trailers), messages);
            assert_eq!(class, Err(FailureClass::Protocol), "{trailers:?}");
        }
    }
}
