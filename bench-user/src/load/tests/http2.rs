//! Streams of HTTP/2: counted as the server counts them, and made again where it did not act on
//! them.

use ::hyper::Response;
use bytes::Bytes;
use h2::Reason;
use h2::server::SendResponse;

use super::http2_server::{Asked, Http2Server, Seen, start_leaving};
use super::*;
use crate::fetch::{Fetcher, Spoken};
use crate::load::OpenLoop;
use crate::plan::{Arrivals, CatchUp, TlsSpec};

fn hello(_: &Asked, mut respond: SendResponse<Bytes>) {
    if let Ok(mut body) = respond.send_response(Response::new(()), false) {
        drop(body.send_data(Bytes::from_static(b"hello"), true));
    }
}

fn assert_all_answered(sample: &LoadSample, seen: &Seen) {
    assert!(sample.outcomes.ok > 0, "{sample:?}");
    assert_eq!((sample.account.failed, sample.account.in_flight_at_end), (0, 0), "{sample:?}");
    assert_eq!(sample.account.completed, seen.answered);
    assert_eq!(sample.bytes_in, 5 * sample.requests);
}

#[test]
fn streams_are_counted_as_the_server_counts_them_and_share_connections() {
    for streams in [1, 7] {
        let (sample, server) = against_own(
            || Http2Server::start(100, hello),
            |server| server.trial(Protocol::Http2, streams),
        );
        let seen = server.seen();
        assert_all_answered(&sample, &seen);
        assert_eq!(sample.account.started, seen.received);
        assert_eq!((sample.outcomes.retried, sample.outcomes.reconnects), (0, 0));
        let asked = u64::from(CONNECTIONS);
        assert_eq!((seen.accepted, sample.connect_ns.count), (asked, asked));
        assert!(seen.at_a_time <= u64::from(streams));
        assert!(sample.connections.live_median <= CONNECTIONS, "connections and not lanes");
    }
}

#[test]
fn as_many_requests_are_out_on_a_connection_as_it_has_streams() {
    let (sample, server) = against_own(
        || {
            // Nothing is answered before all four have come.
            let waiting = std::sync::Mutex::new(Vec::new());
            Http2Server::start(100, move |asked, respond| {
                if asked.place > 4 {
                    return hello(asked, respond);
                }
                let mut waiting = waiting.lock().unwrap();
                waiting.push(respond);
                if waiting.len() == 4 {
                    waiting.drain(..).for_each(|respond| hello(asked, respond));
                }
            })
        },
        |server| {
            let mut trial = server.trial(Protocol::Http2, 4);
            trial.stage.connections = 1;
            trial
        },
    );
    assert_all_answered(&sample, &server.seen());
}

#[test]
fn an_open_loop_sends_each_request_of_its_schedule_once() {
    let (sample, server) = against_own(
        || Http2Server::start(100, hello),
        |server| {
            let mut trial = server.trial(Protocol::Http2, 5);
            let (arrivals, catch_up) = (Arrivals::Constant, CatchUp::Queue);
            trial.stage.open_loop = Some(OpenLoop { rps: 400.0, arrivals, catch_up, seed: 0 });
            trial
        },
    );
    assert_all_answered(&sample, &server.seen());
    assert_eq!(sample.account.started, server.seen().received);
    let offered = sample.offered.unwrap();
    assert_eq!((offered.scheduled, offered.skipped), (sample.account.started + offered.unsent, 0));
}

#[test]
fn a_server_s_limit_of_streams_is_kept_and_the_rest_wait() {
    let (sample, server) =
        against_own(|| Http2Server::start(2, hello), |server| server.trial(Protocol::Http2, 8));
    let seen = server.seen();
    assert_all_answered(&sample, &seen);
    assert_eq!((sample.account.retried, sample.account.started), (0, seen.received));
    assert!(seen.at_a_time <= 2, "{seen:?}");
}

#[test]
fn the_request_is_absolute_with_nothing_unasked_and_bodies_arrive_whole() {
    let body = vec![b'x'; 200_000];
    let (sample, server) = against_own(
        || {
            Http2Server::start(100, |asked, respond| {
                assert_eq!(asked.head.uri.path_and_query().unwrap(), "/a?b");
                assert!(asked.head.uri.authority().is_some_and(|a| a.as_str().starts_with("127.")));
                assert_eq!(asked.head.method, "POST");
                let mut names: Vec<_> =
                    asked.head.headers.keys().map(|name| name.as_str()).collect();
                names.sort_unstable();
                assert_eq!(names, ["content-length", "x-a"]);
                hello(asked, respond);
            })
        },
        |server| {
            let mut trial = server.trial(Protocol::Http2, 3);
            trial.setup.requests.headers.insert("x-a".into(), "1".into());
            trial.setup.requests.body = Some(body.clone().into());
            trial
        },
    );
    let seen = server.seen();
    assert_all_answered(&sample, &seen);
    assert!(seen.bodies.keys().eq([&body.len()]), "{:?}", seen.bodies);
    assert!(sample.bytes_out >= sample.requests * body.len() as u64);
}

#[test]
fn informational_responses_are_counted_apart() {
    let (sample, server) = against_own(
        || {
            Http2Server::start(100, |asked, mut respond| {
                let early = Response::builder().status(103).body(()).unwrap();
                drop(respond.send_informational(early));
                hello(asked, respond);
            })
        },
        |server| server.trial(Protocol::Http2, 2),
    );
    assert_all_answered(&sample, &server.seen());
    assert_eq!(sample.outcomes.informational, sample.requests);
}

