//! A server that stands still, and one that takes no connections.

use std::time::Duration;

use super::*;
use crate::clock;

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

#[test]
fn a_frozen_site_answers_when_the_freeze_is_over() {
    let site = Site::start();
    assert!(site.url(row("plain")).as_str().ends_with("/plain?a=b#c"));
    let mut raw = Raw::to(&site);
    let start_ns = clock::now_ns();
    site.freeze(start_ns, Duration::from_millis(40));
    raw.send(&request("GET", "plain"));
    raw.expect(OK.as_bytes());
    assert!(clock::now_ns() >= start_ns + 40_000_000);
    drop(raw);
    assert_eq!(site.finish().0["plain"].all_whole(), 1);
}

#[test]
fn a_full_backlog_takes_nobody_until_it_is_opened() {
    let full = FullBacklog::new(1);
    let address = full.address;
    let attempt = TcpStream::connect_timeout(&address, Duration::from_millis(50));
    assert_eq!(attempt.unwrap_err().kind(), ErrorKind::TimedOut);
    let server = full.open(|_, peer| {
        peer.answer(OK);
        Next::Close
    });
    assert_eq!(server.address(), address);
    let mut raw = Raw(TcpStream::connect(address).unwrap());
    raw.send("GET / HTTP/1.1\r\n\r\n");
    raw.expect(OK.as_bytes());
    drop(raw);
    let counts = server.finish();
    // What filled the queue is no client.
    assert_eq!((counts.accepted, counts.answered, counts.all_received()), (1, 1, 1));
}
