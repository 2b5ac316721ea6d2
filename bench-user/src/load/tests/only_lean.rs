//! What only the lean client does: pipelining, and an answer that comes before the whole request.

use std::io::{Read as _, Write as _};
use std::net::Shutdown;
use std::sync::Mutex;

use super::*;

#[test]
fn pipelined_requests_are_answered_in_order_and_counted_once() {
    let server = TestServer::start(|_, peer| {
        peer.answer(OK);
        Next::Keep
    });
    let mut trial = trial_of(Client::Lean, &["/0", "/1"].map(|path| server.url(path)));
    trial.setup.pipeline = 4;
    let (sample, _) = run(trial);
    let counts = server.finish();
    assert_all_answered(&sample, &counts);
    assert_eq!(sample.account.started, counts.all_received());
    assert!(sample.account.started >= 4 * u64::from(CONNECTIONS));
    assert_eq!(counts.accepted, u64::from(CONNECTIONS));
    assert_eq!(sample.bytes_in, 5 * sample.requests);
}

#[test]
fn pipelined_requests_that_meet_a_close_are_sent_again_once() {
    // Every connection answers two requests and closes: of four requests that were out on the
    // second connection of a request, none may be lost and none sent a third time.
    let (sample, counts) = against(
        Client::Lean,
        |request, peer| {
            peer.answer(OK);
            if request.place == 2 { Next::Close } else { Next::Keep }
        },
        |trial| trial.setup.pipeline = 3,
    );
    assert_eq!(sample.account.completed, counts.answered);
    assert!(sample.account.retried > 0, "{:?}", sample.account);
    let broken = sample.outcomes.early_close + sample.outcomes.reset;
    assert_eq!(broken, sample.outcomes.failed(), "{:?}", sample.outcomes);
    assert_eq!(sample.account.in_flight_at_end, 0);
}

/// Connections that are kept open and unread; each takes a descriptor and full buffers.
const UNREAD_MOST: usize = 64;

#[test]
fn an_answer_before_the_whole_request_counts_and_ends_the_connection() {
    // The body does not fit into the sockets, and the server reads no more of it than the start.
    // A server that read the rest would be sent the next request on the same connection.
    let (sample, counts) = with_body(32 << 20, || {
        let unread = Mutex::new(Vec::new());
        TestServer::of_heads(move |_, peer| {
            let mut unread = unread.lock().unwrap();
            if unread.len() < UNREAD_MOST {
                unread.push(peer.kept_open());
                peer.answer("HTTP/1.1 413 Content Too Large\r\nContent-Length: 2\r\n\r\nno");
                Next::Close
            } else {
                drop(unread);
                peer.answer(
                    "HTTP/1.1 413 Content Too Large\r\n\
                     Connection: close\r\nContent-Length: 2\r\n\r\nno",
                );
                Next::Hold
            }
        })
    });
    assert!(sample.account.completed > 0, "{:?}", sample.outcomes);
    assert_eq!(sample.account.completed, counts.answered, "{:?}", sample.outcomes);
    assert!(sample.outcomes.other_status.keys().eq(&[413]), "{:?}", sample.outcomes);
    let failed_and_retried = (sample.account.failed, sample.outcomes.retried);
    assert_eq!(failed_and_retried, (0, 0), "{:?}", sample.outcomes);
    assert_eq!(sample.connect_ns.count, counts.accepted);
}

#[test]
fn a_large_body_is_written_as_the_socket_takes_it() {
    let (sample, counts) = with_body(8 << 20, || {
        TestServer::start(|_, peer| {
            peer.answer(OK);
            Next::Keep
        })
    });
    assert_all_answered(&sample, &counts);
    assert_eq!(sample.account.started, counts.all_received());
    assert!(sample.bytes_out > sample.requests * (8 << 20));
}

#[test]
fn what_closes_between_two_stages_fails_nothing_however_many_connections() {
    const MANY: u32 = 600;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url: Url = format!("http://{}/", listener.local_addr().unwrap()).parse().unwrap();
    let peers = Arc::new(Mutex::new(Vec::new()));
    let taken = Arc::clone(&peers);
    std::thread::spawn(move || {
        for mut peer in listener.incoming().flatten() {
            taken.lock().unwrap().push(peer.try_clone().unwrap());
            std::thread::spawn(move || {
                let mut request = [0; 1024];
                while peer.read(&mut request).is_ok_and(|bytes| bytes > 0) {
                    if peer.write_all(OK.as_bytes()).is_err() {
                        break;
                    }
                }
            });
        }
    });
    // Not idempotent: what goes out on a closed connection is lost.
    let Trial { mut setup, stage } = trial_of(Client::Lean, &[url]);
    setup.requests.body = Some("x".into());
    setup.workers = 1;
    let mut generator = Generator::start(setup).unwrap();
    for _ in 0..2 {
        let start_ns = clock::now_ns();
        let window = Window { start_ns, end_ns: start_ns + 500 * MS };
        let stage = StageLoad { connections: MANY, window, ..stage.clone() };
        let (sample, intervals) = generator.begin(stage).unwrap().finish();
        check_books(&sample, &intervals);
        assert_eq!(sample.account.failed, 0, "{:?}", sample.outcomes);
        for peer in peers.lock().unwrap().drain(..) {
            peer.shutdown(Shutdown::Both).unwrap();
        }
    }
}

/// A stage of requests with so many bytes, in a window that a slow machine answers one in.
fn with_body(bytes: usize, server: fn() -> TestServer) -> (LoadSample, Counts) {
    for window_ms in [250, 2_000, 20_000] {
        let server = server();
        let mut trial = trial_of(Client::Lean, &[server.url("/")]);
        trial.setup.requests.body = Some(vec![b'x'; bytes].into());
        trial.setup.timeout = Duration::from_secs(120);
        trial.stage.window.end_ns = trial.stage.window.start_ns + window_ms * MS;
        trial.stage.cooldown = Duration::from_secs(120);
        let (sample, _) = run(trial);
        if sample.requests > 0 {
            return (sample, server.finish());
        }
    }
    panic!("in twenty seconds this machine answered no request of {bytes} bytes");
}
