//! What is fuzzed: one function for each format whose bytes come from the network or from a file.
//!
//! Each takes any bytes and must return: an error is an answer, a panic or an endless loop is a
//! finding. What was understood is also used, because a value that no writer would have made is
//! where later code breaks. `fuzz_targets/` calls them under libFuzzer, and the ordinary tests
//! include this file and call them with a few thousand seeded mutations of `seeds/`, so that the
//! targets cannot rot. A new target is a function here, its line in [`ENTRIES`], a file in
//! `fuzz_targets/` with its `[[bin]]`, and a folder of seeds.

use std::io;
use std::path::Path;

use bench_user::plan::{ClaimSpec, file, validate};
use bench_user::report::{self, Format};
use bench_user::{analyze, claims as checks, load, record as store};
use url::Url;

/// Takes any bytes and returns.
pub type Entry = fn(&[u8]);

/// Every entry by its name, which is that of its target and of its seeds.
pub const ENTRIES: [(&str, Entry); 6] = [
    ("claims", claims),
    ("http1", http1),
    ("links", links),
    ("plan", plan),
    ("record", record),
    ("sse", sse),
];

/// A plan file, and its checks.
pub fn plan(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match file::parse(text, "plan.toml") {
        Ok(plan) => drop(validate::plan(&plan)),
        Err(error) => assert!(!error.to_string().contains('\n'), "one sentence: {error}"),
    }
}

/// Claims, and whether they can be understood.
pub fn claims(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    for claim in three_claims(text) {
        drop(checks::validate(&[claim], &["a", "b"]));
    }
}

/// Both forms of a claim from one text: its first line is the metric, the second what is expected
/// of it (a bound, and a change), the rest a CEL expression.
#[must_use]
pub fn three_claims(text: &str) -> [ClaimSpec; 3] {
    let mut parts = text.splitn(3, '\n').map(str::to_owned);
    let (metric, expect, cel) = (parts.next(), parts.next(), parts.next());
    let named = ClaimSpec { id: "c".into(), ..ClaimSpec::default() };
    let bound = ClaimSpec { metric, expect, of: Some("a".into()), ..named.clone() };
    let change = ClaimSpec { against: Some("b".into()), ..bound.clone() };
    [bound, change, ClaimSpec { cel, ..named }]
}

/// A page of a crawled site.
pub fn links(data: &[u8]) {
    let page: Url = "http://h.test/a/b?c#d".parse().expect("it is an address");
    let html = String::from_utf8_lossy(data);
    for assets in [false, true] {
        for url in load::links(&page, &html, assets) {
            assert_eq!(url.fragment(), None, "{url}");
        }
    }
}

/// Responses of HTTP/1.1; the first byte says in pieces of which size they come.
pub fn http1(data: &[u8]) {
    let Some((size, data)) = data.split_first() else { return };
    let in_pieces = || data.chunks(usize::from(*size).max(1));
    for is_head in [false, true] {
        let whole = load::responses_in([data], is_head);
        assert_eq!(load::responses_in(in_pieces(), is_head), whole, "in pieces of {size}");
    }
}

/// An event stream; the first byte says in pieces of which size it comes.
pub fn sse(data: &[u8]) {
    let Some((size, data)) = data.split_first() else { return };
    let found = load::events_in(data.chunks(usize::from(*size).max(1)));
    assert_eq!(found, load::events_in([data]), "in pieces of {size}");
    assert!(found.bytes <= data.len() as u64 && found.events + found.comments <= data.len() as u64);
}

/// A stored run, and everything that is made from one.
pub fn record(data: &[u8]) {
    let Ok(run) = store::parse(data, Path::new("run.json")) else { return };
    for format in [Format::Text, Format::Markdown, Format::Json] {
        drop(report::render(&run, format, &mut io::sink()));
    }
    drop(report::csv(&run, &mut io::sink()));
    drop(report::hlog(&run, &mut io::sink()));
    drop(analyze::analyze(&run));
    let targets: Vec<&str> = run.targets.iter().map(|target| target.name.as_str()).collect();
    if checks::validate(&run.plan.claims, &targets).is_ok() {
        drop(checks::check(&run, &run.plan.claims));
    }
}
