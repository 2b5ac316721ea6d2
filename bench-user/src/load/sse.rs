//! Finds the events of an event stream (WHATWG HTML, "9.2.6 Interpreting an event stream") in
//! bytes that come in pieces.
//!
//! Tells how large the data of an event is and keeps none of it, so that its memory is the same
//! whatever the server sends. That is also why no crate is used: those known to us collect every
//! event, pass over comments in silence, and do not say which events came in one piece. `id`,
//! `event` and `retry` change nothing here, since no event is looked at and a stream is opened
//! again by the generator's own rule. `data: [DONE]` is an event like any other.

/// What a stream was found to hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Item {
    /// An event; its data, lines joined, has so many bytes.
    Event { bytes: u64 },
    /// A comment line, which servers send to keep a connection alive.
    Comment,
}

/// Reads one stream from its first byte; an event is not one before its empty line has come.
#[derive(Debug, Default)]
pub(super) struct Parser {
    /// Bytes of a byte order mark so far; `MARK.len()` once the stream is past it.
    mark: usize,
    /// The last byte was a CR, so that an LF now would belong to it.
    after_cr: bool,
    line: Line,
    /// Of the event that is being read: the bytes of its data with a line feed after every line.
    data: Option<u64>,
}

const MARK: &[u8] = b"\xef\xbb\xbf";
const DATA: &[u8] = b"data";

/// The present line, as far as it came.
#[derive(Debug, Default, Clone, Copy)]
enum Line {
    #[default]
    Empty,
    Comment,
    /// In the name of a field: so many bytes of `data` were met, and no others.
    Name(usize),
    /// In or behind the name of another field.
    Other,
    /// Behind the colon of `data`.
    Colon,
    /// In a value of `data`, of so many bytes.
    Value(u64),
}

impl Parser {
    /// Takes the next piece and hands on what it completes.
    pub(super) fn take(&mut self, piece: &[u8], mut found: impl FnMut(Item)) {
        for &byte in piece {
            if self.mark < MARK.len() && self.is_mark(byte) {
                continue;
            }
            let was_cr = std::mem::replace(&mut self.after_cr, byte == b'\r');
            match byte {
                b'\n' if was_cr => {}
                b'\r' | b'\n' => {
                    if let Some(item) = self.end_line() {
                        found(item);
                    }
                }
                _ => self.line = self.line.with(byte),
            }
        }
    }

    /// Whether a byte belongs to a byte order mark. One that breaks off was the begin of a line.
    fn is_mark(&mut self, byte: u8) -> bool {
        if byte == MARK[self.mark] {
            self.mark += 1;
            return true;
        }
        if self.mark > 0 {
            self.line = Line::Other;
        }
        self.mark = MARK.len();
        false
    }

    fn end_line(&mut self) -> Option<Item> {
        let value_bytes = match std::mem::take(&mut self.line) {
            Line::Empty => {
                // The last line feed is no part of the data.
                return self.data.take().map(|bytes| Item::Event { bytes: bytes - 1 });
            }
            Line::Comment => return Some(Item::Comment),
            Line::Name(met) if met == DATA.len() => 0,
            Line::Name(_) | Line::Other => return None,
            Line::Colon => 0,
            Line::Value(bytes) => bytes,
        };
        self.data = Some(self.data.unwrap_or(0) + value_bytes + 1);
        None
    }
}

impl Line {
    /// The line with one more byte, which is no end of line.
    fn with(self, byte: u8) -> Self {
        match self {
            Self::Empty if byte == b':' => Self::Comment,
            Self::Empty => Self::Name(0).with(byte),
            Self::Name(met) if DATA.get(met) == Some(&byte) => Self::Name(met + 1),
            Self::Name(met) if met == DATA.len() && byte == b':' => Self::Colon,
            Self::Name(_) => Self::Other,
            Self::Colon if byte == b' ' => Self::Value(0),
            Self::Colon => Self::Value(1),
            Self::Value(bytes) => Self::Value(bytes + 1),
            Self::Comment | Self::Other => self,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The items of a stream that comes in these pieces.
    fn items<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<Item> {
        let (mut parser, mut all) = (Parser::default(), Vec::new());
        pieces.into_iter().for_each(|piece| parser.take(piece, |item| all.push(item)));
        all
    }

    /// Whole, byte by byte and cut in two at every place, a stream holds the same. `None` is a
    /// comment, a number an event with so many bytes of data.
    fn check(stream: &[u8], expect: &[Option<u64>]) {
        let shown = |item: &Item| match item {
            Item::Event { bytes } => Some(*bytes),
            Item::Comment => None,
        };
        let whole = items([stream]);
        let text = String::from_utf8_lossy(stream);
        assert_eq!(whole.iter().map(shown).collect::<Vec<_>>(), expect, "{text:?}");
        assert_eq!(items(stream.chunks(1)), whole, "{text:?} byte by byte");
        for at in 0..=stream.len() {
            assert_eq!(items([&stream[..at], &stream[at..]]), whole, "{text:?} cut at {at}");
        }
    }

    #[test]
    fn an_event_ends_at_an_empty_line_whatever_ends_lines() {
        for end in ["\n", "\r", "\r\n"] {
            let stream = format!("data: hello{end}{end}data:x{end}{end}").into_bytes();
            check(&stream, &[Some(5), Some(1)]);
        }
        check(b"data: a\r\r\ndata: b\n\r\n", &[Some(1), Some(1)]);
        check(b"data: not ended\n", &[]);
    }

    #[test]
    fn data_lines_are_joined_by_a_line_feed() {
        check(b"data: YHOO\ndata: +2\ndata: 10\n\n", &[Some(10)]);
        check(b"data\n\ndata\ndata\n\ndata:\n\n", &[Some(0), Some(1), Some(0)]);
        check(b"data: \n\ndata:  a\n\ndata: a:b: c\n\n", &[Some(0), Some(2), Some(6)]);
    }

    #[test]
    fn comments_and_other_fields_are_no_events() {
        check(b": ping\n\n:\n\n", &[None, None]);
        check(b"data: a\n: ping\ndata: b\n\n", &[None, Some(3)]);
        check(b"id: 1\nevent: x\nretry: 10\n\nid\n\nevent: x\ndata: a\n\n", &[Some(1)]);
        check(b"dat: a\n\ndatax: a\n\nDATA: a\n\n data: a\n\ndata : a\n\nd\n\n", &[]);
        check(b"data: [DONE]\n\n", &[Some(6)]);
    }

    #[test]
    fn one_byte_order_mark_may_come_first() {
        check(b"\xef\xbb\xbfdata: a\n\n", &[Some(1)]);
        check(b"\xef\xbb\xbf\xef\xbb\xbfdata: a\n\n", &[]);
        check(b"\xef\xbbdata: a\n\n\xef\xbb\xbfdata: b\n\ndata: c\n\n", &[Some(1)]);
        check(b"\xef\xbb\xbf\n\xef", &[]);
    }

    #[test]
    fn any_bytes_are_taken() {
        let mut random = fastrand::Rng::with_seed(7);
        let alphabet = b"data: \r\n:\xef\xbb\xbfx";
        for _ in 0..200 {
            let stream: Vec<u8> =
                (0..40).map(|_| alphabet[random.usize(..alphabet.len())]).collect();
            let whole = items([&stream[..]]);
            assert_eq!(items(stream.chunks(1)), whole, "{stream:?}");
        }
    }
}
