//! The report of a run: the answer first, then the figures, then what they rest on.

use super::levels::{self, Ladder, Row};
use super::page::{Item, Page};
use super::reasons::Reasons;
use super::{
    claims, explain, facts, figures, findings, job, own_cost, stages, surroundings, threads, times,
    warnings,
};
use crate::analyze::validity;
use crate::record::{RunRecord, TargetRecord};

/// The whole page.
pub(super) fn page(run: &RunRecord) -> Page {
    let analysis = levels::analysis(run);
    let ladders = levels::ladders(run, &analysis);
    let mut page = Page::titled(title(run));
    for Said::Alarm(sentence) | Said::Found(sentence) in answer(run, &ladders) {
        page.text(sentence);
    }
    page.section("Claims", claims::items(&run.claims));
    if let Some(job) = &run.plan.job {
        job::sections(&mut page, job, &ladders);
    } else {
        of_load(&mut page, &ladders);
    }
    page.section("Findings", ladders.iter().filter_map(findings::item).collect());
    page.section(around(run, &ladders), ladders.iter().filter_map(surroundings::at_peak).collect());
    page.section("Warnings", ladders.iter().filter_map(|l| warnings::item(run, l)).collect());
    page.section("Cost of measuring", own_cost::items(run, &ladders));
    page.section("Targets", run.targets.iter().map(facts::target).collect());
    page.section("Conditions", facts::conditions(run));
    page.section("Not measured", not_measured(run, &ladders));
    if ladders.iter().any(|ladder| !ladder.rows.is_empty()) {
        page.text(if run.plan.job.is_some() { job::LEGEND } else { LEGEND });
    }
    page
}

/// What the report is about.
pub(super) fn title(run: &RunRecord) -> String {
    format!("{}, {} ({})", run.plan.name, run.started_at, run.id)
}

