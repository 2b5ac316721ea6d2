//! A server on raw sockets that counts, for tests: it can break HTTP in every way a real one
//! does. What it does is up to a closure ([`TestServer`]) or to a table of named endpoints
//! ([`Site`]).
//!
//! A thread a connection, blocking; each ends when its peer closes, so `finish` returns exact
//! counts without waiting for a time.

/// Addresses that do not take connections.
mod backlog;

/// The table of named endpoints.
mod endpoints;

/// Standing still for a known time.
mod freeze;

/// Requests as they come.
mod reading;

/// What a row of the table is.
mod row;

/// A server with every endpoint of the table.
mod site;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io::Write as _;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::net::sockopt::set_socket_linger;
use rustix::net::{AddressFamily, SendFlags, SocketType, bind, send, socket};
use url::Url;

pub(super) use backlog::{FullBacklog, refusing_address};
pub(super) use endpoints::{row, rows};
use freeze::Gate;
use reading::Incoming;
pub(super) use reading::Request;
pub(super) use row::{Row, class};
pub(super) use site::{Site, Tally};

/// What a server saw and did.
#[derive(Debug, Default, Clone)]
pub(super) struct Counts {
    /// Whole requests read, by target.
    pub(super) received: BTreeMap<String, u64>,
    /// Responses written to their end.
    pub(super) answered: u64,
    /// Connections taken.
    pub(super) accepted: u64,
}

impl Counts {
    pub(super) fn all_received(&self) -> u64 {
        self.received.values().sum()
    }
}

/// What to do with the connection after the closure.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    Keep,
    /// FIN.
    Close,
    /// RST.
    Reset,
    /// Say nothing more and wait until the client closes.
    Hold,
}

/// The server's end of a connection.
#[derive(Debug)]
pub(super) struct Peer {
    incoming: Incoming,
    counts: Arc<Mutex<Counts>>,
    gate: Arc<Gate>,
    /// Its place among the connections taken, from 1.
    place: u64,
}

impl Peer {
    /// It is the first connection that was taken.
    pub(super) fn is_first(&self) -> bool {
        self.place == 1
    }

    /// A second hold on the connection: while it lives, `Next::Close` says nothing to the client.
    pub(super) fn kept_open(&self) -> TcpStream {
        self.incoming.stream.try_clone().unwrap()
    }

    /// Writes the end of a response, or all of it.
    pub(super) fn answer(&mut self, text: &str) {
        self.count_answer();
        self.write(text);
    }

    /// Called before a response is written: a client that has it may end the test at once.
    fn count_answer(&self) {
        self.counts.lock().unwrap().answered += 1;
    }

    /// Writes what is no whole response; a client that has gone is no failure of the test.
    pub(super) fn write(&mut self, text: &str) {
        self.put(text.as_bytes());
    }

    /// Whether the client was still there.
    fn put(&mut self, bytes: &[u8]) -> bool {
        self.gate.pass();
        self.incoming.stream.write_all(bytes).is_ok()
    }

    /// Writes so that the FIN of the `end_sending` that follows goes out in the same segment.
    fn put_with_fin(&self, bytes: &[u8]) {
        self.gate.pass();
        let sent = send(&self.incoming.stream, bytes, SendFlags::MORE | SendFlags::NOSIGNAL);
        assert!(sent.is_err() || sent == Ok(bytes.len()), "a few bytes are taken at once");
    }

    /// FIN, then waits until the client closes; bytes that it had sent or still sent.
    fn end_sending(&mut self) -> u64 {
        self.gate.pass();
        drop(self.incoming.stream.shutdown(Shutdown::Write));
        self.incoming.rest()
    }

    fn set_nodelay(&self, on: bool) {
        drop(self.incoming.stream.set_nodelay(on));
    }

    /// The next request; `None` when the client has closed.
    fn next_request(&mut self, place: u64, reads_body: &BodyRule) -> Option<Request> {
        let mut request = Request::from_head(self.incoming.head()?, place);
        if reads_body(&request) {
            self.incoming.body(&mut request)?;
        }
        let mut counts = self.counts.lock().unwrap();
        *counts.received.entry(request.path.clone()).or_default() += 1;
        Some(request)
    }
}

type Behaviour = dyn Fn(&Request, &mut Peer) -> Next + Send + Sync;

/// Whether the body is read before the behaviour is asked.
type BodyRule = dyn Fn(&Request) -> bool + Send + Sync;

