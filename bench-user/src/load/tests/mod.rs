//! The generator against servers that keep and break HTTP in every way: its report must agree
//! with the server's own counts, exactly.

/// A site that is crawled.
mod crawl;

/// The same tests for a client: every file below is compiled once for each, as
/// `tests::hyper::answered` and `tests::lean::answered`. In such a file `trial`, `against` and
/// `against_with` are those of its client; every other file names the client with `trial_of`.
macro_rules! tests_of {
    ($name:ident, $client:expr) => {
        #[path = "."]
        mod $name {
            use super::*;

            fn trial(urls: &[Url]) -> Trial {
                trial_of($client, urls)
            }

            fn against<F>(behaviour: F) -> (LoadSample, Counts)
            where
                F: Fn(&Request, &mut Peer) -> Next + Send + Sync + 'static,
            {
                against_with(behaviour, |_| {})
            }

            fn against_with<F>(behaviour: F, change: fn(&mut Trial)) -> (LoadSample, Counts)
            where
                F: Fn(&Request, &mut Peer) -> Next + Send + Sync + 'static,
            {
                super::against($client, behaviour, change)
            }

            /// Servers that answer every request.
            #[expect(clippy::duplicate_mod, reason = "the same tests for every client")]
            mod answered;

            /// From which address, to where, and why not.
            #[expect(clippy::duplicate_mod, reason = "the same tests for every client")]
            mod dialing;

            /// Servers that fail them.
            #[expect(clippy::duplicate_mod, reason = "the same tests for every client")]
            mod failed;

            /// An open loop.
            #[expect(clippy::duplicate_mod, reason = "the same tests for every client")]
            mod open_loop;

            /// A stage as a whole.
            #[expect(clippy::duplicate_mod, reason = "the same tests for every client")]
            mod whole_stage;
        }
    };
}

tests_of!(hyper, Client::Hyper);
tests_of!(lean, Client::Lean);

/// What only the lean client does.
mod only_lean;

// By both clients, in turn.

/// The open loop against arithmetic.
mod exact;

/// A server that stands still.
mod freeze;

/// Every way of speaking HTTP/1.1 at every endpoint.
mod matrix;

/// Servers that take no connections.
mod unreachable;

// By the hyper client, which alone speaks what they are about.

/// Connections that are only held.
mod idle;

/// Event streams.
mod sse;

/// Calls of gRPC.
mod grpc;

/// WebSockets.
mod websocket;

/// Streams of HTTP/2.
mod http2;

/// A server that keeps HTTP/2, and one that says GOAWAY in the middle of it.
mod http2_server;

/// Connections over TLS.
mod tls;

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use url::Url;

use super::test_server::{Counts, Next, Peer, Request, TestServer, refusing_address};
use super::{
    Account, DialSpec, FailureClass, Generator, IntervalLoad, LoadError, LoadSample, LoadSetup,
    Progress, RequestSpec, StageLoad, Window,
};
use crate::clock;
use crate::plan::{Client, Protocol, WebsocketMode};

const CONNECTIONS: u32 = 3;
const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
const MS: u64 = 1_000_000;

/// One stage by a generator of its own.
#[derive(Debug, Clone)]
struct Trial {
    setup: LoadSetup,
    stage: StageLoad,
}

/// A stage of a quarter of a second without a warm-up, over two workers.
fn trial_of(client: Client, urls: &[Url]) -> Trial {
    let setup = LoadSetup {
        protocol: Protocol::Http1,
        client,
        pipeline: 1,
        streams: 1,
        websocket: WebsocketMode::Echo,
        requests: RequestSpec {
            urls: Arc::from(urls),
            method: None,
            headers: BTreeMap::new(),
            body: None,
            basic_auth: None,
            seed: 0,
        },
        dial: DialSpec::default(),
        workers: 2,
        cpus: Vec::new(),
        timeout: Duration::from_secs(20),
        interval_ns: 50 * MS,
    };
    let start_ns = clock::now_ns();
    let stage = StageLoad {
        connections: CONNECTIONS,
        open_loop: None,
        window: Window { start_ns, end_ns: start_ns + 250 * MS },
        cooldown: Duration::from_secs(20),
    };
    Trial { setup, stage }
}

fn run(trial: Trial) -> (LoadSample, Vec<IntervalLoad>) {
    let at_a_time = trial.stage.connections * trial.setup.pipeline.max(trial.setup.streams);
    let mut generator = Generator::start(trial.setup).unwrap();
    let (sample, intervals) = generator.begin(trial.stage).unwrap().finish();
    check_books_of(&sample, &intervals, at_a_time);
    (sample, intervals)
}

