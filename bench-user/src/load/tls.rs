//! What makes the connections of a generator secure, made once.

use rustls::pki_types::ServerName;

use super::LoadSetup;
use crate::plan::Protocol;
use crate::tls::{self, Alpn, Connector, TlsError};

/// For connections to https:// and wss:// addresses.
#[derive(Debug, Clone)]
pub(super) struct Tls {
    pub(super) connector: Connector,
    pub(super) name: ServerName<'static>,
}

impl Tls {
    /// `None` where addresses have none: all of a list are alike in this. Certificates are read
    /// here.
    pub(super) fn of(setup: &LoadSetup) -> Result<Option<Self>, TlsError> {
        let first = setup.requests.urls.first();
        let Some(url) = first.filter(|url| tls::is_at(url)) else { return Ok(None) };
        let alpn = match setup.protocol {
            Protocol::Http2 | Protocol::Grpc => Alpn::Http2,
            Protocol::Http1 | Protocol::Sse | Protocol::Websocket | Protocol::Idle => Alpn::Http1,
        };
        let connector = Connector::new(&setup.dial.tls, alpn)?;
        let name = connector.name_of(url)?;
        Ok(Some(Self { connector, name }))
    }
}
