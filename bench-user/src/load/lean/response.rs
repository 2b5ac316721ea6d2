//! One response after another, taken from the bytes of a connection as they come. Pure: knows no
//! socket and no clock; keeps only a head that has no end yet.

use super::chunks::Chunks;
use super::head::{Broken, Framing, HEAD_BYTES_MAX, Head, Heads};
use crate::load::failure::SWITCHING_PROTOCOLS;

/// A head without an end is parsed again with every read up to this length, so that nonsense is
/// refused at once; beyond it only when it may have ended, or has doubled.
const EAGER_BYTES: usize = 4096;

/// What the next byte belongs to.
#[derive(Debug, Clone, Copy)]
enum Part {
    Head,
    /// A body of known length: so many bytes of it are to come.
    Length(u64),
    Chunked(Chunks),
    UntilEof,
}

/// The response that a connection is in.
#[derive(Debug)]
pub(in crate::load) struct Response {
    part: Part,
    /// A head without an end, as far as it has come.
    partial: Vec<u8>,
    /// How long that was when it was last parsed.
    parsed: usize,
    is_touched: bool,
    informational: u32,
    /// When the first byte of its head came.
    first_byte_ns: u64,
    status: u16,
    keeps_open: bool,
    /// Bytes of the body so far.
    body: u64,
}

/// A response with its last byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::load) struct Whole {
    pub(in crate::load) status: u16,
    /// Bytes of the body, framing taken off.
    pub(in crate::load) body: u64,
    /// 1xx responses before it.
    pub(in crate::load) informational: u32,
    pub(super) first_byte_ns: u64,
    /// Another request may be sent on the connection.
    pub(in crate::load) keeps_open: bool,
}

impl Response {
    pub(in crate::load) fn new() -> Self {
        Self {
            part: Part::Head,
            partial: Vec::new(),
            parsed: 0,
            is_touched: false,
            informational: 0,
            first_byte_ns: 0,
            status: 0,
            keeps_open: false,
            body: 0,
        }
    }

    /// A byte of it has come, or of a 1xx response before it.
    pub(super) fn is_touched(&self) -> bool {
        self.is_touched
    }

    /// 1xx responses that have come before it.
    pub(super) fn informational(&self) -> u32 {
        self.informational
    }

    /// Takes bytes that came at `now_ns` up to the end of the response. Gives the response and
    /// how many bytes belonged to it; `None` when all did and there are more to come.
    ///
    /// `is_head`: it answers a HEAD request and so has no body.
    pub(in crate::load) fn feed(
        &mut self,
        bytes: &[u8],
        now_ns: u64,
        is_head: bool,
        heads: &mut Heads,
    ) -> Result<Option<(usize, Whole)>, Broken> {
        let mut used = 0;
        while used < bytes.len() {
            let rest = &bytes[used..];
            self.is_touched = true;
            match &mut self.part {
                Part::Head => {
                    used += self.feed_head(rest, now_ns, is_head, heads)?;
                    if matches!(self.part, Part::Length(0)) {
                        return Ok(Some((used, self.finish())));
                    }
                }
                Part::Length(left) => {
                    // What is there is a usize, and so is the lesser of the two.
                    let taken = usize::try_from(*left).unwrap_or(usize::MAX).min(rest.len());
                    *left -= taken as u64;
                    self.body += taken as u64;
                    used += taken;
                    if *left == 0 {
                        return Ok(Some((used, self.finish())));
                    }
                }
                Part::Chunked(chunks) => {
                    used += chunks.feed(rest)?;
                    if chunks.is_whole() {
                        self.body = chunks.data();
                        return Ok(Some((used, self.finish())));
                    }
                }
                Part::UntilEof => {
                    self.body += rest.len() as u64;
                    used = bytes.len();
                }
            }
        }
        Ok(None)
    }

    /// The server has ended its side: the response, where that is how it ends.
    pub(in crate::load) fn at_eof(&mut self) -> Option<Whole> {
        matches!(self.part, Part::UntilEof).then(|| self.finish())
    }

    /// Takes bytes of a head and gives how many belonged to it, or were kept.
    fn feed_head(
        &mut self,
        bytes: &[u8],
        now_ns: u64,
        is_head: bool,
        heads: &mut Heads,
    ) -> Result<usize, Broken> {
        if self.partial.is_empty() {
            self.first_byte_ns = now_ns;
            return match heads.parse(bytes)? {
                Some((length, head)) => {
                    self.enter(head, is_head)?;
                    Ok(length)
                }
                None => {
                    self.partial.extend_from_slice(bytes);
                    self.parsed = bytes.len();
                    Ok(bytes.len())
                }
            };
        }
        let before = self.partial.len();
        // A head is kept up to its limit; what is beyond is not needed to refuse it.
        let kept = bytes.len().min(HEAD_BYTES_MAX + 1 - before.min(HEAD_BYTES_MAX));
        self.partial.extend_from_slice(&bytes[..kept]);
        if !self.may_have_ended(before) {
            return Ok(kept);
        }
        self.parsed = self.partial.len();
        match heads.parse(&self.partial)? {
            Some((length, head)) => {
                self.partial = Vec::new();
                self.enter(head, is_head)?;
                Ok(length.saturating_sub(before))
            }
            None => Ok(kept),
        }
    }

    /// It is worth while to parse the partial head again, which was so long before.
    fn may_have_ended(&self, before: usize) -> bool {
        let length = self.partial.len();
        // An empty line ends it, which may have begun in what was there.
        let fresh = &self.partial[before.saturating_sub(2)..];
        length <= EAGER_BYTES
            || length >= 2 * self.parsed
            || length > HEAD_BYTES_MAX
            || fresh.windows(2).any(|two| two == b"\n\n")
            || fresh.windows(3).any(|three| three == b"\n\r\n")
    }

    /// The head is whole: what comes next?
    fn enter(&mut self, head: Head, is_head: bool) -> Result<(), Broken> {
        let is_informational =
            (100..200).contains(&head.status) && head.status != SWITCHING_PROTOCOLS;
        if is_informational {
            self.informational += 1;
            return Ok(());
        }
        self.status = head.status;
        // 101 is the last response of HTTP on its connection.
        self.keeps_open = head.keeps_open && head.status != SWITCHING_PROTOCOLS;
        let has_no_body = is_head || matches!(head.status, SWITCHING_PROTOCOLS | 204 | 304);
        self.part = match head.framing {
            _ if has_no_body => Part::Length(0),
            Framing::Length(length) => Part::Length(length),
            Framing::Chunked => Part::Chunked(Chunks::new()),
            Framing::UntilEof => Part::UntilEof,
            Framing::Invalid(broken) => return Err(broken),
        };
        Ok(())
    }

    /// Gives the response, and begins the next one.
    fn finish(&mut self) -> Whole {
        let whole = Whole {
            status: self.status,
            body: self.body,
            informational: self.informational,
            first_byte_ns: self.first_byte_ns,
            // A body that only the close can end leaves no connection.
            keeps_open: self.keeps_open && !matches!(self.part, Part::UntilEof),
        };
        self.part = Part::Head;
        self.is_touched = false;
        self.informational = 0;
        self.body = 0;
        whole
    }
}

#[cfg(test)]
mod tests;
