//! autocannon: one thread of Node.js, and its result as JSON.

use anyhow::{Context, Result};
use serde_json::Value;

use super::{Count, Load, number};

pub(super) fn arguments(load: &Load) -> Vec<String> {
    let Load { url, connections, seconds, .. } = load;
    format!("--json --no-progress --connections {connections} --duration {seconds} {url}")
        .split(' ')
        .map(str::to_owned)
        .collect()
}

/// Its "errors" include timeouts.
pub(super) fn parse(output: &str) -> Result<Count> {
    let result: Value = serde_json::from_str(output).context("read autocannon's JSON")?;
    let failed = number(&result, "/non2xx")? + number(&result, "/errors")?;
    Ok(Count { ok: number(&result, "/2xx")?, failed })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_read_from_the_result() {
        let result = include_str!("../captured/autocannon.json");
        assert_eq!(parse(result).expect("a result"), Count { ok: 11186, failed: 0 });
    }

    #[test]
    fn other_statuses_and_errors_are_failures() {
        let result = r#"{"errors":3,"timeouts":1,"non2xx":4,"2xx":5}"#;
        assert_eq!(parse(result).expect("a result"), Count { ok: 5, failed: 7 });
        assert!(parse(r#"{"errors":3}"#).is_err());
    }
}
