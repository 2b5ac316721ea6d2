//! One event stream through hyper: asked for, checked to be one, read event by event.
//!
//! The time allowed for a request is here that for the head and the first event together; a
//! stream may then be as long and as quiet as it likes. A stream that the server ends whole is a
//! complete response, and its connection is closed with it. Content codings are not asked for.

use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Body as _, Incoming};
use hyper::client::conn::http1::SendRequest;
use hyper::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue};
use hyper::{Request, Response};

use super::super::InFlight;
use super::super::deadline::{Deadline, Timeline};
use super::super::http1::{Driver, exchanging};
use super::super::setting::Setting;
use super::super::stream;
use super::super::wire::{Wire, WireState};
use super::open::{Books, Closed};
use super::stage::Current;
use crate::clock;
use crate::fetch::lenient_client;
use crate::load::events::Event;
use crate::load::failure::{Failure, FailureClass};
use crate::load::outcome::Status;
use crate::load::recorder::IsLive;
use crate::load::requests::Prepared;
use crate::load::sse::{Item, Parser};

/// hyper reads with a buffer of this size, bytes, that each connection keeps, and takes no longer
/// head; its own choice would be 8 KiB and grow.
const READ_BUFFER: usize = 4096;

const EVENT_STREAM: &str = "text/event-stream";

/// A connection before its stream is asked for.
#[derive(Debug)]
pub(super) struct EventConnection {
    sender: SendRequest<Full<Bytes>>,
    driver: Driver,
    wire: Rc<WireState>,
    _live: IsLive,
}

/// An open stream.
#[derive(Debug)]
pub(super) struct EventStream {
    connection: EventConnection,
    body: Incoming,
    parser: Parser,
    status: Status,
    books: Books,
    /// By when the first event must have come.
    limit_ns: u64,
    /// The latest read: its number and when it came.
    read: (u64, u64),
    /// The read that completed the latest event.
    last: Option<(u64, u64)>,
}

impl EventConnection {
    pub(super) async fn open(
        setting: &Setting,
        place: usize,
        again: bool,
    ) -> Result<Self, Failure> {
        let (io, wire) = Wire::for_hyper(stream::open(setting, place, again).await?);
        let mut client = lenient_client();
        client.read_buf_exact_size(Some(READ_BUFFER));
        let (sender, connection) = client.handshake(io).await.map_err(|e| exchanging(&e, &wire))?;
        Ok(Self { sender, driver: Driver::new(connection), wire, _live: setting.live.hold() })
    }

    /// Asks for the stream. What is not one is in the recorder's books when this returns `None`.
    pub(super) async fn ask(
        mut self,
        setting: &Setting,
        timer: &mut Deadline,
        in_flight: &InFlight,
    ) -> Option<EventStream> {
        let request = accepting_events(setting.requests.next());
        let sent_ns = clock::now_ns();
        setting.recorder.begin();
        in_flight.set(sent_ns);
        self.wire.begin();
        let limit_ns = setting.limit_ns(sent_ns);
        let mut books = Books { sent_ns, head_ns: None, bytes_in: 0, bytes_out: 0 };
        let answer = timer.within(limit_ns, self.answer(request, &mut books)).await;
        let answer = answer.unwrap_or_else(|| {
            let message = format!("no head of a response within {:?}", setting.setup.timeout);
            Err(Failure::new(FailureClass::Timeout, message))
        });
        books.bytes_out = self.wire.written();
        let how = match answer {
            Ok(Answer::Stream(response)) => {
                let status = Status::http(response.status().as_u16());
                let body = response.into_body();
                let (parser, read, last) = (Parser::default(), (0, 0), None);
                let connection = self;
                return Some(EventStream {
                    connection,
                    body,
                    parser,
                    status,
                    books,
                    limit_ns,
                    read,
                    last,
                });
            }
            Ok(Answer::Refusal(status)) => Ok(status),
            Err(failure) => Err(failure),
        };
        setting.recorder.end(books.ended(clock::now_ns(), how));
        None
    }

