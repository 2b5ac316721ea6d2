//! What is counted, and how the rows hang together.

use std::collections::BTreeSet;

use super::*;

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

#[test]
fn every_row_has_its_own_name_a_script_and_what_it_needs() {
    let names: BTreeSet<_> = endpoints::rows().map(|row| row.name).collect();
    assert_eq!(names.len(), endpoints::rows().count(), "a name stands twice");
    for row in endpoints::rows() {
        assert!(!row.methods.is_empty() && !row.cases.is_empty(), "{}", row.name);
        for method in row.methods {
            let first = Request::from_head(request(method, row.name), 1);
            let script = (row.script)(&first);
            assert_eq!(script.fate == Fate::Failed(class::TIMEOUT), row.timeout.is_some());
            // What is behind a close or a failure is not answered on this connection.
            let keeps = matches!(script.fate, Fate::Whole(..)) && script.ending == Ending::Keep;
            assert!(keeps || !row.pipelines, "{}", row.name);
            assert!(row.reads_body || script.ending != Ending::Keep, "{}", row.name);
        }
    }
}

/// The cases that a client of plain HTTP/1.1 can meet at an endpoint. The others are of modes
/// (freeze, backlog), of time and percentiles, or of other protocols.
#[test]
fn every_case_of_a_plain_client_has_a_row() {
    let said: BTreeSet<_> = endpoints::rows().flat_map(|row| row.cases.split(' ')).collect();
    let cases = "L01 L02 L03 L04 L05 L06 L07 L08 L09 L10 L11 L24 L25 L26 L35 L36 L38 L39 L40 L42 \
                 L43 L44 L46 L47 L48 L49 L56";
    for case in cases.split(' ') {
        assert!(said.contains(case), "no row for {case}");
    }
    // Rows of the matrix of measured tools; two of its rows are two endpoints here.
    assert!(endpoints::rows().filter(|row| row.cases.contains("matrix")).count() >= 15);
}

#[test]
fn whole_answers_are_counted_by_status_with_the_bytes_of_their_bodies() {
    let tally = tally_after("every-third-503", |site| {
        let mut raw = Raw::to(site);
        (0..4).for_each(|_| raw.send(&request("POST", "every-third-503")));
        raw.close();
        raw.expect(OK);
        raw.expect(OK);
        raw.0.read_to_end(&mut Vec::new()).unwrap();
    });
    assert_eq!(tally.whole, [(200, 3), (503, 1)].into());
    assert_eq!((tally.all_whole(), tally.body_bytes), (4, [(200, 3 * 5), (503, 4)].into()));
    assert_eq!((tally.requests, tally.request_body_bytes), (4, 20));
    let length = request("POST", "every-third-503").len() as u64;
    assert_eq!(tally.request_lengths, [length].into());
    assert_eq!((tally.ended, tally.failed.len()), (0, 0));
}

#[test]
fn a_request_body_in_chunks_is_read_and_counted() {
    let head = "POST /echo-body HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
    let body = "3;x\r\nabc\r\nA\r\n0123456789\r\n0\r\nT: 1\r\n\r\n";
    let tally = tally_after("echo-body", |site| {
        let mut raw = Raw::to(site);
        raw.send(&format!("{head}{body}"));
        raw.expect(b"HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\nabc0123456789");
    });
    assert_eq!(tally.request_bytes, (head.len() + body.len()) as u64);
    assert_eq!((tally.request_body_bytes, tally.body_bytes[&200]), (13, 13));
}

#[test]
fn a_body_that_is_refused_unread_is_no_second_request() {
    for name in ["early-413", "early-413-reset"] {
        let all = request("POST", name);
        let tally = tally_after(name, |site| {
            let mut raw = Raw::to(site);
            raw.send(&all);
            raw.expect(b"HTTP/1.1 413 Content Too Large\r\nConnection: close\r\n");
        });
        assert_eq!((tally.requests, tally.sent_too_much), (1, 0));
        assert_eq!((tally.request_bytes, tally.request_body_bytes), (all.len() as u64, 5));
        assert_eq!(tally.whole, [(413, 1)].into());
    }
}

