//! The requests of a generator, made before its first stage: origin-form targets, one `Host` each,
//! ready as bytes for the lean client and as requests of the protocol for the other.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use fastrand::Rng;
use http_body_util::Full;
use hyper::header::{AUTHORIZATION, CONTENT_LENGTH, HOST, HeaderName, HeaderValue};
use hyper::{HeaderMap, Method, Request, Uri};
use url::{Position, Url};

use super::RequestSpec;
use crate::plan::Protocol;

/// What HTTP/2 and gRPC make of them.
mod http2;

/// Headers that we set ourselves, or that promise another protocol.
const REFUSED: [&str; 4] = ["content-length", "transfer-encoding", "expect", "upgrade"];

/// A request that cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum RequestError {
    /// The list is empty.
    #[error("there is no address to request; give one with `url` or a list with `urls`")]
    NoAddress,
    /// Another scheme than those of HTTP and of WebSocket.
    #[error("{0}: only http://, https://, ws:// and wss:// addresses can be requested")]
    Scheme(Url),
    /// A name or password in the address.
    #[error("{0}: an address cannot carry a user name; give it with `basic_auth` instead")]
    UserInfo(Url),
    /// The address makes no valid request target.
    #[error("{0}: no valid request target ({1}); write the address percent-encoded")]
    Target(Url, String),
    /// A header that HTTP does not allow.
    #[error("header `{0}`: {1}; correct or remove it")]
    Header(String, String),
    /// A method that HTTP does not allow, or that we cannot use.
    #[error("`{0}` cannot be the method of a request; use one such as GET, HEAD, POST or PUT")]
    Method(String),
}

/// One request, ready to be sent over and over.
#[derive(Debug)]
pub(super) struct Prepared {
    /// The address that it is for.
    pub(super) url: Url,
    /// In the form of the protocol, with all headers; a copy shares the body. Origin-form with a
    /// `Host` in HTTP/1.1, absolute without one in HTTP/2.
    pub(super) template: Request<Full<Bytes>>,
    /// Its body.
    pub(super) body: Bytes,
    /// The same as bytes of HTTP/1.1: head and body.
    pub(super) wire: Bytes,
    /// Its response has no body, whatever the head says (HEAD).
    pub(super) is_head: bool,
    /// It may be sent a second time (RFC 9110 section 9.2.2).
    pub(super) is_idempotent: bool,
}

/// All requests, in the order in which they are sent by all workers together.
#[derive(Debug, Clone)]
pub(super) struct Requests {
    list: Arc<[Prepared]>,
    next: Arc<AtomicUsize>,
}

impl Requests {
    pub(super) fn new(spec: &RequestSpec, protocol: Protocol) -> Result<Self, RequestError> {
        let call;
        let spec = if protocol == Protocol::Grpc {
            call = http2::unary_call(spec);
            &call
        } else {
            spec
        };
        if spec.urls.is_empty() {
            return Err(RequestError::NoAddress);
        }
        let method = method(spec)?;
        let mut headers = checked(&spec.headers)?;
        if let Some(user) = &spec.basic_auth {
            let value = format!("Basic {}", STANDARD.encode(user));
            let wrong = |_| RequestError::Header("authorization".into(), "no header value".into());
            headers.insert(AUTHORIZATION, HeaderValue::try_from(value).map_err(wrong)?);
        }
        let body = spec.body.clone().unwrap_or_default();
        // A request that usually has a body says so when it has none (RFC 9110 section 8.6).
        let is_measured = !body.is_empty() || [Method::POST, Method::PUT].contains(&method);
        if is_measured && protocol != Protocol::Grpc {
            headers.insert(CONTENT_LENGTH, HeaderValue::from(body.len()));
        }
        let prepare = |url: &Url| {
            let request = prepared(url, &method, &headers, &body)?;
            match protocol {
                Protocol::Http2 | Protocol::Grpc => http2::multiplexed(request),
                _ => Ok(request),
            }
        };
        let mut list = spec.urls.iter().map(prepare).collect::<Result<Vec<_>, _>>()?;
        if spec.seed != 0 {
            Rng::with_seed(spec.seed).shuffle(&mut list);
        }
        Ok(Self { list: list.into(), next: Arc::new(AtomicUsize::new(0)) })
    }

