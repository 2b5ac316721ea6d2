//! One GET over a connection of its own, or a connection alone: for readiness, crawling and health
//! checks; over TLS and in HTTP/2 where the load is. One POST, to hand figures to a collector.
//!
//! Follows no redirect, keeps no connection, asks for no encoding. Not used inside a stage:
//! every hidden request would be in the server's counts.

mod error;
mod http2;

use std::io;
use std::net::ToSocketAddrs as _;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::client::conn::http1::Builder;
use hyper::header::{HOST, USER_AGENT};
use hyper::{HeaderMap, Method, Request, Response, body::Incoming};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use url::{Position, Url};

pub use error::FetchError;

use crate::tls::{Alpn, Connector, TlsSpec};

/// Largest body that is kept, bytes; a page to crawl is far smaller.
const BODY_LIMIT: usize = 16 << 20;

/// hyper's own limit of 100 is below what real servers send.
const MAX_HEADERS: usize = 256;

/// Largest head of a response, bytes; hyper's own limit is about 400 kB.
pub(crate) const MAX_HEAD: usize = 1 << 20;

/// A whole answer.
#[derive(Debug, Clone)]
pub struct Fetched {
    /// Status code.
    pub status: u16,
    /// Where a redirect points, as the server wrote it.
    pub location: Option<String>,
    /// Media type, as the server wrote it.
    pub content_type: Option<String>,
    /// The body.
    pub body: Bytes,
}

impl Fetched {
    fn without_body<B>(response: &Response<B>) -> Self {
        let text = |name| {
            response.headers().get(name).map(|v| String::from_utf8_lossy(v.as_bytes()).into_owned())
        };
        Self {
            status: response.status().as_u16(),
            location: text("location"),
            content_type: text("content-type"),
            body: Bytes::new(),
        }
    }

    /// Its status is 2xx.
    #[must_use]
    pub const fn is_success(&self) -> bool {
        self.status / 100 == 2
    }
}

/// What a server is asked in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Spoken {
    /// HTTP/1.1.
    #[default]
    Http1,
    /// HTTP/2: by ALPN over TLS, with prior knowledge otherwise.
    Http2,
}

/// Asks servers. Certificates are read at the first https:// address, once for all copies.
#[derive(Debug, Clone, Default)]
pub struct Fetcher {
    spoken: Spoken,
    tls: TlsSpec,
    /// Sent with every question; a `Host` takes the place of the address's.
    headers: HeaderMap,
    connector: Arc<OnceLock<Connector>>,
}

impl Fetcher {
    /// One that asks in `spoken`, over TLS as in `tls`.
    #[must_use]
    pub fn new(spoken: Spoken, tls: TlsSpec) -> Self {
        Self { spoken, tls, headers: HeaderMap::new(), connector: Arc::default() }
    }

    /// The same with these headers, without which a server may answer another thing than it
    /// answers to the load.
    #[must_use]
    pub fn with_headers(mut self, headers: HeaderMap) -> Self {
        self.headers = headers;
        self
    }

    /// The same under the same TLS, in HTTP/1.1.
    #[must_use]
    pub fn in_http1(&self) -> Self {
        Self::new(Spoken::Http1, self.tls.clone()).with_headers(self.headers.clone())
    }

    /// Gets `url` and waits for the whole answer.
    ///
    /// # Errors
    /// One of [`FetchError`]; a status such as 404 is an answer, not an error.
    pub fn get(&self, url: &Url, timeout: Duration) -> Result<Fetched, FetchError> {
        runtime(url)?.block_on(self.get_async(url, timeout))
    }

