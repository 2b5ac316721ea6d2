//! Servers that fail requests, and how each failure is told apart.

use super::*;

/// Pauses of 1, 2, 4, ... 64, 100 ms leave room for 9 attempts in 250 ms.
const ATTEMPTS_AT_MOST: u64 = 9;

#[test]
fn a_reset_instead_of_an_answer_is_a_failure_and_no_rate() {
    let (sample, counts) = against(|_, _| Next::Reset);
    assert_all_failed(&sample, &counts);
    assert_eq!(sample.outcomes.reset, sample.outcomes.failed(), "{:?}", sample.outcomes);
    assert!(sample.outcomes.examples.contains_key("reset_before_bytes"));
    assert!(sample.account.failed <= ATTEMPTS_AT_MOST * u64::from(CONNECTIONS), "no spin");
}

#[test]
fn a_close_instead_of_an_answer_is_an_early_close() {
    let (sample, counts) = against(|_, _| Next::Close);
    assert_all_failed(&sample, &counts);
    assert_eq!(sample.outcomes.early_close, sample.outcomes.failed(), "{:?}", sample.outcomes);
}

#[test]
fn a_truncated_body_is_an_early_close() {
    for short in [
        "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
    ] {
        let (sample, counts) = against(move |_, peer| {
            peer.write(short);
            Next::Close
        });
        assert_all_failed(&sample, &counts);
        let outcomes = &sample.outcomes;
        assert_eq!(outcomes.early_close, outcomes.failed(), "{outcomes:?}");
    }
}

#[test]
fn what_is_not_http_is_a_protocol_failure() {
    for garbage in [
        "garbage\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok and more",
    ] {
        let (sample, counts) = against(move |_, peer| {
            peer.write(garbage);
            Next::Close
        });
        assert_all_failed(&sample, &counts);
        let outcomes = &sample.outcomes;
        assert_eq!(outcomes.protocol, outcomes.failed(), "{garbage}: {outcomes:?}");
    }
}

#[test]
fn a_swallowed_request_is_sent_again_once_on_a_new_connection() {
    // Each connection answers four requests and swallows the fifth: the client cannot tell
    // that from a keep-alive close, and the server has then read it twice.
    let (sample, counts) = against(|request, peer| {
        if request.place == 5 {
            return Next::Close;
        }
        peer.answer(OK);
        Next::Keep
    });
    assert_all_answered(&sample, &counts);
    let resent = counts.all_received() - sample.account.started;
    assert!(resent > 0 && resent >= sample.outcomes.retried);
    assert!(resent - sample.outcomes.retried <= u64::from(CONNECTIONS), "{sample:?}");
}

#[test]
fn a_request_is_not_sent_a_third_time() {
    // The first connection answers once and swallows; every later one swallows at once.
    let (sample, counts) = against_with(
        |request, peer| {
            if request.place == 1 && peer.is_first() {
                peer.answer(OK);
                return Next::Keep;
            }
            Next::Close
        },
        |trial| trial.stage.connections = 1,
    );
    assert_eq!((sample.account.completed, sample.outcomes.retried), (1, 1));
    assert!(sample.account.failed > 0);
    assert_eq!(counts.all_received(), sample.account.started + 1);
    assert_eq!(sample.outcomes.early_close, sample.outcomes.failed());
}

#[test]
fn requests_that_are_never_answered_time_out_and_are_in_the_distribution() {
    let (sample, counts) =
        against_with(|_, _| Next::Hold, |trial| trial.setup.timeout = Duration::from_millis(60));
    assert_eq!(sample.account.failed, counts.all_received());
    assert!(sample.outcomes.timeout > 0);
    assert_eq!(sample.outcomes.timeout, sample.outcomes.failed(), "{:?}", sample.outcomes);
    assert!(sample.response_ns.min >= Some(60 * MS), "{:?}", sample.response_ns);
    assert_eq!(sample.achieved_rps, 0.0);
}

#[test]
fn a_body_that_never_ends_times_out() {
    let (sample, counts) = against_with(
        |_, peer| {
            peer.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello");
            Next::Hold
        },
        |trial| trial.setup.timeout = Duration::from_millis(60),
    );
    assert_eq!(sample.account.failed, counts.all_received());
    assert_eq!(sample.outcomes.timeout, sample.outcomes.failed(), "{:?}", sample.outcomes);
}

#[test]
fn a_refused_port_fails_by_connect_and_does_not_spin() {
    let refusing = refusing_address();
    let url = format!("http://{}/", refusing.address).parse().unwrap();
    let (sample, _) = run(trial(&[url]));
    assert!(sample.account.failed >= u64::from(CONNECTIONS));
    assert!(sample.account.failed <= ATTEMPTS_AT_MOST * u64::from(CONNECTIONS));
    assert_eq!(sample.account.started, sample.account.failed);
    assert_eq!(sample.outcomes.connect, sample.outcomes.failed(), "{:?}", sample.outcomes);
    assert!(sample.outcomes.examples["connect_refused"].contains("refused"));
    assert_eq!((sample.connect_ns.count, sample.connections.live_median), (0, 0));
}

#[test]
fn a_server_that_closes_before_the_request_does_not_make_us_spin() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap()).parse().unwrap();
    std::thread::spawn(move || listener.incoming().for_each(drop));
    let (sample, _) = run(trial(&[url]));
    assert!(sample.account.failed >= u64::from(CONNECTIONS));
    assert!(sample.account.failed <= ATTEMPTS_AT_MOST * u64::from(CONNECTIONS), "{sample:?}");
    let broken = sample.outcomes.early_close + sample.outcomes.reset;
    assert_eq!(broken, sample.outcomes.failed(), "{:?}", sample.outcomes);
}
