//! The page of a comparison: what makes the two sides unlike first, then the figures.

use super::super::columns;
use super::super::figures::{self, NONE};
use super::super::levels;
use super::super::page::{Page, Table};
use super::super::reasons::Reasons;
use super::{Comparison, MetricPair, Pair, Reading, StagePair};
use crate::plan::Level;

/// The whole page.
pub(in super::super) fn page(c: &Comparison) -> Page {
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
    for pair in &c.pairs {
        add_pair(&mut page, c, pair);
    }
    let is_weak =
        |m: &MetricPair| matches!(m.reading, Reading::PerhapsHigher | Reading::PerhapsLower);
    if c.pairs.iter().flat_map(metrics).any(is_weak) {
        page.text(
            "* Fewer than five repetitions, or an interval from the samples inside one stage: too \
             little for a conclusion.",
        );
    }
    page
}

fn add_pair(page: &mut Page, c: &Comparison, pair: &Pair) {
    let (name_a, name_b) = column_names(c, pair);
    page.heading(format!("{name_b} against {name_a}"));
    if pair.stages.is_empty() {
        page.text("No stage with the same number of connections, or the same rate, on both sides.");
    } else {
        let mut table = Table::new(["metric", ">a", ">b", ">change", ">interval", "reading"]);
        table.columns[1].0 = name_a.clone();
        table.columns[2].0 = name_b.clone();
        let level = levels::title(pair.stages.iter().map(|stage| stage.at));
        table.columns.insert(0, (level.into(), true));
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

fn add_stage(table: &mut Table, stage: &StagePair) {
    for (i, m) in stage.metrics.iter().enumerate() {
        let side = |v: Option<&f64>| v.map_or(NONE.into(), |v| figures::show(m.metric, *v));
        let label = columns::label(m.metric);
        table.rows.push(vec![
            if i == 0 { stage.at.short() } else { String::new() },
            label.replace('\n', " ").replace(" /req", "/req"),
            side(m.a.value()),
            side(m.b.value()),
            m.change.map_or(NONE.into(), |e| figures::change(e.value)),
            m.change.and_then(|e| figures::change_interval(&e)).unwrap_or(NONE.into()),
            reading(m).into(),
        ]);
    }
}

fn reading(m: &MetricPair) -> &'static str {
    match m.reading {
        Reading::Higher => "higher",
        Reading::Lower => "lower",
        Reading::PerhapsHigher => "perhaps higher *",
        Reading::PerhapsLower => "perhaps lower *",
        Reading::NotFit => "no conclusion: see below",
        Reading::NoDifferenceShown => "no difference shown",
        Reading::NoInterval => "no interval: repeat the ladder",
        Reading::Unavailable => NONE,
    }
}
