//! One WebSocket that listens: sends the plan's body once, if there is one, and counts what comes.
//!
//! It is a request from its opening handshake on, and the close of the server is the response.
//! It may be silent for as long as it likes. Pings are answered and count as comments.

use super::super::InFlight;
use super::super::setting::Setting;
use super::super::websocket::{Came, Websocket};
use super::open::{Books, Closed};
use super::stage::Current;
use crate::clock;
use crate::load::events::Event;
use crate::load::failure::Failure;
use crate::load::outcome::Status;

/// An open listener.
#[derive(Debug)]
pub(super) struct Listener {
    socket: Websocket,
    books: Books,
    /// The latest message: number of the read that completed it, and when that was.
    last: Option<(u64, u64)>,
}

impl Listener {
    /// Begins to listen; `None` when the message could not be sent, which is in the books then.
    pub(super) async fn ask(
        mut socket: Websocket,
        setting: &Setting,
        in_flight: &InFlight,
    ) -> Option<Self> {
        let sent_ns = clock::now_ns();
        setting.recorder.begin();
        in_flight.set(sent_ns);
        let mut books = Books { sent_ns, head_ns: Some(sent_ns), bytes_in: 0, bytes_out: 0 };
        if setting.setup.requests.body.is_some() {
            let sent = socket.send().await;
            books.bytes_out = socket.wire().written();
            if let Err(failure) = sent {
                setting.recorder.end(books.ended(clock::now_ns(), Err(failure)));
                return None;
            }
        }
        Some(Self { socket, books, last: None })
    }

    /// Reads until the connection ends.
    pub(super) async fn read(&mut self, current: &Current) -> Closed {
        let result = self.until_the_end(current).await;
        let is_good = result.is_ok() && self.last.is_some();
        let ended = self.books.ended(clock::now_ns(), result.map(|()| Status::http(200)));
        current.record(|recorder| recorder.end(ended));
        Closed { ended_stream: true, is_good }
    }

    async fn until_the_end(&mut self, current: &Current) -> Result<(), Failure> {
        loop {
            match self.socket.next().await? {
                Came::Message(bytes) => self.message(bytes, current),
                Came::Pong => {}
                Came::Ping => {
                    let at_ns = clock::now_ns();
                    current.record(|recorder| recorder.events(at_ns, |events| events.comment()));
                }
                Came::Close => return Ok(()),
            }
        }
    }

    fn message(&mut self, bytes: u64, current: &Current) {
        let read = self.socket.wire().reads();
        let before = self.last;
        let is_shared = before.is_some_and(|(before, _)| before == read);
        let before_ns = before.map(|(_, at_ns)| at_ns);
        // Messages of one read came at one time.
        let at_ns = before_ns.filter(|_| is_shared).unwrap_or_else(clock::now_ns);
        self.last = Some((read, at_ns));
        self.books.bytes_in += bytes;
        let sent_ns = self.books.sent_ns;
        current.record(|recorder| {
            if before.is_none() {
                recorder.first_event(at_ns.saturating_sub(sent_ns));
            }
            recorder.event(Event { at_ns, before_ns, is_shared, bytes });
        });
    }
}
