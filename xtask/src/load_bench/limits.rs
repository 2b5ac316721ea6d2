//! What has no peer to be compared with: how late the open loop sends at half of the peak, and
//! what memory many requests and many connections take.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::child::{self, PATIENCE, Used};
use super::contest::Contest;
use super::peers::{Client, Load, number};
use crate::statistics::Quartiles;

/// Connections of the open loop.
const CONNECTIONS: u32 = 100;

/// Requests over which memory must not grow, and connections that memory is asked for.
const MANY_REQUESTS: u64 = 10_000_000;
pub(super) const MANY_CONNECTIONS: u32 = 10_000;

/// Longest run of the requests, seconds: ten times as long as the slower client needs here.
const LONGEST_S: u64 = 1_800;

/// Runs our own clients and prints what they came to.
///
/// # Errors
/// When a client fails.
#[expect(clippy::print_stdout, reason = "the lines are what the command is for")]
pub(super) fn measure(contest: &Contest, rounds: u32) -> Result<()> {
    for client in contest.clients.iter().filter(|client| client.name.is_ours()) {
        let word = client.name.word();
        for lateness in lateness(contest, client, rounds)? {
            println!("{word}: {lateness}");
        }
        println!("{word}: {}", growth(contest, client)?);
        let (_, used) =
            run(contest, client, &contest.load(MANY_CONNECTIONS, contest.seconds), &[])?;
        println!("{word}: peak memory with {MANY_CONNECTIONS} connections {}", mib(&used));
    }
    Ok(())
}

/// Closed loop for the peak, then open at half of it, in each round.
fn lateness(contest: &Contest, client: &Client, rounds: u32) -> Result<Vec<String>> {
    let load = contest.load(CONNECTIONS, contest.seconds);
    let (mut rates, mut p50, mut p99) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rounds {
        let (closed, _) = run(contest, client, &load, &[])?;
        let half = number(&closed, "/load/requests")? / u64::from(contest.seconds) / 2;
        let (open, _) = run(contest, client, &load, &["--rate", &half.to_string()])?;
        rates.push(as_f64(half));
        p50.push(as_f64(number(&open, "/load/offered/lateness_ns/p50")?) / 1e3);
        p99.push(as_f64(number(&open, "/load/offered/lateness_ns/p99")?) / 1e3);
    }
    let shown = |what: &str, values: Vec<f64>| -> Result<String> {
        let all = Quartiles::of(values).context("there is at least one round")?;
        Ok(format!("{what} {:.0} ({:.0} .. {:.0})", all.median, all.low, all.high))
    };
    Ok(vec![
        shown("half of the peak, requests/s", rates)?,
        shown("sender lateness there, p50, us", p50)?,
        shown("sender lateness there, p99, us", p99)?,
    ])
}

/// Peak memory of a short run and of one of ten million requests.
fn growth(contest: &Contest, client: &Client) -> Result<String> {
    let (short, before) = run(contest, client, &contest.load(CONNECTIONS, contest.seconds), &[])?;
    let few = number(&short, "/load/account/ok")?.max(1);
    // A tenth more, because rates drift.
    let seconds = MANY_REQUESTS * u64::from(contest.seconds) / few * 11 / 10 + 1;
    ensure!(seconds <= LONGEST_S, "{MANY_REQUESTS} requests would take {seconds} s here");
    let load = contest.load(CONNECTIONS, u32::try_from(seconds)?);
    let (long, after) = run(contest, client, &load, &[])?;
    let many = number(&long, "/load/account/ok")?;
    Ok(format!(
        "peak memory after {few} requests {}, after {many} requests {}",
        mib(&before),
        mib(&after)
    ))
}

/// The first stage of a run.
fn run(contest: &Contest, client: &Client, load: &Load, more: &[&str]) -> Result<(Value, Used)> {
    let folder = tempfile::tempdir().context("make a folder for a client")?;
    let mut command = client.command(load);
    command.args(more);
    let limit = Duration::from_secs(load.seconds.into()) + PATIENCE;
    let (output, used) = child::run(&mut command, contest.cpu, folder.path(), limit)?;
    let record: Value = serde_json::from_str(&output).context("read the record")?;
    let stage = record.pointer("/targets/0/stages/0").context("the record has no stage")?;
    Ok((stage.clone(), used))
}

fn mib(used: &Used) -> String {
    used.peak_bytes
        .map_or("unknown".to_owned(), |bytes| format!("{:.1} MiB", as_f64(bytes) / 1_048_576.0))
}

#[expect(clippy::cast_precision_loss, reason = "for people, a few digits")]
fn as_f64(n: u64) -> f64 {
    n as f64
}