/// Runs a stage whose window is as long as it takes until `is_done`, so that all of it is inside.
fn run_until(mut trial: Trial, is_done: impl Fn(&Progress) -> bool) -> LoadSample {
    trial.stage.window.end_ns += 3_600_000 * MS;
    trial.setup.interval_ns = 0;
    let mut generator = Generator::start(trial.setup).unwrap();
    let load = generator.begin(trial.stage).unwrap();
    while !is_done(&load.progress()) {
        std::thread::sleep(Duration::from_millis(1));
    }
    load.stop();
    let (sample, intervals) = load.finish();
    check_books(&sample, &intervals);
    sample
}

/// What holds for every stage, whatever the server does.
fn check_books(sample: &LoadSample, intervals: &[IntervalLoad]) {
    check_books_of(sample, intervals, sample.connections.asked);
}

/// The same with so many requests out at a time.
fn check_books_of(sample: &LoadSample, intervals: &[IntervalLoad], at_a_time: u32) {
    let account = &sample.account;
    assert_eq!(
        account.carried + account.started,
        account.completed + account.failed + account.in_flight_at_end,
        "{account:?}"
    );
    assert_eq!(account.completed, account.ok + account.http_error, "{account:?}");
    assert_eq!(account.failed, account.classes.values().sum::<u64>(), "{account:?}");
    let late = account.completed - sample.requests;
    assert!(late <= u64::from(at_a_time), "ended after the window: {late}");
    assert_eq!(intervals.iter().map(|i| i.completed).sum::<u64>(), sample.requests);
    let timed = sample.requests + sample.outcomes.timeout;
    assert_eq!(sample.response_ns.count, timed, "nothing dropped, nothing invented");
    let seconds = Duration::from_nanos(sample.window_ns).as_secs_f64();
    assert!((sample.achieved_rps * seconds - sample.outcomes.ok as f64).abs() < 1e-6);
}

/// Runs a stage against a server and gives the report and the server's own counts.
fn against<F>(client: Client, behaviour: F, change: fn(&mut Trial)) -> (LoadSample, Counts)
where
    F: Fn(&Request, &mut Peer) -> Next + Send + Sync + 'static,
{
    let behaviour = Arc::new(behaviour);
    for _ in 0..20 {
        let behaviour = Arc::clone(&behaviour);
        let server = TestServer::start(move |request, peer| behaviour(request, peer));
        let mut trial = trial_of(client, &[server.url("/a?b#c")]);
        change(&mut trial);
        let (sample, _) = run(trial);
        if !stood_still(&sample) {
            return (sample, server.finish());
        }
    }
    panic!("in twenty windows this machine never got every connection to send a request");
}

/// Runs a stage, each time against a server of its own, until one tested something; gives back
/// its server too.
fn against_own<S>(start: impl Fn() -> S, stage: impl Fn(&S) -> Trial) -> (LoadSample, S) {
    against_own_until(start, stage, |sample| !stood_still(sample))
}

/// The same, until a stage brought about what is to be tested.
fn against_own_until<S>(
    start: impl Fn() -> S,
    stage: impl Fn(&S) -> Trial,
    is_enough: impl Fn(&LoadSample) -> bool,
) -> (LoadSample, S) {
    for _ in 0..20 {
        let server = start();
        let (sample, _) = run(stage(&server));
        if is_enough(&sample) {
            return (sample, server);
        }
    }
    panic!("in twenty windows this machine never brought about what is tested");
}

/// The machine was too busy to bring the stage about: such a window tests nothing.
fn stood_still(sample: &LoadSample) -> bool {
    let Account { started, in_flight_at_end, .. } = sample.account;
    let ended = sample.requests + sample.outcomes.failed();
    started < u64::from(sample.connections.asked) || ended + in_flight_at_end == 0
}

/// Every request was answered whole, and counted once by both sides.
fn assert_all_answered(sample: &LoadSample, counts: &Counts) {
    assert!(sample.outcomes.ok > 0, "{sample:?}");
    assert_eq!(sample.outcomes.failed(), 0, "{:?}", sample.outcomes);
    assert_eq!((sample.account.failed, sample.account.in_flight_at_end), (0, 0));
    assert_eq!(sample.account.completed, counts.answered);
}

/// Every request the server read failed, and there is neither a rate nor a percentile.
fn assert_all_failed(sample: &LoadSample, counts: &Counts) {
    assert!(sample.account.failed > 0);
    assert_eq!(sample.account.failed, counts.all_received());
    assert_eq!((sample.account.completed, sample.account.in_flight_at_end), (0, 0));
    assert_eq!((sample.achieved_rps, sample.response_ns.p50), (0.0, None));
}