    /// Waits for the head; for the whole response where it is not 2xx.
    async fn answer(
        &mut self,
        request: Request<Full<Bytes>>,
        books: &mut Books,
    ) -> Result<Answer, Failure> {
        let response = self.sender.send_request(request);
        let response = self.driver.until(response).await.map_err(|e| exchanging(&e, &self.wire))?;
        books.head_ns = Some(clock::now_ns());
        if response.status().is_success() {
            return is_event_stream(response.headers()).map(|()| Answer::Stream(response));
        }
        let status = Status::http(response.status().as_u16());
        let mut body = response.into_body();
        while !body.is_end_stream() {
            let Some(frame) = self.driver.until(body.frame()).await else { break };
            let frame = frame.map_err(|e| exchanging(&e, &self.wire))?;
            books.bytes_in += frame.data_ref().map_or(0, |data| data.len() as u64);
        }
        Ok(Answer::Refusal(status))
    }
}

enum Answer {
    Stream(Response<Incoming>),
    Refusal(Status),
}

fn accepting_events(request: &Prepared) -> Request<Full<Bytes>> {
    let mut request = request.template.clone();
    request.headers_mut().entry(ACCEPT).or_insert(HeaderValue::from_static(EVENT_STREAM));
    request
}

fn is_event_stream(headers: &HeaderMap) -> Result<(), Failure> {
    let value = headers.get(CONTENT_TYPE).map_or(&b""[..], HeaderValue::as_bytes);
    let kind = value.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
    if kind.eq_ignore_ascii_case(EVENT_STREAM.as_bytes()) {
        return Ok(());
    }
    let kind = String::from_utf8_lossy(kind);
    let message = format!("the response is `{kind}` and not `{EVENT_STREAM}`");
    Err(Failure::new(FailureClass::Protocol, message))
}

impl EventStream {
    /// Reads until the stream ends.
    pub(super) async fn read(&mut self, current: &Current, timeline: Timeline) -> Closed {
        let mut timer = Deadline::new(timeline);
        let first = timer.within(self.limit_ns, self.until_an_event(current)).await;
        drop(timer);
        let ended_stream = first.is_some();
        let result = match first {
            Some(Ok(true)) => self.until_the_end(current).await,
            Some(Ok(false)) => Ok(()),
            Some(Err(failure)) => Err(failure),
            None => {
                let allowed = Duration::from_nanos(self.limit_ns - self.books.sent_ns);
                let message = format!("no event within {allowed:?}");
                Err(Failure::new(FailureClass::Timeout, message))
            }
        };
        let is_good = result.is_ok() && self.last.is_some();
        let ended = self.books.ended(clock::now_ns(), result.map(|()| self.status));
        current.record(|recorder| recorder.end(ended));
        Closed { ended_stream, is_good }
    }

    /// Whether there was one before the end.
    async fn until_an_event(&mut self, current: &Current) -> Result<bool, Failure> {
        while self.last.is_none() {
            if !self.piece(current).await? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    async fn until_the_end(&mut self, current: &Current) -> Result<(), Failure> {
        while self.piece(current).await? {}
        Ok(())
    }

    /// Takes the next piece of the body, and whether there was one.
    async fn piece(&mut self, current: &Current) -> Result<bool, Failure> {
        if self.body.is_end_stream() {
            return Ok(false);
        }
        let EventConnection { driver, wire, .. } = &mut self.connection;
        let Some(frame) = driver.until(self.body.frame()).await else { return Ok(false) };
        let frame = frame.map_err(|e| exchanging(&e, wire))?;
        // Several pieces (chunks) of one read came at one time.
        if self.read.0 != wire.reads() {
            self.read = (wire.reads(), clock::now_ns());
        }
        if let Some(data) = frame.data_ref() {
            self.books.bytes_in += data.len() as u64;
            self.parse(data, current);
        }
        Ok(true)
    }

    fn parse(&mut self, data: &[u8], current: &Current) {
        let (read, at_ns) = self.read;
        let sent_ns = self.books.sent_ns;
        let last = &mut self.last;
        self.parser.take(data, |item| match item {
            Item::Comment => {
                current.record(|recorder| recorder.events(at_ns, |events| events.comment()));
            }
            Item::Event { bytes } => {
                let before = last.replace((read, at_ns));
                let before_ns = before.map(|(_, at_ns)| at_ns);
                let is_shared = before.is_some_and(|(before, _)| before == read);
                current.record(|recorder| {
                    if before.is_none() {
                        recorder.first_event(at_ns.saturating_sub(sent_ns));
                    }
                    recorder.event(Event { at_ns, before_ns, is_shared, bytes });
                });
            }
        });
    }
}
