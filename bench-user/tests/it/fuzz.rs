//! The entries of the fuzz targets on the compiler that everybody has: a few thousand seeded
//! mutations of every seed, so that a target which no longer compiles or a parser that panics is
//! seen without a fuzzer.

#![expect(clippy::unwrap_used, reason = "what cannot be had fails its test")]

use std::panic::catch_unwind;
use std::path::PathBuf;

use bench_user::plan::{file, validate};
use bench_user::{load, record};

use super::golden;
use super::runs;

#[path = "../../fuzz/src/lib.rs"]
#[expect(unreachable_pub, reason = "it is the library of the fuzz targets too")]
mod entries;

/// Mutations of one entry, over all its seeds. A record that is still one is analysed and reported in
/// full, which takes a thousand times longer than to refuse it.
fn mutations(entry: &str) -> usize {
    if entry == "record" { 300 } else { 3000 }
}

/// What makes trouble in the formats that are parsed.
const PIECES: [&str; 24] = [
    "\0",
    "\n",
    "\"",
    "'",
    "\\u0000",
    "{",
    "}",
    "[[",
    "(",
    ")",
    "<",
    ">",
    "&#x110000;",
    "=",
    "-",
    "%",
    ".",
    "inf",
    "null",
    "1e308",
    "18446744073709551615",
    "-1",
    "\u{e9}",
    "//",
];

fn seeds(entry: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = golden::below("../fuzz/seeds", entry);
    let mut paths: Vec<_> =
        std::fs::read_dir(&folder).unwrap().map(|file| file.unwrap().path()).collect();
    paths.sort();
    paths.into_iter().map(|path| (path.clone(), std::fs::read(path).unwrap())).collect()
}

fn mutated(seed: &[u8], random: &mut fastrand::Rng) -> Vec<u8> {
    let mut bytes = seed.to_vec();
    for _ in 0..random.usize(1..=4) {
        let at = random.usize(..=bytes.len());
        let to = (at + random.usize(..=16)).min(bytes.len());
        match random.u8(..6) {
            0 => bytes.truncate(at),
            1 => drop(bytes.drain(at..to)),
            2 => bytes.extend_from_within(at..to),
            3 => bytes[at..to].iter_mut().for_each(|byte| *byte = random.u8(..)),
            4 => drop(bytes.splice(at..at, piece(random))),
            // A number in place of another keeps the rest well-formed.
            _ => {
                let digits = number_from(&bytes, at);
                drop(bytes.splice(digits, piece(random)));
            }
        }
    }
    bytes
}

fn piece(random: &mut fastrand::Rng) -> impl Iterator<Item = u8> + use<> {
    PIECES[random.usize(..PIECES.len())].bytes()
}

/// The first run of digits at or behind a place.
fn number_from(bytes: &[u8], at: usize) -> std::ops::Range<usize> {
    let start = bytes[at..].iter().position(u8::is_ascii_digit).map_or(bytes.len(), |n| at + n);
    let length = bytes[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    start..start + length
}

#[test]
fn every_entry_takes_what_no_writer_would_make() {
    for (name, entry) in entries::ENTRIES {
        let mut random = fastrand::Rng::with_seed(3);
        let seeds = seeds(name);
        for (path, seed) in &seeds {
            entry(seed);
            for _ in 0..mutations(name) / seeds.len() {
                let bytes = mutated(seed, &mut random);
                if catch_unwind(|| entry(&bytes)).is_err() {
                    let text = String::from_utf8_lossy(&bytes);
                    panic!("{name} panics at a mutation of {}:\n{text}", path.display());
                }
            }
        }
    }
}

/// A seed that is refused at its first byte would lead nowhere.
#[test]
fn seeds_are_what_their_entry_understands() {
    let run = serde_json::to_string(&runs::with_histograms()).unwrap() + "\n";
    golden::check("../fuzz/seeds/record", "run.json", &run);
    for (path, seed) in seeds("record") {
        record::parse(&seed, &path).unwrap();
    }
    for (path, seed) in seeds("plan") {
        let plan = file::parse(std::str::from_utf8(&seed).unwrap(), &path.display().to_string());
        validate::plan(&plan.unwrap()).unwrap();
    }
    let page = "http://h.test/".parse().unwrap();
    for (_, seed) in seeds("links") {
        assert!(load::links(&page, std::str::from_utf8(&seed).unwrap(), true).len() > 5);
    }
    for (path, seed) in seeds("claims") {
        let claims = entries::three_claims(std::str::from_utf8(&seed).unwrap());
        let is_valid = |claim| bench_user::claims::validate(&[claim], &["a", "b"]).is_ok();
        let valid = claims.map(is_valid);
        assert!(valid[2] && (valid[0] || valid[1]), "{}: {valid:?}", path.display());
    }
}
