//! The requests of a stage, made before it: origin-form targets, one `Host` each.

use std::collections::BTreeMap;

use bytes::Bytes;
use http_body_util::Empty;
use hyper::header::{HOST, HeaderName, HeaderValue};
use hyper::{HeaderMap, Request, Uri};
use url::{Position, Url};

/// Headers that promise a body or another protocol, which these requests do not have.
const REFUSED: [&str; 4] = ["content-length", "transfer-encoding", "expect", "upgrade"];

/// A request that cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum RequestError {
    /// The list is empty.
    #[error("there is no address to request; give one with `url` or a list with `urls`")]
    NoAddress,
    /// Another scheme than `http`.
    #[error("{0}: only http:// addresses can be requested; give the server's plain HTTP address")]
    Scheme(Url),
    /// A name or password in the address.
    #[error("{0}: an address cannot carry a user name; send an `Authorization` header instead")]
    UserInfo(Url),
    /// The address makes no valid request target.
    #[error("{0}: no valid request target ({1}); write the address percent-encoded")]
    Target(Url, String),
    /// A header that HTTP does not allow.
    #[error("header `{0}`: {1}; correct or remove it")]
    Header(String, String),
}

/// Requests in the order of the list, over and over.
#[derive(Debug)]
pub(super) struct Requests(Vec<Request<Empty<Bytes>>>);

impl Requests {
    pub(super) fn new(
        urls: &[Url],
        headers: &BTreeMap<String, String>,
    ) -> Result<Self, RequestError> {
        if urls.is_empty() {
            return Err(RequestError::NoAddress);
        }
        let headers = checked(headers)?;
        urls.iter().map(|url| request(url, &headers)).collect::<Result<_, _>>().map(Self)
    }

    /// The request at a place that counts on past the list's end.
    pub(super) fn at(&self, place: usize) -> Request<Empty<Bytes>> {
        self.0[place % self.0.len()].clone()
    }
}

fn checked(headers: &BTreeMap<String, String>) -> Result<HeaderMap, RequestError> {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        let wrong = |why: String| RequestError::Header(name.clone(), why);
        let key: HeaderName =
            name.parse().map_err(|_invalid| wrong("not a header name".to_owned()))?;
        if REFUSED.contains(&key.as_str()) {
            return Err(wrong("the requests of a stage have no body and no upgrade".to_owned()));
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

fn request(url: &Url, headers: &HeaderMap) -> Result<Request<Empty<Bytes>>, RequestError> {
    if url.scheme() != "http" {
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
    let mut request = Request::new(Empty::new());
    *request.uri_mut() = target;
    // `Host` goes first, as RFC 9110 section 7.2 asks; the user's own takes its place.
    request.headers_mut().insert(HOST, headers.get(HOST).cloned().unwrap_or(host));
    for (name, value) in headers.iter().filter(|(name, _)| **name != HOST) {
        request.headers_mut().append(name, value.clone());
    }
    Ok(request)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(url: &str, headers: &[(&str, &str)]) -> Result<Request<Empty<Bytes>>, RequestError> {
        let headers = headers.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
        Requests::new(&[url.parse().unwrap()], &headers).map(|requests| requests.at(0))
    }

    #[test]
    fn targets_are_origin_form_and_host_is_as_the_address_says() {
        let check = |url: &str, target: &str, host: &str| {
            let request = first(url, &[]).unwrap();
            assert_eq!(request.uri().to_string(), target, "{url}");
            assert_eq!(request.headers().get_all(HOST).iter().collect::<Vec<_>>(), [host], "{url}");
        };
        check("http://[::1]:9000/a?b#c", "/a?b", "[::1]:9000");
        check("http://example.org:80", "/", "example.org");
        check("http://example.org:8080/a%2Fb/\u{e9}", "/a%2Fb/%C3%A9", "example.org:8080");
        check("http://127.0.0.1/?q=a|b`{c}\"d", "/?q=a|b`{c}%22d", "127.0.0.1");
    }

    #[test]
    fn a_host_header_of_the_user_replaces_ours_in_any_case_of_letters() {
        let request = first("http://127.0.0.1:9/", &[("hOsT", "x.test"), ("a", "1")]).unwrap();
        assert_eq!(request.headers().get_all(HOST).iter().collect::<Vec<_>>(), ["x.test"]);
        assert_eq!(request.headers().len(), 2, "no header besides those");
    }

    #[test]
    fn what_cannot_be_requested_is_refused_with_a_remedy() {
        let refusal = |url, headers: &[_]| first(url, headers).unwrap_err().to_string();
        assert!(refusal("https://a/", &[]).contains("http://"));
        assert!(refusal("http://me:pw@a/", &[]).contains("Authorization"));
        assert!(refusal("http://a/", &[("Content-Length", "3")]).contains("no body"));
        assert!(refusal("http://a/", &[("bad name", "3")]).contains("`bad name`"));
        assert!(refusal("http://a/", &[("x", "a\nb")]).contains("control"));
        assert!(matches!(Requests::new(&[], &BTreeMap::new()), Err(RequestError::NoAddress)));
    }
}
