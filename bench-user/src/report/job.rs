//! What a plan of jobs shows: one row a target, their syscalls beside each other, and the details
//! of one run each.

use std::collections::{BTreeMap, BTreeSet};

use super::columns::{Metric, OF_JOB};
use super::figures::{self, NONE};
use super::levels::{Ladder, Row};
use super::page::{Item, Page, Table};
use super::reasons::Reasons;
use super::{explain, threads};
use crate::analyze::bootstrap;
use crate::plan::JobSpec;
use crate::record::{RunRecord, StageRecord};
use crate::target::Exit;

/// So many syscalls by name are listed; the rest is in the record.
const SYSCALLS: usize = 15;

/// Everything between the claims and the findings.
pub(super) fn sections(page: &mut Page, job: &JobSpec, ladders: &[Ladder<'_>]) {
    page.heading("Jobs");
    page.table(table(job, ladders));
    page.items(ladders.iter().filter_map(failures).collect());
    if let Some(table) = syscalls(ladders) {
        page.heading("Syscalls of one run");
        page.table(table);
    }
    for ladder in ladders {
        let Some(row) = ladder.shown() else { continue };
        let target = &ladder.target.name;
        threads::of_level(page, target, row);
        let middle = row.middle();
        explain::window(page, &format!(", {target}{}", row.climb(middle)), &middle.explain);
        let windows: Vec<_> = row.not_failed().map(|stage| &stage.explain).collect();
        explain::stacks(page, &format!(", {target}"), &windows, row.at.repetition_noun());
    }
}

/// What the figures of the table are.
pub(super) const LEGEND: &str = "Figures are medians over the counted runs (repetitions), ± half the width of their interval: \
    95% from five runs on, the range of what was seen with three or four, none with fewer. The \
    time is from the release of the program to the end of its last process. Threads and \
    explanations are of one run, the middle one by its time. CPUs used: 1.00 is one CPU busy all \
    the time. n/a: not measured.";

/// One row a target: medians over the counted runs.
pub(super) fn table(job: &JobSpec, ladders: &[Ladder<'_>]) -> Table {
    let mut titles = vec!["target".to_owned(), ">runs".to_owned()];
    titles.extend(OF_JOB.iter().map(|metric| format!(">{}", title(metric, job))));
    titles.push("exit".to_owned());
    let mut table = Table::new(titles);
    for ladder in ladders {
        let row = ladder.rows.first();
        let mut cells = vec![ladder.target.name.clone(), row.map_or("0".into(), runs)];
        cells.extend(OF_JOB.iter().map(|metric| cell(row, metric)));
        cells.push(row.map_or(NONE.into(), |row| endings(&row.stages)));
        table.rows.push(cells);
    }
    table
}

/// How many runs the figures are of, and of how many where some failed.
fn runs(row: &Row<'_>) -> String {
    match (row.not_failed().count(), row.stages.len()) {
        (good, all) if good == all => all.to_string(),
        (good, all) => format!("{good} of {all}"),
    }
}

/// Work is told in the plan's unit.
fn title(metric: &Metric, job: &JobSpec) -> String {
    match &job.unit {
        Some(unit) if metric.name == "job.work_per_sec" => format!("{unit}\n/s"),
        _ => metric.label.to_owned(),
    }
}

fn cell(row: Option<&Row<'_>>, metric: &Metric) -> String {
    let figure = row.and_then(|row| row.figure(metric).ok());
    match figure {
        // Shares of a CPU need no spread; the table must fit a terminal.
        Some(estimate) if metric.name.ends_with("_ratio") => {
            figures::show(metric.name, estimate.value)
        }
        Some(estimate) => figures::show_estimate(metric.name, &estimate),
        None => NONE.into(),
    }
}

/// How the runs ended, each way with its number where there are several.
fn endings(stages: &[&StageRecord]) -> String {
    let mut ways = BTreeMap::<String, u64>::new();
    for job in stages.iter().filter_map(|stage| stage.job.as_ref()) {
        *ways.entry(ending(&job.exit)).or_default() += 1;
    }
    if let (1, Some((way, _))) = (ways.len(), ways.first_key_value()) {
        return way.clone();
    }
    ways.into_iter().map(|(way, n)| format!("{n}x {way}")).collect::<Vec<_>>().join(", ")
}

/// The exit code or the signal alone, which stand below the title `exit`.
fn ending(exit: &Exit) -> String {
    let oom = if exit.oom_killed.value() == Some(&true) { " (out of memory)" } else { "" };
    let how = exit.code.map(|code| code.to_string()).or_else(|| exit.signal.clone());
    how.unwrap_or(NONE.into()) + oom
}

/// Who failed in how many of its runs, and how the first time, for the top of a report.
pub(super) fn failed(ladder: &Ladder<'_>) -> Option<String> {
    let row = ladder.rows.first()?;
    let failed = |stage: &&StageRecord| stage.job.as_ref()?.failed.clone();
    let all: Vec<String> = row.stages.iter().filter_map(failed).collect();
    let (name, runs) = (&ladder.target.name, row.stages.len());
    Some(format!("FAILED: {name} in {} of {runs} runs: the job {}.", all.len(), all.first()?))
}

/// Why runs have no figures.
pub(super) fn failures(ladder: &Ladder<'_>) -> Option<Item> {
    let row = ladder.rows.first()?;
    let noun = row.at.repetition_noun();
    let line = |stage: &&StageRecord| {
        let reasons = &stage.verdict.invalid;
        (!reasons.is_empty())
            .then(|| format!("{noun} {}: {}", stage.repetition + 1, reasons.join("; ")))
    };
    let lines: Vec<String> = row.stages.iter().filter_map(line).collect();
    (!lines.is_empty())
        .then(|| Item { lead: format!("{} carries no conclusion", ladder.target.name), lines })
}

/// Counts by name, the most frequent first; `None` where nobody's were counted.
pub(super) fn syscalls(ladders: &[Ladder<'_>]) -> Option<Table> {
    let counted: Vec<Option<BTreeMap<&str, f64>>> = ladders.iter().map(counts).collect();
    let mut highest = BTreeMap::<&str, f64>::new();
    for (name, count) in counted.iter().flatten().flatten() {
        let top = highest.entry(name).or_default();
        *top = top.max(*count);
    }
    let mut names: Vec<(&str, f64)> = highest.into_iter().collect();
    names.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(b.0)));
    names.truncate(SYSCALLS);
    let mut titles = vec!["syscall".to_owned()];
    titles.extend(ladders.iter().map(|ladder| format!(">{}", ladder.target.name)));
    let mut table = Table::new(titles);
    for (name, _) in &names {
        let mut cells = vec![(*name).to_owned()];
        // A name that is absent from a counted block was counted as zero.
        cells.extend(counted.iter().map(|by_name| match by_name {
            Some(by_name) => figures::show("count", by_name.get(name).copied().unwrap_or(0.0)),
            None => NONE.into(),
        }));
        table.rows.push(cells);
    }
    (!names.is_empty()).then_some(table)
}

/// Medians over the runs that went well; `None` where there is none with counted syscalls.
#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
pub(super) fn counts<'a>(ladder: &Ladder<'a>) -> Option<BTreeMap<&'a str, f64>> {
    let row = ladder.rows.first()?;
    let went_well = |stage: &&&'a StageRecord| stage.verdict.invalid.is_empty();
    let stages = row.stages.iter().filter(went_well);
    let blocks: Vec<_> = stages.filter_map(|stage| stage.syscalls.value()).collect();
    let names: BTreeSet<&str> =
        blocks.iter().flat_map(|block| block.by_name.keys().map(String::as_str)).collect();
    let median = |name: &str| {
        let count = |block: &&&crate::observe::Syscalls| {
            block.by_name.get(name).map_or(0, |count| count.count) as f64
        };
        bootstrap::median(&blocks.iter().map(|block| count(&block)).collect::<Vec<_>>())
    };
    (!blocks.is_empty())
        .then(|| names.into_iter().map(|name| (name, median(name).unwrap_or(0.0))).collect())
}

/// Notes why cells of the table are empty.
pub(super) fn note_empty_cells(ladder: &Ladder<'_>, reasons: &mut Reasons) {
    for row in &ladder.rows {
        if row.is_failed_job() {
            let why = "the job failed in every run";
            reasons.note(&ladder.target.name, "everything", why);
            continue;
        }
        for metric in &OF_JOB {
            if let Err(reason) = row.figure(metric)
                && !reasons.explains(&reason)
            {
                reasons.note(&ladder.target.name, &metric.label.replace('\n', " "), &reason);
            }
        }
    }
}

/// What is measured, as a line of the conditions.
pub(super) fn plan(run: &RunRecord, job: &JobSpec) -> String {
    let jobs = figures::plural(run.targets.len() as u64, "job", "jobs");
    let unit = job.unit.as_deref().unwrap_or("units of work");
    let work = job.work.map(|work| format!(" of {} {unit}", figures::show("count", work)));
    format!("{jobs}{} run to the end", work.unwrap_or_default())
}
