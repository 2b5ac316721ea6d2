//! The built-in servers: two that answer the same bytes with a known number of syscalls.
//!
//! One thread a connection, blocking reads and writes, no allocation and no logging while it
//! answers: in the common case (one whole request a read) a response costs exactly
//! [`syscalls_per_request`] syscalls, which makes the pair a known answer for the observers.
//! They are a measuring rod, not web servers: GET and HEAD, no request bodies, every path the
//! same page, besides `/stats`.

use std::io::{self, ErrorKind, Read as _, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, listen, socket_with, sockopt};

use crate::plan::Builtin;

/// The start of the line that tells where a built-in server listens.
pub const ANNOUNCEMENT: &str = "listening on ";

/// A connection's stack: it holds one small buffer, and a ladder opens thousands of them.
const STACK_BYTES: usize = 128 << 10;
/// Longest request head that is taken, bytes.
const HEAD_BYTES: usize = 8 << 10;
/// Connections that may wait to be accepted: a stage opens all of its connections at once.
const BACKLOG: i32 = 4096;

const QUARTER: [u8; 256] = {
    let mut bytes = [b'.'; 256];
    let mut i = 63;
    while i < bytes.len() {
        bytes[i] = b'\n';
        i += 64;
    }
    bytes
};

/// The response as `chatty` writes it, one write for each piece.
const PIECES: [&[u8]; 9] = [
    b"HTTP/1.1 200 OK\r\n",
    b"Server: bench-user\r\n",
    b"Content-Type: text/plain; charset=utf-8\r\n",
    b"Content-Length: 1024\r\n",
    b"\r\n",
    &QUARTER,
    &QUARTER,
    &QUARTER,
    &QUARTER,
];
/// So many of the pieces are the head, which is all that HEAD is answered with.
const HEAD_PIECES: usize = 5;

/// Syscalls that a server makes for a GET that arrives whole: one `recvfrom`, and one `sendto`
/// for the whole response or for each of its pieces.
#[must_use]
pub const fn syscalls_per_request(kind: Builtin) -> u64 {
    match kind {
        Builtin::Lean => 2,
        Builtin::Chatty => 1 + PIECES.len() as u64,
    }
}

/// Listens on `address` (port 0: a free one), writes one line `listening on http://HOST:PORT/`
/// and serves until the process ends.
///
/// # Errors
/// When the address cannot be bound or the line cannot be written.
pub fn serve(kind: Builtin, address: SocketAddr, announce: &mut dyn Write) -> io::Result<()> {
    let listener = listen_on(address)?;
    writeln!(announce, "{ANNOUNCEMENT}http://{}/", listener.local_addr()?)?;
    announce.flush()?;
    let answered = Arc::new(AtomicU64::new(0));
    loop {
        match listener.accept() {
            Ok((stream, _peer)) => {
                let answered = Arc::clone(&answered);
                let connection = thread::Builder::new()
                    .name("connection".into())
                    .stack_size(STACK_BYTES)
                    .spawn(move || converse(stream, kind, &answered));
                if let Err(error) = connection {
                    log::warn!("a connection was closed at once: no thread for it: {error}");
                }
            }
            // Out of descriptors, or the client is gone already: the next one may do better.
            Err(error) => {
                log::warn!("a connection was not accepted: {error}");
                thread::sleep(Duration::from_millis(1));
            }
        }
    }
}

/// As `TcpListener::bind`, with a longer accept queue than the 128 of the standard library.
fn listen_on(address: SocketAddr) -> io::Result<TcpListener> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let socket = socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    sockopt::set_socket_reuseaddr(&socket, true)?;
    bind(&socket, &address)?;
    listen(&socket, BACKLOG)?;
    Ok(TcpListener::from(socket))
}

/// What one request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Request {
    /// Length of its head, bytes.
    length: usize,
    wants_stats: bool,
    head_only: bool,
    keep_alive: bool,
}