#[test]
fn streams_above_the_last_of_a_goaway_are_made_again_and_none_is_lost() {
    for streams in [1, 6] {
        let (sample, (_, seen)) = against_own_until(
            // Twice as many as there are streams: none meets a second GOAWAY.
            || start_leaving(12),
            |(url, _)| {
                let mut trial = trial_of(Client::Hyper, std::slice::from_ref(url));
                (trial.setup.protocol, trial.setup.streams) = (Protocol::Http2, streams);
                trial
            },
            |sample| sample.outcomes.reconnects > 0,
        );
        let seen = seen.lock().unwrap().clone();
        assert_all_answered(&sample, &seen);
        assert!(seen.received > seen.answered, "{seen:?}");
        // A second sending that was never seen is one that the GOAWAY met on its way out.
        assert!(seen.received - seen.answered <= sample.account.retried, "{sample:?}");
        assert_eq!(sample.connect_ns.count, seen.accepted);
    }
}

#[test]
fn a_refused_stream_is_made_again_once_and_a_reset_one_is_a_failure() {
    let (sample, server) = against_own(
        || {
            Http2Server::start(100, |asked, mut respond| {
                if asked.place % 3 == 0 {
                    respond.send_reset(Reason::REFUSED_STREAM);
                } else {
                    hello(asked, respond);
                }
            })
        },
        |server| server.trial(Protocol::Http2, 1),
    );
    let seen = server.seen();
    assert!(sample.account.retried > 0, "{sample:?}");
    assert_eq!((sample.account.failed, sample.outcomes.reconnects), (0, 0));
    assert_eq!(sample.account.started + sample.account.retried, seen.received);
    assert_eq!(seen.accepted, u64::from(CONNECTIONS), "the connection is as good as before");
    for (reason, sendings) in [(Reason::REFUSED_STREAM, 2), (Reason::CANCEL, 1)] {
        let (sample, server) = against_own(
            || Http2Server::start(100, move |_, mut respond| respond.send_reset(reason)),
            |server| server.trial(Protocol::Http2, 2),
        );
        let seen = server.seen();
        assert_eq!(sample.account.completed, 0);
        assert_eq!(sample.account.failed * sendings, seen.received);
        assert_eq!(sample.outcomes.classes.keys().collect::<Vec<_>>().len(), 1);
        assert!(sample.outcomes.examples.contains_key("protocol"), "{:?}", sample.outcomes);
    }
}

#[test]
fn streams_that_are_never_answered_time_out_and_leave_the_connection_open() {
    let (sample, server) = against_own(
        || Http2Server::start(100, |_, respond| std::mem::forget(respond)),
        |server| {
            let mut trial = server.trial(Protocol::Http2, 3);
            trial.setup.timeout = Duration::from_millis(60);
            trial
        },
    );
    assert_eq!((sample.account.completed, sample.outcomes.timeout), (0, sample.outcomes.failed()));
    assert_eq!(sample.account.failed, server.seen().received);
    assert_eq!(server.seen().accepted, u64::from(CONNECTIONS));
}

#[test]
fn connections_with_their_streams_go_on_in_the_next_stage() {
    let server = Http2Server::start(100, hello);
    let Trial { setup, stage } = server.trial(Protocol::Http2, 4);
    let mut generator = Generator::start(setup).unwrap();
    let mut started = 0;
    for (connections, accepted) in [(2, 2), (5, 5), (5, 5), (1, 5), (3, 7)] {
        let start_ns = clock::now_ns();
        let window = Window { start_ns, end_ns: start_ns + 100 * MS };
        let stage = StageLoad { connections, window, ..stage.clone() };
        let (sample, intervals) = generator.begin(stage).unwrap().finish();
        check_books_of(&sample, &intervals, 4 * connections);
        assert_eq!(sample.account.failed, 0, "{:?}", sample.outcomes);
        started += sample.account.started;
        assert!(server.seen().accepted <= accepted, "{connections}");
    }
    assert_eq!(server.seen().answered, started);
}

#[test]
fn a_refusing_port_fails_as_often_as_with_one_stream() {
    let refusing = refusing_address();
    let url: Url = format!("http://{}/", refusing.address).parse().unwrap();
    let mut trial = trial_of(Client::Hyper, &[url]);
    (trial.setup.protocol, trial.setup.streams) = (Protocol::Http2, 50);
    let (sample, _) = run(trial);
    assert_eq!(sample.outcomes.connect, sample.outcomes.failed(), "{:?}", sample.outcomes);
    // As in HTTP/1.1: pauses that grow leave room for 9 attempts a connection.
    assert!(sample.account.failed <= 9 * u64::from(CONNECTIONS), "{:?}", sample.account);
}

#[test]
fn a_server_of_http1_fails_with_a_hint() {
    let (sample, _) = against(
        Client::Hyper,
        |_, peer| {
            peer.write("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
            Next::Close
        },
        |trial| trial.setup.protocol = Protocol::Http2,
    );
    assert_eq!(sample.account.completed, 0);
    assert!(sample.outcomes.examples["parse"].contains("HTTP/2?"), "{:?}", sample.outcomes);
}

#[test]
fn readiness_is_asked_in_http2() {
    let server = Http2Server::start(100, hello);
    let fetcher = Fetcher::new(Spoken::Http2, TlsSpec::default());
    let got = fetcher.get(&server.url(), Duration::from_secs(20)).unwrap();
    assert_eq!((got.status, &got.body[..]), (200, &b"hello"[..]));
}