/// A running server; it stops when dropped.
#[derive(Debug)]
pub(super) struct TestServer {
    address: SocketAddr,
    counts: Arc<Mutex<Counts>>,
    gate: Arc<Gate>,
    acceptor: Option<JoinHandle<()>>,
}

impl TestServer {
    pub(super) fn start<F>(behaviour: F) -> Self
    where
        F: Fn(&Request, &mut Peer) -> Next + Send + Sync + 'static,
    {
        Self::on(TcpListener::bind("127.0.0.1:0").unwrap(), behaviour)
    }

    /// Answers when the head of a request is there, and reads no body.
    pub(super) fn of_heads<F>(behaviour: F) -> Self
    where
        F: Fn(&Request, &mut Peer) -> Next + Send + Sync + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        Self::with_rule(listener, Arc::new(|_| false), Arc::new(behaviour))
    }

    /// Serves a socket that listens already.
    fn on<F>(listener: TcpListener, behaviour: F) -> Self
    where
        F: Fn(&Request, &mut Peer) -> Next + Send + Sync + 'static,
    {
        Self::with_rule(listener, Arc::new(|_| true), Arc::new(behaviour))
    }

    fn with_rule(
        listener: TcpListener,
        reads_body: Arc<BodyRule>,
        behaviour: Arc<Behaviour>,
    ) -> Self {
        let address = listener.local_addr().unwrap();
        let (counts, gate) = (Arc::new(Mutex::new(Counts::default())), Arc::new(Gate::default()));
        let (shared, shared_gate) = (Arc::clone(&counts), Arc::clone(&gate));
        let acceptor = std::thread::spawn(move || {
            let mut connections: Vec<JoinHandle<()>> = Vec::new();
            for stream in listener.incoming() {
                let Ok(stream) = stream else { continue };
                // The stopping connection comes from ourselves and sends nothing.
                if stream.peer_addr().is_ok_and(|peer| peer.ip().to_string() == STOPPER) {
                    break;
                }
                let place = {
                    let mut counts = shared.lock().unwrap();
                    counts.accepted += 1;
                    counts.accepted
                };
                let (behaviour, reads_body) = (Arc::clone(&behaviour), Arc::clone(&reads_body));
                let (counts, gate) = (Arc::clone(&shared), Arc::clone(&shared_gate));
                let peer = Peer { incoming: Incoming::new(stream), counts, gate, place };
                connections
                    .push(std::thread::spawn(move || serve(peer, &*reads_body, &*behaviour)));
                // Joined and not forgotten: a panic in one of them must fail the test.
                let ended = connections.extract_if(.., |thread| thread.is_finished());
                ended.for_each(|thread| thread.join().unwrap());
            }
            connections.into_iter().for_each(|thread| thread.join().unwrap());
        });
        Self { address, counts, gate, acceptor: Some(acceptor) }
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(super) fn url(&self, path: &str) -> Url {
        format!("http://{}{path}", self.address).parse().unwrap()
    }

    /// Nothing is written from `start_ns` (`CLOCK_MONOTONIC`) for `length`; then all goes on.
    pub(super) fn freeze(&self, start_ns: u64, length: Duration) {
        self.gate.close(start_ns, length);
    }

    /// Counts so far.
    pub(super) fn counts(&self) -> Counts {
        self.counts.lock().unwrap().clone()
    }

    /// Counts once every client has closed.
    pub(super) fn finish(mut self) -> Counts {
        self.stop();
        self.counts()
    }

    fn stop(&mut self) {
        if let Some(acceptor) = self.acceptor.take() {
            connect_from(STOPPER, self.address);
            acceptor.join().unwrap();
        }
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Another loopback address, by which the server knows the connection that ends it.
const STOPPER: &str = "127.0.0.2";

fn connect_from(source: &str, target: SocketAddr) {
    let socket = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    bind(&socket, &format!("{source}:0").parse::<SocketAddr>().unwrap()).unwrap();
    rustix::net::connect(&socket, &target).unwrap();
}

fn serve(mut peer: Peer, reads_body: &BodyRule, behaviour: &Behaviour) {
    peer.set_nodelay(true);
    let mut place = 1;
    while let Some(request) = peer.next_request(place, reads_body) {
        place += 1;
        match behaviour(&request, &mut peer) {
            Next::Keep => {}
            Next::Close => return,
            Next::Reset => {
                set_socket_linger(&peer.incoming.stream, Some(Duration::ZERO)).unwrap();
                return;
            }
            Next::Hold => {
                peer.incoming.rest();
                return;
            }
        }
    }
    drop(peer.incoming.stream.shutdown(Shutdown::Both));
}
