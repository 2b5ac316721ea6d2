//! Servers that take no connections: nobody listens, or the accept queue is full.

use std::time::Duration;

use super::super::test_server::FullBacklog;
use super::*;

const CLIENTS: [Client; 2] = [Client::Hyper, Client::Lean];

fn trial_at(address: std::net::SocketAddr, client: Client) -> Trial {
    trial_of(client, &[format!("http://{address}/").parse().unwrap()])
}

/// Every request failed by this class, and nothing else happened.
fn assert_all_failed_by(sample: &LoadSample, class: FailureClass) {
    let account = &sample.account;
    assert!(account.failed >= u64::from(CONNECTIONS), "{account:?}");
    assert_eq!(account.classes, [(class, account.started)].into(), "{account:?}");
    assert_eq!((sample.connect_ns.count, sample.response_ns.count), (0, 0));
    assert_eq!((sample.achieved_rps, sample.connections.live_median), (0.0, 0));
    assert!(sample.outcomes.examples.contains_key(class.name()), "{:?}", sample.outcomes);
}

#[test]
fn a_refused_connection_is_a_class_of_its_own() {
    for client in CLIENTS {
        let refusing = refusing_address();
        let (sample, _) = run(trial_at(refusing.address, client));
        assert_all_failed_by(&sample, FailureClass::ConnectRefused);
    }
}

#[test]
fn a_full_accept_queue_is_a_connect_timeout() {
    for client in CLIENTS {
        let full = FullBacklog::new(1);
        let mut trial = trial_at(full.address, client);
        trial.setup.timeout = Duration::from_millis(60);
        let (sample, _) = run(trial);
        assert_all_failed_by(&sample, FailureClass::ConnectTimeout);
    }
}

/// A SYN that the full queue dropped is sent again after a second: that is time to connect, and
/// no request is timed with it.
#[test]
fn a_dropped_syn_is_seen_in_the_time_to_connect() {
    for client in CLIENTS {
        let full = FullBacklog::new(1);
        let mut trial = trial_at(full.address, client);
        trial.stage.connections = 1;
        trial.stage.window.end_ns += 60_000 * MS;
        let mut generator = Generator::start(trial.setup).unwrap();
        let load = generator.begin(trial.stage).unwrap();
        let port = full.address.port();
        wait_until(|| is_syn_sent(port));
        let server = full.open(|_, peer| {
            peer.answer(OK);
            Next::Keep
        });
        wait_until(|| load.progress().completed > 0);
        load.stop();
        let (sample, _) = load.finish();
        drop(generator);
        let counts = server.finish();
        assert_eq!((sample.connect_ns.count, counts.accepted), (1, 1));
        // The kernel's timer counts in ticks of up to 10 ms.
        assert!(sample.connect_ns.min >= Some(980 * MS), "{:?}", sample.connect_ns.min);
        assert_eq!(sample.account.ok + sample.account.in_flight_at_end, counts.answered);
        assert_eq!(sample.account.failed, 0);
    }
}

fn wait_until(is_so: impl Fn() -> bool) {
    let patience_ns = clock::now_ns() + 60_000 * MS;
    while !is_so() {
        assert!(clock::now_ns() < patience_ns, "it never came to that");
        std::thread::yield_now();
    }
}

/// Somebody waits for a connection to this port.
fn is_syn_sent(port: u16) -> bool {
    let sockets = procfs::net::tcp().unwrap();
    let to_port = sockets.iter().filter(|socket| socket.remote_address.port() == port);
    to_port.into_iter().any(|socket| socket.state == procfs::net::TcpState::SynSent)
}
