//! WebSockets: messages that are echoed, as requests.

use std::io::Write as _;
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Condvar, Mutex};
use std::thread::JoinHandle;

use tokio_tungstenite::tungstenite::{Message, WebSocket, accept};

use super::*;
use crate::load::{FailureClass as Class, OpenLoop};
use crate::plan::{Arrivals, CatchUp};

/// What the server saw, over all connections.
#[derive(Debug, Default)]
struct Seen {
    opened: AtomicU64,
    messages: AtomicU64,
    pongs: AtomicU64,
}

/// A blocking server, a thread a connection; it stops when dropped.
struct WsServer {
    address: SocketAddr,
    seen: Arc<Seen>,
    is_over: Arc<AtomicBool>,
    acceptor: Option<JoinHandle<()>>,
}

type Peers<'a> = &'a mut WebSocket<TcpStream>;

impl WsServer {
    /// `answer` is asked for every message; what it returns says whether the connection goes on.
    fn start<F>(answer: F) -> Self
    where
        F: Fn(Message, Peers<'_>) -> bool + Send + Sync + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (seen, is_over) = (Arc::new(Seen::default()), Arc::new(AtomicBool::new(false)));
        let (shared, over, answer) = (Arc::clone(&seen), Arc::clone(&is_over), Arc::new(answer));
        let acceptor = std::thread::spawn(move || {
            let mut peers = Vec::new();
            for stream in listener.incoming().map_while(Result::ok) {
                if over.load(SeqCst) {
                    break;
                }
                let (seen, answer) = (Arc::clone(&shared), Arc::clone(&answer));
                peers.push(std::thread::spawn(move || serve(stream, &seen, &*answer)));
            }
            peers.into_iter().for_each(|peer| peer.join().unwrap());
        });
        Self { address, seen, is_over, acceptor: Some(acceptor) }
    }

    fn trial(&self) -> Trial {
        let mut trial =
            trial_of(Client::Hyper, &[format!("ws://{}/echo?a=1", self.address).parse().unwrap()]);
        trial.setup.protocol = Protocol::Websocket;
        trial
    }

    /// Counts, after all connections have ended.
    fn finish(mut self) -> (u64, u64, u64) {
        self.stop();
        let Seen { opened, messages, pongs } = &*self.seen;
        (opened.load(SeqCst), messages.load(SeqCst), pongs.load(SeqCst))
    }

    fn stop(&mut self) {
        self.is_over.store(true, SeqCst);
        drop(TcpStream::connect(self.address));
        if let Some(acceptor) = self.acceptor.take() {
            acceptor.join().unwrap();
        }
    }
}

impl Drop for WsServer {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.stop();
        }
    }
}

