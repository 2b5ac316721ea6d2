//! Connections that are only held.

use std::sync::Mutex;

use super::*;

fn of_idle(address: std::net::SocketAddr) -> Trial {
    let mut trial = trial_of(Client::Hyper, &[format!("http://{address}/").parse().unwrap()]);
    trial.setup.protocol = Protocol::Idle;
    trial
}

#[test]
fn idle_connections_are_held_from_stage_to_stage_and_send_nothing() {
    let server = TestServer::start(|_, _| panic!("an idle connection sends no request"));
    let address = server.url("/").socket_addrs(|| None).unwrap()[0];
    let Trial { setup, stage } = of_idle(address);
    let mut generator = Generator::start(setup).unwrap();
    for connections in [3, 40, 40] {
        let end_ns = clock::now_ns() + 3_600_000 * MS;
        let window = Window { start_ns: clock::now_ns(), end_ns };
        let load = generator.begin(StageLoad { connections, window, ..stage.clone() }).unwrap();
        while load.progress().live < connections {
            std::thread::sleep(Duration::from_millis(1));
        }
        load.stop();
        let (sample, _) = load.finish();
        assert_eq!(sample.account, Account::default(), "{:?}", sample.outcomes);
        assert_eq!((sample.requests, sample.events), (0, None));
        assert_eq!(sample.protocol, Protocol::Idle);
    }
    drop(generator);
    let counts = server.finish();
    assert_eq!((counts.accepted, counts.all_received()), (40, 0));
}

#[test]
fn a_connection_that_the_server_closes_is_opened_again_and_counted() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let held = Arc::new(Mutex::new(Vec::new()));
    let holding = Arc::clone(&held);
    // Five are closed at once, the last of them after a greeting; three are held.
    let server = std::thread::spawn(move || {
        for n in 0..8 {
            let (mut stream, _) = listener.accept().unwrap();
            if n == 4 {
                drop(std::io::Write::write_all(&mut stream, b"220 hello\r\n"));
            }
            if n >= 5 {
                holding.lock().unwrap().push(stream);
            }
        }
        listener
    });
    let sample = run_until(of_idle(address), |progress| {
        held.lock().unwrap().len() == 3 && progress.live == 3
    });
    drop(server.join().unwrap());
    // The server may know of the last one before its client does.
    let opened = sample.connect_ns.count;
    assert!((7..=8).contains(&opened), "{opened}");
    assert_eq!((sample.account.started, sample.outcomes.reconnects), (0, opened - 3));
}

#[test]
fn a_connection_that_cannot_be_opened_is_a_failure() {
    let refusing = refusing_address();
    let sample = run_until(of_idle(refusing.address), |progress| progress.failed >= 5);
    let refused = sample.account.classes[&crate::load::FailureClass::ConnectRefused];
    assert_eq!((sample.account.started, sample.account.failed), (refused, refused));
    assert_eq!(sample.connections.live_median, 0);
}
