//! The list of runs, as a page and as CSV.

use std::io::{self, Write};

use super::brief::{Answers, Brief};
use super::{History, skipped};
use crate::report::page::{Page, Table};

/// So many bytes of names of targets are shown.
const TARGETS: usize = 24;

/// The whole page.
pub(in crate::report) fn page(history: &History) -> Page {
    let noun = super::super::figures::plural(history.runs.len() as u64, "run", "runs");
    let mut page = Page::titled(noun);
    if !history.runs.is_empty() {
        let titles = ["run", "started", "plan", "targets", ">stages", "claims", "ended"];
        let mut table = Table::new(titles);
        table.rows.extend(history.runs.iter().map(row));
        table.drop_columns_of("");
        page.table(table);
    }
    if let Some(said) = skipped(&history.skipped) {
        page.text(said);
    }
    page
}

fn row(run: &Brief) -> Vec<String> {
    let started = run.started_at.replace('T', " ").replace('Z', "");
    let ended = if run.interrupted.is_some() { "INTERRUPTED" } else { "" };
    vec![
        run.name.clone(),
        started,
        run.plan.clone(),
        targets(&run.targets),
        run.stages.to_string(),
        answers(run.claims),
        ended.to_owned(),
    ]
}

/// The first of the names, as many as leave the table narrow.
fn targets(names: &[String]) -> String {
    let mut shown = String::new();
    for (i, name) in names.iter().enumerate() {
        if i > 0 && shown.len() + name.len() > TARGETS {
            return format!("{shown} and {} more", names.len() - i);
        }
        shown += if i > 0 { ", " } else { "" };
        shown += name;
    }
    shown
}

/// `5 hold, 1 fails`; nothing without claims.
fn answers(claims: Answers) -> String {
    let Answers { holds, fails, inconclusive, unavailable } = claims;
    [
        (holds, "holds", "hold"),
        (fails, "fails", "fail"),
        (inconclusive, "inconclusive", "inconclusive"),
        (unavailable, "unavailable", "unavailable"),
    ]
    .into_iter()
    .filter(|(n, ..)| *n > 0)
    .map(|(n, one, many)| format!("{n} {}", if n == 1 { one } else { many }))
    .collect::<Vec<_>>()
    .join(", ")
}

/// A row for every run, with a row of names.
pub(in crate::report) fn csv(history: &History, out: &mut dyn Write) -> io::Result<()> {
    let mut csv = csv::Writer::from_writer(out);
    csv.write_record([
        "run",
        "id",
        "started_at",
        "plan",
        "targets",
        "stages",
        "claims_hold",
        "claims_fail",
        "claims_inconclusive",
        "claims_unavailable",
        "interrupted",
    ])?;
    for run in &history.runs {
        let Answers { holds, fails, inconclusive, unavailable } = run.claims;
        let counts = [run.stages, holds, fails, inconclusive, unavailable].map(|n| n.to_string());
        let names = [&run.name, &run.id, &run.started_at, &run.plan, &run.targets.join("; ")];
        let interrupted = run.interrupted.clone().unwrap_or_default();
        csv.write_record(names.into_iter().chain(&counts).chain([&interrupted]))?;
    }
    csv.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_targets_are_counted_and_one_is_always_named() {
        let named =
            |names: &[&str]| targets(&names.iter().map(ToString::to_string).collect::<Vec<_>>());
        assert_eq!(named(&["lean", "chatty"]), "lean, chatty");
        assert_eq!(
            named(&["node-on-express", "bun-on-express", "deno"]),
            "node-on-express and 2 more"
        );
        let long = "x".repeat(60);
        assert_eq!(named(&[&long]), long);
    }
}
