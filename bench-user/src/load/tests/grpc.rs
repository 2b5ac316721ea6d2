//! Calls of gRPC: what their trailers say, and what is none.

use ::hyper::{HeaderMap, Response};
use bytes::Bytes;
use h2::server::SendResponse;

use super::http2_server::{Asked, Http2Server};
use super::*;

const MESSAGE: &[u8] = b"\0\0\0\0\x02ok";

fn answer(mut respond: SendResponse<Bytes>, message: &'static [u8], status: &'static str) {
    let Ok(mut body) = respond.send_response(Response::new(()), false) else { return };
    if !message.is_empty() {
        drop(body.send_data(Bytes::from_static(message), false));
    }
    let mut trailers = HeaderMap::new();
    trailers.insert("grpc-status", status.parse().unwrap());
    drop(body.send_trailers(trailers));
}

fn against_calls<F>(streams: u32, call: F) -> (LoadSample, Http2Server)
where
    F: Fn(&Asked, SendResponse<Bytes>) + Clone + Send + Sync + 'static,
{
    against_own(
        || Http2Server::start(100, call.clone()),
        |server| {
            let mut trial = server.trial(Protocol::Grpc, streams);
            trial.setup.requests.body = Some(Bytes::from_static(b"abc"));
            trial
        },
    )
}

#[test]
fn calls_are_counted_as_the_server_counts_them() {
    let (sample, server) = against_calls(5, |asked, respond| {
        assert_eq!(asked.body, b"\0\0\0\0\x03abc");
        assert_eq!(asked.head.headers["content-type"], "application/grpc");
        assert_eq!(asked.head.headers["te"], "trailers");
        answer(respond, MESSAGE, "0");
    });
    let seen = server.seen();
    assert!(sample.outcomes.ok > 0 && sample.account.failed == 0, "{:?}", sample.outcomes);
    assert_eq!((sample.account.ok, sample.account.started), (seen.answered, seen.received));
    assert_eq!(sample.bytes_in, 7 * sample.requests);
}

#[test]
fn a_status_that_is_not_zero_is_an_answer_that_is_not_ok() {
    let (sample, server) = against_calls(2, |asked, mut respond| {
        if asked.place % 2 == 0 {
            return answer(respond, b"", "14");
        }
        // A response of a head alone has its status there.
        let head = Response::builder().header("grpc-status", "12").body(()).unwrap();
        drop(respond.send_response(head, true));
    });
    let account = &sample.account;
    let counts = (account.http_error, account.ok, account.failed);
    assert_eq!(counts, (server.seen().answered, 0, 0), "{:?}", sample.outcomes);
    assert!(sample.outcomes.grpc_status.keys().all(|status| [12, 14].contains(status)));
    assert_eq!(sample.outcomes.non_2xx(), sample.requests);
}

#[test]
fn an_http_error_counts_by_its_status_and_a_lost_status_or_message_is_a_failure() {
    let (sample, _) = against_calls(1, |_, mut respond| {
        let head = Response::builder().status(503).body(()).unwrap();
        drop(respond.send_response(head, true));
    });
    assert_eq!((sample.account.failed, sample.account.ok), (0, 0));
    assert!(sample.outcomes.other_status.keys().eq([&503]), "{:?}", sample.outcomes);
    let no_status = |_: &Asked, mut respond: SendResponse<Bytes>| {
        drop(respond.send_response(Response::new(()), true));
    };
    let cut = |_: &Asked, respond: SendResponse<Bytes>| answer(respond, &MESSAGE[..6], "0");
    for (sample, server) in [against_calls(1, no_status), against_calls(1, cut)] {
        assert_eq!(sample.account.failed, server.seen().answered);
        assert_eq!((sample.account.completed, sample.account.in_flight_at_end), (0, 0));
        assert_eq!(sample.outcomes.protocol, sample.outcomes.failed(), "{:?}", sample.outcomes);
    }
}