#[test]
fn requests_behind_a_silent_close_are_seen_and_not_answered() {
    for (name, late) in [("fin-after-fifth", 1), ("close", 0)] {
        let sent = if name == "close" { 2 } else { 6 };
        let tally = tally_after(name, |site| {
            let mut raw = Raw::to(site);
            (0..sent).for_each(|_| raw.send(&request("GET", name)));
            raw.close();
            raw.0.read_to_end(&mut Vec::new()).unwrap();
        });
        assert_eq!((tally.requests, tally.all_whole()), (sent - 1, sent - 1));
        assert_eq!((tally.met_close, tally.sent_too_much), (late, 1 - late));
        assert_eq!(tally.ended, 1);
    }
}

#[test]
fn a_swallowed_request_is_to_be_sent_again_only_where_that_is_allowed() {
    let after = |method: &'static str| {
        tally_after("fifth-swallowed", |site| {
            let mut raw = Raw::to(site);
            (0..5).for_each(|_| raw.send(&request(method, "fifth-swallowed")));
            (0..4).for_each(|_| raw.expect(OK));
            raw.expect_fin();
        })
    };
    let get = after("GET");
    assert_eq!((get.resent, get.failed.len(), get.all_whole()), (1, 0, 4));
    let post = after("POST");
    assert_eq!((post.resent, &post.failed), (0, &[(class::CLOSED_BEFORE_BYTES, 1)].into()));
    // The first on its connection met no keep-alive close.
    let first = tally_after("all-reset", |site| {
        let mut raw = Raw::to(site);
        raw.send(&request("GET", "all-reset"));
        raw.expect_reset();
    });
    assert_eq!((first.resent, first.failed), (0, [(class::RESET_BEFORE_BYTES, 1)].into()));
}

#[test]
fn an_idle_close_waits_for_silence() {
    let tally = tally_after("fin-when-idle", |site| {
        let mut raw = Raw::to(site);
        // The second request is there before the server asks whether it is.
        raw.send(&request("GET", "fin-when-idle").repeat(2));
        raw.expect(OK);
        raw.expect(OK);
        raw.expect_fin();
    });
    assert_eq!((tally.requests, tally.met_close), (2, 0));
}

#[test]
fn an_answer_that_nobody_asked_for_is_one_if_somebody_asks_meanwhile() {
    let unasked = b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
    let after = |asks: bool| {
        tally_after("answer-when-idle", |site| {
            let mut raw = Raw::to(site);
            raw.send(&request("GET", "answer-when-idle"));
            raw.expect(OK);
            raw.expect(unasked);
            if asks {
                raw.send(&request("GET", "answer-when-idle"));
            }
            raw.close();
            raw.expect_fin();
        })
    };
    let idle = after(false);
    assert_eq!((idle.unasked, idle.ended, idle.requests), (1, 1, 1));
    assert_eq!(idle.whole, [(200, 1)].into());
    let busy = after(true);
    assert_eq!((busy.unasked, busy.ended, busy.requests), (0, 1, 2));
    assert_eq!(busy.whole, [(200, 1), (408, 1)].into());
    assert_eq!(busy.request_bytes, 2 * request("GET", "answer-when-idle").len() as u64);
}

#[test]
fn requests_that_are_not_as_they_should_be_are_named() {
    let odd = |text: &str| {
        let tally = tally_after("plain", |site| {
            let mut raw = Raw::to(site);
            raw.send(text);
            raw.close();
            raw.0.read_to_end(&mut Vec::new()).unwrap();
        });
        tally.odd.unwrap_or_default()
    };
    let starts = |text: &str, what: &str| assert!(odd(text).starts_with(what), "{}", odd(text));
    starts("GET /plain HTTP/1.1\r\nHost: x\r\nhost: x\r\n\r\n", "not one Host");
    starts("GET /plain HTTP/1.1\r\n\r\n", "not one Host");
    starts("GET /plain?#c HTTP/1.1\r\nHost: x\r\n\r\n", "the target has a fragment");
    starts("GET plain HTTP/1.1\r\nHost: x\r\n\r\n", "the target is not in origin form");
    starts("GET /plain HTTP/1.1\r\nHost: x\r\nAccept-Encoding: br\r\n\r\n", "an encoding");
    starts("GET /plain HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n", "a body where");
    starts("POST /plain HTTP/1.1\r\nHost: x\r\n\r\n", "the body's length");
    assert_eq!(odd("GET /plain HTTP/1.1\r\nHost: x\r\n\r\n"), "");
}