    /// The next request of the round: of any number of requests, every address has as many as any
    /// other, or one more. Workers share the count only where there is more than one address.
    pub(super) fn next(&self) -> &Prepared {
        self.at(self.next_place())
    }

    /// The place of the next request, for who keeps no reference to it.
    pub(super) fn next_place(&self) -> usize {
        match self.list.len() {
            1 => 0,
            several => self.next.fetch_add(1, Relaxed) % several,
        }
    }

    /// The request at a place.
    pub(super) fn at(&self, place: usize) -> &Prepared {
        &self.list[place]
    }
}

fn method(spec: &RequestSpec) -> Result<Method, RequestError> {
    let Some(name) = &spec.method else {
        return Ok(if spec.body.is_some() { Method::POST } else { Method::GET });
    };
    // A tunnel is no request that a server answers.
    match Method::from_bytes(name.as_bytes()) {
        Ok(method) if method != Method::CONNECT => Ok(method),
        _ => Err(RequestError::Method(name.clone())),
    }
}

fn checked(headers: &BTreeMap<String, String>) -> Result<HeaderMap, RequestError> {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        let wrong = |why: String| RequestError::Header(name.clone(), why);
        let key: HeaderName =
            name.parse().map_err(|_invalid| wrong("not a header name".to_owned()))?;
        if REFUSED.contains(&key.as_str()) {
            return Err(wrong("it is set by the body, or not supported".to_owned()));
        }
        let value = HeaderValue::from_str(value)
            .map_err(|_invalid| wrong("the value has a control character".to_owned()))?;
        map.append(key, value);
    }
    Ok(map)
}

/// Whether requests can carry these headers; asked before the first target is started.
///
/// # Errors
/// [`RequestError::Header`] for the first that cannot.
pub fn check_headers(headers: &BTreeMap<String, String>) -> Result<(), RequestError> {
    checked(headers).map(drop)
}

fn prepared(
    url: &Url,
    method: &Method,
    headers: &HeaderMap,
    body: &Bytes,
) -> Result<Prepared, RequestError> {
    if !matches!(url.scheme(), "http" | "https" | "ws" | "wss") {
        return Err(RequestError::Scheme(url.clone()));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(RequestError::UserInfo(url.clone()));
    }
    let wrong = |e: &dyn std::fmt::Display| RequestError::Target(url.clone(), e.to_string());
    // Path and query only: the fragment is the browser's business, and an absolute-form target
    // is for proxies.
    let target: Uri =
        url[Position::BeforePath..Position::AfterQuery].parse().map_err(|e| wrong(&e))?;
    // The serialised address has IPv6 in brackets and no default port, as `Host` wants it.
    let host = HeaderValue::from_str(&url[Position::BeforeHost..Position::AfterPort])
        .map_err(|e| wrong(&e))?;
    let mut template = Request::new(Full::new(body.clone()));
    *template.method_mut() = method.clone();
    *template.uri_mut() = target;
    // `Host` goes first, as RFC 9110 section 7.2 asks; the user's own takes its place.
    template.headers_mut().insert(HOST, headers.get(HOST).cloned().unwrap_or(host));
    for (name, value) in headers.iter().filter(|(name, _)| **name != HOST) {
        template.headers_mut().append(name, value.clone());
    }
    Ok(Prepared {
        url: url.clone(),
        wire: wire(&template, body),
        body: body.clone(),
        template,
        is_head: *method == Method::HEAD,
        is_idempotent: method.is_idempotent(),
    })
}

/// The bytes of HTTP/1.1.
fn wire(request: &Request<Full<Bytes>>, body: &Bytes) -> Bytes {
    let mut wire = format!("{} {} HTTP/1.1\r\n", request.method(), request.uri()).into_bytes();
    for (name, value) in request.headers() {
        wire.extend_from_slice(name.as_str().as_bytes());
        wire.extend_from_slice(b": ");
        wire.extend_from_slice(value.as_bytes());
        wire.extend_from_slice(b"\r\n");
    }
    wire.extend_from_slice(b"\r\n");
    wire.extend_from_slice(body);
    wire.into()
}

#[cfg(test)]
mod tests;
