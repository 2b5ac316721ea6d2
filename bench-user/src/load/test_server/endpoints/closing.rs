//! Who ends the connection, and when: announced, in silence, by FIN or by RST.

use std::time::Duration;

use super::super::row::{ANY, Ending, Fate, Script, class};
use super::super::{Request, Row};

pub(super) const ROWS: &[Row] = &[
    Row { name: "close", cases: "L38 matrix", methods: ANY, script: close, ..Row::BASE },
    Row {
        name: "close-with-fin",
        cases: "L38",
        script: |_| Script::new(Fate::Whole(200, 5)).write_with_fin(CLOSE),
        ..Row::BASE
    },
    // The token is one of several, in other letters, in a second header of the name.
    Row {
        name: "close-token",
        cases: "L38",
        script: |request| {
            let headers = "Connection: Keep-Alive\r\ncONNECTION: x-a , CLOSE\r\n";
            Script::sized(request, "200 OK", headers, "hello").ends(Ending::AnnouncedFin)
        },
        ..Row::BASE
    },
    // It says that it closes and does not: the client must.
    Row {
        name: "close-left-open",
        cases: "L38",
        script: |request| close(request).ends(Ending::Hold),
        ..Row::BASE
    },
    Row {
        name: "http-1.0",
        cases: "L36 L38",
        script: |_| {
            Script::new(Fate::Whole(200, 5))
                .write("HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello")
                .ends(Ending::AnnouncedFin)
        },
        ..Row::BASE
    },
    Row {
        name: "http-1.0-keep-alive",
        cases: "L38",
        script: |_| {
            Script::new(Fate::Whole(200, 5)).write(
                "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 5\r\n\r\nhello",
            )
        },
        ..Row::BASE
    },
    Row {
        name: "fin-after-fifth",
        cases: "L08 matrix",
        methods: ANY,
        script: |request| after_fifth(request, Ending::SilentFin),
        ..Row::BASE
    },
    Row {
        name: "reset-after-fifth",
        cases: "L08",
        methods: ANY,
        script: |request| after_fifth(request, Ending::Reset),
        ..Row::BASE
    },
    Row {
        name: "fin-when-idle",
        cases: "L08",
        // With three connections, each is idle for 100 ms.
        rps: Some(30.0),
        script: |request| Script::hello(request).ends(Ending::IdleFin(Duration::from_millis(50))),
        ..Row::BASE
    },
    Row {
        name: "answer-when-idle",
        cases: "unexpected_bytes",
        rps: Some(30.0),
        script: |request| {
            Script::hello(request).ends(Ending::IdleAnswer(Duration::from_millis(50)))
        },
        ..Row::BASE
    },
    Row {
        name: "fifth-swallowed",
        cases: "L08 matrix",
        methods: ANY,
        script: |request| fifth(request, swallowed()),
        ..Row::BASE
    },
    Row {
        name: "fifth-reset",
        cases: "L06 L08",
        methods: ANY,
        script: |request| fifth(request, reset()),
        ..Row::BASE
    },
    Row {
        name: "all-swallowed",
        cases: "L03 L09",
        methods: ANY,
        script: |_| swallowed(),
        ..Row::BASE
    },
    Row {
        name: "all-reset",
        cases: "L03 L06 L09 matrix",
        methods: ANY,
        script: |_| reset(),
        ..Row::BASE
    },
];

const CLOSE: &str = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello";

fn close(request: &Request) -> Script {
    Script::sized(request, "200 OK", "Connection: close\r\n", "hello").ends(Ending::AnnouncedFin)
}

fn after_fifth(request: &Request, ending: Ending) -> Script {
    let hello = Script::hello(request);
    if request.place == 5 { hello.ends(ending) } else { hello }
}

fn fifth(request: &Request, what: Script) -> Script {
    if request.place == 5 { what } else { Script::hello(request) }
}

/// FIN, and no byte before.
fn swallowed() -> Script {
    Script::new(Fate::Swallowed(class::CLOSED_BEFORE_BYTES)).ends(Ending::AnnouncedFin)
}

fn reset() -> Script {
    Script::new(Fate::Swallowed(class::RESET_BEFORE_BYTES)).ends(Ending::Reset)
}
