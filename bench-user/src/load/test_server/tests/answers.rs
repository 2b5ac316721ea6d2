//! What each endpoint sends, written out by hand, and what it then does with the connection.

use super::*;
use crate::clock;

/// What the connection does after an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Then {
    Keep,
    Fin,
    Reset,
    Hold,
}

use Then::{Fin, Hold, Keep, Reset};

/// Asks once, on a connection that has had as many answers as `before` says.
fn check_at(method: &str, name: &str, before: u64, text: &[u8], then: Then) {
    // Another endpoint, by which to see whether the connection is still served.
    let (other, answer) = if name == "plain" { ("empty", EMPTY) } else { ("plain", OK) };
    let site = Site::start();
    let start_ns = clock::now_ns();
    let mut raw = Raw::to(&site);
    for _ in 0..before {
        raw.send(&request(method, name));
        raw.expect(OK);
    }
    raw.send(&request(method, name));
    raw.expect(text);
    match then {
        Keep => {
            raw.send(&request("GET", other));
            raw.expect(answer);
            raw.close();
            raw.expect_fin();
        }
        Fin => raw.expect_fin(),
        Reset => raw.expect_reset(),
        Hold => {
            raw.send(&request("GET", other));
            raw.close();
            raw.expect_fin();
        }
    }
    drop(raw);
    let first = Request::from_head(request(method, name), 1);
    let least_ns = (row(name).script)(&first).takes().as_nanos();
    assert!(u128::from(clock::now_ns() - start_ns) >= least_ns, "{name}");
    let (tallies, accepted) = site.finish();
    let tally = &tallies[name];
    assert_eq!((accepted, tally.connections, tally.requests), (1, 1, before + 1), "{name}");
    assert_eq!(tally.request_bytes, (before + 1) * request(method, name).len() as u64, "{name}");
    assert_eq!(tally.sent_too_much, u64::from(then == Hold), "{name}");
    assert_eq!(tallies.contains_key(other), then == Keep, "{name}");
    assert_eq!(tally.odd, None);
}

fn check(method: &str, name: &str, text: &str, then: Then) {
    check_at(method, name, 0, text.as_bytes(), then);
}

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
const EMPTY: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
const OK_HEAD: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n";
const HELLO: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
const CHUNKED: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
const HINTS: &str = "HTTP/1.1 103 Early Hints\r\nLink: </s>\r\n\r\n";
const SHORT: &str = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello";

