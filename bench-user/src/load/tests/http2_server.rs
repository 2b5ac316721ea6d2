//! A server of HTTP/2 that counts: what it answers is up to a closure. And one that frames by hand,
//! to end connections as the protocol allows and no library does on demand.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::rc::Rc;
use std::sync::{Arc, Mutex};

use ::hyper::http::request::Parts;
use bytes::Bytes;
use h2::server::SendResponse;
use tokio::task::LocalSet;

use super::*;

/// What a server saw and did.
#[derive(Debug, Default, Clone)]
pub(super) struct Seen {
    pub(super) accepted: u64,
    pub(super) received: u64,
    pub(super) answered: u64,
    /// Most requests that waited for an answer at a time, on one connection.
    pub(super) at_a_time: u64,
    /// Bodies of requests, by length.
    pub(super) bodies: BTreeMap<usize, u64>,
}

/// A request with all of its body.
pub(super) struct Asked {
    pub(super) head: Parts,
    pub(super) body: Vec<u8>,
    /// Its place on the connection, from 1.
    pub(super) place: u64,
}

/// Serves until the test program ends.
pub(super) struct Http2Server {
    address: SocketAddr,
    seen: Arc<Mutex<Seen>>,
}

impl Http2Server {
    /// `answer` may keep the stream, which then stays open; `streams`: most that are allowed.
    pub(super) fn start<F>(streams: u32, answer: F) -> Self
    where
        F: Fn(&Asked, SendResponse<Bytes>) + Send + Sync + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::new(Mutex::new(Seen::default()));
        let shared = Arc::clone(&seen);
        std::thread::spawn(move || {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            listener.set_nonblocking(true).unwrap();
            let answer = Rc::new(answer);
            LocalSet::new().block_on(&runtime, async {
                let listener = tokio::net::TcpListener::from_std(listener).unwrap();
                while let Ok((stream, _)) = listener.accept().await {
                    stream.set_nodelay(true).unwrap();
                    shared.lock().unwrap().accepted += 1;
                    let (seen, answer) = (Arc::clone(&shared), Rc::clone(&answer));
                    tokio::task::spawn_local(serve(stream, streams, seen, answer));
                }
            });
        });
        Self { address, seen }
    }

    pub(super) fn url(&self) -> Url {
        format!("http://{}/a?b#c", self.address).parse().unwrap()
    }

    pub(super) fn seen(&self) -> Seen {
        self.seen.lock().unwrap().clone()
    }

    /// A stage of so many streams a connection.
    pub(super) fn trial(&self, protocol: Protocol, streams: u32) -> Trial {
        let mut trial = trial_of(Client::Hyper, &[self.url()]);
        (trial.setup.protocol, trial.setup.streams) = (protocol, streams);
        trial
    }
}

async fn serve<F>(
    stream: tokio::net::TcpStream,
    streams: u32,
    seen: Arc<Mutex<Seen>>,
    answer: Rc<F>,
) where
    F: Fn(&Asked, SendResponse<Bytes>) + 'static,
{
    let mut builder = h2::server::Builder::new();
    let Ok(mut connection) = builder.max_concurrent_streams(streams).handshake(stream).await else {
        return;
    };
    let waiting = Rc::new(Cell::new(0));
    let mut place = 0;
    while let Some(Ok((request, respond))) = connection.accept().await {
        place += 1;
        {
            let mut seen = seen.lock().unwrap();
            seen.received += 1;
            waiting.set(waiting.get() + 1);
            seen.at_a_time = seen.at_a_time.max(waiting.get());
        }
        let (seen, answer) = (Arc::clone(&seen), Rc::clone(&answer));
        let waiting = Rc::clone(&waiting);
        tokio::task::spawn_local(async move {
            let (head, mut incoming) = request.into_parts();
            let mut body = Vec::new();
            while let Some(Ok(data)) = incoming.data().await {
                body.extend_from_slice(&data);
                drop(incoming.flow_control().release_capacity(data.len()));
            }
            // Others may come meanwhile, as they do where an answer takes work.
            tokio::task::yield_now().await;
            waiting.set(waiting.get() - 1);
            {
                // Counted before it is sent: a client that has it may end the test at once.
                let mut seen = seen.lock().unwrap();
                seen.answered += 1;
                *seen.bodies.entry(body.len()).or_default() += 1;
            }
            answer(&Asked { head, body, place }, respond);
        });
    }
}

/// Answers `per_connection` requests of each connection, then says GOAWAY with the last of them and
/// answers no other. Serves until the test program ends.
pub(super) fn start_leaving(per_connection: u64) -> (Url, Arc<Mutex<Seen>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap()).parse().unwrap();
    let seen = Arc::new(Mutex::new(Seen::default()));
    let shared = Arc::clone(&seen);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (stream, seen) = (stream.unwrap(), Arc::clone(&shared));
            seen.lock().unwrap().accepted += 1;
            std::thread::spawn(move || leave(stream, &seen, per_connection));
        }
    });
    (url, seen)
}

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const GOAWAY: u8 = 7;

fn leave(mut stream: TcpStream, seen: &Mutex<Seen>, per_connection: u64) -> Option<()> {
    stream.set_nodelay(true).ok()?;
    stream.read_exact(&mut [0; b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".len()]).ok()?;
    write(&mut stream, SETTINGS, 0, [0; 4], &[])?;
    let (mut answered, mut last) = (0, [0; 4]);
    loop {
        let mut head = [0; 9];
        stream.read_exact(&mut head).ok()?;
        let [a, b, c, kind, flags, id @ ..] = head;
        let mut payload = vec![0; u32::from_be_bytes([0, a, b, c]) as usize];
        stream.read_exact(&mut payload).ok()?;
        match kind {
            SETTINGS if flags == 0 => write(&mut stream, SETTINGS, 1, [0; 4], &[])?,
            HEADERS => {
                let mut seen = seen.lock().unwrap();
                seen.received += 1;
                if answered == per_connection {
                    write(&mut stream, GOAWAY, 0, [0; 4], &[last, [0; 4]].concat())?;
                    answered += 1;
                } else if answered < per_connection {
                    (answered, last) = (answered + 1, id);
                    seen.answered += 1;
                    // `:status: 200` is number 8 of the static table.
                    write(&mut stream, HEADERS, 4, id, &[0x88])?;
                    write(&mut stream, DATA, 1, id, b"hello")?;
                }
            }
            _ => {}
        }
    }
}

fn write(stream: &mut TcpStream, kind: u8, flags: u8, id: [u8; 4], payload: &[u8]) -> Option<()> {
    let [_, length @ ..] = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let mut frame = [&length[..], &[kind, flags], &id].concat();
    frame.extend_from_slice(payload);
    stream.write_all(&frame).ok()
}
