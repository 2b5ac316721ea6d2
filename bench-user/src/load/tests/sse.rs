//! Event streams: what is an event, when it came, and what a stream is as a request.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use super::*;
use crate::load::Events;
use crate::load::FailureClass as Class;

const HEAD: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream;charset=utf-8\r\n\
                    Transfer-Encoding: chunked\r\n\r\n";
const END: &str = "0\r\n\r\n";
const STREAMS: u64 = 40;

fn chunk(text: &str) -> String {
    format!("{:x}\r\n{text}\r\n", text.len())
}

fn of_events(urls: &[Url]) -> Trial {
    let mut trial = trial_of(Client::Hyper, urls);
    trial.setup.protocol = Protocol::Sse;
    trial
}

/// Streams of a server that ends each until `STREAMS` have ended; later ones get no event.
fn streams(write: impl Fn(&mut Peer) + Send + Sync + 'static) -> (LoadSample, Events, Counts) {
    let begun = AtomicUsize::new(0);
    let server = TestServer::start(move |request, peer| {
        assert!(request.head.contains("accept: text/event-stream\r\n"), "{}", request.head);
        if begun.fetch_add(1, SeqCst) as u64 >= STREAMS {
            peer.write(HEAD);
            return Next::Hold;
        }
        write(peer);
        Next::Close
    });
    let sample = run_until(of_events(&[server.url("/")]), |p| p.completed + p.failed >= STREAMS);
    let events = sample.events.clone().unwrap();
    (sample, events, server.finish())
}

#[test]
fn events_comments_and_gaps_are_those_that_the_server_sent() {
    let (sample, events, counts) = streams(|peer| {
        // Three events and a comment in one write; an event in two; the usual last one.
        peer.write(
            &(HEAD.to_owned() + &chunk("data: a\n\ndata: bc\n\n: ping\n\ndata: d\ndata: e\n\n")),
        );
        peer.write(&chunk("id: 7\nda"));
        peer.write(&(chunk("ta: split\r\n\r") + &chunk("\n") + &chunk("data: [DONE]\n\n")));
        peer.answer(END);
    });
    assert_eq!((events.count, events.comments), (5 * STREAMS, STREAMS));
    assert_eq!(events.bytes, (1 + 2 + 3 + 5 + 6) * STREAMS);
    assert_eq!(events.first_event_ns.count, STREAMS);
    assert_eq!(events.gap_ns.count, 4 * STREAMS, "the time to the first event is no gap");
    assert_eq!(events.gap_ns.min, Some(0));
    assert_eq!(sample.account.ok, STREAMS);
    assert_eq!(sample.account.failed, 0, "{:?}", sample.outcomes);
    // Every stream that ended was asked for again, but for those at the moment of the stop.
    let again = counts.all_received() - u64::from(CONNECTIONS);
    assert!(again - events.reopened <= u64::from(CONNECTIONS), "{again}, {events:?}");
    assert_eq!(sample.requests, counts.answered);
}

#[test]
fn events_of_one_read_are_flagged_however_they_are_chunked() {
    let (_, events, _) = streams(|peer| {
        let three = chunk("data: a\n\n") + &chunk("data: b\n\nda") + &chunk("ta: c\n\n");
        peer.answer(&(HEAD.to_owned() + &three + END));
    });
    assert_eq!((events.count, events.shared_reads), (3 * STREAMS, 2 * STREAMS));
    assert_eq!((events.gap_ns.count, events.gap_ns.max), (2 * STREAMS, Some(0)));
}

#[test]
fn an_event_that_comes_later_has_a_gap_from_the_one_before() {
    let wait = Duration::from_millis(5);
    for _ in 0..20 {
        let (_, events, _) = streams(move |peer| {
            peer.write(HEAD);
            std::thread::sleep(wait);
            peer.write(&chunk("data: a\n\ndata"));
            std::thread::sleep(wait);
            peer.answer(&(chunk(": b\n\n") + END));
        });
        assert_eq!((events.count, events.gap_ns.count), (2 * STREAMS, STREAMS));
        assert!(events.first_event_ns.min >= Some(5 * MS), "{:?}", events.first_event_ns);
        assert_eq!(events.shared_reads > 0, events.gap_ns.min == Some(0), "{events:?}");
        // A client that got no CPU for 5 ms found both events in one read.
        if events.shared_reads == 0 {
            return;
        }
    }
    panic!("in twenty stages this machine never read all first events in time");
}

