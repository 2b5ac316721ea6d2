//! Heads: odd ones that a lenient client takes, big ones, and those that come before the final
//! one.

use super::super::row::{ANY, Ending, Fate, Script, class};
use super::super::{Request, Row};

pub(super) const ROWS: &[Row] = &[
    Row {
        name: "early-hints",
        cases: "L01 matrix",
        methods: ANY,
        pipelines: true,
        script: |request| preceded(request, EARLY_HINTS, 1, 0),
        ..Row::BASE
    },
    Row {
        name: "early-hints-apart",
        cases: "L01 L25",
        methods: ANY,
        script: |request| preceded(request, EARLY_HINTS, 1, 20),
        ..Row::BASE
    },
    Row {
        name: "continue-unasked",
        cases: "L01 L40 matrix",
        methods: ANY,
        pipelines: true,
        script: |request| preceded(request, "HTTP/1.1 100 Continue\r\n\r\n", 1, 0),
        ..Row::BASE
    },
    Row {
        name: "many-informational",
        cases: "L01",
        pipelines: true,
        script: |request| preceded(request, &EARLY_HINTS.repeat(5), 5, 0),
        ..Row::BASE
    },
    Row {
        name: "control-in-value",
        cases: "L43 matrix",
        script: |request| with(request, "X-Odd: a\u{1}b\r\n"),
        ..Row::BASE
    },
    Row {
        name: "space-in-name",
        cases: "L43 matrix",
        script: |request| with(request, "Bad Name: 1\r\n"),
        ..Row::BASE
    },
    Row {
        name: "space-before-colon",
        cases: "L43",
        script: |request| with(request, "X-Space : 1\r\n"),
        ..Row::BASE
    },
    Row {
        name: "latin-1",
        cases: "L43",
        script: |_| {
            let mut text =
                b"HTTP/1.1 200 OK\r\nX-Latin: \xe9\xff\r\nContent-Length: 5\r\n\r\n".to_vec();
            text.extend(b"hello");
            Script::new(Fate::Whole(200, 5)).write(text)
        },
        ..Row::BASE
    },
    Row {
        name: "folded-header",
        cases: "L43",
        script: |request| with(request, "X-Folded: a\r\n  b\r\n"),
        ..Row::BASE
    },
    Row {
        name: "bare-newlines",
        cases: "L43",
        script: |_| {
            Script::new(Fate::Whole(200, 5)).write("HTTP/1.1 200 OK\nContent-Length: 5\n\nhello")
        },
        ..Row::BASE
    },
    Row {
        name: "no-reason",
        cases: "L43",
        script: |request| Script::sized(request, "200", "", "hello"),
        ..Row::BASE
    },
    Row {
        name: "many-headers",
        cases: "L44 matrix",
        script: |request| {
            with(request, &(0..150).map(|i| format!("X-{i}: {i}\r\n")).collect::<String>())
        },
        ..Row::BASE
    },
    Row {
        name: "head-200k",
        cases: "L44 matrix",
        script: |request| with(request, &big_header(200 << 10)),
        ..Row::BASE
    },
    Row {
        name: "head-600k",
        cases: "L44 matrix",
        script: |request| with(request, &big_header(600 << 10)),
        ..Row::BASE
    },
    // More than any client takes: the limit is a mebibyte.
    Row {
        name: "head-2m",
        cases: "L44",
        script: |_| {
            Script::new(Fate::Failed(class::PARSE))
                .write(format!("HTTP/1.1 200 OK\r\n{}\r\n", big_header(2 << 20)))
                .ends(Ending::Hold)
        },
        ..Row::BASE
    },
];

const EARLY_HINTS: &str = "HTTP/1.1 103 Early Hints\r\nLink: </s>\r\n\r\n";

fn with(request: &Request, headers: &str) -> Script {
    Script::sized(request, "200 OK", headers, "hello")
}

fn big_header(bytes: usize) -> String {
    format!("X-Big: {}\r\n", "b".repeat(bytes))
}

/// So many informational responses and the final one: in one write, or with a pause between.
fn preceded(request: &Request, first: &str, responses: u64, pause_ms: u64) -> Script {
    Script::hello(request).informational(responses).preceded_by(first, pause_ms)
}
