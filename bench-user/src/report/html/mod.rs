//! The report of a run as one page that asks nobody for anything: the answer, the ladder as
//! pictures, the figures behind them, what they rest on.
//!
//! Every figure and every sentence is that of the text report; only where it stands and how it is
//! drawn is decided here. `kit` is what any page is made of, a file each draws one section.

mod answer;
mod data;
mod distribution;
mod flame;
mod jobs;
mod kit;
mod labels;
mod ladder;
mod over_time;
mod run_queue;
mod samples;
mod syscalls;
#[cfg(test)]
mod tests;
mod threads;

use std::io::{self, Write};

use maud::{Markup, html};

use self::kit::blocks::{self, built};
use self::kit::document::{Document, Section};
use self::kit::table::{self, Caption};
use self::kit::words::words;
use super::levels::{self, Ladder};
use super::{explain, facts, findings, job, own_cost, run, stages, surroundings, times, warnings};
use crate::record::RunRecord;

/// Writes the page of a run.
pub(super) fn write(record: &RunRecord, out: &mut dyn Write) -> io::Result<()> {
    let analysis = levels::analysis(record);
    let ladders = levels::ladders(record, &analysis);
    let title = run::title(record);
    let document = Document {
        title: &record.plan.name,
        about: vec![record.started_at.clone(), record.id.clone(), facts::tool(record)],
        targets: record.targets.iter().map(|target| target.name.as_str()).collect(),
        sections: sections(record, &ladders),
        footer: footer(record, &title),
    };
    out.write_all(document.draw().into_string().as_bytes())
}

fn sections(record: &RunRecord, ladders: &[Ladder<'_>]) -> Vec<Section> {
    let measured = match &record.plan.job {
        Some(job) => Section::new("jobs", "Jobs", jobs::section(job, ladders)),
        None => Section::new("ladder", "Ladder", of_load(record, ladders)),
    };
    let mut sections = vec![
        Section::new("answer", "Answer", answer::section(record, ladders)),
        Section::new("claims", "Claims", answer::claim_list(&record.claims)),
        measured,
    ];
    if record.plan.job.is_none() {
        sections.push(Section::new("latency", "Latency", latency(ladders)));
    }
    sections.extend([
        Section::new("syscalls", "Syscalls", of_syscalls(record, ladders)),
        Section::new("run-queue", "Run queue", run_queue::figure(ladders)),
        Section::new("threads", "Threads", of_threads(ladders)),
        Section::new("time", "Over time", over_time::figure(ladders)),
        Section::new("stacks", "Flame graphs", flame::figures(record)),
        Section::new("explained", "Explained", explained(ladders)),
        Section::new("findings", "Findings", findings(record, ladders)),
        Section::new("cost", "Cost of measuring", blocks::items(&own_cost::items(record, ladders))),
        Section::new("environment", "Environment", environment(record)),
        Section::new("missing", "Not measured", not_measured(record, ladders)),
    ]);
    sections.retain(|section| !section.is_empty());
    sections
}

/// Pictures, then the table of each target.
fn of_load(record: &RunRecord, ladders: &[Ladder<'_>]) -> Markup {
    html! {
        (ladder::figures(record, ladders))
        @for (place, ladder) in ladders.iter().enumerate() {
            @let name = &ladder.target.name;
            div data-t=(place) {
                h3 { (words(name)) }
                @if ladder.rows.is_empty() {
                    p.missing { (words(&run::nothing_counted(ladder.target))) }
                } @else {
                    @let of = stages::table(&ladder.rows, ladder.is_address());
                    (table::table(&of, Caption::Hidden(&format!("Stages of {name}"))))
                    (blocks::items(&stages::invalid(&ladder.rows)))
                }
            }
        }
    }
}

fn latency(ladders: &[Ladder<'_>]) -> Markup {
    html! {
        (distribution::figure(ladders))
        @if let Some(of) = times::table(ladders) {
            (table::table(&of, Caption::Shown("Response times in full")))
        }
    }
}

/// The table of jobs stands with their times.
fn of_syscalls(record: &RunRecord, ladders: &[Ladder<'_>]) -> Markup {
    html! {
        (syscalls::figure(ladders))
        @if record.plan.job.is_none() { (built(|page| run::syscalls(page, ladders))) }
    }
}

fn of_threads(ladders: &[Ladder<'_>]) -> Markup {
    html! {
        (threads::figure(ladders))
        @for (place, ladder) in ladders.iter().enumerate() {
            @if let Some(row) = ladder.shown() {
                div data-t=(place) {
                    (built(|page| super::threads::of_level(page, &ladder.target.name, row)))
                }
            }
        }
    }
}

/// What was asked for with `--explain`, of the level that is shown.
fn explained(ladders: &[Ladder<'_>]) -> Markup {
    let of = |ladder: &Ladder<'_>| {
        let Some(row) = ladder.shown() else { return html! {} };
        let of = format!("{}, {}", row.at_level(), ladder.target.name);
        let middle = row.middle();
        let windows: Vec<_> = row.not_failed().map(|stage| &stage.explain).collect();
        built(|page| {
            explain::window(page, &format!("{of}{}", row.climb(middle)), &middle.explain);
            explain::stacks(page, &of, &windows, row.at.repetition_noun());
        })
    };
    let each: Vec<Markup> = ladders.iter().map(of).collect();
    html! {
        @for (place, markup) in each.iter().enumerate().filter(|(_, markup)| !markup.0.is_empty()) {
            div data-t=(place) { (markup) }
        }
    }
}

fn findings(record: &RunRecord, ladders: &[Ladder<'_>]) -> Markup {
    built(|page| {
        page.items(ladders.iter().filter_map(findings::item).collect());
        let around = ladders.iter().filter_map(surroundings::at_peak).collect();
        page.section(run::around(record, ladders), around);
        let warnings = ladders.iter().filter_map(|ladder| warnings::item(record, ladder));
        page.section("Warnings", warnings.collect());
    })
}

fn environment(record: &RunRecord) -> Markup {
    built(|page| {
        page.section("Conditions", facts::conditions(record));
        page.section("Targets", record.targets.iter().map(facts::target).collect());
    })
}

fn not_measured(record: &RunRecord, ladders: &[Ladder<'_>]) -> Markup {
    let items = run::not_measured(record, ladders);
    html! {
        @if items.is_empty() { p { "Everything that was asked for was measured." } }
        (blocks::items(&items))
    }
}

fn footer(record: &RunRecord, title: &str) -> Markup {
    let legend = if record.plan.job.is_some() { job::LEGEND } else { run::LEGEND };
    html! {
        p { (words(legend)) }
        p { (words(title)) }
    }
}
