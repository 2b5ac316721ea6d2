//! A trend as a page, with a line of blocks for who only looks, and as CSV.

use std::io::{self, Write};

use super::skipped;
use super::trend::{Last, Point, Trend};
use crate::record::Estimate;
use crate::report::compare::said;
use crate::report::figures::{self, NONE};
use crate::report::page::{Item, Page, Table};

/// Eighths of a line's height.
const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Stands where a run has no figure.
const GAP: char = '·';

/// The whole page.
pub(in crate::report) fn page(trend: &Trend) -> Page {
    let at = if trend.at.is_job() { String::new() } else { format!(" at {}", trend.at) };
    let mut page = Page::titled(format!("{} of {}{at}", trend.metric, trend.target));
    let line = sparkline(&trend.points);
    page.items(vec![Item::new(line, range(trend))]);
    let mut table = Table::new(["run", "started", ">figure", ">interval", "repetitions"]);
    table.rows.extend(trend.points.iter().map(|point| row(&trend.metric, point)));
    page.table(table);
    page.items(doubts(&trend.points));
    page.items(vec![Item::new("last", last(trend))]);
    if let Some(conditions) = trend.last.as_ref().map(|last| &last.conditions)
        && !conditions.is_empty()
    {
        let mut table = Table::new(["condition", "the run before", "the last"]);
        let rows = conditions.iter().map(|c| vec![c.what.clone(), c.a.clone(), c.b.clone()]);
        table.rows.extend(rows);
        page.table(table);
    }
    if let Some(said) = skipped(&trend.skipped) {
        page.text(said);
    }
    page
}

/// A block for every run, the lowest for the smallest figure; all alike where all figures are.
fn sparkline(points: &[Point]) -> String {
    let values = points.iter().map(|point| point.figure.value().map(|figure| figure.value));
    let values: Vec<Option<f64>> = values.collect();
    let known = || values.iter().flatten().copied();
    let low = known().min_by(f64::total_cmp).unwrap_or(0.0);
    let high = known().max_by(f64::total_cmp).unwrap_or(0.0);
    let block = |value: f64| {
        let share = if high > low { (value - low) / (high - low) } else { 0.5 };
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "0 to 7: the share is 0 to 1"
        )]
        let height = (share * 7.0).round() as usize;
        BLOCKS[height.min(7)]
    };
    values.iter().map(|value| value.map_or(GAP, block)).collect()
}

/// What the lowest and the highest block are.
fn range(trend: &Trend) -> String {
    let values = || trend.points.iter().filter_map(|point| Some(point.figure.value()?.value));
    let show = |value: f64| figures::show(&trend.metric, value);
    match (values().min_by(f64::total_cmp), values().max_by(f64::total_cmp)) {
        (Some(low), Some(high)) => format!("from {} to {}", show(low), show(high)),
        _ => "no run has a figure".to_owned(),
    }
}

fn row(metric: &str, point: &Point) -> Vec<String> {
    let started = point.started_at.replace('T', " ").replace('Z', "");
    let show = |value: f64| figures::show(metric, value);
    let (figure, interval, repetitions) = match point.figure.value() {
        None => (NONE.to_owned(), NONE.to_owned(), String::new()),
        Some(e) => (show(e.value), interval(e, show), e.repetitions.to_string()),
    };
    let figure = if point.unfit.is_some() { format!("{figure} (invalid)") } else { figure };
    vec![point.run.clone(), started, figure, interval, repetitions]
}

/// One from inside a stage knows nothing of the noise between runs, and is marked.
fn interval(e: &Estimate, show: impl Fn(f64) -> String) -> String {
    match (e.low, e.high) {
        (Some(low), Some(high)) => {
            let mark = if e.within_stage { " inside the stage" } else { "" };
            format!("{} to {}{mark}", show(low), show(high))
        }
        _ => NONE.into(),
    }
}

/// Why runs have no figure, or one that no conclusion may rest on, each reason once.
fn doubts(points: &[Point]) -> Vec<Item> {
    let mut by_reason: Vec<(&str, Vec<&str>)> = Vec::new();
    for point in points {
        let Some(why) = point.figure.why().or(point.unfit.as_deref()) else { continue };
        match by_reason.iter_mut().find(|(known, _)| *known == why) {
            Some((_, runs)) => runs.push(&point.run),
            None => by_reason.push((why, vec![&point.run])),
        }
    }
    let item = |(why, runs): (&str, Vec<&str>)| match runs[..] {
        [first, _, ..] => Item::new(format!("{first} and {} more", runs.len() - 1), why),
        _ => Item::new(runs.join(", "), why),
    };
    by_reason.into_iter().map(item).collect()
}

/// Whether the last differs from the one before, as a sentence.
fn last(trend: &Trend) -> String {
    let newest = trend.points.last();
    let Some(Last { against, difference, conditions }) = &trend.last else {
        return match newest {
            Some(point) if point.figure.value().is_none() => {
                "the newest run has no figure to compare".to_owned()
            }
            _ => "no earlier run has a figure to compare with".to_owned(),
        };
    };
    let name = newest.map_or("", |point| point.run.as_str());
    let change = difference.change.map_or(String::new(), |change| {
        let interval = figures::change_interval(&change);
        let interval = interval.map_or(String::new(), |interval| format!(" {interval}"));
        format!(": {}{interval}", figures::change(change.value))
    });
    let said = match &difference.unfit {
        Some(why) => format!("no conclusion ({why})"),
        None if difference.change.is_none() => {
            "no relative change: that figure is not above zero".to_owned()
        }
        None => said(&trend.metric, difference.reading).replace(" *", ", of too few repetitions"),
    };
    let conditions = match conditions.len() {
        0 => "; machine and plan are the same".to_owned(),
        _ => "; NOT THE SAME CONDITIONS, any difference may come from there".to_owned(),
    };
    format!("{name} against {against}{change}, {said}{conditions}")
}

/// A row for every run, with a row of names.
pub(in crate::report) fn csv(trend: &Trend, out: &mut dyn Write) -> io::Result<()> {
    let mut csv = csv::Writer::from_writer(out);
    csv.write_record([
        "run",
        "started_at",
        "target",
        "metric",
        "value",
        "low",
        "high",
        "repetitions",
        "unfit",
    ])?;
    for Point { run, started_at, figure, unfit } in &trend.points {
        let number = |of: fn(&Estimate) -> Option<f64>| {
            figure.value().and_then(of).map_or(String::new(), |n| n.to_string())
        };
        let repetitions = figure.value().map_or(String::new(), |e| e.repetitions.to_string());
        let doubt = figure.why().map(str::to_owned).or_else(|| unfit.clone()).unwrap_or_default();
        csv.write_record([
            run,
            started_at,
            &trend.target,
            &trend.metric,
            &number(|e| Some(e.value)),
            &number(|e| e.low),
            &number(|e| e.high),
            &repetitions,
            &doubt,
        ])?;
    }
    csv.flush()
}