    /// Posts `body` in HTTP/1.1 and waits for the whole answer.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub fn post(&self, url: &Url, body: Bytes, timeout: Duration) -> Result<Fetched, FetchError> {
        runtime(url)?.block_on(self.question(url, Some(body), timeout))
    }

    /// The same inside a runtime.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub async fn get_async(&self, url: &Url, timeout: Duration) -> Result<Fetched, FetchError> {
        self.question(url, None, timeout).await
    }

    async fn question(
        &self,
        url: &Url,
        sent: Option<Bytes>,
        timeout: Duration,
    ) -> Result<Fetched, FetchError> {
        let connector = self.connector(url)?;
        tokio::time::timeout(timeout, self.exchange(url, connector, sent))
            .await
            .unwrap_or_else(|_elapsed| Err(FetchError::Timeout(url.clone(), timeout)))
    }

    /// TLS for `url`; `None` where it has none.
    fn connector(&self, url: &Url) -> Result<Option<&Connector>, FetchError> {
        match url.scheme() {
            "http" => return Ok(None),
            "https" => {}
            _ => return Err(FetchError::Scheme(url.clone())),
        }
        if self.connector.get().is_none() {
            let alpn = if self.is_http2() { Alpn::Http2 } else { Alpn::Http1 };
            // Another thread's may have come first, and is the same.
            drop(self.connector.set(Connector::new(&self.tls, alpn)?));
        }
        Ok(self.connector.get())
    }

    const fn is_http2(&self) -> bool {
        matches!(self.spoken, Spoken::Http2)
    }

    async fn exchange(
        &self,
        url: &Url,
        tls: Option<&Connector>,
        sent: Option<Bytes>,
    ) -> Result<Fetched, FetchError> {
        let address = authority(url);
        let stream =
            TcpStream::connect(&address).await.map_err(|e| FetchError::Connect(address, e))?;
        let Some(tls) = tls else { return self.ask(url, sent, stream).await };
        let secured = tls.secure(tls.name_of(url)?, stream).await;
        let secured = secured.map_err(|e| FetchError::Http(url.clone(), e.to_string()))?;
        self.ask(url, sent, secured).await
    }

    async fn ask<S>(&self, url: &Url, sent: Option<Bytes>, stream: S) -> Result<Fetched, FetchError>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let got = match sent {
            None if self.is_http2() => http2::get(url, &self.headers, stream).await,
            sent => http1(url, &self.headers, sent, stream).await,
        };
        got.map_err(|e| FetchError::of_answer(url, &*e))
    }
}

/// An answer, or why it is broken.
type Whole = Result<Fetched, Box<dyn std::error::Error + Send + Sync>>;

/// Names us to the server.
const AGENT: &str = concat!("bench-user/", env!("CARGO_PKG_VERSION"));

/// Opens a connection and closes it, for what cannot be asked by a GET.
///
/// # Errors
/// [`FetchError::Connect`] with the last address that refused.
pub fn knock(url: &Url, timeout: Duration) -> Result<(), FetchError> {
    let name = authority(url);
    let failed = |error| FetchError::Connect(name.clone(), error);
    let mut last = io::ErrorKind::NotFound.into();
    for address in name.to_socket_addrs().map_err(failed)? {
        match std::net::TcpStream::connect_timeout(&address, timeout) {
            Ok(_closed_at_once) => return Ok(()),
            Err(error) => last = error,
        }
    }
    Err(failed(last))
}

/// The same at a unix socket.
///
/// # Errors
/// [`FetchError::Connect`].
pub fn knock_unix(path: &Path) -> Result<(), FetchError> {
    let failed = |error| FetchError::Connect(path.display().to_string(), error);
    UnixStream::connect(path).map(drop).map_err(failed)
}

/// `host:port` of an address, IPv6 in brackets.
#[must_use]
pub fn authority(url: &Url) -> String {
    format!("{}:{}", url.host_str().unwrap_or(""), url.port_or_known_default().unwrap_or(80))
}

/// A client that accepts what servers send in practice and browsers accept: many headers, spaces
/// around names, folded lines; a header that is none is left out. The framing stays strict.
pub(crate) fn lenient_client() -> Builder {
    let mut builder = Builder::new();
    builder
        .max_headers(MAX_HEADERS)
        .max_buf_size(MAX_HEAD)
        .allow_spaces_after_header_name_in_responses(true)
        .allow_obsolete_multiline_headers_in_responses(true)
        .ignore_invalid_headers_in_responses(true);
    builder
}

fn runtime(url: &Url) -> Result<tokio::runtime::Runtime, FetchError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|e| FetchError::Connect(authority(url), e))
}

/// A GET, or a POST of what is sent.
async fn http1<S>(url: &Url, headers: &HeaderMap, sent: Option<Bytes>, stream: S) -> Whole
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let (mut sender, connection) = lenient_client().handshake(TokioIo::new(stream)).await?;
    let method = if sent.is_some() { Method::POST } else { Method::GET };
    let mut request = Request::builder()
        .method(method)
        .uri(&url[Position::BeforePath..Position::AfterQuery])
        .header(HOST, &url[Position::BeforeHost..Position::AfterPort])
        .header(USER_AGENT, AGENT)
        .body(Full::new(sent.unwrap_or_default()))?;
    request.headers_mut().extend(headers.clone());
    let answer = async { whole(sender.send_request(request).await?).await };
    // The connection future drives the answer; its own end is no news once the answer is whole.
    tokio::pin!(answer, connection);
    tokio::select! {
        biased;
        fetched = &mut answer => fetched,
        ended = &mut connection => match (answer.await, ended) {
            (Err(_), Err(why)) => Err(why.into()),
            (fetched, _) => fetched,
        },
    }
}

async fn whole(response: Response<Incoming>) -> Whole {
    let fetched = Fetched::without_body(&response);
    let body = Limited::new(response.into_body(), BODY_LIMIT).collect().await?.to_bytes();
    Ok(Fetched { body, ..fetched })
}

#[cfg(test)]
mod tests;