fn serve(stream: TcpStream, seen: &Seen, answer: &dyn Fn(Message, Peers<'_>) -> bool) {
    drop(stream.set_nodelay(true));
    let Ok(mut socket) = accept(stream) else { return };
    seen.opened.fetch_add(1, SeqCst);
    while let Ok(message) = socket.read() {
        match message {
            Message::Pong(_) => _ = seen.pongs.fetch_add(1, SeqCst),
            Message::Text(_) | Message::Binary(_) => {
                seen.messages.fetch_add(1, SeqCst);
                if !answer(message, &mut socket) {
                    return;
                }
            }
            _ => {}
        }
    }
}

fn echo(message: Message, socket: Peers<'_>) -> bool {
    socket.send(message).is_ok()
}

/// A stage against such a server, in which every connection got to send.
fn against_ws(
    answer: fn(Message, Peers<'_>) -> bool,
    change: impl Fn(&mut Trial),
) -> (LoadSample, (u64, u64, u64)) {
    for _ in 0..20 {
        let server = WsServer::start(answer);
        let mut trial = server.trial();
        change(&mut trial);
        let (sample, _) = run(trial);
        if !stood_still(&sample) {
            return (sample, server.finish());
        }
    }
    panic!("in twenty windows this machine never got every connection to send a message");
}

#[test]
fn echoed_messages_are_counted_as_the_server_counts_them_in_the_closed_loop() {
    let (sample, (opened, messages, _)) = against_ws(echo, |_| {});
    let account = &sample.account;
    assert_eq!((account.started, account.ok), (messages, messages), "{:?}", sample.outcomes);
    assert_eq!((opened, sample.upgrade_ns.count), (u64::from(CONNECTIONS), opened));
    assert_eq!(sample.connect_ns.count, opened);
    assert_eq!(sample.bytes_in, 5 * sample.requests, "hello");
    // Two bytes of head and four of mask.
    assert_eq!(sample.bytes_out, 11 * sample.requests);
    assert_eq!(sample.connections.asked, CONNECTIONS);
}

#[test]
fn echoed_messages_are_counted_as_the_server_counts_them_in_the_open_loop() {
    let (sample, (_, messages, _)) = against_ws(echo, |trial| {
        let (arrivals, catch_up) = (Arrivals::Constant, CatchUp::Queue);
        trial.stage.open_loop = Some(OpenLoop { rps: 400.0, arrivals, catch_up, seed: 0 });
    });
    let offered = sample.offered.as_ref().unwrap();
    assert_eq!((sample.account.started, sample.account.ok), (messages, messages));
    assert_eq!(offered.scheduled, offered.sent + offered.unsent);
    // The schedule begins with the load, some time after the window does.
    assert!((1..=100).contains(&offered.scheduled), "{offered:?}");
}

#[test]
fn a_large_binary_message_comes_back_whole_and_pings_are_answered() {
    let (sample, (_, messages, pongs)) = against_ws(
        |message, socket| {
            assert!(message.is_binary());
            socket.write(Message::Ping("beat".into())).is_ok() && socket.send(message).is_ok()
        },
        |trial| trial.setup.requests.body = Some(vec![0xff; 100_000].into()),
    );
    assert_eq!(sample.account.ok, messages);
    assert_eq!(sample.bytes_in, 100_000 * sample.requests);
    // The last one of each connection may find it closed.
    assert!(messages - pongs <= u64::from(CONNECTIONS), "{messages} messages, {pongs} pongs");
}

#[test]
fn a_second_message_with_the_answer_makes_the_answer_doubtful() {
    let (sample, _) = against_ws(
        |message, socket| socket.write(message.clone()).is_ok() && socket.send(message).is_ok(),
        |_| {},
    );
    assert_eq!(sample.account.ok, 0);
    assert_eq!(sample.account.classes[&Class::UnexpectedBytes], sample.account.failed);
}

#[test]
fn a_close_with_the_answer_replaces_the_link_and_one_instead_fails_the_message() {
    let (sample, (opened, messages, _)) = against_ws(
        |message, socket| {
            drop(socket.write(message));
            drop(socket.close(None));
            true
        },
        |_| {},
    );
    assert_eq!((sample.account.ok, sample.account.failed), (messages, 0), "{:?}", sample.outcomes);
    assert_eq!(opened, sample.connect_ns.count);
    let (sample, (_, messages, _)) = against_ws(|_, socket| socket.close(None).is_ok(), |_| {});
    assert_eq!(sample.account.classes, BTreeMap::from([(Class::Protocol, messages)]));
}

#[test]
fn what_breaks_the_protocol_or_the_connection_has_its_class() {
    let classes = |answer| against_ws(answer, |_| {}).0.account.classes;
    let broken = classes(|_, socket| {
        // A reserved opcode.
        socket.get_mut().write_all(b"\x83\x00").is_ok()
    });
    assert!(broken.keys().eq(&[Class::Protocol]), "{broken:?}");
    let gone = classes(|_, _| false);
    assert!(gone.keys().eq(&[Class::ClosedBeforeBytes]), "{gone:?}");
    let cut = classes(|_, socket| {
        drop(socket.get_mut().write_all(b"\x81\x05he"));
        false
    });
    assert!(cut.keys().eq(&[Class::ShortBody]), "{cut:?}");
}

#[test]
fn a_server_that_does_not_upgrade_fails_by_protocol() {
    let server = TestServer::start(|request, peer| {
        assert!(request.head.starts_with("GET /a HTTP/1.1\r\n"), "{}", request.head);
        peer.answer("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
        Next::Close
    });
    let mut trial = trial_of(Client::Hyper, &[server.url("/a")]);
    trial.setup.protocol = Protocol::Websocket;
    trial.setup.requests.body = Some("x".into());
    let sample = run_until(trial, |progress| progress.failed >= 5);
    assert_eq!(sample.account.classes[&Class::Protocol], sample.account.failed);
    assert!(sample.outcomes.examples["protocol"].contains("404"), "{:?}", sample.outcomes);
}

#[test]
fn every_listener_gets_every_message_of_a_fan_out() {
    const CLIENTS: u32 = 20;
    let joined = Arc::new((Mutex::new(0), Condvar::new()));
    let at_server = Arc::clone(&joined);
    let server = WsServer::start(move |message, socket| {
        assert_eq!(message, Message::text("join"));
        let (count, all_there) = &*at_server;
        let mut count = count.lock().unwrap();
        *count += 1;
        if *count > CLIENTS {
            return true;
        }
        all_there.notify_all();
        drop(all_there.wait_while(count, |count| *count < CLIENTS).unwrap());
        for _ in 0..10 {
            drop(socket.write(Message::text("news")));
        }
        drop(socket.write(Message::Ping("beat".into())));
        drop(socket.close(None));
        true
    });
    let mut trial = server.trial();
    trial.setup.websocket = WebsocketMode::Listen;
    trial.setup.requests.body = Some("join".into());
    trial.stage.connections = CLIENTS;
    let sample = run_until(trial, |progress| progress.completed >= u64::from(CLIENTS));
    let events = sample.events.unwrap();
    assert_eq!((events.count, events.bytes, events.comments), (200, 800, 20));
    assert_eq!((events.first_event_ns.count, events.gap_ns.count), (20, 180));
    // All of one client in one write, so in one read.
    assert_eq!((events.shared_reads, events.gap_ns.max), (180, Some(0)));
    assert_eq!((sample.account.ok, sample.account.failed), (20, 0), "{:?}", sample.outcomes);
    let (opened, messages, pongs) = server.finish();
    assert!((20..=opened).contains(&messages), "the message is sent once: {messages}, {opened}");
    assert!(pongs <= 20 && events.reopened <= opened - 20);
}
