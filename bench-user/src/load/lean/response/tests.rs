//! Whole responses, however they are cut, and nonsense.

use fastrand::Rng;

use super::*;

/// What a stream of bytes came to: the responses and the unused rest, or why it is none.
type Outcome = Result<(Vec<Whole>, usize), Broken>;

/// Feeds the pieces in turn, to the end of the stream.
fn outcome<'a>(pieces: impl Iterator<Item = &'a [u8]>, is_head: bool) -> Outcome {
    let (mut response, mut heads) = (Response::new(), Heads::new());
    let (mut found, mut rest) = (Vec::new(), 0);
    for piece in pieces {
        let mut bytes = piece;
        while !bytes.is_empty() {
            match response.feed(bytes, 7, is_head, &mut heads)? {
                Some((used, whole)) => {
                    found.push(whole);
                    bytes = &bytes[used..];
                }
                None => bytes = &[],
            }
        }
        rest = response.partial.len();
    }
    found.extend(response.at_eof());
    Ok((found, rest))
}

/// Every way to cut the stream in two, and the cut into single bytes, comes to the same.
fn check(text: &str, is_head: bool, expect: Outcome) {
    let bytes = text.as_bytes();
    assert_eq!(outcome(std::iter::once(bytes), is_head), expect, "{text}");
    for at in 0..=bytes.len() {
        let (left, right) = bytes.split_at(at);
        assert_eq!(outcome([left, right].into_iter(), is_head), expect, "{text} at {at}");
    }
    assert_eq!(outcome(bytes.chunks(1), is_head), expect, "{text}");
}

fn whole(status: u16, body: u64) -> Whole {
    Whole { status, body, informational: 0, first_byte_ns: 7, keeps_open: true }
}

const HELLO: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
const CHUNKED: &str = "HTTP/1.1 200 OK\r\ntransfer-encoding:chunked\r\n\r\n\
                       A;x=y\r\n0123456789\r\n3\r\nabc\r\n0\r\nTrailer: 1\r\n\r\n";

#[test]
fn a_response_ends_where_its_head_says() {
    let head = |status: &str, headers: &str| format!("HTTP/1.1 {status}\r\n{headers}\r\n");
    check(HELLO, false, Ok((vec![whole(200, 5)], 0)));
    check(CHUNKED, false, Ok((vec![whole(200, 13)], 0)));
    let length = "Content-Length: 500\r\n";
    check(&head("200 OK", length), true, Ok((vec![whole(200, 0)], 0)));
    check(&head("204 No Content", ""), false, Ok((vec![whole(204, 0)], 0)));
    check(&head("304 Not Modified", length), false, Ok((vec![whole(304, 0)], 0)));
    let bad = "Content-Length: 1\r\nContent-Length: 2\r\n";
    check(&head("204 No Content", bad), false, Ok((vec![whole(204, 0)], 0)));
    check(&head("200 OK", "Content-Length: 0\r\n"), false, Ok((vec![whole(200, 0)], 0)));
    let last = Whole { keeps_open: false, ..whole(200, 5) };
    check(&(head("200 OK", "") + "hello"), false, Ok((vec![last], 0)));
    let close = head("200 OK", "Connection: close\r\nContent-Length: 5\r\n") + "hello";
    check(&close, false, Ok((vec![last], 0)));
    check("HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello", false, Ok((vec![last], 0)));
    let switched = Whole { keeps_open: false, ..whole(101, 0) };
    check(&head("101 Switching Protocols", ""), false, Ok((vec![switched], 0)));
}

#[test]
fn responses_follow_each_other_on_a_connection() {
    let text = [HELLO, CHUNKED, HELLO, HELLO].concat();
    let expect = vec![whole(200, 5), whole(200, 13), whole(200, 5), whole(200, 5)];
    check(&text, false, Ok((expect, 0)));
}

#[test]
fn informational_responses_answer_nothing_and_are_counted() {
    let early = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </s>\r\n\r\n";
    let answer = Whole { informational: 2, ..whole(200, 5) };
    check(&[early, HELLO, HELLO].concat(), false, Ok((vec![answer, whole(200, 5)], 0)));
}

