//! The server that every client of `load-bench` is measured against: one thread, epoll, and for
//! each request one read and one write.
//!
//! It answers every request with the same bytes and counts what it answered, as a second witness
//! of the clients' own counts. It is no web server: it looks for the end of a request head and
//! knows no methods, paths or bodies.
//!
//! Standard output says where it listens, and then, for each byte on standard input, how many
//! requests it has answered and how many connections are open. When standard input ends, so does
//! the server: it never outlives the program that started it.

use std::io::{self, ErrorKind, Read, Write, stdin, stdout};
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use anyhow::{Context, Result, bail};
use rustix::buffer::spare_capacity;
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, listen, socket_with};

/// Connections that may wait to be accepted: a client opens all of its own at once.
const BACKLOG: i32 = 4096;
/// Events taken from the kernel at a time.
const EVENTS: usize = 1024;
/// Longest read, bytes: hundreds of requests, should a client pipeline.
const READ_BYTES: usize = 64 << 10;
/// A client that waits for its answer before it asks on never has so much unread, bytes.
const UNSENT_LIMIT: usize = 1 << 20;
/// What ends the head of a request.
const HEAD_END: &[u8] = b"\r\n\r\n";

const HEAD: &str = "HTTP/1.1 200 OK\r\nServer: bench\r\nContent-Type: text/plain; \
                    charset=utf-8\r\nContent-Length: 1024\r\n\r\n";
const BODY_BYTES: usize = 1024;

/// Where an event comes from: a connection's is its descriptor's number.
const LISTENER: u64 = u64::MAX;
const COMMANDS: u64 = u64::MAX - 1;

/// Serves until standard input ends.
///
/// # Errors
/// When it cannot listen, or standard input is nothing that can be waited for.
pub(crate) fn serve() -> Result<()> {
    let mut server = Server::listen()?;
    writeln!(stdout(), "{}", server.listener.local_addr().context("ask for the address")?)?;
    watch(&server.epoll, stdin(), COMMANDS, EventFlags::IN).context("wait for standard input")?;
    while server.turn(None)? {}
    Ok(())
}

/// All connections and what they share.
struct Server {
    listener: TcpListener,
    epoll: OwnedFd,
    /// By descriptor: the kernel gives the lowest free number, so this stays dense.
    connections: Vec<Option<Connection>>,
    open: usize,
    buffer: Vec<u8>,
    events: Vec<Event>,
    response: Vec<u8>,
    answered: u64,
}

/// One client's side of the talk, beyond what is on its way.
struct Connection {
    stream: TcpStream,
    /// The begin of a request whose end has not come yet.
    partial: Vec<u8>,
    /// Responses that the socket had no room for.
    unsent: Vec<u8>,
}

