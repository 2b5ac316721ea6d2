//! Addresses that do not take connections: one that refuses them, and one whose accept queue is
//! full, so that the kernel drops every further SYN until somebody accepts.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;

use rustix::net::{AddressFamily, SocketType, bind, getsockname, listen, socket};

use super::{Next, Peer, Request, TestServer};

/// An address that refuses connections for as long as this is held.
#[derive(Debug)]
pub(in crate::load) struct Refusing {
    pub(in crate::load) address: SocketAddr,
    _bound: OwnedFd,
}

/// Binds a port and does not listen on it, so that nobody else can either.
pub(in crate::load) fn refusing_address() -> Refusing {
    let (bound, address) = bound_socket();
    Refusing { address, _bound: bound }
}

fn bound_socket() -> (OwnedFd, SocketAddr) {
    let bound = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    bind(&bound, &"127.0.0.1:0".parse::<SocketAddr>().unwrap()).unwrap();
    let address = SocketAddr::try_from(getsockname(&bound).unwrap()).unwrap();
    (bound, address)
}

/// A listener with a full accept queue.
#[derive(Debug)]
pub(in crate::load) struct FullBacklog {
    pub(in crate::load) address: SocketAddr,
    listener: TcpListener,
    fillers: Vec<TcpStream>,
}

impl FullBacklog {
    /// Listens with a queue of `backlog` (1 or more; with 0 the kernel may want SYN cookies) and
    /// fills it: Linux holds one connection more than it was asked to.
    pub(in crate::load) fn new(backlog: u16) -> Self {
        assert!(backlog > 0);
        let (bound, address) = bound_socket();
        listen(&bound, i32::from(backlog)).unwrap();
        let fillers = (0..=backlog).map(|_| TcpStream::connect(address).unwrap()).collect();
        Self { address, listener: bound.into(), fillers }
    }

    /// Takes what fills the queue out of it, and every connection from now on.
    pub(in crate::load) fn open<F>(self, behaviour: F) -> TestServer
    where
        F: Fn(&Request, &mut Peer) -> Next + Send + Sync + 'static,
    {
        for _ in &self.fillers {
            drop(self.listener.accept().unwrap());
        }
        TestServer::on(self.listener, behaviour)
    }
}
