//! What a row of the endpoint table is: what the server does to one request, and what a right
//! client must then say of it. The second is written beside the first by hand, so that a client
//! is judged by the table and never by another client.

use std::time::Duration;

use super::Request;

/// A named endpoint.
#[derive(Debug, Clone, Copy)]
pub(in crate::load) struct Row {
    /// Its path without the leading slash.
    pub(in crate::load) name: &'static str,
    /// Where the behaviour is described: cases of the study of load generators, and the rows of
    /// its matrix of measured tools.
    pub(in crate::load) cases: &'static str,
    /// The methods it makes sense with.
    pub(in crate::load) methods: &'static [&'static str],
    /// The client's time limit that it needs; `None`: more than the server ever takes.
    pub(in crate::load) timeout: Option<Duration>,
    /// Requests per second of the stage at which an open loop meets what the row is about;
    /// `None`: any.
    pub(in crate::load) rps: Option<f64>,
    /// The request body is read before the answer.
    pub(in crate::load) reads_body: bool,
    /// Small writes leave at once.
    pub(in crate::load) no_delay: bool,
    /// Several requests may be under way on one connection.
    pub(in crate::load) pipelines: bool,
    /// What happens to a request.
    pub(in crate::load) script: fn(&Request) -> Script,
}

/// Methods of rows whose answer has a body of its own.
pub(super) const WITH_BODY: &[&str] = &["GET", "POST"];

/// Methods of rows that answer each in its way.
pub(super) const ANY: &[&str] = &["GET", "HEAD", "POST", "PUT"];

impl Row {
    /// What most rows are; each names and scripts its own.
    pub(super) const BASE: Self = Self {
        name: "",
        cases: "",
        methods: WITH_BODY,
        timeout: None,
        rps: None,
        reads_body: true,
        no_delay: true,
        pipelines: false,
        script: |_| Script::new(Fate::Failed(NOT_SCRIPTED)),
    };
}

const NOT_SCRIPTED: &str = "not scripted";

/// How a failure is named in a report; the same words as in the record.
pub(in crate::load) mod class {
    pub(in crate::load) const RESET_BEFORE_BYTES: &str = "reset_before_bytes";
    pub(in crate::load) const RESET_MID_BODY: &str = "reset_mid_body";
    pub(in crate::load) const CLOSED_BEFORE_BYTES: &str = "closed_before_bytes";
    pub(in crate::load) const SHORT_BODY: &str = "short_body";
    pub(in crate::load) const PARSE: &str = "parse";
    pub(in crate::load) const PROTOCOL: &str = "protocol";
    pub(in crate::load) const UNEXPECTED_BYTES: &str = "unexpected_bytes";
    pub(in crate::load) const TIMEOUT: &str = "timeout";
}

/// What a right client says of one request that the server has read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::load) enum Fate {
    /// A whole response: its status, and its body's bytes without framing.
    Whole(u16, u64),
    /// A failure of this class.
    Failed(&'static str),
    /// The connection ended and no byte of an answer came. Where another answer came on it
    /// before, and the method allows it, the request is sent again; else it failed by this class.
    Swallowed(&'static str),
}

/// One act of the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Act {
    /// In one write.
    Write(Vec<u8>),
    /// A write for each byte.
    Bytewise(Vec<u8>),
    /// In one segment with the FIN that ends the script.
    WriteWithFin(Vec<u8>),
    Pause(Duration),
    /// One byte now and one after every pause, until the client has gone.
    Drip(Duration),
}

/// What becomes of the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// The next request is awaited.
    Keep,
    /// FIN that the client can know of from the response: it must send nothing more.
    AnnouncedFin,
    /// FIN that it cannot know of: it may have sent the next request, which nobody answers.
    SilentFin,
    /// FIN on silence of this length, silent too.
    IdleFin(Duration),
    /// On silence of this length, a response that nobody asked for. To a client that sends its
    /// next request at the same time it is the answer to that.
    IdleAnswer(Duration),
    /// RST. What the client sent since is not seen.
    Reset,
    /// Open and silent until the client closes, as it must: it must send nothing more.
    Hold,
}

/// All that happens to one request.
#[derive(Debug, Clone)]
pub(in crate::load) struct Script {
    pub(super) acts: Vec<Act>,
    pub(super) ending: Ending,
    pub(super) fate: Fate,
    /// Responses with a status of 1xx.
    pub(super) informational: u64,
}

impl Script {
    pub(super) fn new(fate: Fate) -> Self {
        Self { acts: Vec::new(), ending: Ending::Keep, fate, informational: 0 }
    }

    /// Status line, headers and `Content-Length`, in one write with the body; to a `HEAD` the
    /// same without the body.
    pub(super) fn sized(request: &Request, status: &str, headers: &str, body: &str) -> Self {
        let body_sent = if request.is_head() { "" } else { body };
        let text = format!(
            "HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\n\r\n{body_sent}",
            body.len()
        );
        let number = status.split(' ').next().and_then(|number| number.parse().ok());
        let fate =
            Fate::Whole(number.expect("a status begins with its number"), body_sent.len() as u64);
        Self::new(fate).write(text)
    }

    /// `200` with five bytes.
    pub(super) fn hello(request: &Request) -> Self {
        Self::sized(request, "200 OK", "", "hello")
    }

    fn then(mut self, act: Act) -> Self {
        self.acts.push(act);
        self
    }

    pub(super) fn write(self, bytes: impl Into<Vec<u8>>) -> Self {
        self.then(Act::Write(bytes.into()))
    }

    pub(super) fn bytewise(self, bytes: impl Into<Vec<u8>>) -> Self {
        self.then(Act::Bytewise(bytes.into()))
    }

    pub(super) fn pause_ms(self, ms: u64) -> Self {
        self.then(Act::Pause(Duration::from_millis(ms)))
    }

    pub(super) fn drip_ms(self, ms: u64) -> Self {
        self.then(Act::Drip(Duration::from_millis(ms)))
    }

    /// Written, and FIN with it in one segment.
    pub(super) fn write_with_fin(self, bytes: impl Into<Vec<u8>>) -> Self {
        self.then(Act::WriteWithFin(bytes.into())).ends(Ending::AnnouncedFin)
    }

    pub(super) fn ends(self, ending: Ending) -> Self {
        Self { ending, ..self }
    }

    /// Says how many responses with a status of 1xx are among what is written.
    pub(super) fn informational(self, n: u64) -> Self {
        Self { informational: n, ..self }
    }

    /// Other bytes first: in the same write, or with a pause between.
    pub(super) fn preceded_by(mut self, first: &str, pause_ms: u64) -> Self {
        match self.acts.first_mut() {
            Some(Act::Write(bytes)) if pause_ms == 0 => drop(bytes.splice(..0, first.bytes())),
            _ => {
                let pause = Act::Pause(Duration::from_millis(pause_ms));
                self.acts.splice(..0, [Act::Write(first.into()), pause]);
            }
        }
        self
    }

    /// The least time from the request to the end of its answer.
    pub(in crate::load) fn takes(&self) -> Duration {
        let pause = |act: &Act| if let Act::Pause(time) = act { *time } else { Duration::ZERO };
        self.acts.iter().map(pause).sum()
    }
}
