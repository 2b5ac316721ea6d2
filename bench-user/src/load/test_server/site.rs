//! A server with every endpoint of the table, which keeps a tally of what it did and of what a
//! right client must say of that.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use url::Url;

use super::endpoints;
use super::row::{Act, Ending, Fate, Script};
use super::{Next, Peer, Request, Row, TestServer};

/// What one endpoint saw and did, and what a client must say of it.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(in crate::load) struct Tally {
    /// Connections whose first request was for it.
    pub(in crate::load) connections: u64,
    /// Requests read whole.
    pub(in crate::load) requests: u64,
    /// Their bytes, head and body.
    pub(in crate::load) request_bytes: u64,
    /// How long they were, each length once.
    pub(in crate::load) request_lengths: BTreeSet<u64>,
    /// Bytes of their bodies, without framing.
    pub(in crate::load) request_body_bytes: u64,
    /// Whole responses by status, 1xx not among them.
    pub(in crate::load) whole: BTreeMap<u16, u64>,
    /// Body bytes of those, without framing.
    pub(in crate::load) body_bytes: BTreeMap<u16, u64>,
    /// Responses with a status of 1xx.
    pub(in crate::load) informational: u64,
    /// Requests that failed for the client, by class.
    pub(in crate::load) failed: BTreeMap<&'static str, u64>,
    /// Requests that the client must have sent again.
    pub(in crate::load) resent: u64,
    /// Connections on which a response came while no request was under way.
    pub(in crate::load) unasked: u64,
    /// Connections that this side ended at once, or made the client end.
    pub(in crate::load) ended: u64,
    /// Connections that this side reset after a whole response: on each, the client may have
    /// sent one more request that nobody saw.
    pub(in crate::load) reset_after_whole: u64,
    /// Connections on which bytes came after a FIN that the client could not know of: a request
    /// each, to be sent again or failed.
    pub(in crate::load) met_close: u64,
    /// Connections on which bytes came although the client knew that nobody would answer.
    pub(in crate::load) sent_too_much: u64,
    /// What was wrong with the first request that was not as it should be.
    pub(in crate::load) odd: Option<String>,
}

impl Tally {
    pub(in crate::load) fn all_whole(&self) -> u64 {
        self.whole.values().sum()
    }

    fn read(&mut self, request: &Request) {
        self.connections += u64::from(request.place == 1);
        self.requests += 1;
        self.request_bytes += request.wire_bytes;
        self.request_lengths.insert(request.wire_bytes);
        self.request_body_bytes += request.body.len() as u64;
        if self.odd.is_none() {
            self.odd = what_is_odd(request).map(|what| format!("{what}: {:?}", request.head));
        }
    }

    fn expect(&mut self, script: &Script, request: &Request) {
        match script.fate {
            Fate::Whole(status, bytes) => {
                *self.whole.entry(status).or_default() += 1;
                *self.body_bytes.entry(status).or_default() += bytes;
                self.reset_after_whole += u64::from(script.ending == Ending::Reset);
            }
            Fate::Swallowed(_) if request.place > 1 && request.is_idempotent() => self.resent += 1,
            Fate::Failed(class) | Fate::Swallowed(class) => {
                *self.failed.entry(class).or_default() += 1;
            }
        }
        self.informational += script.informational;
        let may_stay =
            matches!(script.ending, Ending::Keep | Ending::IdleFin(_) | Ending::IdleAnswer(_));
        self.ended += u64::from(!may_stay);
    }
}

/// Origin form, one `Host`, no fragment, no encoding asked for, and one way to tell the length
/// of a body where there is one.
fn what_is_odd(request: &Request) -> Option<&'static str> {
    let count = |name| request.values(name).count();
    let framed = count("content-length") + count("transfer-encoding");
    let has_body = matches!(request.method.as_str(), "POST" | "PUT" | "PATCH");
    let wrong = [
        (!request.path.starts_with('/'), "the target is not in origin form"),
        (request.path.contains('#'), "the target has a fragment"),
        (count("host") != 1, "not one Host"),
        (count("accept-encoding") != 0, "an encoding is asked for"),
        (framed > 1 || (has_body && framed == 0), "the body's length is not told once"),
        (!has_body && framed > 0, "a body where none belongs"),
    ];
    wrong.iter().find(|(is_wrong, _)| *is_wrong).map(|(_, what)| *what)
}

/// A running server with every endpoint.
#[derive(Debug)]
pub(in crate::load) struct Site {
    server: TestServer,
    tallies: Arc<Mutex<BTreeMap<&'static str, Tally>>>,
}

