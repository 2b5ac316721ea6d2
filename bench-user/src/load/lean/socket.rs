//! Sockets that block nobody: how they are opened, and what is asked of them.

use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::sockopt::{set_tcp_nodelay, socket_error};
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, getsockname, socket_with,
};

use crate::load::dial::{Dialer, Endpoint, refuse_self_connect};

/// A socket whose connection is open, or under way.
#[derive(Debug)]
pub(super) struct Dialed {
    pub(super) socket: OwnedFd,
    pub(super) is_open: bool,
}

/// Begins connection number `place` of the stage.
pub(super) fn dial(dialer: &Dialer, place: usize) -> io::Result<Dialed> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let stream = |family| socket_with(family, SocketType::STREAM, flags, None);
    let (socket, result) = match dialer.endpoint() {
        Endpoint::Tcp(peer) => {
            let is_v4 = peer.is_ipv4();
            let socket = stream(if is_v4 { AddressFamily::INET } else { AddressFamily::INET6 })?;
            dialer.bind(&socket, place)?;
            set_tcp_nodelay(&socket, true)?;
            let result = connect(&socket, peer);
            (socket, result)
        }
        Endpoint::Unix(path) => {
            let socket = stream(AddressFamily::UNIX)?;
            let result = connect(&socket, &SocketAddrUnix::new(&**path)?);
            (socket, result)
        }
    };
    match result {
        Ok(()) => Ok(Dialed { socket, is_open: true }),
        Err(Errno::INPROGRESS | Errno::INTR) => Ok(Dialed { socket, is_open: false }),
        Err(error) => Err(error.into()),
    }
}

/// How the connection of a socket that has become writable came out.
pub(super) fn established(socket: &OwnedFd, dialer: &Dialer) -> io::Result<()> {
    socket_error(socket)??;
    match dialer.endpoint() {
        Endpoint::Tcp(peer) if peer.ip().is_loopback() => {
            refuse_self_connect(SocketAddr::try_from(getsockname(socket)?)?, *peer)
        }
        _ => Ok(()),
    }
}
