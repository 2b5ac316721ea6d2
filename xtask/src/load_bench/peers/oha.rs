//! oha: its result as JSON.

use anyhow::{Context, Result};
use serde_json::Value;

use super::{Count, Load};

/// What oha calls the requests that were in flight when its time was over.
const IN_FLIGHT: &str = "aborted due to deadline";

pub(super) fn arguments(load: &Load) -> Vec<String> {
    let Load { url, connections, seconds, .. } = load;
    format!("--no-tui --output-format json -c {connections} -z {seconds}s {url}")
        .split(' ')
        .map(str::to_owned)
        .collect()
}

pub(super) fn parse(output: &str) -> Result<Count> {
    let result: Value = serde_json::from_str(output).context("read oha's JSON")?;
    let table = |name: &str| {
        let table = result.get(name).and_then(Value::as_object);
        let table = table.with_context(|| format!("oha's JSON has no {name}"))?;
        Ok::<_, anyhow::Error>(
            table.iter().map(|(key, count)| (key.as_str(), count.as_u64().unwrap_or_default())),
        )
    };
    let statuses = table("statusCodeDistribution")?;
    let (ok, other): (Vec<_>, Vec<_>) = statuses.partition(|(status, _)| status.starts_with('2'));
    let errors = table("errorDistribution")?.filter(|(error, _)| *error != IN_FLIGHT);
    let sum = |counts: Vec<(&str, u64)>| counts.into_iter().map(|(_, count)| count).sum::<u64>();
    Ok(Count { ok: sum(ok), failed: sum(other) + sum(errors.collect()) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_read_from_the_result() {
        let result = include_str!("../captured/oha.json");
        assert_eq!(parse(result).expect("a result"), Count { ok: 21380, failed: 0 });
    }

    #[test]
    fn requests_in_flight_at_the_end_are_neither_completed_nor_failed() {
        let result = r#"{"statusCodeDistribution": {"200": 7, "204": 1, "503": 2},
            "errorDistribution": {"aborted due to deadline": 10, "connection closed": 3}}"#;
        assert_eq!(parse(result).expect("a result"), Count { ok: 8, failed: 5 });
        assert!(parse(r#"{"statusCodeDistribution": {}}"#).is_err());
    }
}
