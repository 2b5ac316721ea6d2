//! Requests as HTTP/2 wants them, and gRPC calls as requests.

use bytes::{BufMut as _, Bytes, BytesMut};
use hyper::Uri;
use hyper::header::{CONNECTION, HOST, HeaderName, TE};
use url::Position;

use super::{Prepared, RequestError};
use crate::load::RequestSpec;

/// Headers of a connection: in HTTP/2 that has none, they make a request malformed (RFC 9113
/// section 8.2.2).
const OF_CONNECTION: [HeaderName; 3] = [
    CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
];

/// The request with its whole address, which takes the place of `Host`.
pub(super) fn multiplexed(mut request: Prepared) -> Result<Prepared, RequestError> {
    let url = &request.url;
    let headers = request.template.headers_mut();
    for name in OF_CONNECTION {
        if headers.contains_key(&name) {
            let why = "HTTP/2 has no such header".to_owned();
            return Err(RequestError::Header(name.to_string(), why));
        }
    }
    if headers.get(TE).is_some_and(|value| value != "trailers") {
        let why = "in HTTP/2 it can be `trailers` alone".to_owned();
        return Err(RequestError::Header(TE.to_string(), why));
    }
    let wrong = |why: String| RequestError::Target(url.clone(), why);
    let host = headers.remove(HOST);
    let authority = host.as_ref().and_then(|host| host.to_str().ok()).unwrap_or_default();
    let target = Uri::builder()
        .scheme(url.scheme())
        .authority(authority)
        .path_and_query(&url[Position::BeforePath..Position::AfterQuery])
        .build()
        .map_err(|e| wrong(e.to_string()))?;
    *request.template.uri_mut() = target;
    Ok(request)
}

/// A unary call whose message is the body.
pub(super) fn unary_call(spec: &RequestSpec) -> RequestSpec {
    let message = spec.body.clone().unwrap_or_default();
    let mut framed = BytesMut::with_capacity(5 + message.len());
    // Not compressed. A message has a length of 32 bits, and a body that exceeds it has long
    // exceeded memory.
    framed.put_u8(0);
    framed.put_u32(u32::try_from(message.len()).unwrap_or(u32::MAX));
    framed.extend_from_slice(&message);
    let mut headers = spec.headers.clone();
    for (name, value) in [("content-type", "application/grpc"), ("te", "trailers")] {
        if !headers.keys().any(|key| key.eq_ignore_ascii_case(name)) {
            headers.insert(name.to_owned(), value.to_owned());
        }
    }
    RequestSpec {
        method: Some("POST".to_owned()),
        headers,
        body: Some(Bytes::from(framed)),
        ..spec.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Requests;
    use super::*;
    use crate::plan::Protocol;

    fn made(
        protocol: Protocol,
        header: Option<(&str, &str)>,
        body: Option<&'static [u8]>,
    ) -> Result<Requests, RequestError> {
        let spec = RequestSpec {
            urls: [url::Url::parse("http://[::1]:8080/a?b#c").unwrap()].into(),
            method: None,
            headers: header.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect(),
            body: body.map(Bytes::from_static),
            basic_auth: None,
            seed: 0,
        };
        Requests::new(&spec, protocol)
    }

    #[test]
    fn http2_has_a_whole_address_and_no_header_of_a_connection() {
        let requests = made(Protocol::Http2, Some(("x-a", "1")), None).unwrap();
        let template = &requests.next().template;
        assert_eq!(template.uri(), "http://[::1]:8080/a?b");
        assert_eq!(template.headers().keys().map(HeaderName::as_str).collect::<Vec<_>>(), ["x-a"]);
        let other = made(Protocol::Http2, Some(("Host", "a.test")), None).unwrap();
        assert_eq!(other.next().template.uri(), "http://a.test/a?b");
        for refused in [("Connection", "close"), ("keep-alive", "1"), ("TE", "gzip")] {
            let error = made(Protocol::Http2, Some(refused), None).unwrap_err();
            assert!(matches!(error, RequestError::Header(..)), "{error}");
            assert!(made(Protocol::Http1, Some(refused), None).is_ok());
        }
    }

    #[test]
    fn a_grpc_call_is_a_post_of_a_framed_message() {
        let requests = made(Protocol::Grpc, None, Some(b"abc")).unwrap();
        let call = requests.next();
        assert_eq!(&call.body[..], b"\0\0\0\0\x03abc");
        let headers = call.template.headers();
        assert_eq!(
            (headers["content-type"].as_bytes(), headers["te"].as_bytes()),
            (&b"application/grpc"[..], &b"trailers"[..])
        );
        assert_eq!((call.template.method().as_str(), headers.len()), ("POST", 2));
        assert!(!call.is_idempotent);
        let empty = made(Protocol::Grpc, Some(("Content-Type", "application/grpc+proto")), None);
        let empty = empty.unwrap();
        let empty = empty.next();
        assert_eq!(&empty.body[..], [0; 5]);
        assert_eq!(empty.template.headers()["content-type"], "application/grpc+proto");
    }
}
