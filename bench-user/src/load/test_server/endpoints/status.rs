//! Statuses other than 200: those without a body, failures of the target, redirects (which no
//! client follows unless asked), and bodies that are refused unread.

use super::super::row::{ANY, Ending, Fate, Script};
use super::super::{Request, Row};

pub(super) const ROWS: &[Row] = &[
    // What the head says of a length is the length of what is not sent.
    Row {
        name: "head-500",
        cases: "L35 L49 matrix",
        methods: &["HEAD"],
        pipelines: true,
        script: |request| Script::sized(request, "200 OK", "", &"x".repeat(500)),
        ..Row::BASE
    },
    Row {
        name: "not-modified",
        cases: "L35 matrix",
        pipelines: true,
        script: |_| bodiless(304, "Not Modified"),
        ..Row::BASE
    },
    Row {
        name: "no-content",
        cases: "L35",
        methods: ANY,
        pipelines: true,
        script: |_| bodiless(204, "No Content"),
        ..Row::BASE
    },
    Row {
        name: "created",
        cases: "L07",
        methods: &["POST", "PUT"],
        script: |request| Script::sized(request, "201 Created", "Location: /x\r\n", "made"),
        ..Row::BASE
    },
    Row {
        name: "not-found",
        cases: "L07",
        methods: ANY,
        pipelines: true,
        script: |request| Script::sized(request, "404 Not Found", "", "no such page"),
        ..Row::BASE
    },
    Row {
        name: "server-error",
        cases: "L03 L07",
        methods: ANY,
        pipelines: true,
        script: |request| Script::sized(request, "500 Internal Server Error", "", "oops"),
        ..Row::BASE
    },
    Row { name: "every-third-503", cases: "L07", script: every_third_503, ..Row::BASE },
    Row {
        name: "redir",
        cases: "L48",
        script: |request| redirect(request, "302 Found", "/redir/b/x"),
        ..Row::BASE
    },
    Row {
        name: "redir/b/x",
        cases: "L48",
        script: |request| redirect(request, "303 See Other", "../c/y"),
        ..Row::BASE
    },
    Row {
        name: "redir/c/y",
        cases: "L48",
        script: |request| redirect(request, "307 Temporary Redirect", "final"),
        ..Row::BASE
    },
    Row { name: "redir/c/final", cases: "L48", script: Script::hello, ..Row::BASE },
    // Answers before the body was read, and lets the client finish sending.
    Row {
        name: "early-413",
        cases: "L40 early-413",
        methods: &["POST", "PUT"],
        reads_body: false,
        script: |request| too_large(request, Ending::AnnouncedFin),
        ..Row::BASE
    },
    // The answer is at the client before the reset is.
    Row {
        name: "early-413-reset",
        cases: "L40 early-413",
        methods: &["POST", "PUT"],
        script: |request| too_large(request, Ending::Reset),
        ..Row::BASE
    },
];

/// A status that has no body, with a head that promises one.
fn bodiless(status: u16, reason: &str) -> Script {
    let length = if status == 204 { "" } else { "Content-Length: 500\r\n" };
    Script::new(Fate::Whole(status, 0)).write(format!("HTTP/1.1 {status} {reason}\r\n{length}\r\n"))
}

fn every_third_503(request: &Request) -> Script {
    if request.place.is_multiple_of(3) {
        Script::sized(request, "503 Service Unavailable", "Retry-After: 0\r\n", "busy")
    } else {
        Script::hello(request)
    }
}

fn redirect(request: &Request, status: &str, to: &str) -> Script {
    Script::sized(request, status, &format!("Location: {to}\r\n"), "")
}

fn too_large(request: &Request, ending: Ending) -> Script {
    let status = "413 Content Too Large";
    Script::sized(request, status, "Connection: close\r\n", "too large").ends(ending)
}
