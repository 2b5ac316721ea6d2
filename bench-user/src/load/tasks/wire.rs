//! A socket that remembers what it did, so that a failure can be told from a keep-alive close.
//!
//! hyper does not say whether a request left, or whether a byte of its answer came back; the
//! retry rule and the byte counts need both. Over TLS, bytes are those that it carries.

use std::cell::Cell;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::stream::Stream;
use crate::tls;

/// What happened on a connection since its current request began.
#[derive(Debug, Default)]
pub(super) struct WireState {
    read: Cell<u64>,
    reads: Cell<u64>,
    written: Cell<u64>,
    at_eof: Cell<bool>,
    failed: Cell<bool>,
    cut: Cell<bool>,
    refused: Cell<bool>,
}

impl WireState {
    /// Bytes count from zero again; an end of the connection stays known.
    pub(super) fn begin(&self) {
        self.read.set(0);
        self.written.set(0);
    }

    /// Bytes that came.
    pub(super) fn read(&self) -> u64 {
        self.read.get()
    }

    /// How often bytes came since the connection was opened: what came by the same count came in
    /// the same read.
    pub(super) fn reads(&self) -> u64 {
        self.reads.get()
    }

    /// Bytes that the kernel took.
    pub(super) fn written(&self) -> u64 {
        self.written.get()
    }

    /// Bytes that the kernel took since this was asked last.
    pub(super) fn take_written(&self) -> u64 {
        self.written.replace(0)
    }

    /// The server has ended its side.
    pub(super) fn is_at_eof(&self) -> bool {
        self.at_eof.get()
    }

    /// A read or write failed: the connection was reset.
    pub(super) fn has_failed(&self) -> bool {
        self.failed.get()
    }

    /// The server has ended its side without the words with which TLS ends: what it sent may be
    /// cut short. Many servers close idle connections so; `is_at_eof` holds too.
    pub(super) fn was_cut(&self) -> bool {
        self.cut.get()
    }

    /// TLS itself ended the connection, as when the server wants a certificate of ours.
    pub(super) fn was_refused(&self) -> bool {
        self.refused.get()
    }

    fn note<T>(&self, result: &io::Result<T>) {
        let Err(error) = result else { return };
        if error.kind() == io::ErrorKind::UnexpectedEof {
            self.at_eof.set(true);
            self.cut.set(true);
        } else {
            self.failed.set(true);
            self.refused.set(tls::cause(error).is_some());
        }
    }

    fn wrote(&self, result: &io::Result<usize>) {
        self.note(result);
        if let Ok(n) = result {
            self.written.set(self.written.get() + *n as u64);
        }
    }
}

/// The socket itself.
#[derive(Debug)]
pub(super) struct Wire {
    stream: Stream,
    state: Rc<WireState>,
}

impl Wire {
    pub(super) fn new(stream: Stream, state: Rc<WireState>) -> Self {
        Self { stream, state }
    }

    /// One with a memory of its own, ready for hyper.
    pub(super) fn for_hyper(stream: Stream) -> (TokioIo<Self>, Rc<WireState>) {
        let state = Rc::new(WireState::default());
        (TokioIo::new(Self::new(stream, Rc::clone(&state))), state)
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let had_room = buffer.remaining() > 0;
        let result = ready!(Pin::new(&mut self.stream).poll_read(cx, buffer));
        self.state.note(&result);
        let n = buffer.filled().len() - before;
        self.state.read.set(self.state.read.get() + n as u64);
        self.state.reads.set(self.state.reads.get() + u64::from(n > 0));
        if result.is_ok() && n == 0 && had_room {
            self.state.at_eof.set(true);
        }
        Poll::Ready(result)
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let result = ready!(Pin::new(&mut self.stream).poll_write(cx, bytes));
        self.state.wrote(&result);
        Poll::Ready(result)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let result = ready!(Pin::new(&mut self.stream).poll_write_vectored(cx, parts));
        self.state.wrote(&result);
        Poll::Ready(result)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