#[test]
fn a_body_that_is_ended_by_the_close_is_a_whole_stream() {
    let (sample, events, _) = streams(|peer| {
        peer.answer("HTTP/1.0 200 OK\r\nContent-Type: TEXT/event-stream\r\n\r\ndata: a\n\n");
    });
    assert_eq!((events.count, sample.account.ok), (STREAMS, STREAMS));
    assert_eq!(sample.bytes_in, 9 * STREAMS);
}

/// The classes of failure of a server that never sends a whole stream.
fn failures(write: impl Fn(&mut Peer) + Send + Sync + 'static) -> BTreeMap<Class, u64> {
    let (sample, _, counts) = streams(write);
    assert_eq!(sample.account.failed, STREAMS, "{:?}", sample.outcomes);
    assert_eq!((sample.account.completed, counts.answered), (0, 0));
    sample.account.classes
}

#[test]
fn what_is_no_whole_stream_is_a_failure_of_its_class() {
    let html = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 2\r\n\r\nno";
    assert_eq!(failures(|peer| peer.write(html)), BTreeMap::from([(Class::Protocol, STREAMS)]));
    let cut = failures(|peer| peer.write(&(HEAD.to_owned() + &chunk("data: a\n\n"))));
    assert_eq!(cut, BTreeMap::from([(Class::ShortBody, STREAMS)]));
    let nothing = failures(|_| {});
    assert_eq!(nothing, BTreeMap::from([(Class::ClosedBeforeBytes, STREAMS)]));
}

#[test]
fn a_refusal_is_a_response_and_no_stream() {
    let (sample, events, _) = streams(|peer| {
        peer.answer("HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n\r\nwait");
    });
    assert_eq!((sample.account.http_error, sample.outcomes.other_status[&503]), (STREAMS, STREAMS));
    assert_eq!((events.count, events.reopened, events.first_event_ns.count), (0, 0, 0));
}

#[test]
fn a_stream_without_a_head_or_a_first_event_in_time_is_a_timeout() {
    for silence in ["", HEAD] {
        let server = TestServer::start(move |_, peer| {
            peer.write(silence);
            Next::Hold
        });
        let mut trial = of_events(&[server.url("/")]);
        trial.setup.timeout = Duration::from_millis(20);
        let sample = run_until(trial, |progress| progress.failed >= 6);
        assert_eq!(sample.outcomes.failed(), sample.outcomes.timeout);
        assert!(sample.response_ns.min >= Some(20 * MS), "{:?}", sample.response_ns);
    }
}

#[test]
fn streams_stay_open_from_stage_to_stage_and_are_in_flight_at_the_end_of_each() {
    let event = HEAD.to_owned() + &chunk("data: a\n\n");
    for _ in 0..20 {
        let event = event.clone();
        let server = TestServer::start(move |_, peer| {
            peer.write(&event);
            Next::Hold
        });
        let Trial { setup, stage } = of_events(&[server.url("/")]);
        let mut generator = Generator::start(setup).unwrap();
        let samples = [3, 7, 5].map(|connections| {
            let start_ns = clock::now_ns();
            let window = Window { start_ns, end_ns: start_ns + 250 * MS };
            let stage = StageLoad { connections, window, ..stage.clone() };
            let (sample, intervals) = generator.begin(stage).unwrap().finish();
            check_books(&sample, &intervals);
            sample
        });
        drop(generator);
        let counts = server.finish();
        if samples[0].account.started < 3 || samples[1].account.started < 4 {
            continue;
        }
        let [one, two, three] = samples.map(|sample| sample.account);
        assert_eq!((one.carried, one.started, one.in_flight_at_end), (0, 3, 3));
        assert_eq!((two.carried, two.started, two.in_flight_at_end), (3, 4, 7));
        assert_eq!((three.carried, three.started, three.in_flight_at_end), (5, 0, 5));
        assert!(two.in_flight_age_ns_max > one.in_flight_age_ns_max);
        assert_eq!((counts.accepted, one.failed + two.failed + three.failed), (7, 0));
        return;
    }
    panic!("in twenty stages this machine never opened seven streams in time");
}
