//! h2load, told to speak HTTP/1.1: one thread, and a report in words.

use anyhow::{Context, Result};

use super::{Count, Load};

pub(super) fn arguments(load: &Load) -> Vec<String> {
    let Load { url, connections, seconds, .. } = load;
    format!("--h1 --threads 1 --clients {connections} --duration {seconds} {url}")
        .split(' ')
        .map(str::to_owned)
        .collect()
}

/// Its "failed" includes other statuses and what it calls "errored".
pub(super) fn parse(output: &str) -> Result<Count> {
    Ok(Count {
        ok: number(output, "status codes:", "2xx")?,
        failed: number(output, "requests:", "failed")?,
    })
}

/// The number before the word, in the line that begins with the title.
fn number(output: &str, title: &str, word: &str) -> Result<u64> {
    let parts = output.lines().find_map(|line| line.strip_prefix(title));
    let mut parts = parts.into_iter().flat_map(|parts| parts.split(','));
    let number = parts.find_map(|part| part.trim().strip_suffix(word));
    let number = number.with_context(|| format!("h2load printed no `{title} N {word}`"))?;
    number.trim().parse().with_context(|| format!("read h2load's count of {word}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_read_from_the_report() {
        let report = include_str!("../captured/h2load.txt");
        assert_eq!(parse(report).expect("a report"), Count { ok: 17750, failed: 0 });
    }

    #[test]
    fn other_statuses_are_no_completed_requests() {
        let report = "requests: 9 total, 9 started, 9 done, 7 succeeded, 2 failed, 0 errored, 0 \
                      timeout\nstatus codes: 7 2xx, 0 3xx, 0 4xx, 2 5xx\n";
        assert_eq!(parse(report).expect("a report"), Count { ok: 7, failed: 2 });
        assert!(parse("starting benchmark...\n").is_err());
    }
}
