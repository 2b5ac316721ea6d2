//! Servers that answer every request, each in its own way.

use super::*;

#[test]
fn keep_alive_responses_are_counted_as_the_server_counts_them() {
    let (sample, counts) = against(|_, peer| {
        peer.answer(OK);
        Next::Keep
    });
    assert_all_answered(&sample, &counts);
    assert_eq!(sample.account.started, counts.all_received());
    assert_eq!(counts.accepted, u64::from(CONNECTIONS), "no connection besides those asked");
    assert_eq!(sample.connect_ns.count, counts.accepted);
    assert_eq!((sample.outcomes.retried, sample.outcomes.reconnects), (0, 0));
    assert_eq!(sample.bytes_in, 5 * sample.requests);
    assert_eq!(sample.connections.asked, CONNECTIONS);
}

#[test]
fn the_request_is_origin_form_with_one_host_and_nothing_unasked() {
    let server = TestServer::start(|request, peer| {
        let body = &request.head;
        peer.answer(&format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len()));
        Next::Keep
    });
    let host = server.url("/").authority().to_owned();
    let expect = format!("GET /a?b HTTP/1.1\r\nhost: {host}\r\nx-a: 1\r\n\r\n");
    let mut trial = trial(&[server.url("/a?b#c")]);
    trial.setup.requests.headers.insert("x-a".into(), "1".into());
    let (sample, _) = run(trial);
    assert_all_answered(&sample, &server.finish());
    // The server sends each head back as the body, so both byte counts are known.
    assert_eq!(sample.bytes_out, expect.len() as u64 * sample.requests);
    assert_eq!(sample.bytes_in, sample.bytes_out);
}

#[test]
fn connection_close_means_a_new_connection_and_no_failure() {
    let close = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello";
    let (sample, counts) = against(move |_, peer| {
        peer.answer(close);
        Next::Close
    });
    assert_all_answered(&sample, &counts);
    assert_eq!(sample.outcomes.retried, 0);
    assert_eq!(sample.connect_ns.count, counts.accepted);
    assert!(counts.accepted >= counts.answered);
    let reopened = counts.accepted - u64::from(CONNECTIONS);
    assert!(reopened - sample.outcomes.reconnects <= u64::from(CONNECTIONS), "{counts:?}");
}

#[test]
fn connection_close_asked_by_the_client_ends_on_time_too() {
    let server = TestServer::start(|_, peer| {
        peer.answer(OK);
        Next::Close
    });
    let mut trial = trial(&[server.url("/")]);
    trial.setup.requests.headers.insert("Connection".into(), "close".into());
    let (sample, _) = run(trial);
    assert_all_answered(&sample, &server.finish());
}

fn silent_close(how: fn() -> Next) {
    let (sample, counts) = against(move |request, peer| {
        peer.answer(OK);
        if request.place == 5 { how() } else { Next::Keep }
    });
    assert_all_answered(&sample, &counts);
    assert_eq!(sample.account.started, counts.answered);
    assert!(counts.accepted > u64::from(CONNECTIONS), "the server did close: {counts:?}");
    assert!(sample.outcomes.reconnects > 0);
}

#[test]
fn a_silent_close_after_every_fifth_response_fails_no_request() {
    silent_close(|| Next::Close);
}

#[test]
fn a_reset_after_every_fifth_response_fails_no_request() {
    silent_close(|| Next::Reset);
}

#[test]
fn a_body_ended_by_the_close_is_whole() {
    let (sample, counts) = against(|_, peer| {
        peer.answer("HTTP/1.1 200 OK\r\n\r\nhello");
        Next::Close
    });
    assert_all_answered(&sample, &counts);
    assert_eq!(sample.bytes_in, 5 * sample.requests);
}

#[test]
fn informational_responses_are_no_responses() {
    let early = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </s>\r\n\r\n";
    let (sample, counts) = against(move |_, peer| {
        peer.write(early);
        peer.answer(OK);
        Next::Keep
    });
    assert_all_answered(&sample, &counts);
    assert_eq!(sample.outcomes.non_2xx(), 0);
}

#[test]
fn chunks_with_extensions_and_trailers_are_one_body() {
    let chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding:chunked\r\n\r\n\
                   A;x=y\r\n0123456789\r\n3\r\nabc\r\n0\r\nTrailer: 1\r\n\r\n";
    let (sample, counts) = against(move |_, peer| {
        peer.answer(chunked);
        Next::Keep
    });
    assert_all_answered(&sample, &counts);
    assert_eq!(sample.bytes_in, 13 * sample.requests);
}

#[test]
fn other_statuses_are_complete_and_not_in_the_rate() {
    let (sample, counts) = against(|request, peer| {
        // 304 has no body, whatever its head says.
        let status = if request.place % 2 == 0 { "304 Not Modified" } else { "404 Not Found" };
        let body = if request.place % 2 == 0 { "" } else { "no" };
        peer.answer(&format!("HTTP/1.1 {status}\r\nContent-Length: 2\r\n\r\n{body}"));
        Next::Keep
    });
    assert_eq!(sample.account.completed, counts.answered);
    assert_eq!(sample.outcomes.non_2xx(), sample.requests);
    assert!(sample.outcomes.other_status.keys().eq(&[304, 404]), "{:?}", sample.outcomes);
    assert_eq!((sample.achieved_rps, sample.outcomes.failed()), (0.0, 0));
}

#[test]
fn odd_but_harmless_headers_are_accepted() {
    let many: String = (0..150).map(|i| format!("X-{i}: \u{e9}\r\n")).collect();
    let head = format!("HTTP/1.1 200 OK\r\n{many}Bad Name: 1\r\nX-Odd: a\u{1}b\r\nX-S : 1\r\n");
    let (sample, counts) = against(move |_, peer| {
        peer.answer(&format!("{head}Content-Length: 5\r\n\r\nhello"));
        Next::Keep
    });
    assert_all_answered(&sample, &counts);
}

#[test]
fn the_time_of_the_body_is_part_of_the_response_time() {
    let delay = Duration::from_millis(30);
    let (sample, counts) = against(move |_, peer| {
        peer.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n1");
        std::thread::sleep(delay);
        peer.answer("2");
        Next::Keep
    });
    assert_all_answered(&sample, &counts);
    assert!(sample.response_ns.min >= Some(30 * MS), "{:?}", sample.response_ns);
}
