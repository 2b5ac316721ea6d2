//! What a client sees of the built-in servers, over real connections.

use std::io::{Read as _, Write as _};
use std::sync::mpsc;

use super::*;

/// Hands the announcement of a server to the test that waits for it.
struct Announced(mpsc::Sender<String>);

impl Write for Announced {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.send(String::from_utf8_lossy(bytes).into_owned()).map_err(io::Error::other)?;
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A server that lives as long as the test process.
fn start(kind: Builtin) -> SocketAddr {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || serve(kind, ([127, 0, 0, 1], 0).into(), &mut Announced(sender)));
    let mut line = String::new();
    while !line.ends_with('\n') {
        line += &receiver.recv().unwrap();
    }
    let url = line.strip_prefix(ANNOUNCEMENT).unwrap().trim();
    url.strip_prefix("http://").unwrap().trim_end_matches('/').parse().unwrap()
}

/// Everything that the server sends for `request` until it closes.
fn exchange(address: SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

const LAST: &str = "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";

#[test]
fn both_answer_the_same_bytes_and_the_length_is_true() {
    let lean = exchange(start(Builtin::Lean), LAST);
    assert_eq!(lean, exchange(start(Builtin::Chatty), LAST));
    let (head, body) = lean.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
    assert!(head.contains(&format!("Content-Length: {}", body.len())), "{head}");
}

#[test]
fn requests_in_one_segment_are_answered_one_by_one() {
    for kind in [Builtin::Lean, Builtin::Chatty] {
        let get = "GET /a HTTP/1.1\r\nHost: x\r\n\r\n";
        let answer = exchange(start(kind), &format!("{get}{get}{LAST}"));
        assert_eq!(answer.matches("HTTP/1.1 200 OK").count(), 3);
    }
}

#[test]
fn a_request_in_many_segments_is_put_together() {
    let mut stream = TcpStream::connect(start(Builtin::Lean)).unwrap();
    stream.set_nodelay(true).unwrap();
    for piece in LAST.as_bytes().chunks(7) {
        stream.write_all(piece).unwrap();
    }
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert_eq!(answer.len(), PIECES.concat().len());
}

#[test]
fn head_is_answered_without_a_body() {
    for kind in [Builtin::Lean, Builtin::Chatty] {
        let answer = exchange(start(kind), &LAST.replace("GET", "HEAD"));
        assert!(answer.ends_with("Content-Length: 1024\r\n\r\n"), "{answer}");
    }
}

#[test]
fn answered_responses_are_counted_and_the_question_is_not() {
    let address = start(Builtin::Chatty);
    let ask = || exchange(address, &LAST.replace("GET / ", "GET /stats "));
    assert!(ask().ends_with("{\"answered\":0}"));
    for _ in 0..3 {
        exchange(address, LAST);
    }
    assert!(ask().ends_with("{\"answered\":3}"));
}

#[test]
fn what_it_does_not_speak_is_refused_and_closed() {
    let address = start(Builtin::Lean);
    let refused = |request: &str| exchange(address, request).lines().next().unwrap().to_owned();
    assert!(refused("nonsense\r\n\r\n").contains("400"));
    assert!(refused("POST / HTTP/1.1\r\n\r\n").contains("405"));
    assert!(refused("GET / HTTP/1.1\r\nContent-Length: 3\r\n\r\n").contains("413"));
}

#[test]
fn a_head_without_end_is_refused() {
    assert_eq!(parse(&[b'a'; 100]), Head::Partial);
    assert!(matches!(parse(&[b'a'; HEAD_BYTES]), Head::Refused(status) if status.contains("431")));
}

#[test]
fn http_1_0_closes_unless_it_is_asked_to_stay() {
    let keeps = |head: &str| matches!(parse(head.as_bytes()), Head::Whole(r) if r.keep_alive);
    assert!(!keeps("GET / HTTP/1.0\r\n\r\n"));
    assert!(keeps("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n"));
    assert!(keeps("GET / HTTP/1.1\r\n\r\n"));
    assert!(!keeps("GET / HTTP/1.1\r\nconnection: Close\r\n\r\n"));
}

#[test]
fn the_chatty_one_makes_a_write_for_every_piece() {
    assert_eq!(syscalls_per_request(Builtin::Lean), 2);
    assert_eq!(syscalls_per_request(Builtin::Chatty), 10);
}
