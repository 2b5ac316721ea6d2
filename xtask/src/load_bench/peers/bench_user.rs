//! `bench-user run` without a kernel side, once for each of its HTTP clients.

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::{Count, Load, number};

/// The client that is chosen by name.
pub(super) fn lean(load: &Load) -> Vec<String> {
    chosen("lean", load)
}

/// The client that is chosen by name.
pub(super) fn hyper(load: &Load) -> Vec<String> {
    chosen("hyper", load)
}

fn chosen(client: &str, load: &Load) -> Vec<String> {
    let Load { url, connections, seconds, cpu } = load;
    // The peers have no warm-up and stop for nothing.
    format!(
        "run --url {url} --no-observe --json --quiet --workers 1 --load-cpus {cpu} \
         --connections {connections} --duration {seconds}s --warmup 0s --pause 0s \
         --stop-errors off --stop-non-2xx off --stop-p99 off --client {client}"
    )
    .split_whitespace()
    .map(str::to_owned)
    .collect()
}

/// The account of the whole stage, not the requests of the window: the CPU time that they are
/// divided by is that of the whole process too, and the peers count from their first request to
/// their last. A warm-up, were there one, would be in both.
pub(super) fn parse(output: &str) -> Result<Count> {
    let record: Value = serde_json::from_str(output).context("read the record")?;
    if let Some(why) = record.get("interrupted").and_then(Value::as_str) {
        bail!("the run was broken off: {why}");
    }
    let account = record.pointer("/targets/0/stages/0/load/account");
    let account = account.context("the record has no stage")?;
    let failed = number(account, "/http_error")? + number(account, "/failed")?;
    Ok(Count { ok: number(account, "/ok")?, failed })
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECORD: &str = include_str!("../captured/bench-user.json");

    #[test]
    fn requests_are_those_of_the_whole_stage() {
        assert_eq!(parse(RECORD).expect("a record"), Count { ok: 3029, failed: 0 });
    }

    #[test]
    fn other_statuses_and_failures_are_failures() {
        let record = RECORD
            .replace("\"http_error\": 0", "\"http_error\": 73")
            .replace("\"failed\": 0", "\"failed\": 5");
        assert_eq!(parse(&record).expect("a record"), Count { ok: 3029, failed: 78 });
    }

    #[test]
    fn a_run_that_was_broken_off_is_no_result() {
        let record = RECORD.replace("\"interrupted\": null", "\"interrupted\": \"no route\"");
        let error = parse(&record).expect_err("it was broken off");
        assert!(error.to_string().contains("no route"), "{error}");
    }
}
