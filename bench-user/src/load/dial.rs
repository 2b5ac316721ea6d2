//! How a connection to the target is opened: where to, from which address, over what.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::{AddressError, LoadSetup, address};

/// Opens the connections of a worker.
#[derive(Debug, Clone)]
pub(super) struct Dialer {
    endpoint: Endpoint,
    sources: Arc<[IpAddr]>,
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
    pub(super) fn new(setup: &LoadSetup) -> Result<Self, AddressError> {
        let dial = &setup.dial;
        let endpoint = match &dial.unix_socket {
            Some(path) => Endpoint::Unix(PathBuf::from(path).into()),
            None => Endpoint::Tcp(address::pin(&setup.requests.urls)?),
        };
        Ok(Self {
            endpoint,
            sources: dial.sources.clone().into(),
            timeout: dial.connect_timeout.unwrap_or(setup.timeout),
        })
    }

    pub(super) fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// The address that connection number `place` of the stage comes from; `None`: the kernel's
    /// choice.
    pub(super) fn source(&self, place: usize) -> Option<IpAddr> {
        (!self.sources.is_empty()).then(|| self.sources[place % self.sources.len()])
    }
}

/// On loopback, a connect to a free port of the ephemeral range can meet itself: the answer that
/// such a connection should have had.
pub(super) fn refuse_self_connect(local: SocketAddr, peer: SocketAddr) -> io::Result<()> {
    if peer.ip().is_loopback() && local == peer {
        return Err(io::ErrorKind::ConnectionRefused.into());
    }
    Ok(())
}
