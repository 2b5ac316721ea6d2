//! wrk: one thread, and a report in words.

use anyhow::{Context, Result};

use super::{Count, Load};

pub(super) fn arguments(load: &Load) -> Vec<String> {
    let Load { url, connections, seconds, .. } = load;
    // A request that takes longer than wrk's own 2 s is late and not failed, as with the others.
    format!("--threads 1 --connections {connections} --duration {seconds}s --timeout 10s {url}")
        .split(' ')
        .map(str::to_owned)
        .collect()
}

/// Statuses of 3xx count as complete here, which the server of the bench never sends.
pub(super) fn parse(output: &str) -> Result<Count> {
    let requests = output.lines().find_map(|line| line.split_once(" requests in "));
    let (requests, _) = requests.context("wrk printed no line `N requests in`")?;
    let requests: u64 = requests.trim().parse().context("read wrk's count of requests")?;
    let after = |words: &str| output.lines().find_map(|line| line.trim().strip_prefix(words));
    let other_status: u64 = after("Non-2xx or 3xx responses:")
        .map_or(Ok(0), |count| count.trim().parse())
        .context("read wrk's count of other statuses")?;
    // "connect 0, read 3, write 0, timeout 1"
    let errors: u64 = after("Socket errors:").map_or(Ok(0), |kinds| {
        let counts = kinds.split(',').filter_map(|kind| kind.split_whitespace().nth(1));
        counts.map(str::parse::<u64>).sum::<Result<u64, _>>()
    })?;
    let ok =
        requests.checked_sub(other_status).context("wrk counts more failures than requests")?;
    Ok(Count { ok, failed: other_status + errors })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_read_from_the_report() {
        let report = include_str!("../captured/wrk.txt");
        assert_eq!(parse(report).expect("a report"), Count { ok: 27456, failed: 0 });
    }

    #[test]
    fn other_statuses_and_socket_errors_are_failures() {
        let report = "  100 requests in 1.00s, 1MB read\n  Socket errors: connect 1, read 2, \
                      write 0, timeout 4\n  Non-2xx or 3xx responses: 30\n";
        assert_eq!(parse(report).expect("a report"), Count { ok: 70, failed: 37 });
        assert!(parse("unable to connect to 127.0.0.1:1 Connection refused\n").is_err());
    }
}
