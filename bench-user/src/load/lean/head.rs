//! The head of a response: what of it decides where the response ends, and whether the connection
//! stays open. Pure: bytes in, meaning out.
//!
//! As lenient as the hyper client: spaces after a header's name, folded lines, and headers that
//! are none are passed over.

use std::mem::MaybeUninit;

use httparse::{Header, ParserConfig, Status};

/// A head longer than this is refused, bytes.
pub(super) const HEAD_BYTES_MAX: usize = 1 << 20;

/// As many headers cost no allocation; they lie on the stack, 8 KiB.
const HEADERS: usize = 256;

/// More headers than this are refused.
const HEADERS_MAX: usize = 4096;

/// Longer heads are parsed every time.
const MEMO_BYTES_MAX: usize = 4096;

/// What came is no response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(in crate::load) enum Broken {
    /// The head breaks the grammar.
    #[error("invalid response head: {0}")]
    Head(httparse::Error),
    /// The head is too long to be kept.
    #[error("response head longer than {HEAD_BYTES_MAX} bytes")]
    HeadSize,
    /// Several lengths, or one that is no number.
    #[error("invalid Content-Length")]
    Length,
    /// HTTP/1.0 knows no transfer encodings.
    #[error("Transfer-Encoding in an HTTP/1.0 response")]
    Encoding,
    /// A chunk's size or its end is none.
    #[error("invalid chunk")]
    Chunk,
}

/// How long the body is, by the head alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    Length(u64),
    Chunked,
    UntilEof,
    /// No telling; an error unless this response has no body anyway.
    Invalid(Broken),
}

/// What matters of a head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) status: u16,
    pub(super) framing: Framing,
    /// The server will take another request on this connection.
    pub(super) keeps_open: bool,
}

/// Parses heads, and knows the last one again: the same bytes mean the same.
#[derive(Debug)]
pub(in crate::load) struct Heads {
    config: ParserConfig,
    last: Vec<u8>,
    head: Head,
}

impl Heads {
    pub(in crate::load) fn new() -> Self {
        let mut config = ParserConfig::default();
        config
            .allow_spaces_after_header_name_in_responses(true)
            .allow_obsolete_multiline_headers_in_responses(true)
            .ignore_invalid_headers_in_responses(true);
        let head = Head { status: 0, framing: Framing::UntilEof, keeps_open: false };
        Self { config, last: Vec::new(), head }
    }

    /// The head that `bytes` begin with and its length; `None` while it has no end.
    pub(super) fn parse(&mut self, bytes: &[u8]) -> Result<Option<(usize, Head)>, Broken> {
        if !self.last.is_empty() && bytes.starts_with(&self.last) {
            return Ok(Some((self.last.len(), self.head)));
        }
        let mut headers = [const { MaybeUninit::uninit() }; HEADERS];
        let parsed = match parse(&self.config, bytes, &mut headers) {
            Err(Broken::Head(httparse::Error::TooManyHeaders)) => {
                let mut headers = vec![MaybeUninit::uninit(); HEADERS_MAX];
                parse(&self.config, bytes, &mut headers)?
            }
            parsed => parsed?,
        };
        let Some((length, head)) = parsed else {
            return if bytes.len() > HEAD_BYTES_MAX { Err(Broken::HeadSize) } else { Ok(None) };
        };
        if length > HEAD_BYTES_MAX {
            return Err(Broken::HeadSize);
        }
        if length <= MEMO_BYTES_MAX {
            self.last.clear();
            self.last.extend_from_slice(&bytes[..length]);
            self.head = head;
        }
        Ok(Some((length, head)))
    }
}

fn parse<'a>(
    config: &ParserConfig,
    bytes: &'a [u8],
    headers: &mut [MaybeUninit<Header<'a>>],
) -> Result<Option<(usize, Head)>, Broken> {
    let mut response = httparse::Response::new(&mut []);
    let parsed = config.parse_response_with_uninit_headers(&mut response, bytes, headers);
    let Status::Complete(length) = parsed.map_err(Broken::Head)? else { return Ok(None) };
    // The client's code of hyper refuses the same numbers.
    let status = response.code.filter(|code| (100..=999).contains(code));
    let status = status.ok_or(Broken::Head(httparse::Error::Status))?;
    let is_http_10 = response.version == Some(0);
    let head = Head {
        status,
        framing: framing(response.headers, is_http_10),
        keeps_open: keeps_open(response.headers, is_http_10),
    };
    Ok(Some((length, head)))
}

fn framing(headers: &[Header<'_>], is_http_10: bool) -> Framing {
    let is_named =
        |name: &'static str| move |header: &&Header<'_>| header.name.eq_ignore_ascii_case(name);
    // Where both are given, the encoding wins (RFC 9112 section 6.3).
    if let Some(encoding) = headers.iter().rfind(is_named("transfer-encoding")) {
        if is_http_10 {
            return Framing::Invalid(Broken::Encoding);
        }
        // Only the last encoding tells where the body ends.
        let last = encoding.value.rsplit(|byte| *byte == b',').next().unwrap_or_default();
        let is_chunked = last.trim_ascii().eq_ignore_ascii_case(b"chunked");
        return if is_chunked { Framing::Chunked } else { Framing::UntilEof };
    }
    let mut length = None;
    for header in headers.iter().filter(is_named("content-length")) {
        // The same number several times is that number (RFC 9110 section 8.6).
        for text in header.value.split(|byte| *byte == b',') {
            let number = number(text.trim_ascii());
            if number.is_none() || length.is_some() && length != number {
                return Framing::Invalid(Broken::Length);
            }
            length = number;
        }
    }
    length.map_or(Framing::UntilEof, Framing::Length)
}

/// Digits alone: no sign, and nothing that a `u64` cannot hold.
fn number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0u64, |sum, byte| {
        let digit = char::from(*byte).to_digit(10)?;
        sum.checked_mul(10)?.checked_add(u64::from(digit))
    })
}

