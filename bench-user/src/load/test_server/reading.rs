//! Requests as they come from a socket: head, body by `Content-Length` or in chunks, and what is
//! left over. Trusts its peer no further than that: what cannot be read ends the connection.

use std::io::Read as _;
use std::net::TcpStream;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// One request as it came.
#[derive(Debug, Default, Clone)]
pub(in crate::load) struct Request {
    pub(in crate::load) method: String,
    /// The request target.
    pub(in crate::load) path: String,
    /// The whole head.
    pub(in crate::load) head: String,
    /// The body, chunk framing taken off; empty where the server does not read it.
    pub(in crate::load) body: Vec<u8>,
    /// Bytes of head and body on the wire.
    pub(in crate::load) wire_bytes: u64,
    /// Its place on the connection, from 1.
    pub(in crate::load) place: u64,
}

impl Request {
    pub(in crate::load) fn from_head(head: String, place: u64) -> Self {
        let mut words = head.split(' ').map(str::to_owned);
        let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let wire_bytes = head.len() as u64;
        Self { method, path, head, body: Vec::new(), wire_bytes, place }
    }

    /// All values of a header, in any case of letters.
    pub(in crate::load) fn values<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.head.lines().skip(1).filter_map(move |line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then_some(value.trim())
        })
    }

    pub(in crate::load) fn is_head(&self) -> bool {
        self.method == "HEAD"
    }

    /// Sending it twice does no more than sending it once (RFC 9110, section 9.2.2).
    pub(in crate::load) fn is_idempotent(&self) -> bool {
        matches!(self.method.as_str(), "GET" | "HEAD" | "PUT" | "DELETE" | "OPTIONS" | "TRACE")
    }
}

/// The reading half of a connection.
#[derive(Debug)]
pub(super) struct Incoming {
    pub(super) stream: TcpStream,
    buffer: Vec<u8>,
}

impl Incoming {
    pub(super) fn new(stream: TcpStream) -> Self {
        Self { stream, buffer: Vec::new() }
    }

    /// The next request head; `None` when the client has closed.
    pub(super) fn head(&mut self) -> Option<String> {
        let end = self.position_of(b"\r\n\r\n")? + 4;
        Some(String::from_utf8_lossy(&self.take(end)?).into_owned())
    }

    /// Reads the body that the head announces; `None` when the client closed in its midst.
    pub(super) fn body(&mut self, request: &mut Request) -> Option<()> {
        let chunked =
            request.values("transfer-encoding").any(|v| v.eq_ignore_ascii_case("chunked"));
        let length = request.values("content-length").next().map(str::parse::<usize>);
        if chunked {
            self.chunks(request)?;
        } else if let Some(length) = length {
            request.body = self.take(length.ok()?)?;
            request.wire_bytes += request.body.len() as u64;
        }
        Some(())
    }

    fn chunks(&mut self, request: &mut Request) -> Option<()> {
        loop {
            let line = self.line(request)?;
            let size = line.split(';').next().unwrap_or_default().trim();
            let size = usize::from_str_radix(size, 16).ok()?;
            if size == 0 {
                // Trailers, up to the empty line.
                while !self.line(request)?.is_empty() {}
                return Some(());
            }
            let chunk = self.take(size)?;
            request.wire_bytes += size as u64;
            request.body.extend(chunk);
            self.line(request)?;
        }
    }

    fn line(&mut self, request: &mut Request) -> Option<String> {
        let end = self.position_of(b"\r\n")?;
        let line = self.take(end + 2)?;
        request.wire_bytes += line.len() as u64;
        Some(String::from_utf8_lossy(&line[..end]).into_owned())
    }

    fn position_of(&mut self, mark: &[u8]) -> Option<usize> {
        loop {
            if let Some(at) = self.buffer.windows(mark.len()).position(|bytes| bytes == mark) {
                return Some(at);
            }
            self.more()?;
        }
    }

    fn take(&mut self, length: usize) -> Option<Vec<u8>> {
        while self.buffer.len() < length {
            self.more()?;
        }
        Some(self.buffer.drain(..length).collect())
    }

    fn more(&mut self) -> Option<()> {
        let mut piece = [0; 16 << 10];
        let n = self.stream.read(&mut piece).ok().filter(|n| *n > 0)?;
        self.buffer.extend_from_slice(&piece[..n]);
        Some(())
    }

    /// Neither a byte nor the end came for so long.
    pub(super) fn is_silent_for(&self, time: Duration) -> bool {
        let time = Timespec::try_from(time).unwrap();
        let mut readable = [PollFd::new(&self.stream, PollFlags::IN)];
        self.buffer.is_empty() && poll(&mut readable, Some(&time)).unwrap() == 0
    }

    /// Waits until the client closes; bytes that were still to come.
    pub(super) fn rest(&mut self) -> u64 {
        let mut bytes = 0;
        loop {
            bytes += self.buffer.len() as u64;
            self.buffer.clear();
            if self.more().is_none() {
                return bytes;
            }
        }
    }
}
