//! TLS from the client's side: whom to trust and what to offer, the same for load, readiness,
//! health checks and crawling.
//!
//! Roots are those of the machine, read once per [`Connector`], or those of a file. Every
//! handshake is a full one: resumed sessions would make the handshakes of reconnects cheaper for
//! the server than those of new clients.

use std::error::Error;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::Resumption;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{AlertDescription, ClientConfig, RootCertStore};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use url::{Host, Url};

/// Takes any certificate.
mod unverified;
/// Failures in words.
mod words;

/// TLS of https:// and wss:// addresses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TlsSpec {
    /// PEM file of certificates that are trusted instead of the system's; relative to the plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca: Option<PathBuf>,
    /// Name that is asked for (SNI) and checked; default: the address's host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_name: Option<String>,
    /// `false`: any certificate is taken.
    pub verify: bool,
}

impl Default for TlsSpec {
    fn default() -> Self {
        Self { ca: None, server_name: None, verify: true }
    }
}

/// TLS is spoken at this address.
#[must_use]
pub fn is_at(url: &Url) -> bool {
    matches!(url.scheme(), "https" | "wss")
}

/// What is offered to be spoken over TLS (ALPN).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Alpn {
    /// `http/1.1`; a server that chooses nothing speaks it too.
    Http1,
    /// `h2`; a server has to choose it.
    Http2,
}

impl Alpn {
    const fn wire(self) -> &'static [u8] {
        match self {
            Self::Http1 => b"http/1.1",
            Self::Http2 => b"h2",
        }
    }
}

/// TLS that cannot be spoken as asked for.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// The file of certificates cannot be read.
    #[error("cannot read the certificates in {0}: {1}; correct `tls.ca`")]
    Read(PathBuf, String),
    /// There is none in it.
    #[error(
        "there is no certificate in {0}; `tls.ca` names a PEM file (-----BEGIN CERTIFICATE-----)"
    )]
    NoCertificate(PathBuf),
    /// One in it is none.
    #[error("a certificate in {0} cannot be used: {1}; `tls.ca` names those of authorities")]
    BadCertificate(PathBuf, rustls::Error),
    /// The machine trusts nobody.
    #[error(
        "this system has no trusted certificates{0}; install them (ca-certificates), or name a \
         file of them with `tls.ca`"
    )]
    NoRoots(String),
    /// Not a name that a certificate could be for.
    #[error("`{0}` is no server name; `tls.server_name` is one such as www.example.org")]
    Name(String),
    /// rustls refuses its own settings.
    #[error("cannot set up TLS: {0}; this is a defect of bench-user, please report it")]
    Setup(rustls::Error),
}

/// A connection that did not get secure.
#[derive(Debug, thiserror::Error)]
pub enum HandshakeError {
    /// The handshake failed.
    #[error("TLS handshake: {0}")]
    Failed(String),
    /// HTTP/2 was offered and not chosen.
    #[error("the server does not choose HTTP/2 (ALPN `h2`); measure it with protocol `http1`")]
    NotHttp2,
}

/// Makes connections secure.
#[derive(Clone)]
pub struct Connector {
    config: TlsConnector,
    server_name: Option<ServerName<'static>>,
    alpn: Alpn,
}

impl std::fmt::Debug for Connector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { server_name, alpn, .. } = self;
        f.debug_struct("Connector").field("server_name", server_name).field("alpn", alpn).finish()
    }
}

impl Connector {
    /// Reads the certificates that are trusted.
    ///
    /// # Errors
    /// One of [`TlsError`].
    pub fn new(spec: &TlsSpec, alpn: Alpn) -> Result<Self, TlsError> {
        let provider = Arc::new(ring::default_provider());
        let mut config = if spec.verify {
            builder(&provider)?.with_root_certificates(roots(spec.ca.as_deref())?)
        } else {
            builder(&provider)?
                .dangerous()
                .with_custom_certificate_verifier(unverified::any_certificate(&provider))
        }
        .with_no_client_auth();
        config.alpn_protocols = vec![alpn.wire().to_vec()];
        config.resumption = Resumption::disabled();
        let server_name = spec.server_name.clone().map(named).transpose()?;
        Ok(Self { config: Arc::new(config).into(), server_name, alpn })
    }

