//! Answers that are not whole, not HTTP, never come, or are followed by what nobody asked for.

use std::time::Duration;

use super::super::row::{Ending, Fate, Script, class};
use super::super::{Request, Row};

pub(super) const ROWS: &[Row] = &[
    short("short-body", |_| failed(class::SHORT_BODY).write(SHORT_TEXT).ends(Ending::AnnouncedFin)),
    short("short-body-with-fin", |_| failed(class::SHORT_BODY).write_with_fin(SHORT_TEXT)),
    short("short-chunk", |_| cut(class::SHORT_BODY, "5\r\nhel", Ending::AnnouncedFin)),
    // Whole chunks, and the last one of no length is missing.
    short("no-last-chunk", |_| cut(class::SHORT_BODY, "5\r\nhello\r\n", Ending::AnnouncedFin)),
    short("no-trailer-end", |_| {
        cut(class::SHORT_BODY, "5\r\nhello\r\n0\r\n", Ending::AnnouncedFin)
    }),
    Row {
        name: "reset-in-body",
        cases: "L06",
        script: |_| failed(class::RESET_MID_BODY).write(SHORT_TEXT).ends(Ending::Reset),
        ..Row::BASE
    },
    short("head-cut", |_| failed(class::SHORT_BODY).write(HEAD_CUT).ends(Ending::AnnouncedFin)),
    // An answer had begun, so it was no keep-alive close.
    short("fin-after-hints", |_| {
        let script = failed(class::SHORT_BODY).write(HINTS).informational(1);
        script.ends(Ending::AnnouncedFin)
    }),
    Row {
        name: "reset-in-head",
        cases: "L06",
        script: |_| failed(class::RESET_MID_BODY).write(HEAD_CUT).ends(Ending::Reset),
        ..Row::BASE
    },
    // Nobody asked for another protocol.
    Row {
        name: "switching-protocols",
        cases: "L06",
        script: |_| {
            let head =
                "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n";
            failed(class::PROTOCOL).write(head).ends(Ending::Hold)
        },
        ..Row::BASE
    },
    parse("garbage", |_| failed(class::PARSE).write("garbage\r\n\r\n").ends(Ending::Hold)),
    parse("bad-status", |_| head(class::PARSE, "HTTP/1.1 2x0 OK", "Content-Length: 5")),
    parse("bad-version", |_| head(class::PARSE, "HTTP/3.7 200 OK", "Content-Length: 5")),
    parse("bad-length", |_| head(class::PARSE, "HTTP/1.1 200 OK", "Content-Length: 5x")),
    parse("negative-length", |_| head(class::PARSE, "HTTP/1.1 200 OK", "Content-Length: -5")),
    // More than 64 bits hold.
    parse("huge-length", |_| {
        head(class::PARSE, "HTTP/1.1 200 OK", "Content-Length: 99999999999999999999")
    }),
    parse("two-lengths", |_| {
        head(class::PARSE, "HTTP/1.1 200 OK", "Content-Length: 5\r\nContent-Length: 6")
    }),
    parse("bad-chunk-size", |_| cut(class::PARSE, "xyz\r\n", Ending::Hold)),
    // The chunk goes on past its size.
    parse("bad-chunk-end", |_| cut(class::PARSE, "5\r\nhello world\r\n", Ending::Hold)),
    parse("huge-chunk-size", |_| cut(class::PARSE, "fffffffffffffffff\r\n", Ending::Hold)),
    // Where the answer ended is in doubt when more is there before anybody asked for it.
    Row {
        name: "extra-bytes",
        cases: "unexpected_bytes",
        script: |_| extra(&format!("{HELLO}more")),
        ..Row::BASE
    },
    Row {
        name: "extra-response",
        cases: "unexpected_bytes",
        script: |_| extra(&format!("{HELLO}HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx")),
        ..Row::BASE
    },
    // The body that a 304 must not have.
    Row {
        name: "not-modified-with-body",
        cases: "L35 unexpected_bytes",
        script: |_| extra("HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\nhello"),
        ..Row::BASE
    },
    never("never", |_| failed(class::TIMEOUT).ends(Ending::Hold)),
    never("never-whole-head", |_| failed(class::TIMEOUT).write(HEAD_CUT).ends(Ending::Hold)),
    never("never-after-hints", |_| {
        failed(class::TIMEOUT).write(HINTS).informational(1).ends(Ending::Hold)
    }),
    never("never-whole-body", |_| failed(class::TIMEOUT).write(SHORT_TEXT).ends(Ending::Hold)),
    // The time limit is for the whole answer, however busy it looks.
    never("drip", |_| {
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n";
        failed(class::TIMEOUT).write(head).drip_ms(5).ends(Ending::Hold)
    }),
    never("drip-in-head", |_| {
        failed(class::TIMEOUT).write("HTTP/1.1 200 OK\r\nX: ").drip_ms(5).ends(Ending::Hold)
    }),
];

const HELLO: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

const HEAD_CUT: &str = "HTTP/1.1 200 OK\r\nContent-Le";

const HINTS: &str = "HTTP/1.1 103 Early Hints\r\n\r\n";

const SHORT_TEXT: &str = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello";

const fn short(name: &'static str, script: fn(&Request) -> Script) -> Row {
    Row { name, cases: "L36 matrix", script, ..Row::BASE }
}

const fn parse(name: &'static str, script: fn(&Request) -> Script) -> Row {
    Row { name, cases: "L06", script, ..Row::BASE }
}

/// What only a time limit ends.
const fn never(name: &'static str, script: fn(&Request) -> Script) -> Row {
    let timeout = Some(Duration::from_millis(60));
    Row { name, cases: "L04 L05 L42 matrix", timeout, script, ..Row::BASE }
}

fn failed(class: &'static str) -> Script {
    Script::new(Fate::Failed(class))
}

/// A head that no client can take, with its body; the connection is left to the client.
fn head(class: &'static str, status_line: &str, header: &str) -> Script {
    failed(class).write(format!("{status_line}\r\n{header}\r\n\r\nhello")).ends(Ending::Hold)
}

/// A chunked body that breaks off or breaks the rules.
fn cut(class: &'static str, body: &str, ending: Ending) -> Script {
    let text = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{body}");
    failed(class).write(text).ends(ending)
}

/// All in one write; the client must close.
fn extra(text: &str) -> Script {
    failed(class::UNEXPECTED_BYTES).write(text).ends(Ending::Hold)
}