impl Site {
    pub(in crate::load) fn start() -> Self {
        let tallies = Arc::new(Mutex::new(BTreeMap::new()));
        let shared = Arc::clone(&tallies);
        let behaviour = move |request: &Request, peer: &mut Peer| {
            let row = row_of(request);
            let script = (row.script)(request);
            let mut turn = Turn { row, tallies: &shared, peer };
            // Before a byte is written: a client that has it may end the test at once.
            turn.tally(|tally| {
                tally.read(request);
                tally.expect(&script, request);
            });
            turn.perform(script)
        };
        let reads_body = |request: &Request| row_of(request).reads_body;
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = TestServer::with_rule(listener, Arc::new(reads_body), Arc::new(behaviour));
        Self { server, tallies }
    }

    pub(in crate::load) fn address(&self) -> SocketAddr {
        self.server.address()
    }

    pub(in crate::load) fn url(&self, row: &Row) -> Url {
        self.server.url(&format!("/{}?a=b#c", row.name))
    }

    /// See [`TestServer::freeze`].
    pub(in crate::load) fn freeze(&self, start_ns: u64, length: Duration) {
        self.server.freeze(start_ns, length);
    }

    /// Tallies by name of the endpoint once every client has closed, and how many connections
    /// were taken in all.
    pub(in crate::load) fn finish(self) -> (BTreeMap<&'static str, Tally>, u64) {
        let accepted = self.server.finish().accepted;
        (std::mem::take(&mut *self.tallies.lock().unwrap()), accepted)
    }
}

fn row_of(request: &Request) -> &'static Row {
    let path = request.path.split('?').next().unwrap_or_default();
    let row = endpoints::row(path.trim_start_matches('/'));
    row.unwrap_or_else(|| panic!("no endpoint for {:?}", request.head))
}

/// One request at an endpoint.
struct Turn<'a> {
    row: &'static Row,
    tallies: &'a Mutex<BTreeMap<&'static str, Tally>>,
    peer: &'a mut Peer,
}

impl Turn<'_> {
    fn tally(&self, change: impl FnOnce(&mut Tally)) {
        change(self.tallies.lock().unwrap().entry(self.row.name).or_default());
    }

    fn perform(&mut self, script: Script) -> Next {
        self.peer.set_nodelay(self.row.no_delay);
        if matches!(script.fate, Fate::Whole(..)) {
            self.peer.count_answer();
        }
        for act in script.acts {
            self.act(act);
        }
        match script.ending {
            Ending::Keep => return Next::Keep,
            Ending::Reset => return Next::Reset,
            Ending::IdleFin(time) | Ending::IdleAnswer(time)
                if !self.peer.incoming.is_silent_for(time) =>
            {
                return Next::Keep;
            }
            Ending::IdleAnswer(_) => self.answer_nobody(),
            Ending::IdleFin(_) => {
                self.tally(|tally| tally.ended += 1);
                self.close_in_silence();
            }
            Ending::SilentFin => self.close_in_silence(),
            Ending::AnnouncedFin => {
                let bytes = self.peer.end_sending();
                self.sent_after_the_end(bytes);
            }
            Ending::Hold => {
                let bytes = self.peer.incoming.rest();
                self.sent_after_the_end(bytes);
            }
        }
        Next::Close
    }

    fn close_in_silence(&mut self) {
        let was_met = self.peer.end_sending() > 0;
        self.tally(|tally| tally.met_close += u64::from(was_met));
    }

    /// What comes after the last answer is the rest of a body that was not read, or too much.
    fn sent_after_the_end(&self, bytes: u64) {
        self.tally(|tally| {
            if self.row.reads_body {
                tally.sent_too_much += u64::from(bytes > 0);
            } else {
                tally.request_bytes += bytes;
                tally.request_body_bytes += bytes;
            }
        });
    }

    fn answer_nobody(&mut self) {
        self.peer
            .put(b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
        let bytes = self.peer.incoming.rest();
        self.tally(|tally| {
            tally.ended += 1;
            if bytes == 0 {
                tally.unasked += 1;
            } else {
                tally.requests += 1;
                tally.request_bytes += bytes;
                *tally.whole.entry(408).or_default() += 1;
                tally.body_bytes.entry(408).or_default();
            }
        });
    }

    fn act(&mut self, act: Act) {
        match act {
            Act::Write(bytes) => _ = self.peer.put(&bytes),
            Act::Bytewise(bytes) => bytes.iter().for_each(|byte| _ = self.peer.put(&[*byte])),
            Act::WriteWithFin(bytes) => self.peer.put_with_fin(&bytes),
            Act::Pause(time) => std::thread::sleep(time),
            Act::Drip(time) => {
                while self.peer.put(b".") {
                    std::thread::sleep(time);
                }
            }
        }
    }
}
