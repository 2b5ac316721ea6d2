//! A server on raw sockets that counts, for tests: what it does is up to a closure, so it can
//! break HTTP in every way a real one does.
//!
//! A thread a connection, blocking; each ends when its peer closes, so `finish` returns exact
//! counts without waiting for a time.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::net::sockopt::set_socket_linger;
use rustix::net::{AddressFamily, SocketType, bind, getsockname, socket};
use url::Url;

/// What a server saw and did.
#[derive(Debug, Default, Clone)]
pub(super) struct Counts {
    /// Whole request heads read, by target.
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

/// One request as it came.
#[derive(Debug)]
pub(super) struct Request {
    /// The request target.
    pub(super) path: String,
    /// The whole head.
    pub(super) head: String,
    /// Its place on the connection, from 1.
    pub(super) place: u64,
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
    stream: TcpStream,
    counts: Arc<Mutex<Counts>>,
    /// Its place among the connections taken, from 1.
    place: u64,
}

impl Peer {
    /// It is the first connection that was taken.
    pub(super) fn is_first(&self) -> bool {
        self.place == 1
    }

    /// Writes the end of a response, or all of it.
    pub(super) fn answer(&mut self, text: &str) {
        // Counted before it is written: a client that has it may end the test at once.
        self.counts.lock().unwrap().answered += 1;
        self.write(text);
    }

    /// Writes what is no whole response; a client that has gone is no failure of the test.
    pub(super) fn write(&mut self, text: &str) {
        drop(self.stream.write_all(text.as_bytes()));
    }
}

/// A running server; it stops when dropped.
#[derive(Debug)]
pub(super) struct TestServer {
    address: SocketAddr,
    counts: Arc<Mutex<Counts>>,
    acceptor: Option<JoinHandle<()>>,
}

impl TestServer {
    pub(super) fn start<F>(behaviour: F) -> Self
    where
        F: Fn(&Request, &mut Peer) -> Next + Send + Sync + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let counts = Arc::new(Mutex::new(Counts::default()));
        let (behaviour, shared) = (Arc::new(behaviour), Arc::clone(&counts));
        let acceptor = std::thread::spawn(move || {
            let mut connections = Vec::new();
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
                let (behaviour, counts) = (Arc::clone(&behaviour), Arc::clone(&shared));
                let peer = Peer { stream, counts, place };
                connections.push(std::thread::spawn(move || serve(peer, &*behaviour)));
                connections.retain(|thread| !thread.is_finished());
            }
            connections.into_iter().for_each(|thread| thread.join().unwrap());
        });
        Self { address, counts, acceptor: Some(acceptor) }
    }

    pub(super) fn url(&self, path: &str) -> Url {
        format!("http://{}{path}", self.address).parse().unwrap()
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

fn serve(mut peer: Peer, behaviour: &(dyn Fn(&Request, &mut Peer) -> Next + Send + Sync)) {
    drop(peer.stream.set_nodelay(true));
    let mut buffer = Vec::new();
    let mut place = 0;
    while let Some(head) = next_head(&mut peer.stream, &mut buffer) {
        place += 1;
        let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
        *peer.counts.lock().unwrap().received.entry(path.clone()).or_default() += 1;
        match behaviour(&Request { path, head, place }, &mut peer) {
            Next::Keep => {}
            Next::Close => return,
            Next::Reset => {
                set_socket_linger(&peer.stream, Some(Duration::ZERO)).unwrap();
                return;
            }
            Next::Hold => {
                while peer.stream.read(&mut [0; 512]).is_ok_and(|n| n > 0) {}
                return;
            }
        }
    }
    drop(peer.stream.shutdown(Shutdown::Both));
}

/// The next request head; `None` when the client has closed.
fn next_head(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<String> {
    let mut piece = [0; 4096];
    loop {
        if let Some(end) = buffer.windows(4).position(|four| four == b"\r\n\r\n") {
            let head = buffer.drain(..end + 4).collect::<Vec<u8>>();
            return Some(String::from_utf8_lossy(&head).into_owned());
        }
        match stream.read(&mut piece) {
            Ok(n) if n > 0 => buffer.extend_from_slice(&piece[..n]),
            _ => return None,
        }
    }
}

/// An address that refuses connections for as long as this is held.
#[derive(Debug)]
pub(super) struct Refusing {
    pub(super) address: SocketAddr,
    _bound: OwnedFd,
}

/// Binds a port and does not listen on it, so that nobody else can either.
pub(super) fn refusing_address() -> Refusing {
    let bound = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    bind(&bound, &"127.0.0.1:0".parse::<SocketAddr>().unwrap()).unwrap();
    let address = SocketAddr::try_from(getsockname(&bound).unwrap()).unwrap();
    Refusing { address, _bound: bound }
}
