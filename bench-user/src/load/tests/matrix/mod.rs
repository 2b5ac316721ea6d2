//! Every way of speaking plain HTTP/1.1 against every endpoint of the test server: what the
//! client reports must be what the server knows, row for row.
//!
//! The server's table says what a right client reports, so neither client is the measure of the
//! other. All complaints of a mode are collected before it fails.

/// What is compared.
mod compare;

use std::time::Duration;

use bytes::Bytes;

use super::super::test_server::{Row, Site, rows};
use super::super::{LoadSample, OpenLoop};
use super::{CONNECTIONS, MS, trial_of};
use crate::clock;
use crate::load::Generator;
use crate::plan::{Arrivals, CatchUp, Client};
use compare::{Case, complaints};

/// A way of speaking plain HTTP/1.1.
#[derive(Debug, Clone, Copy)]
struct Mode {
    client: Client,
    pipeline: u32,
    /// Requests per second of an open loop.
    rps: Option<f64>,
}

const HYPER: Mode = Mode { client: Client::Hyper, pipeline: 1, rps: None };
const HYPER_OPEN: Mode = Mode { rps: Some(OPEN_RPS), ..HYPER };
const LEAN: Mode = Mode { client: Client::Lean, ..HYPER };
const LEAN_OPEN: Mode = Mode { rps: Some(OPEN_RPS), ..LEAN };
const LEAN_PIPELINED: Mode = Mode { pipeline: 4, ..LEAN };

const OPEN_RPS: f64 = 600.0;

/// What a request carries where its method has a body.
const BODY: &[u8] = b"0123456789abcdef";

#[test]
fn hyper_closed_loop() {
    with_every_row(HYPER, "GET");
}

#[test]
fn hyper_closed_loop_with_other_methods() {
    with_other_methods(HYPER);
}

#[test]
fn hyper_open_loop() {
    with_every_row(HYPER_OPEN, "GET");
}

#[test]
fn lean_closed_loop() {
    with_every_row(LEAN, "GET");
}

#[test]
fn lean_closed_loop_with_other_methods() {
    with_other_methods(LEAN);
}

#[test]
fn lean_open_loop() {
    with_every_row(LEAN_OPEN, "GET");
}

#[test]
fn lean_pipelined() {
    with_every_row(LEAN_PIPELINED, "GET");
}

#[test]
fn lean_pipelined_with_other_methods() {
    with_other_methods(LEAN_PIPELINED);
}

fn with_other_methods(mode: Mode) {
    for method in ["HEAD", "POST", "PUT"] {
        with_every_row(mode, method);
    }
}

/// All rows that the method and the mode are for.
fn with_every_row(mode: Mode, method: &'static str) {
    let rows = rows().filter(|row| row.methods.contains(&method));
    let rows: Vec<_> = rows.filter(|row| row.pipelines || mode.pipeline == 1).collect();
    // Most of a stage is waiting, so two at a time.
    let all_of = |rows: &[&'static Row]| -> Vec<String> {
        rows.iter().flat_map(|row| check(row, mode, method)).collect()
    };
    let (some, others) = rows.split_at(rows.len() / 2);
    let found = std::thread::scope(|scope| {
        let meanwhile = scope.spawn(|| all_of(others));
        let mut found = all_of(some);
        found.extend(meanwhile.join().unwrap());
        found
    });
    assert!(found.is_empty(), "{mode:?} {method}:\n{}", found.join("\n"));
}

/// One stage at one endpoint: everything that client and server do not agree on.
fn check(row: &'static Row, mode: Mode, method: &'static str) -> Vec<String> {
    for _ in 0..20 {
        let site = Site::start();
        let sample = stage(&site, row, mode, method);
        // The machine was too busy to bring the stage about: such a window tests nothing.
        if sample.account.started < u64::from(CONNECTIONS) {
            continue;
        }
        let (mut tallies, accepted) = site.finish();
        let tally = tallies.remove(row.name).unwrap_or_default();
        let mut found = complaints(&Case { row, method, sample, tally, accepted });
        found.extend(tallies.keys().map(|other| format!("{}: /{other} was asked too", row.name)));
        return found;
    }
    panic!("{}: in twenty windows not every connection got to send a request", row.name);
}

fn stage(site: &Site, row: &Row, mode: Mode, method: &str) -> LoadSample {
    let mut trial = trial_of(mode.client, &[site.url(row)]);
    trial.setup.pipeline = mode.pipeline;
    trial.setup.requests.method = Some(method.to_owned());
    let has_body = matches!(method, "POST" | "PUT");
    trial.setup.requests.body = has_body.then_some(Bytes::from_static(BODY));
    trial.setup.timeout = row.timeout.unwrap_or(Duration::from_secs(20));
    trial.stage.open_loop = mode.rps.map(|rps| OpenLoop {
        rps: row.rps.unwrap_or(rps),
        arrivals: Arrivals::Constant,
        catch_up: CatchUp::Queue,
        seed: 1,
    });
    // Long enough for a slow row to come round more than once.
    let is_slow = row.timeout.is_some() || (row.rps.is_some() && mode.rps.is_some());
    let mut generator = Generator::start(trial.setup).unwrap();
    trial.stage.window.start_ns = clock::now_ns();
    trial.stage.window.end_ns = trial.stage.window.start_ns + if is_slow { 250 } else { 50 } * MS;
    assert_eq!(trial.stage.connections, CONNECTIONS);
    generator.begin(trial.stage).unwrap().finish().0
}
