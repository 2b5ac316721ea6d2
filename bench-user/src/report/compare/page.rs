//! The page of a comparison: what makes the two sides unlike first, then the figures.
//!
//! In Markdown, which stands in a pull request among other things, a long comparison shows what
//! changed, and the rest unfolds.

use super::super::columns;
use super::super::figures::{self, NONE};
use super::super::levels;
use std::io::{self, Write};

use super::super::markdown;
use super::super::page::{Page, Table};
use super::super::reasons::Reasons;
use super::reading::{Reading, Verdict};
use super::{Comparison, MetricPair, Pair, StagePair};
use crate::plan::Level;

/// So many rows of figures stand in a pull request unfolded.
const ROWS: usize = 24;

/// The whole page.
pub(in super::super) fn page(c: &Comparison) -> Page {
    let mut page = head(c);
    for pair in &c.pairs {
        add_pair(&mut page, c, pair);
    }
    foot(&mut page, c);
    page
}

/// The same in Markdown: whole where it is short, else what changed, with the whole folded.
pub(in super::super) fn markdown(c: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    if c.pairs.iter().flat_map(metrics).count() <= ROWS {
        return markdown::draw(&page(c), out);
    }
    let mut short = head(c);
    let mut room = ROWS;
    for pair in &c.pairs {
        let (name_a, name_b) = column_names(c, pair);
        let mut table = table(c, pair);
        let changed =
            |m: &&MetricPair| !matches!(m.verdict, None | Some(Verdict::NoDifferenceShown));
        for stage in &pair.stages {
            let rows = stage.metrics.iter().filter(changed).take(room);
            let rows: Vec<Vec<String>> = rows.map(|m| row(&stage.at.short(), m)).collect();
            room -= rows.len();
            table.rows.extend(rows);
        }
        if !table.rows.is_empty() {
            short.heading(format!("{name_b} against {name_a}: what changed"));
            short.table(table);
        }
    }
    if room == 0 {
        short.text(format!("The first {ROWS} changes are shown; the others are below."));
    }
    markdown::draw(&short, out)?;
    let mut whole = Page::default();
    for pair in &c.pairs {
        add_pair(&mut whole, c, pair);
    }
    foot(&mut whole, c);
    writeln!(out)?;
    markdown::fold("All figures", false, &whole, out)
}

/// What makes the two sides unlike, and how many figures changed.
fn head(c: &Comparison) -> Page {
    let title = if c.a == c.b { c.a.clone() } else { format!("{} against {}", c.b, c.a) };
    let mut page = Page::titled(title);
    if c.conditions.is_empty() {
        page.text("Machine and plan are the same on both sides.");
    } else {
        page.text(format!(
            "NOT THE SAME CONDITIONS: {} below; any difference may come from there.",
            figures::plural(
                c.conditions.len() as u64,
                "difference is listed",
                "differences are listed"
            )
        ));
        let mut table = Table::new(["condition".to_owned(), c.a.clone(), c.b.clone()]);
        let rows = c.conditions.iter().map(|d| vec![d.what.clone(), d.a.clone(), d.b.clone()]);
        table.rows.extend(rows);
        page.table(table);
    }
    page.text(summary(c));
    page
}

/// `2 figures are better, 1 is worse, 5 show no difference.`
fn summary(c: &Comparison) -> String {
    let of =
        |verdict| c.pairs.iter().flat_map(metrics).filter(|m| m.verdict == verdict).count() as u64;
    let parts = [
        (of(Some(Verdict::Better)), "is better", "are better"),
        (of(Some(Verdict::Worse)), "is worse", "are worse"),
        (of(Some(Verdict::Differs)), "differs", "differ"),
        (of(Some(Verdict::NoDifferenceShown)), "shows no difference", "show no difference"),
        (of(None), "allows no conclusion", "allow no conclusion"),
    ];
    let parts: Vec<String> = parts
        .into_iter()
        .filter(|(n, ..)| *n > 0)
        .map(|(n, one, many)| format!("{n} {}", if n == 1 { one } else { many }))
        .collect();
    if parts.is_empty() {
        "Nothing is on both sides.".into()
    } else {
        format!("Of the figures {}.", parts.join(", "))
    }
}