/// The begin of what was received.
#[derive(Debug, PartialEq, Eq)]
enum Head {
    Partial,
    Whole(Request),
    /// Answered with this status line, then closed.
    Refused(&'static str),
}

fn parse(bytes: &[u8]) -> Head {
    let mut headers = [httparse::EMPTY_HEADER; 64];
    let mut request = httparse::Request::new(&mut headers);
    let length = match request.parse(bytes) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) if bytes.len() < HEAD_BYTES => return Head::Partial,
        Ok(httparse::Status::Partial) => {
            return Head::Refused("431 Request Header Fields Too Large");
        }
        Err(_malformed) => return Head::Refused("400 Bad Request"),
    };
    let head_only = match request.method {
        Some("GET") => false,
        Some("HEAD") => true,
        _ => return Head::Refused("405 Method Not Allowed"),
    };
    let mut keep_alive = request.version == Some(1);
    for header in request.headers.iter() {
        let value = header.value.trim_ascii();
        if header.name.eq_ignore_ascii_case("connection") {
            keep_alive = !value.eq_ignore_ascii_case(b"close")
                && (keep_alive || value.eq_ignore_ascii_case(b"keep-alive"));
        } else if header.name.eq_ignore_ascii_case("transfer-encoding")
            || (header.name.eq_ignore_ascii_case("content-length") && value != b"0")
        {
            return Head::Refused("413 Content Too Large");
        }
    }
    let wants_stats = request.path == Some("/stats");
    Head::Whole(Request { length, wants_stats, head_only, keep_alive })
}

/// One connection, to its end; that a client goes away is no event.
fn converse(mut stream: TcpStream, kind: Builtin, answered: &AtomicU64) {
    let end = stream.set_nodelay(true).and_then(|()| answer_all(&mut stream, kind, answered));
    if let Err(error) = end {
        log::debug!("a connection ended: {error}");
    }
}

fn answer_all(stream: &mut TcpStream, kind: Builtin, answered: &AtomicU64) -> io::Result<()> {
    let whole = PIECES.concat();
    let head = PIECES[..HEAD_PIECES].concat();
    let mut buffer = vec![0; HEAD_BYTES];
    let mut filled = 0;
    loop {
        match if filled == 0 { Head::Partial } else { parse(&buffer[..filled]) } {
            Head::Partial => match stream.read(&mut buffer[filled..]) {
                Ok(0) => return Ok(()),
                Ok(n) => filled += n,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            },
            Head::Whole(request) => {
                if request.wants_stats {
                    send_stats(stream, answered.load(Ordering::Relaxed), request.head_only)?;
                } else {
                    // Counted first, so that whoever has read the last byte finds it counted.
                    answered.fetch_add(1, Ordering::Relaxed);
                    let sent = match (kind, request.head_only) {
                        (Builtin::Lean, false) => stream.write_all(&whole),
                        (Builtin::Lean, true) => stream.write_all(&head),
                        (Builtin::Chatty, false) => send_pieces(stream, &PIECES),
                        (Builtin::Chatty, true) => send_pieces(stream, &PIECES[..HEAD_PIECES]),
                    };
                    sent.inspect_err(|_| {
                        answered.fetch_sub(1, Ordering::Relaxed);
                    })?;
                }
                if !request.keep_alive {
                    return Ok(());
                }
                buffer.copy_within(request.length..filled, 0);
                filled -= request.length;
            }
            Head::Refused(status) => return refuse(stream, status),
        }
    }
}

fn send_pieces(stream: &mut TcpStream, pieces: &[&[u8]]) -> io::Result<()> {
    pieces.iter().try_for_each(|piece| stream.write_all(piece))
}

fn send_stats(stream: &mut TcpStream, answered: u64, head_only: bool) -> io::Result<()> {
    let body = format!("{{\"answered\":{answered}}}");
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(if head_only { head } else { head + &body }.as_bytes())
}

fn refuse(stream: &mut TcpStream, status: &str) -> io::Result<()> {
    let answer = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    stream.write_all(answer.as_bytes())
}

#[cfg(test)]
mod tests;
