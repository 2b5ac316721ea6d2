//! One GET over a connection of its own, or a connection alone: for readiness, crawling and health
//! checks.
//!
//! Follows no redirect, keeps no connection, asks for no encoding. Not used inside a stage:
//! every hidden request would be in the server's counts.

use std::io;
use std::net::ToSocketAddrs as _;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Empty, Limited};
use hyper::client::conn::http1::Builder;
use hyper::header::{HOST, USER_AGENT};
use hyper::{Request, Response, body::Incoming};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use url::{Position, Url};

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
    /// Its status is 2xx.
    #[must_use]
    pub const fn is_success(&self) -> bool {
        self.status / 100 == 2
    }
}

/// Why there was no answer.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// Another scheme than `http`.
    #[error("{0}: only http:// addresses can be requested")]
    Scheme(Url),
    /// Nobody took the connection.
    #[error("cannot connect to {0}: {1}; is the server listening there?")]
    Connect(String, io::Error),
    /// The answer was broken.
    #[error("no HTTP answer from {0}: {1}")]
    Http(Url, String),
    /// It took too long.
    #[error("no answer from {0} within {1:?}")]
    Timeout(Url, Duration),
}

/// Gets `url` and waits for the whole answer.
///
/// # Errors
/// One of [`FetchError`]; a status such as 404 is an answer, not an error.
pub fn get(url: &Url, timeout: Duration) -> Result<Fetched, FetchError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|e| FetchError::Connect(authority(url), e))?;
    runtime.block_on(get_async(url, timeout))
}

/// The same inside a runtime.
///
/// # Errors
/// As [`get`].
pub async fn get_async(url: &Url, timeout: Duration) -> Result<Fetched, FetchError> {
    if url.scheme() != "http" {
        return Err(FetchError::Scheme(url.clone()));
    }
    tokio::time::timeout(timeout, exchange(url))
        .await
        .unwrap_or_else(|_elapsed| Err(FetchError::Timeout(url.clone(), timeout)))
}

/// Opens a connection and closes it, for what does not speak plain HTTP/1.1.
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

async fn exchange(url: &Url) -> Result<Fetched, FetchError> {
    let address = authority(url);
    let stream = TcpStream::connect(&address).await.map_err(|e| FetchError::Connect(address, e))?;
    let broken = |e: &dyn std::fmt::Display| FetchError::Http(url.clone(), e.to_string());
    let (mut sender, connection) =
        lenient_client().handshake(TokioIo::new(stream)).await.map_err(|e| broken(&e))?;
    let request = Request::get(&url[Position::BeforePath..Position::AfterQuery])
        .header(HOST, &url[Position::BeforeHost..Position::AfterPort])
        .header(USER_AGENT, concat!("bench-user/", env!("CARGO_PKG_VERSION")))
        .body(Empty::<Bytes>::new())
        .map_err(|e| broken(&e))?;
    let answer = async {
        let response = sender.send_request(request).await.map_err(|e| broken(&e))?;
        whole(response).await.map_err(|e| broken(&e))
    };
    // The connection future drives the answer; its own end is no news once the answer is whole.
    tokio::pin!(answer, connection);
    tokio::select! {
        biased;
        fetched = &mut answer => fetched,
        ended = &mut connection => {
            ended.map_err(|e| broken(&e))?;
            answer.await
        }
    }
}

async fn whole(
    response: Response<Incoming>,
) -> Result<Fetched, Box<dyn std::error::Error + Send + Sync>> {
    let text = |name| {
        response.headers().get(name).map(|v| String::from_utf8_lossy(v.as_bytes()).into_owned())
    };
    let (location, content_type) = (text("location"), text("content-type"));
    let status = response.status().as_u16();
    let body = Limited::new(response.into_body(), BODY_LIMIT).collect().await?.to_bytes();
    Ok(Fetched { status, location, content_type, body })
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;

    use super::*;

    /// Answers one connection with `answer` and gives back the head it was sent.
    fn serve_once(answer: &'static str) -> (Url, std::thread::JoinHandle<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/a?b#c", listener.local_addr().unwrap()).parse().unwrap();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut head = vec![0; 4096];
            let n = stream.read(&mut head).unwrap();
            stream.write_all(answer.as_bytes()).unwrap();
            String::from_utf8_lossy(&head[..n]).into_owned()
        });
        (url, server)
    }

    #[test]
    fn a_redirect_is_an_answer_and_the_fragment_stays_here() {
        let (url, server) =
            serve_once("HTTP/1.1 301 Moved\r\nLocation: /x\r\nContent-Length: 2\r\n\r\nhi");
        let got = get(&url, Duration::from_secs(5)).unwrap();
        assert_eq!(
            (got.status, got.location.as_deref(), &got.body[..]),
            (301, Some("/x"), &b"hi"[..])
        );
        let head = server.join().unwrap();
        assert!(head.starts_with("GET /a?b HTTP/1.1\r\n"), "{head}");
    }

    #[test]
    fn a_body_ended_by_the_close_is_whole_and_a_short_one_is_not() {
        let (url, _server) = serve_once("HTTP/1.1 200 OK\r\n\r\nhello");
        assert_eq!(&get(&url, Duration::from_secs(5)).unwrap().body[..], b"hello");
        let (url, _server) = serve_once("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello");
        assert!(matches!(get(&url, Duration::from_secs(5)), Err(FetchError::Http(..))));
    }

    #[test]
    fn a_knock_tells_whether_connections_are_taken() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url: Url = format!("https://{}/", listener.local_addr().unwrap()).parse().unwrap();
        knock(&url, Duration::from_secs(5)).unwrap();
        drop(listener);
        assert!(matches!(knock(&url, Duration::from_secs(5)), Err(FetchError::Connect(..))));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        assert!(knock_unix(&path).unwrap_err().to_string().contains("listening"));
        let _listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
        knock_unix(&path).unwrap();
    }

    #[test]
    fn nobody_listening_is_said_in_one_sentence() {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let url = format!("http://127.0.0.1:{port}/").parse().unwrap();
        let error = get(&url, Duration::from_secs(5)).unwrap_err().to_string();
        assert!(error.contains(&port.to_string()) && error.contains("listening"), "{error}");
    }
}
