//! Servers that answer one connection.

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
fn headers_of_the_load_are_sent_and_a_host_among_them_replaces_ours() {
    let (url, server) = serve_once("HTTP/1.1 204 No Content\r\n\r\n");
    let pairs = [("host", "x.test"), ("authorization", "Bearer t")];
    let headers = pairs.map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()));
    let fetcher = Fetcher::default().with_headers(headers.into_iter().collect());
    assert_eq!(fetcher.get(&url, Duration::from_secs(5)).unwrap().status, 204);
    let head = server.join().unwrap();
    assert!(head.contains("\r\nhost: x.test\r\n"), "{head}");
    assert!(head.contains("\r\nauthorization: Bearer t\r\n"), "{head}");
    assert_eq!(head.matches("host:").count(), 1, "{head}");
}

#[test]
fn a_redirect_is_an_answer_and_the_fragment_stays_here() {
    let (url, server) =
        serve_once("HTTP/1.1 301 Moved\r\nLocation: /x\r\nContent-Length: 2\r\n\r\nhi");
    let got = Fetcher::default().get(&url, Duration::from_secs(5)).unwrap();
    assert_eq!((got.status, got.location.as_deref(), &got.body[..]), (301, Some("/x"), &b"hi"[..]));
    let head = server.join().unwrap();
    assert!(head.starts_with("GET /a?b HTTP/1.1\r\n"), "{head}");
}

#[test]
fn a_body_ended_by_the_close_is_whole_and_a_short_one_is_not() {
    let (url, _server) = serve_once("HTTP/1.1 200 OK\r\n\r\nhello");
    assert_eq!(&Fetcher::default().get(&url, Duration::from_secs(5)).unwrap().body[..], b"hello");
    let (url, _server) = serve_once("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello");
    assert!(matches!(
        Fetcher::default().get(&url, Duration::from_secs(5)),
        Err(FetchError::Http(..))
    ));
}

#[test]
fn nobody_listening_is_said_in_one_sentence() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let url = format!("http://127.0.0.1:{port}/").parse().unwrap();
    let error = Fetcher::default().get(&url, Duration::from_secs(5)).unwrap_err().to_string();
    assert!(error.contains(&port.to_string()) && error.contains("listening"), "{error}");
}

#[test]
fn an_answer_in_another_protocol_asks_what_is_spoken() {
    let ask = |spoken, answer, scheme: &str| {
        let (mut url, server) = serve_once(answer);
        url.set_scheme(scheme).unwrap();
        let fetcher = Fetcher::new(spoken, TlsSpec { verify: false, ..TlsSpec::default() });
        let error = fetcher.get(&url, Duration::from_secs(5)).unwrap_err().to_string();
        server.join().unwrap();
        error
    };
    // An alert of TLS, the preface of HTTP/2, and nothing at all.
    for answer in ["\x15\x03\x01\0\x02\x02\x50", "\0\0\0\x04\0\0\0\0\0", ""] {
        let error = ask(Spoken::Http1, answer, "http");
        assert!(error.contains("`--protocol`") && error.contains("https"), "{error}");
    }
    let answer = "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n";
    let error = ask(Spoken::Http2, answer, "http");
    assert!(error.contains("`--protocol`"), "{error}");
    let error = ask(Spoken::Http1, answer, "https");
    assert!(error.contains("no TLS there") && error.contains("http://"), "{error}");
}

#[test]
fn a_name_that_is_not_known_is_to_be_checked() {
    let url = "http://no-such-host.invalid/".parse().unwrap();
    for error in [
        Fetcher::default().get(&url, Duration::from_secs(30)).unwrap_err(),
        knock(&url, Duration::from_secs(30)).unwrap_err(),
    ] {
        let error = error.to_string();
        assert!(error.ends_with("check the host name"), "{error}");
    }
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
