//! What became of the sentences of one or several studies: the answers first, then each study with
//! its table, its figures and its runs, and what could not be measured on that machine.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use super::page::{Item, Page, Table};
use super::reasons::Reasons;
use super::study::{self, Checked};
use super::{facts, figures};
use crate::record::{ClaimVerdict, RunRecord};
use crate::target::TargetKind;

/// One study and what was measured for it.
#[derive(Debug, Serialize)]
pub struct StudyResults<'r> {
    /// Its name.
    pub name: &'r str,
    /// What it is about.
    pub title: &'r str,
    /// Which article said so.
    pub article: &'r str,
    /// How it was measured: `full size`, `--quick` or `--smoke`.
    pub size: &'static str,
    /// The records of its parts by name; as data, the ids of their runs.
    #[serde(serialize_with = "ids")]
    pub runs: &'r BTreeMap<String, RunRecord>,
    /// Every sentence in the article's order.
    pub sentences: Vec<Checked>,
}

fn ids<S: Serializer>(runs: &BTreeMap<String, RunRecord>, to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(runs.iter().map(|(part, run)| (part, &run.id)))
}

/// One study on a page of its own, or several on one.
pub(super) fn page(studies: &[StudyResults<'_>]) -> Page {
    if let [only] = studies {
        let mut page = Page::titled(format!("{}: {}", only.name, only.title));
        page.text(summary(&only.sentences));
        body(&mut page, only);
        return page;
    }
    let mut page = Page::titled("Results of the studies".to_owned());
    page.text(INTRODUCTION);
    page.table(answers(studies));
    let runs = || studies.iter().flat_map(|study| study.runs.values());
    page.section("Machine", machines(runs()));
    page.section("Not measured on this machine", not_measured(studies));
    for study in studies {
        page.heading(format!("{}: {}", study.name, study.title));
        page.text(format!("From {}.", study.article));
        body(&mut page, study);
    }
    page
}

const INTRODUCTION: &str = "Each sentence of the articles, checked. A verdict is that of a claim over \
    repetitions of one machine, with its interval: 95 % from five repetitions on, the range of what \
    was seen with three or four. `fails` says that the sentence is not so here, `inconclusive` that \
    what was seen allows both, `unavailable` that there is no answer and why. Load and server shared \
    the machine.";

fn body(page: &mut Page, study: &StudyResults<'_>) {
    let mut table = Table::new(["sentence", "article", "here", "verdict"]);
    table.rows.extend(study.sentences.iter().map(study::row));
    page.table(table);
    page.items(study.sentences.iter().map(study::item).collect());
    let part = |(name, run): (&String, &RunRecord)| {
        let contained = run.targets.iter().any(|target| target.kind == TargetKind::Image);
        let how = if contained { ", in containers" } else { "" };
        let of = format!("{} (run {}, {}{how})", facts::plan(run), run.id, study.size);
        Item::new(format!("part {name}"), of)
    };
    page.items(study.runs.iter().map(part).collect());
}

/// A row for every study: how many of its sentences got which answer.
fn answers(studies: &[StudyResults<'_>]) -> Table {
    let mut titles = vec!["study".to_owned(), ">sentences".to_owned()];
    titles.extend(VERDICTS.map(|verdict| format!(">{}", figures::word(verdict))));
    let mut table = Table::new(titles);
    for study in studies {
        let of = |verdict| study.sentences.iter().filter(|row| row.verdict() == verdict).count();
        let mut cells = vec![study.name.to_owned(), study.sentences.len().to_string()];
        cells.extend(VERDICTS.map(|verdict| of(verdict).to_string()));
        table.rows.push(cells);
    }
    table
}

const VERDICTS: [ClaimVerdict; 4] = [
    ClaimVerdict::Holds,
    ClaimVerdict::Fails,
    ClaimVerdict::Inconclusive,
    ClaimVerdict::Unavailable,
];

fn summary(rows: &[Checked]) -> String {
    let of = |verdict| {
        let count = rows.iter().filter(|row| row.verdict() == verdict).count();
        (count > 0).then(|| format!("{}: {count}", figures::word(verdict)))
    };
    let counts: Vec<_> = VERDICTS.into_iter().filter_map(of).collect();
    format!(
        "{} ({}).",
        figures::plural(rows.len() as u64, "sentence", "sentences"),
        counts.join(", ")
    )
}

/// Every machine and version that the records come from, once.
fn machines<'r>(runs: impl Iterator<Item = &'r RunRecord>) -> Vec<Item> {
    let mut known: Vec<Item> = Vec::new();
    for run in runs {
        for item in [Item::new("host", facts::host(run)), Item::new("tool", facts::tool(run))] {
            if !known.iter().any(|other| other.lines == item.lines) {
                known.push(item);
            }
        }
    }
    known
}

/// Each reason once, with the metrics that it spoils and the studies in which it does.
fn not_measured(studies: &[StudyResults<'_>]) -> Vec<Item> {
    let mut reasons = Reasons::default();
    for study in studies {
        for run in study.runs.values() {
            reasons.note_all(study.name, "", &run.host);
            for target in &run.targets {
                reasons.note_all(study.name, "idle", &target.idle);
                target.stages.iter().for_each(|stage| reasons.note_all(study.name, "", stage));
            }
        }
        for row in &study.sentences {
            if let Err(why) = &row.answer {
                reasons.note(study.name, &row.says, why);
            }
        }
    }
    let names: Vec<&str> = studies.iter().map(|study| study.name).collect();
    reasons.items(&names, "all studies")
}