    /// Whom a connection to `url` has to reach: the name that was asked for, or its host.
    ///
    /// # Errors
    /// [`TlsError::Name`].
    pub fn name_of(&self, url: &Url) -> Result<ServerName<'static>, TlsError> {
        if let Some(name) = &self.server_name {
            return Ok(name.clone());
        }
        match url.host() {
            Some(Host::Ipv4(ip)) => Ok(ServerName::from(std::net::IpAddr::from(ip))),
            Some(Host::Ipv6(ip)) => Ok(ServerName::from(std::net::IpAddr::from(ip))),
            Some(Host::Domain(name)) => named(name.to_owned()),
            None => Err(TlsError::Name(url.to_string())),
        }
    }

    /// Makes an open connection secure.
    ///
    /// # Errors
    /// One of [`HandshakeError`].
    pub async fn secure<S>(
        &self,
        name: ServerName<'static>,
        stream: S,
    ) -> Result<TlsStream<S>, HandshakeError>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let secured = self.config.connect(name, stream).await.map_err(|e| self.refused(&e))?;
        let chosen = secured.get_ref().1.alpn_protocol();
        if self.alpn == Alpn::Http2 && chosen != Some(Alpn::Http2.wire()) {
            return Err(HandshakeError::NotHttp2);
        }
        Ok(secured)
    }

    fn refused(&self, error: &io::Error) -> HandshakeError {
        let none_shared = rustls::Error::AlertReceived(AlertDescription::NoApplicationProtocol);
        if self.alpn == Alpn::Http2 && cause(error) == Some(&none_shared) {
            return HandshakeError::NotHttp2;
        }
        HandshakeError::Failed(cause(error).map_or_else(|| error.to_string(), words::of))
    }
}

/// The words of TLS in an error of a stream; `None` for one of the socket under it.
#[must_use]
pub fn cause(error: &io::Error) -> Option<&rustls::Error> {
    let inner: &(dyn Error + 'static) = error.get_ref()?;
    inner.downcast_ref()
}

fn builder(
    provider: &Arc<CryptoProvider>,
) -> Result<rustls::ConfigBuilder<ClientConfig, rustls::WantsVerifier>, TlsError> {
    ClientConfig::builder_with_provider(Arc::clone(provider))
        .with_safe_default_protocol_versions()
        .map_err(TlsError::Setup)
}

fn named(name: String) -> Result<ServerName<'static>, TlsError> {
    ServerName::try_from(name.clone()).map_err(|_invalid| TlsError::Name(name))
}

fn roots(file: Option<&Path>) -> Result<RootCertStore, TlsError> {
    let mut roots = RootCertStore::empty();
    if let Some(file) = file {
        let unread = |e: &dyn std::fmt::Display| TlsError::Read(file.to_owned(), e.to_string());
        for certificate in CertificateDer::pem_file_iter(file).map_err(|e| unread(&e))? {
            let certificate = certificate.map_err(|e| unread(&e))?;
            roots.add(certificate).map_err(|e| TlsError::BadCertificate(file.to_owned(), e))?;
        }
        if roots.is_empty() {
            return Err(TlsError::NoCertificate(file.to_owned()));
        }
        return Ok(roots);
    }
    // Those that cannot be used are left out, as every other program does: a system has some.
    let found = rustls_native_certs::load_native_certs();
    roots.add_parsable_certificates(found.certs);
    if roots.is_empty() {
        let why = found.errors.first().map_or_else(String::new, |e| format!(" ({e})"));
        return Err(TlsError::NoRoots(why));
    }
    Ok(roots)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> String {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(&file, text).unwrap();
        let spec = TlsSpec { ca: Some(file.path().to_owned()), ..TlsSpec::default() };
        Connector::new(&spec, Alpn::Http1).unwrap_err().to_string()
    }

    #[test]
    fn a_file_without_certificates_is_refused_in_one_sentence() {
        assert!(refusal("").contains("there is no certificate in"));
        let cut = refusal("-----BEGIN CERTIFICATE-----\nAAAA\n");
        assert!(cut.contains("cannot read") && cut.contains("tls.ca"), "{cut}");
        let none = refusal("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
        assert!(none.contains("cannot be used"), "{none}");
        let spec = TlsSpec { ca: Some("/does/not/exist".into()), ..TlsSpec::default() };
        let missing = Connector::new(&spec, Alpn::Http1).unwrap_err().to_string();
        assert!(missing.contains("/does/not/exist") && missing.contains("tls.ca"), "{missing}");
    }

    #[test]
    fn the_name_is_the_hosts_or_the_one_asked_for() {
        let unverified = TlsSpec { verify: false, ..TlsSpec::default() };
        let name = |spec: &TlsSpec, url: &str| {
            let connector = Connector::new(spec, Alpn::Http1).unwrap();
            connector.name_of(&url.parse().unwrap()).unwrap().to_str().into_owned()
        };
        assert_eq!(name(&unverified, "https://a.test:1/"), "a.test");
        assert_eq!(name(&unverified, "https://[::1]:1/"), "::1");
        let spec = TlsSpec { server_name: Some("b.test".into()), ..unverified.clone() };
        assert_eq!(name(&spec, "https://127.0.0.1/"), "b.test");
        let spec = TlsSpec { server_name: Some("no name".into()), ..unverified };
        assert!(matches!(Connector::new(&spec, Alpn::Http1), Err(TlsError::Name(_))));
    }
}