/// Where the surroundings that are shown are of.
pub(super) fn around(run: &RunRecord, ladders: &[Ladder<'_>]) -> &'static str {
    match (&run.plan.job, has_peaks(ladders)) {
        (Some(_), _) => "Around the jobs",
        (None, true) => "Around the peak",
        (None, false) => "Around the highest rate",
    }
}

/// The figures of stages of load, then those that explain them.
fn of_load(page: &mut Page, ladders: &[Ladder<'_>]) {
    for ladder in ladders {
        page.heading(ladder.target.name.clone());
        if ladder.rows.is_empty() {
            page.text(nothing_counted(ladder.target));
        } else {
            page.table(stages::table(&ladder.rows, ladder.is_address()));
            page.items(stages::invalid(&ladder.rows));
        }
    }
    if let Some(table) = times::table(ladders) {
        page.heading("Response times in full");
        page.table(table);
    }
    syscalls(page, ladders);
    for ladder in ladders {
        let Some(row) = ladder.shown() else { continue };
        let target = &ladder.target.name;
        threads::of_level(page, target, row);
        let of = format!(" at {}, {target}", row.at.short());
        let middle = row.middle();
        explain::window(page, &format!("{of}{}", row.climb(middle)), &middle.explain);
        let windows: Vec<_> = row.stages.iter().map(|stage| &stage.explain).collect();
        explain::stacks(page, &of, &windows, row.at.repetition_noun());
    }
}

/// Why a ladder has no table.
pub(super) fn nothing_counted(target: &TargetRecord) -> String {
    match target.stages.len() as u64 {
        0 => "No stage was finished.".into(),
        n => format!(
            "No stage of a counted repetition was finished; the record holds {}.",
            figures::plural(n, "other stage", "other stages")
        ),
    }
}

/// What the figures are.
pub(super) const LEGEND: &str = "Figures are medians over the counted climbs (repetitions), ± half the width of their \
    interval: 95% from five climbs on, the range of what was seen with three or four, none with \
    fewer. Threads and explanations are of one climb, the middle one by its rate. runq p99: wait \
    for a CPU. CPUs used: 1.00 is one CPU busy all the time. busiest thread: its share of the \
    window on a CPU. In full: samples are the fewest of a climb, min and max those of all; \
    connect and first event are of the whole stage. n/a: not measured.";

/// A sentence of the answer.
pub(super) enum Said {
    /// What must be known before anything else is read.
    Alarm(String),
    /// What was found.
    Found(String),
}

/// The answer, in the order in which it is read.
pub(super) fn answer(run: &RunRecord, ladders: &[Ladder<'_>]) -> Vec<Said> {
    let mut said = Vec::new();
    if let Some(why) = &run.interrupted {
        said.push(Said::Alarm(format!(
            "INTERRUPTED: {why}. What follows is of the stages finished before."
        )));
    } else if run.analysis.is_none() {
        said.push(Said::Alarm(
            "NOT FINISHED: the record ends before its analysis; what follows is of the stages in it."
                .into(),
        ));
    }
    if !run.claims.is_empty() {
        said.push(Said::Found(claims::summary(&run.claims)));
    }
    for ladder in ladders {
        if let Some(how) = validity::ending(ladder.target) {
            said.push(Said::Alarm(format!("NO ANSWER: {} {how}.", ladder.target.name)));
        }
    }
    said.extend(ladders.iter().filter_map(job::failed).map(Said::Alarm));
    let peaks: Vec<String> = ladders.iter().filter_map(findings::peak).collect();
    if !peaks.is_empty() {
        said.push(Said::Found(format!("Peak: {}.", peaks.join("; "))));
    }
    let found: Vec<String> = ladders.iter().filter_map(findings::found_rate).collect();
    if !found.is_empty() {
        said.push(Said::Found(format!("Highest rate: {}.", found.join("; "))));
    }
    said
}

/// Every ladder has a valid stage, so that what is shown of it is its peak.
pub(super) fn has_peaks(ladders: &[Ladder<'_>]) -> bool {
    ladders.iter().all(|ladder| !ladder.is_all_invalid())
}

/// By name, each target at its peak.
pub(super) fn syscalls(page: &mut Page, ladders: &[Ladder<'_>]) {
    let peaks: Vec<(&str, &Row<'_>)> =
        ladders.iter().filter_map(|l| Some((l.target.name.as_str(), l.shown()?))).collect();
    if let Some(table) = stages::syscalls(&peaks) {
        let at = if has_peaks(ladders) { "the peak" } else { "the highest rate" };
        page.heading(format!("Syscalls per request at {at}"));
        page.table(table);
    }
}

/// What is missing, and why.
pub(super) fn not_measured(run: &RunRecord, ladders: &[Ladder<'_>]) -> Vec<Item> {
    let mut reasons = Reasons::default();
    for ladder in ladders {
        let Ladder { target, rows, .. } = ladder;
        if ladder.is_address() {
            let side = "the kernel side (syscalls, scheduling, threads, CPUs, memory, network)";
            let why = target.cgroup.why().unwrap_or("an address alone has no cgroup");
            reasons.note(&target.name, side, why);
            for stage in rows.iter().flat_map(|row| &row.stages) {
                reasons.note_all(&target.name, "load", &stage.load);
            }
            times::note_missing(ladder, &mut reasons);
            continue;
        }
        reasons.note_all(&target.name, "cgroup", &target.cgroup);
        reasons.note_all(&target.name, "idle", &target.idle);
        reasons.note_all(&target.name, "exit", &target.exit);
        for stage in rows.iter().flat_map(|row| &row.stages) {
            reasons.note_all(&target.name, "", stage);
        }
        if run.plan.job.is_some() {
            job::note_empty_cells(ladder, &mut reasons);
            continue;
        }
        times::note_missing(ladder, &mut reasons);
        stages::note_empty_cells(rows, &target.name, &mut reasons);
    }
    reasons.note_all("host", "", &run.host);
    let names: Vec<&str> = run.targets.iter().map(|target| target.name.as_str()).collect();
    reasons.items(&names, "all targets")
}
