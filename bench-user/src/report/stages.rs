//! The table of a target's stages, and the one of its syscalls beside the other targets'.

use std::collections::{BTreeMap, BTreeSet};

use super::figures::{self, NONE};
use super::levels::{self, Row, shown};
use super::page::{Item, Table};
use super::reasons::Reasons;
use crate::analyze::bootstrap;
use crate::observe::Count;

/// So many syscalls by name are listed; the rest is in the record.
const SYSCALLS: usize = 15;

/// One row a load level: medians over the counted repetitions, `±` half the width of the interval.
/// A target that is `blind` is one whose kernel side cannot be seen: what is missing in every row is
/// left out, because one sentence below says it of all.
pub(super) fn table(rows: &[Row<'_>], blind: bool) -> Table {
    let level = levels::title(rows.iter().map(|row| row.at));
    let mut titles = vec![format!(">{level}")];
    titles.extend(shown(rows).iter().map(|metric| format!(">{}", metric.label)));
    titles.push("limited by".into());
    let mut table = Table::new(titles);
    for row in rows {
        let mut cells = vec![row.shown_level(level)];
        for metric in shown(rows) {
            cells.push(match row.figure(metric) {
                // Shares of a CPU are bounded and need no spread; the table must fit a terminal.
                Ok(estimate) if metric.name.ends_with("_ratio") => {
                    figures::show(metric.name, estimate.value)
                }
                Ok(estimate) => figures::show_estimate(metric.name, &estimate),
                Err(_reason_stands_below) => NONE.into(),
            });
        }
        let mark = if row.invalid().is_some() { " (invalid)" } else { "" };
        cells.push(figures::word(row.bottleneck()) + mark);
        table.rows.push(cells);
    }
    if blind {
        table.drop_columns_of(NONE);
    }
    table
}

/// Why levels are invalid; nothing when all are valid.
pub(super) fn invalid(rows: &[Row<'_>]) -> Vec<Item> {
    let lines: Vec<String> = rows.iter().filter_map(Row::invalid).collect();
    if lines.is_empty() { Vec::new() } else { vec![Item { lead: "invalid".into(), lines }] }
}

/// Notes why cells of the table are empty, unless a whole block is missing for that reason.
pub(super) fn note_empty_cells(rows: &[Row<'_>], target: &str, reasons: &mut Reasons) {
    for row in rows {
        for metric in shown(rows) {
            if let Err(reason) = row.figure(metric)
                && !reasons.explains(&reason)
            {
                let label = metric.label.replace('\n', " ");
                reasons.note(target, &format!("{label} at {}", row.at), &reason);
            }
        }
    }
}

/// Syscalls per request by name, each target at its peak; `None` where nobody's were counted.
pub(super) fn syscalls(peaks: &[(&str, &Row<'_>)]) -> Option<Table> {
    let counted: Vec<Option<BTreeMap<&str, f64>>> =
        peaks.iter().map(|(_, row)| per_request(row)).collect();
    let mut highest = BTreeMap::<&str, f64>::new();
    for (name, value) in counted.iter().flatten().flatten() {
        let top = highest.entry(name).or_default();
        *top = top.max(*value);
    }
    if highest.is_empty() {
        return None;
    }
    let mut names: Vec<(&str, f64)> = highest.into_iter().collect();
    names.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(b.0)));
    names.truncate(SYSCALLS);

    let mut titles = vec!["syscall".to_owned()];
    let title = |(name, row): &(&str, &Row<'_>)| format!(">{name}\nat {}", row.at.short());
    titles.extend(peaks.iter().map(title));
    let mut table = Table::new(titles);
    for (name, _) in names {
        let mut cells = vec![name.to_owned()];
        // A name that is absent from a counted block was counted as zero.
        cells.extend(counted.iter().map(|by_name| match by_name {
            Some(by_name) => {
                figures::show("per_request", by_name.get(name).copied().unwrap_or(0.0))
            }
            None => NONE.into(),
        }));
        table.rows.push(cells);
    }
    Some(table)
}

/// Medians over the repetitions; `None` when no repetition counted or nobody was served.
pub(super) fn per_request<'a>(row: &Row<'a>) -> Option<BTreeMap<&'a str, f64>> {
    let blocks: Vec<_> = row
        .stages
        .iter()
        .filter_map(|stage| stage.syscalls.value())
        .filter(|syscalls| syscalls.per_request.is_some())
        .collect();
    if blocks.is_empty() {
        return None;
    }
    let names: BTreeSet<&str> =
        blocks.iter().flat_map(|b| b.by_name.keys().map(String::as_str)).collect();
    let median = |name: &str| {
        let of = |count: Option<&Count>| count.and_then(|c| c.per_request);
        let values = blocks.iter().map(|b| of(b.by_name.get(name)).unwrap_or(0.0));
        bootstrap::median(&values.collect::<Vec<_>>())
    };
    Some(names.into_iter().map(|name| (name, median(name).unwrap_or(0.0))).collect())
}
