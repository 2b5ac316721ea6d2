//! How a connection to the target is opened: where to, from which address, over what.

use std::fs;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;
use std::os::unix::fs::FileTypeExt as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use nix::sys::socket::setsockopt;
use nix::sys::socket::sockopt::IpBindAddressNoPort;
use rustix::net::{AddressFamily, SocketType, bind, socket};

use super::ports::{PortError, ensure_ports};
use super::tls::Tls;
use super::{DialSpec, LoadError, LoadSetup, address};
use crate::plan::Family;

/// Connections that can never be opened, whatever the target does.
#[derive(Debug, thiserror::Error)]
pub enum DialError {
    /// A source that is no address of this machine.
    #[error("cannot connect from {0}: {1}; give addresses of this machine in `sources`")]
    Source(IpAddr, io::Error),
    /// The path of a unix socket at which there is none.
    #[error("there is no unix socket at {0}: {1}; start the server, or correct `unix_socket`")]
    UnixSocket(String, io::Error),
    /// More connections than local ports.
    #[error(transparent)]
    Ports(#[from] PortError),
}

/// Checks what can be checked of connections before there is a target: that their source
/// addresses are this machine's and have ports enough.
///
/// # Errors
/// One of [`DialError`].
pub fn ensure_dialable(dial: &DialSpec, connections: u32) -> Result<(), DialError> {
    if dial.unix_socket.is_some() {
        return Ok(());
    }
    dial.sources.iter().try_for_each(|source| is_ours(*source))?;
    Ok(ensure_ports(connections, dial.sources.len())?)
}

/// Tries to be at that address.
fn is_ours(source: IpAddr) -> Result<(), DialError> {
    let family = if source.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let trial = socket(family, SocketType::STREAM, None)
        .and_then(|socket| bind(&socket, &SocketAddr::new(source, 0)));
    trial.map_err(|e| DialError::Source(source, e.into()))
}

/// Opens the connections of a worker.
#[derive(Debug, Clone)]
pub(super) struct Dialer {
    endpoint: Endpoint,
    sources: Arc<[IpAddr]>,
    tls: Option<Tls>,
    /// A connection that is not open by then failed.
    pub(super) timeout: Duration,
}

/// Where connections go to.
#[derive(Debug, Clone)]
pub(super) enum Endpoint {
    Tcp(SocketAddr),
    Unix(Arc<Path>),
}

impl Dialer {
    pub(super) fn new(setup: &LoadSetup) -> Result<Self, LoadError> {
        let dial = &setup.dial;
        dial.sources.iter().try_for_each(|source| is_ours(*source))?;
        let urls = &setup.requests.urls;
        let endpoint = match &dial.unix_socket {
            Some(path) => {
                address::ensure_alike(urls)?;
                Endpoint::Unix(unix_socket(path)?)
            }
            None => {
                let of_source = dial.sources.first().copied().map(Family::of);
                Endpoint::Tcp(address::pin(urls, dial.family.or(of_source))?)
            }
        };
        Ok(Self {
            endpoint,
            tls: Tls::of(setup)?,
            sources: dial.sources.clone().into(),
            timeout: dial.connect_timeout.unwrap_or(setup.timeout),
        })
    }

    pub(super) fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// `None`: connections are plain.
    pub(super) fn tls(&self) -> Option<&Tls> {
        self.tls.as_ref()
    }

    /// Binds a socket that is to become connection number `place` of the stage to its source
    /// address; leaves it alone where the kernel is to choose.
    pub(super) fn bind(&self, socket: impl AsFd, place: usize) -> io::Result<()> {
        if self.sources.is_empty() {
            return Ok(());
        }
        let source = self.sources[place % self.sources.len()];
        // The port is chosen at the connect then, when the kernel knows the peer and may take one
        // that only leads elsewhere or waits in TIME_WAIT. Without the option it still gets one.
        setsockopt(&socket, IpBindAddressNoPort, &true).ok();
        Ok(bind(&socket, &SocketAddr::new(source, 0))?)
    }
}

fn unix_socket(path: &Path) -> Result<Arc<Path>, DialError> {
    let none = |error| DialError::UnixSocket(path.display().to_string(), error);
    if !fs::metadata(path).map_err(none)?.file_type().is_socket() {
        return Err(none(io::Error::other("it is something else")));
    }
    // A path that is too long for a socket address is one that nobody can connect to.
    std::os::unix::net::SocketAddr::from_pathname(path).map_err(none)?;
    Ok(path.into())
}

/// On loopback, a connect to a free port of the ephemeral range can meet itself: the answer that
/// such a connection should have had.
pub(super) fn refuse_self_connect(local: SocketAddr, peer: SocketAddr) -> io::Result<()> {
    if peer.ip().is_loopback() && local == peer {
        return Err(io::ErrorKind::ConnectionRefused.into());
    }
    Ok(())
}