#[test]
fn what_is_cut_off_is_no_response() {
    for text in [&HELLO[..HELLO.len() - 1], &CHUNKED[..CHUNKED.len() - 1]] {
        check(text, false, Ok((vec![], 0)));
    }
    check(&HELLO[..30], false, Ok((vec![], 30)));
}

#[test]
fn what_is_no_http_is_refused_wherever_it_is_cut() {
    check("garbage\r\n\r\n", false, Err(Broken::Head(httparse::Error::Version)));
    let head = "HTTP/1.1 200 OK\r\n";
    let chunk = format!("{head}Transfer-Encoding: chunked\r\n\r\nxyz\r\n");
    check(&chunk, false, Err(Broken::Chunk));
    let lengths = format!("{head}Content-Length: 1\r\nContent-Length: 2\r\n\r\n");
    check(&lengths, false, Err(Broken::Length));
}

#[test]
fn the_first_byte_is_that_of_the_final_response() {
    let (mut response, mut heads) = (Response::new(), Heads::new());
    let mut feed = |text: &str, now_ns| {
        response.feed(text.as_bytes(), now_ns, false, &mut heads).unwrap().map(|(_, whole)| whole)
    };
    assert_eq!(feed("HTTP/1.1 103 Early Hints\r\n\r\n", 1), None);
    assert_eq!(feed("H", 2), None);
    assert_eq!(feed(&HELLO[1..40], 3), None);
    assert_eq!(feed(&HELLO[40..], 4).unwrap().first_byte_ns, 2);
}

#[test]
fn a_response_is_touched_from_its_first_byte_even_of_an_informational_one() {
    let (mut response, mut heads) = (Response::new(), Heads::new());
    assert!(!response.is_touched());
    response.feed(b"HTTP/1.1 103 Early Hints\r\n\r\n", 1, false, &mut heads).unwrap();
    assert!(response.is_touched() && response.informational() == 1);
    response.feed(HELLO.as_bytes(), 1, false, &mut heads).unwrap();
    assert!(!response.is_touched() && response.informational() == 0);
}

#[test]
fn a_large_head_in_small_pieces_is_taken_and_an_endless_one_refused() {
    let many: String =
        (0..5_000).map(|i| format!("X: {i}\r\n").repeat(usize::from(i % 2 == 0))).collect();
    let text = format!("HTTP/1.1 200 OK\r\n{many}Content-Length: 5\r\n\r\nhello{HELLO}");
    let pieces = text.as_bytes().chunks(7);
    assert_eq!(outcome(pieces, false), Ok((vec![whole(200, 5), whole(200, 5)], 0)));
    let endless = format!("HTTP/1.1 200 OK\r\nX: {}", "x".repeat(2 * HEAD_BYTES_MAX));
    assert_eq!(outcome(endless.as_bytes().chunks(60_000), false), Err(Broken::HeadSize));
}

#[test]
fn nonsense_never_panics_and_is_never_kept_beyond_the_limit() {
    let seeds = [HELLO, CHUNKED, "HTTP/1.1 103 Early Hints\r\nLink: </s>\r\n\r\n"];
    let mut rng = Rng::with_seed(3);
    for _ in 0..20_000 {
        let mut bytes: Vec<u8> = Vec::new();
        for _ in 0..rng.usize(1..4) {
            bytes.extend_from_slice(seeds[rng.usize(..seeds.len())].as_bytes());
        }
        for _ in 0..rng.usize(..6) {
            let at = rng.usize(..bytes.len());
            // An empty stream says nothing.
            if bytes.len() == 1 {
                break;
            }
            match rng.u8(..4) {
                0 => bytes[at] = rng.u8(..),
                1 => _ = bytes.remove(at),
                2 => bytes.insert(at, b"\r\n 0f;:\xff"[rng.usize(..8)]),
                _ => bytes.truncate(at + 1),
            }
        }
        let whole = outcome(std::iter::once(&bytes[..]), rng.bool());
        if let Ok((_, rest)) = whole {
            assert!(rest <= bytes.len());
        }
        // A stream that was taken in one piece is taken in others too, and comes to the same.
        let size = rng.usize(1..=bytes.len());
        let (one, cut) =
            (outcome(std::iter::once(&bytes[..]), false), outcome(bytes.chunks(size), false));
        assert_eq!(one, cut, "{:?} by {size}", String::from_utf8_lossy(&bytes));
    }
}
