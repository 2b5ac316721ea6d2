//! What should keep a reader from trusting a figure.

use super::levels::{Ladder, Row};
use super::page::Item;
use crate::plan::Level;
use crate::record::RunRecord;

/// Warnings about one target.
pub(super) fn item(run: &RunRecord, ladder: &Ladder<'_>) -> Option<Item> {
    let mut lines = Vec::new();
    if let Some(findings) = ladder.findings {
        lines.extend(findings.warnings.iter().chain(&findings.little_violations).cloned());
    }
    lines.extend(too_few(run, &ladder.rows));
    (!lines.is_empty()).then(|| Item { lead: ladder.target.name.clone(), lines })
}

/// Levels that fewer repetitions reached than the plan counts.
fn too_few(run: &RunRecord, rows: &[Row<'_>]) -> Option<String> {
    let planned = run.plan.repeat.saturating_sub(run.plan.discard).max(1) as usize;
    let short: Vec<Level> =
        rows.iter().filter(|row| row.stages.len() < planned).map(|row| row.at).collect();
    (!short.is_empty()).then(|| {
        format!(
            "fewer than the {planned} counted repetitions of the plan reached {}",
            Level::list(&short)
        )
    })
}