fn foot(page: &mut Page, c: &Comparison) {
    let is_weak =
        |m: &MetricPair| matches!(m.reading, Reading::PerhapsHigher | Reading::PerhapsLower);
    if c.pairs.iter().flat_map(metrics).any(is_weak) {
        page.text(
            "* Fewer than five repetitions, or an interval from the samples inside one stage: too \
             little for a conclusion.",
        );
    }
}

fn add_pair(page: &mut Page, c: &Comparison, pair: &Pair) {
    let (name_a, name_b) = column_names(c, pair);
    page.heading(format!("{name_b} against {name_a}"));
    if pair.stages.is_empty() {
        page.text("No stage with the same number of connections, or the same rate, on both sides.");
    } else {
        let mut table = table(c, pair);
        pair.stages.iter().for_each(|stage| add_stage(&mut table, stage));
        page.table(table);
    }
    for (name, only) in [(&name_a, &pair.only_a), (&name_b, &pair.only_b)] {
        if !only.is_empty() {
            page.text(format!("Only {name} has {}.", Level::list(only)));
        }
    }
    let mut reasons = Reasons::default();
    for m in metrics(pair) {
        for (name, side) in [(&name_a, &m.a), (&name_b, &m.b)] {
            if let Some(reason) = side.why() {
                reasons.note(name, m.metric, reason);
            }
        }
        if let Some(reason) = &m.unfit {
            reasons.note("no conclusion", m.metric, reason);
        }
    }
    page.items(reasons.items(&[&name_a, &name_b], "both"));
}

fn metrics(pair: &Pair) -> impl Iterator<Item = &MetricPair> {
    pair.stages.iter().flat_map(|stage| &stage.metrics)
}

/// Two targets of one run by their names, those of two runs by the names of both.
fn column_names(c: &Comparison, pair: &Pair) -> (String, String) {
    if c.a == c.b {
        (pair.a.clone(), pair.b.clone())
    } else {
        (format!("{} {}", c.a, pair.a), format!("{} {}", c.b, pair.b))
    }
}

fn table(c: &Comparison, pair: &Pair) -> Table {
    let (name_a, name_b) = column_names(c, pair);
    let level = levels::title(pair.stages.iter().map(|stage| stage.at));
    let titles = [">level", "metric", ">a", ">b", ">change", ">interval", "verdict"];
    let mut table = Table::new(titles);
    table.columns[0].0 = level.into();
    table.columns[2].0 = name_a;
    table.columns[3].0 = name_b;
    table
}

fn add_stage(table: &mut Table, stage: &StagePair) {
    for (i, m) in stage.metrics.iter().enumerate() {
        let level = if i == 0 { stage.at.short() } else { String::new() };
        table.rows.push(row(&level, m));
    }
}

fn row(level: &str, m: &MetricPair) -> Vec<String> {
    let side = |v: Option<&f64>| v.map_or(NONE.into(), |v| figures::show(m.metric, *v));
    let label = columns::label(m.metric);
    vec![
        level.to_owned(),
        label.replace('\n', " ").replace(" /req", "/req"),
        side(m.a.value()),
        side(m.b.value()),
        m.change.map_or(NONE.into(), |e| figures::change(e.value)),
        m.change.and_then(|e| figures::change_interval(&e)).unwrap_or(NONE.into()),
        said(m.metric, m.reading).into(),
    ]
}

/// A reading in words.
pub(in super::super) fn said(metric: &str, reading: Reading) -> &'static str {
    match (reading.verdict(metric), reading) {
        (Some(Verdict::Better), _) => "better",
        (Some(Verdict::Worse), _) => "worse",
        (Some(Verdict::Differs), _) => "differs",
        (Some(Verdict::NoDifferenceShown), _) => "no difference shown",
        (None, Reading::NotFit) => "no conclusion: see below",
        (None, Reading::NoInterval) => "no interval: repeat the ladder",
        (None, reading) => match reading.leaning(metric) {
            Some(Verdict::Better) => "perhaps better *",
            Some(Verdict::Worse) => "perhaps worse *",
            Some(_) => "perhaps differs *",
            None => NONE,
        },
    }
}