#[test]
fn bodies_of_known_length_come_whole_and_the_connection_stays() {
    for name in ["split", "two-writes"] {
        check("GET", name, HELLO, Keep);
    }
    check("POST", "plain", HELLO, Keep);
    check("HEAD", "slow-head", OK_HEAD, Keep);
    check("GET", "slow-head", HELLO, Keep);
    check("GET", "slow-body", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n12", Keep);
    check("PUT", "empty", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", Keep);
    check("POST", "echo-body", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n12345", Keep);
    let head = request("GET", "echo-head");
    let echo = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{head}", head.len());
    check("GET", "echo-head", &echo, Keep);
    let big = "0123456789abcdef".repeat(65536);
    check("GET", "big", &format!("HTTP/1.1 200 OK\r\nContent-Length: 1048576\r\n\r\n{big}"), Keep);
}

#[test]
fn chunks_come_with_all_that_chunks_may_have() {
    let head = "HTTP/1.1 200 OK\r\ntransfer-encoding:chunked\r\n\r\n";
    let body =
        "A;x=\"y\"\r\n0123456789\r\nb\r\nabcdefghijk\r\n3\r\n\r\n\r\r\n0\r\nT: 1\r\nU: 2\r\n\r\n";
    check("GET", "chunked", &format!("{head}{body}"), Keep);
    check("GET", "chunked-split", &format!("{head}{body}"), Keep);
    check("HEAD", "chunked", head, Keep);
    check("GET", "chunked-empty", &format!("{CHUNKED}0\r\n\r\n"), Keep);
    let two = "10\r\n0123456789abcdef\r\n5\r\nhello\r\n0\r\n\r\n";
    check("GET", "chunked-slow", &format!("{CHUNKED}{two}"), Keep);
    let both = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n";
    check("GET", "chunked-and-length", &format!("{both}5\r\nhello\r\n0\r\n\r\n"), Keep);
    let head =
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
    let events = "1b\r\ndata: 1\n\ndata: 2\n\ndata: 3\n\n\r\n7\r\ndata: 4\r\n3\r\n4\n\n\r\n\
                  8\r\n: ping\n\n\r\ne\r\ndata: [DONE]\n\n\r\n0\r\n\r\n";
    check("GET", "sse", &format!("{head}{events}"), Keep);
}

#[test]
fn bodies_that_the_close_ends_are_closed() {
    for name in ["eof", "eof-late"] {
        check("GET", name, "HTTP/1.1 200 OK\r\n\r\nhello", Fin);
    }
    check("GET", "eof-empty", "HTTP/1.1 200 OK\r\n\r\n", Fin);
}

#[test]
fn heads_are_odd_big_or_preceded_by_others() {
    check("GET", "early-hints", &format!("{HINTS}{HELLO}"), Keep);
    check("HEAD", "early-hints-apart", &format!("{HINTS}{OK_HEAD}"), Keep);
    check("GET", "continue-unasked", &format!("HTTP/1.1 100 Continue\r\n\r\n{HELLO}"), Keep);
    check(
        "GET",
        "many-informational",
        &format!("{HINTS}{HINTS}{HINTS}{HINTS}{HINTS}{HELLO}"),
        Keep,
    );
    let with = |header: &str| HELLO.replacen("OK\r\n", &format!("OK\r\n{header}\r\n"), 1);
    check("GET", "control-in-value", &with("X-Odd: a\u{1}b"), Keep);
    check("GET", "space-in-name", &with("Bad Name: 1"), Keep);
    check("GET", "space-before-colon", &with("X-Space : 1"), Keep);
    check("GET", "folded-header", &with("X-Folded: a\r\n  b"), Keep);
    check("GET", "bare-newlines", "HTTP/1.1 200 OK\nContent-Length: 5\n\nhello", Keep);
    check("GET", "no-reason", &HELLO.replace(" OK", ""), Keep);
    let latin = b"HTTP/1.1 200 OK\r\nX-Latin: \xe9\xff\r\nContent-Length: 5\r\n\r\nhello";
    check_at("GET", "latin-1", 0, latin, Keep);
    let many: Vec<_> = (0..150).map(|i| format!("X-{i}: {i}")).collect();
    check("GET", "many-headers", &with(&many.join("\r\n")), Keep);
    check("GET", "head-200k", &with(&format!("X-Big: {}", "b".repeat(204_800))), Keep);
    let huge = format!("HTTP/1.1 200 OK\r\nX-Big: {}\r\n\r\n", "b".repeat(2_097_152));
    check("GET", "head-2m", &huge, Hold);
    check("GET", "head-600k", &with(&format!("X-Big: {}", "b".repeat(614_400))), Keep);
}

#[test]
fn statuses_without_a_body_have_none_and_the_others_have_theirs() {
    check("HEAD", "head-500", "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n", Keep);
    let not_modified = "HTTP/1.1 304 Not Modified\r\nContent-Length: 500\r\n\r\n";
    check("GET", "not-modified", not_modified, Keep);
    check("GET", "no-content", "HTTP/1.1 204 No Content\r\n\r\n", Keep);
    let created = "HTTP/1.1 201 Created\r\nLocation: /x\r\nContent-Length: 4\r\n\r\nmade";
    check("POST", "created", created, Keep);
    let not_found = "HTTP/1.1 404 Not Found\r\nContent-Length: 12\r\n\r\n";
    check("GET", "not-found", &format!("{not_found}no such page"), Keep);
    check("HEAD", "not-found", not_found, Keep);
    let error = "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 4\r\n\r\noops";
    check("GET", "server-error", error, Keep);
    let busy =
        b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 0\r\nContent-Length: 4\r\n\r\nbusy";
    check_at("GET", "every-third-503", 2, busy, Keep);
    let to = |status: &str, to: &str| {
        format!("HTTP/1.1 {status}\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n")
    };
    check("GET", "redir", &to("302 Found", "/redir/b/x"), Keep);
    check("GET", "redir/b/x", &to("303 See Other", "../c/y"), Keep);
    check("GET", "redir/c/y", &to("307 Temporary Redirect", "final"), Keep);
    check("GET", "redir/c/final", HELLO, Keep);
}

#[test]
fn connections_end_as_the_row_says() {
    let close = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello";
    check("POST", "close", close, Fin);
    check("GET", "close-with-fin", close, Fin);
    check("GET", "close-left-open", close, Hold);
    let token = "HTTP/1.1 200 OK\r\nConnection: Keep-Alive\r\ncONNECTION: x-a , CLOSE\r\n\
                 Content-Length: 5\r\n\r\nhello";
    check("GET", "close-token", token, Fin);
    check("GET", "http-1.0", "HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello", Fin);
    let kept = "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 5\r\n\r\nhello";
    check("GET", "http-1.0-keep-alive", kept, Keep);
    check_at("GET", "fin-after-fifth", 3, OK, Keep);
    check_at("GET", "fin-after-fifth", 4, OK, Fin);
    check_at("GET", "reset-after-fifth", 4, OK, Reset);
    check_at("GET", "fin-when-idle", 1, OK, Fin);
    check_at("POST", "fifth-swallowed", 4, b"", Fin);
    check_at("GET", "fifth-reset", 4, b"", Reset);
    check("GET", "all-swallowed", "", Fin);
    check("GET", "all-reset", "", Reset);
}

#[test]
fn broken_answers_are_broken_as_their_names_say() {
    for name in ["short-body", "short-body-with-fin"] {
        check("GET", name, SHORT, Fin);
    }
    check("GET", "short-chunk", &format!("{CHUNKED}5\r\nhel"), Fin);
    check("GET", "no-last-chunk", &format!("{CHUNKED}5\r\nhello\r\n"), Fin);
    check("GET", "no-trailer-end", &format!("{CHUNKED}5\r\nhello\r\n0\r\n"), Fin);
    check("GET", "reset-in-body", SHORT, Reset);
    check("GET", "head-cut", "HTTP/1.1 200 OK\r\nContent-Le", Fin);
    check("GET", "fin-after-hints", "HTTP/1.1 103 Early Hints\r\n\r\n", Fin);
    check("GET", "reset-in-head", "HTTP/1.1 200 OK\r\nContent-Le", Reset);
    let switch = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n";
    check("GET", "switching-protocols", switch, Hold);
    check("GET", "garbage", "garbage\r\n\r\n", Hold);
    check("GET", "bad-status", &HELLO.replace("200", "2x0"), Hold);
    check("GET", "bad-version", &HELLO.replace("1.1", "3.7"), Hold);
    check("GET", "bad-length", &HELLO.replace(": 5", ": 5x"), Hold);
    check("GET", "negative-length", &HELLO.replace(": 5", ": -5"), Hold);
    check("GET", "huge-length", &HELLO.replace(": 5", ": 99999999999999999999"), Hold);
    check("GET", "two-lengths", &HELLO.replace(": 5", ": 5\r\nContent-Length: 6"), Hold);
    check("GET", "bad-chunk-size", &format!("{CHUNKED}xyz\r\n"), Hold);
    check("GET", "bad-chunk-end", &format!("{CHUNKED}5\r\nhello world\r\n"), Hold);
    check("GET", "huge-chunk-size", &format!("{CHUNKED}fffffffffffffffff\r\n"), Hold);
    check("GET", "extra-bytes", &format!("{HELLO}more"), Hold);
    let one = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx";
    check("GET", "extra-response", &format!("{HELLO}{one}"), Hold);
    let with_body = "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\nhello";
    check("GET", "not-modified-with-body", with_body, Hold);
    check("GET", "never", "", Hold);
    check("GET", "never-whole-head", "HTTP/1.1 200 OK\r\nContent-Le", Hold);
    check("GET", "never-after-hints", "HTTP/1.1 103 Early Hints\r\n\r\n", Hold);
    check("GET", "never-whole-body", SHORT, Hold);
}

#[test]
fn drips_go_on_until_the_client_has_gone() {
    let drips = [
        ("drip", "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n...."),
        ("drip-in-head", "HTTP/1.1 200 OK\r\nX: ...."),
    ];
    for (name, text) in drips {
        let tally = tally_after(name, |site| {
            let mut raw = Raw::to(site);
            raw.send(&request("GET", name));
            raw.expect(text.as_bytes());
        });
        assert_eq!(tally.failed, [(class::TIMEOUT, 1)].into());
    }
}
