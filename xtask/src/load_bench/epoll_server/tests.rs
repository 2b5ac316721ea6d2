//! The server on loopback, one event at a time.

use super::*;

const REQUEST: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

/// Only a broken server keeps a test waiting so long.
const PATIENCE: Timespec = Timespec { tv_sec: 60, tv_nsec: 0 };

/// A server and a connection to it that is not accepted yet.
fn connected() -> (Server, TcpStream) {
    let server = Server::listen().expect("loopback is there");
    let address = server.listener.local_addr().expect("it listens");
    (server, TcpStream::connect(address).expect("the kernel takes connections"))
}

fn turn_until(server: &mut Server, done: impl Fn(&Server) -> bool) {
    while !done(server) {
        assert!(server.turn(Some(&PATIENCE)).expect("something happens on loopback"));
    }
}

#[test]
fn each_request_gets_one_response_however_it_is_cut() {
    let (mut server, mut client) = connected();
    let (begin, end) = REQUEST.split_at(REQUEST.len() - 2);
    client.write_all(format!("{REQUEST}{REQUEST}{begin}").as_bytes()).expect("room");
    turn_until(&mut server, |server| server.answered == 2);
    client.write_all(format!("{end}{begin}").as_bytes()).expect("room");
    turn_until(&mut server, |server| server.answered == 3);
    client.write_all(end.as_bytes()).expect("room");
    turn_until(&mut server, |server| server.answered == 4);

    let mut received = vec![0; 4 * (HEAD.len() + BODY_BYTES)];
    client.read_exact(&mut received).expect("four responses");
    for response in received.chunks(HEAD.len() + BODY_BYTES) {
        assert!(response.starts_with(HEAD.as_bytes()) && response.ends_with(b"."));
    }
    assert!(HEAD.contains(&format!("Content-Length: {BODY_BYTES}\r\n")));
}

#[test]
fn a_client_that_goes_away_is_forgotten() {
    let (mut server, client) = connected();
    turn_until(&mut server, |server| server.open == 1);
    drop(client);
    turn_until(&mut server, |server| server.open == 0);
    assert!(server.connections.iter().all(Option::is_none));
}

#[test]
fn responses_wait_for_a_client_that_does_not_read() {
    let (mut server, mut client) = connected();
    turn_until(&mut server, |server| server.open == 1);
    let is_full = |server: &Server| server.connections.iter().flatten().any(Connection::waits);
    let mut sent = 0;
    while !is_full(&server) {
        client.write_all(REQUEST.repeat(100).as_bytes()).expect("the server reads");
        sent += 100;
        turn_until(&mut server, |server| server.answered == sent || is_full(server));
    }
    let bytes = (HEAD.len() + BODY_BYTES) * usize::try_from(server.answered).expect("few");
    let reader = std::thread::spawn(move || client.read_exact(&mut vec![0; bytes]));
    turn_until(&mut server, |server| !is_full(server));
    reader.join().expect("no panic").expect("every response that was counted arrives");
}