impl Server {
    fn listen() -> Result<Self> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)
            .context("make a socket")?;
        bind(&socket, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)).context("bind to loopback")?;
        listen(&socket, BACKLOG).context("listen")?;
        let epoll = epoll::create(CreateFlags::CLOEXEC).context("make an epoll instance")?;
        watch(&epoll, &socket, LISTENER, EventFlags::IN).context("wait for connections")?;
        let mut response = HEAD.as_bytes().to_vec();
        response.resize(HEAD.len() + BODY_BYTES, b'.');
        Ok(Self {
            listener: TcpListener::from(socket),
            epoll,
            connections: Vec::new(),
            open: 0,
            buffer: vec![0; READ_BYTES],
            events: Vec::with_capacity(EVENTS),
            response,
            answered: 0,
        })
    }

    /// Waits for events, for so long at most, and handles them; whether to go on.
    fn turn(&mut self, patience: Option<&Timespec>) -> Result<bool> {
        match epoll::wait(&self.epoll, spare_capacity(&mut self.events), patience) {
            Ok(0) => bail!("nothing happened in time"),
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error).context("wait for events"),
        }
        let mut events = std::mem::take(&mut self.events);
        for event in events.drain(..) {
            match event.data.u64() {
                COMMANDS if !self.report()? => return Ok(false),
                COMMANDS => {}
                LISTENER => self.accept()?,
                token => self.talk(token)?,
            }
        }
        self.events = events;
        Ok(true)
    }

    /// Answers a command; there are no more when it is the end of the input.
    fn report(&self) -> Result<bool> {
        let has_command = stdin().read(&mut [0]).context("read a command")? > 0;
        if has_command {
            writeln!(stdout(), "{} {}", self.answered, self.open).context("answer a command")?;
        }
        Ok(has_command)
    }

    fn talk(&mut self, token: u64) -> Result<()> {
        let place = usize::try_from(token).context("a descriptor is a small number")?;
        let Some(connection) = self.connections.get_mut(place).and_then(Option::as_mut) else {
            return Ok(());
        };
        let waited = connection.waits();
        let answered = connection.answer(&mut self.buffer, &self.response);
        match answered {
            Ok(answered) => {
                self.answered += answered;
                let waits = connection.waits();
                if waited != waits {
                    // Whoever does not read its answers is asked for no more requests.
                    let wish = if waits { EventFlags::OUT } else { EventFlags::IN };
                    epoll::modify(&self.epoll, &connection.stream, EventData::new_u64(token), wish)
                        .context("wait for a connection")?;
                }
            }
            // It has ended, or broken off: that a client goes away is no event.
            Err(_gone) => {
                self.connections[place] = None;
                self.open -= 1;
            }
        }
        Ok(())
    }

    fn accept(&mut self) -> Result<()> {
        loop {
            let stream = match self.listener.accept() {
                Ok((stream, _peer)) => stream,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                // The client is gone already.
                Err(error) if error.kind() == ErrorKind::ConnectionAborted => continue,
                Err(error) => return Err(error).context("accept a connection"),
            };
            stream.set_nonblocking(true).context("prepare a connection")?;
            stream.set_nodelay(true).context("prepare a connection")?;
            let place =
                usize::try_from(stream.as_raw_fd()).context("a descriptor is not negative")?;
            watch(&self.epoll, &stream, place as u64, EventFlags::IN)
                .context("wait for a connection")?;
            if self.connections.len() <= place {
                self.connections.resize_with(place + 1, || None);
            }
            self.connections[place] =
                Some(Connection { stream, partial: Vec::new(), unsent: Vec::new() });
            self.open += 1;
        }
    }
}

impl Connection {
    /// Reads once and answers what is whole; how many requests that were.
    ///
    /// # Errors
    /// When the connection has ended.
    fn answer(&mut self, buffer: &mut [u8], response: &[u8]) -> io::Result<u64> {
        if self.waits() {
            let unsent = std::mem::take(&mut self.unsent);
            self.send(&unsent)?;
            return Ok(0);
        }
        let count = match self.stream.read(buffer) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(count) => count,
            Err(error) if is_for_later(&error) => return Ok(0),
            Err(error) => return Err(error),
        };
        let requests = if self.partial.is_empty() {
            let (requests, end) = whole_heads(&buffer[..count]);
            self.partial.extend_from_slice(&buffer[end..count]);
            requests
        } else {
            self.partial.extend_from_slice(&buffer[..count]);
            let (requests, end) = whole_heads(&self.partial);
            self.partial.drain(..end);
            requests
        };
        if self.partial.len() > READ_BYTES {
            return Err(ErrorKind::InvalidData.into());
        }
        match requests {
            0 => {}
            1 => self.send(response)?,
            _ => self.send(&response.repeat(requests))?,
        }
        Ok(requests as u64)
    }

    /// Whether the client has to read before it is answered on.
    fn waits(&self) -> bool {
        !self.unsent.is_empty()
    }

    /// Writes once, and keeps what the socket has no room for.
    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        let sent = match self.stream.write(bytes) {
            Ok(sent) => sent,
            Err(error) if is_for_later(&error) => 0,
            Err(error) => return Err(error),
        };
        if bytes.len() - sent > UNSENT_LIMIT {
            return Err(ErrorKind::OutOfMemory.into());
        }
        self.unsent.extend_from_slice(&bytes[sent..]);
        Ok(())
    }
}

/// How many request heads are whole, and where the last of them ends.
fn whole_heads(bytes: &[u8]) -> (usize, usize) {
    let is_end = |at: usize| bytes.get(at..at + HEAD_END.len()) == Some(HEAD_END);
    let (mut requests, mut end, mut at) = (0, 0, 0);
    while let Some(found) = bytes[at..].iter().position(|byte| *byte == b'\r') {
        at += found;
        if is_end(at) {
            at += HEAD_END.len();
            (requests, end) = (requests + 1, at);
        } else {
            at += 1;
        }
    }
    (requests, end)
}

fn is_for_later(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

fn watch(epoll: &OwnedFd, source: impl AsFd, token: u64, wish: EventFlags) -> io::Result<()> {
    Ok(epoll::add(epoll, source, EventData::new_u64(token), wish)?)
}

#[cfg(test)]
mod tests;
