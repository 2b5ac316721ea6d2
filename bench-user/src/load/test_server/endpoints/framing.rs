//! Where a body ends, and in how many pieces it comes.

use super::super::row::{ANY, Ending, Fate, Script};
use super::super::{Request, Row};

pub(super) const ROWS: &[Row] = &[
    Row {
        name: "plain",
        cases: "L02 L10 L11 L46",
        methods: ANY,
        pipelines: true,
        script: Script::hello,
        ..Row::BASE
    },
    // The head as it came, so that byte counts of both directions can be compared.
    Row { name: "echo-head", cases: "L47", pipelines: true, script: echo_head, ..Row::BASE },
    Row {
        name: "echo-body",
        cases: "L40 L49",
        methods: &["POST", "PUT"],
        pipelines: true,
        script: echo_body,
        ..Row::BASE
    },
    Row { name: "empty", cases: "L35", methods: ANY, pipelines: true, script: empty, ..Row::BASE },
    Row { name: "big", cases: "L42 L59", pipelines: true, script: big, ..Row::BASE },
    Row { name: "split", cases: "L36 L39", pipelines: true, script: split, ..Row::BASE },
    // Without TCP_NODELAY the second write may wait for the client's delayed ACK.
    Row {
        name: "two-writes",
        cases: "L56",
        no_delay: false,
        pipelines: true,
        script: two_writes,
        ..Row::BASE
    },
    Row { name: "slow-body", cases: "L24", script: slow_body, ..Row::BASE },
    Row { name: "slow-head", cases: "L25", methods: ANY, script: slow_head, ..Row::BASE },
    Row {
        name: "chunked",
        cases: "L39",
        methods: &["GET", "HEAD", "POST"],
        pipelines: true,
        script: |request| chunked_text(request).written_whole(),
        ..Row::BASE
    },
    Row {
        name: "chunked-split",
        cases: "L39",
        pipelines: true,
        script: |request| chunked_text(request).written_bytewise(),
        ..Row::BASE
    },
    Row { name: "chunked-slow", cases: "L39", script: chunked_slow, ..Row::BASE },
    Row {
        name: "chunked-empty",
        cases: "L39",
        pipelines: true,
        script: chunked_empty,
        ..Row::BASE
    },
    // RFC 9112, section 6.3: the transfer coding overrides the length.
    Row { name: "chunked-and-length", cases: "L39", script: chunked_and_length, ..Row::BASE },
    Row { name: "sse", cases: "L26", script: sse, ..Row::BASE },
    Row { name: "eof", cases: "L36", script: eof, ..Row::BASE },
    Row { name: "eof-late", cases: "L36", script: eof_late, ..Row::BASE },
    Row { name: "eof-empty", cases: "L36", script: eof_empty, ..Row::BASE },
];

fn echo_head(request: &Request) -> Script {
    Script::sized(request, "200 OK", "", &request.head)
}

fn echo_body(request: &Request) -> Script {
    Script::sized(request, "200 OK", "", &String::from_utf8_lossy(&request.body))
}

fn empty(request: &Request) -> Script {
    Script::sized(request, "200 OK", "", "")
}

/// A mebibyte: more than one read takes.
fn big(request: &Request) -> Script {
    Script::sized(request, "200 OK", "", &"0123456789abcdef".repeat(1 << 16))
}

fn split(_: &Request) -> Script {
    Script::new(Fate::Whole(200, 5)).bytewise("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
}

fn two_writes(_: &Request) -> Script {
    Script::new(Fate::Whole(200, 5))
        .write("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n")
        .write("hello")
}

fn slow_body(_: &Request) -> Script {
    Script::new(Fate::Whole(200, 2))
        .write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n1")
        .pause_ms(30)
        .write("2")
}

fn slow_head(request: &Request) -> Script {
    Script::hello(request).preceded_by("", 30)
}

/// A response in chunks: its head, and its body where there is one.
struct Chunked {
    text: String,
    fate: Fate,
}

impl Chunked {
    fn written_whole(self) -> Script {
        Script::new(self.fate).write(self.text)
    }

    fn written_bytewise(self) -> Script {
        Script::new(self.fate).bytewise(self.text)
    }
}

/// No space after the colon, an extension, both cases of hexadecimal digits, trailers.
fn chunked_text(request: &Request) -> Chunked {
    let head = "HTTP/1.1 200 OK\r\ntransfer-encoding:chunked\r\n\r\n";
    let body =
        "A;x=\"y\"\r\n0123456789\r\nb\r\nabcdefghijk\r\n3\r\n\r\n\r\r\n0\r\nT: 1\r\nU: 2\r\n\r\n";
    if request.is_head() {
        return Chunked { text: head.to_owned(), fate: Fate::Whole(200, 0) };
    }
    Chunked { text: format!("{head}{body}"), fate: Fate::Whole(200, 10 + 11 + 3) }
}

/// Every place at which a read can end is between two writes that are no accident.
fn chunked_slow(_: &Request) -> Script {
    Script::new(Fate::Whole(200, 16 + 5))
        .write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r")
        .pause_ms(2)
        .write("\n1")
        .pause_ms(2)
        .write("0\r\n01234567")
        .pause_ms(2)
        .write("89abcdef\r")
        .pause_ms(2)
        .write("\n5\r\nhello\r\n0\r")
        .pause_ms(2)
        .write("\n\r")
        .pause_ms(2)
        .write("\n")
}

fn chunked_empty(_: &Request) -> Script {
    Script::new(Fate::Whole(200, 0))
        .write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")
}

fn chunked_and_length(_: &Request) -> Script {
    Script::new(Fate::Whole(200, 5)).write(
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n\
         5\r\nhello\r\n0\r\n\r\n",
    )
}

/// Three events in one chunk, one across two chunks, a comment, and the usual last one.
fn sse(_: &Request) -> Script {
    let chunk = |text: &str| format!("{:x}\r\n{text}\r\n", text.len());
    let parts =
        ["data: 1\n\ndata: 2\n\ndata: 3\n\n", "data: 4", "4\n\n", ": ping\n\n", "data: [DONE]\n\n"];
    let bytes: usize = parts.iter().map(|part| part.len()).sum();
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\
                Transfer-Encoding: chunked\r\n\r\n";
    let script = Script::new(Fate::Whole(200, bytes as u64)).write(head);
    let script = parts.iter().fold(script, |script, part| script.write(chunk(part)).pause_ms(2));
    script.write("0\r\n\r\n")
}

fn eof(_: &Request) -> Script {
    Script::new(Fate::Whole(200, 5)).write_with_fin("HTTP/1.1 200 OK\r\n\r\nhello")
}

fn eof_late(_: &Request) -> Script {
    Script::new(Fate::Whole(200, 5))
        .write("HTTP/1.1 200 OK\r\n\r\nhello")
        .pause_ms(20)
        .ends(Ending::AnnouncedFin)
}

fn eof_empty(_: &Request) -> Script {
    Script::new(Fate::Whole(200, 0)).write("HTTP/1.1 200 OK\r\n\r\n").ends(Ending::AnnouncedFin)
}