/// One `close` outweighs every `keep-alive`.
fn keeps_open(headers: &[Header<'_>], is_http_10: bool) -> bool {
    let (mut keep_alive, mut close) = (false, false);
    for header in headers {
        if header.name.eq_ignore_ascii_case("connection") {
            for token in header.value.split(|byte| *byte == b',') {
                let token = token.trim_ascii();
                keep_alive |= token.eq_ignore_ascii_case(b"keep-alive");
                close |= token.eq_ignore_ascii_case(b"close");
            }
        }
    }
    !close && (keep_alive || !is_http_10)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(text: &str) -> Result<Option<(usize, Head)>, Broken> {
        Heads::new().parse(text.as_bytes())
    }

    /// Framing and whether the connection stays open, of a head with these headers.
    fn check(version: &str, headers: &str, expect: (Framing, bool)) {
        let text = format!("HTTP/{version} 200 OK\r\n{headers}\r\n");
        let (length, head) = head(&text).unwrap().unwrap();
        assert_eq!(length, text.len());
        assert_eq!((head.framing, head.keeps_open), expect, "{text}");
    }

    #[test]
    fn the_length_of_a_body_is_told_as_the_standard_says() {
        for (headers, framing) in [
            ("", Framing::UntilEof),
            ("Content-Length: 5\r\n", Framing::Length(5)),
            ("content-length : 5\r\n", Framing::Length(5)),
            ("Content-Length: 5\r\nContent-Length: 5, 5\r\n", Framing::Length(5)),
            ("Content-Length: 5\r\nContent-Length: 6\r\n", Framing::Invalid(Broken::Length)),
            ("Content-Length: -5\r\n", Framing::Invalid(Broken::Length)),
            ("Content-Length: +5\r\n", Framing::Invalid(Broken::Length)),
            ("Content-Length: \r\n", Framing::Invalid(Broken::Length)),
            ("Content-Length: 18446744073709551616\r\n", Framing::Invalid(Broken::Length)),
            ("transfer-encoding:Chunked\r\n", Framing::Chunked),
            ("Content-Length: 5\r\nTransfer-Encoding: gzip, chunked\r\n", Framing::Chunked),
            ("Transfer-Encoding: chunked\r\nTransfer-Encoding: gzip\r\n", Framing::UntilEof),
        ] {
            check("1.1", headers, (framing, true));
        }
        check("1.0", "Transfer-Encoding: chunked\r\n", (Framing::Invalid(Broken::Encoding), false));
    }

    #[test]
    fn connections_stay_open_by_version_and_by_word() {
        for (version, headers, keeps_open) in [
            ("1.1", "", true),
            ("1.1", "Connection: Close\r\n", false),
            ("1.1", "Connection: keep-alive\r\nConnection: x, close\r\n", false),
            ("1.1", "Connection: close\r\nConnection: keep-alive\r\n", false),
            ("1.0", "", false),
            ("1.0", "Connection: Keep-Alive\r\n", true),
        ] {
            check(version, headers, (Framing::UntilEof, keeps_open));
        }
    }

    #[test]
    fn many_headers_and_odd_ones_are_taken_and_too_much_is_refused() {
        let many =
            |count: usize| -> String { (0..count).map(|i| format!("X-{i}: \u{e9}\r\n")).collect() };
        check("1.1", &many(256), (Framing::UntilEof, true));
        check("1.1", &(many(1_000) + "Content-Length: 1\r\n"), (Framing::Length(1), true));
        check(
            "1.1",
            "Bad Name: 1\r\nX-Odd: a\u{1}b\r\nX-Folded: a\r\n b\r\nContent-Length: 1\r\n",
            (Framing::Length(1), true),
        );
        let text = format!("HTTP/1.1 200 OK\r\n{}\r\n", many(HEADERS_MAX + 1));
        assert_eq!(head(&text), Err(Broken::Head(httparse::Error::TooManyHeaders)));
        let long = format!("HTTP/1.1 200 OK\r\nX: {}", "x".repeat(HEAD_BYTES_MAX));
        assert_eq!(head(&long), Err(Broken::HeadSize));
        assert_eq!(head(&(long + "\r\n\r\n")), Err(Broken::HeadSize));
        assert!(matches!(head("garbage\r\n\r\n"), Err(Broken::Head(_))));
    }

    #[test]
    fn a_head_that_was_seen_before_means_the_same_and_another_one_something_else() {
        let mut heads = Heads::new();
        let mut parse = |text: &str| heads.parse(text.as_bytes()).unwrap();
        let one = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n";
        let other = "HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n";
        let first = parse(&format!("{one}a"));
        assert_eq!(parse(&format!("{one}b")), first);
        assert_eq!(parse(&one[..one.len() - 1]), None);
        assert_eq!(parse(other).unwrap().1.framing, Framing::Length(12));
        assert_eq!(parse(one), first);
    }
}
