//! Figures of the analysis as the data of a figure: every digit that the record has.

use super::labels;
use crate::record::Estimate;
use crate::report::columns::Metric;
use crate::report::figures::NONE;
use crate::report::levels::{self, Ladder, Row};
use crate::report::page::Table;

/// A number of a table of data.
pub(super) fn number(value: f64) -> String {
    value.to_string()
}

/// Metrics of all levels with their intervals, and what those are over.
pub(super) fn estimates(ladders: &[Ladder<'_>], metrics: &[&Metric]) -> Table {
    let title = levels::title(ladders.iter().flat_map(|l| &l.rows).map(|row| row.at));
    let level = format!(">{title}");
    let mut table = Table::new([
        "target",
        &level,
        "metric",
        ">value",
        ">low",
        ">high",
        ">repetitions",
        "interval over",
    ]);
    for ladder in ladders {
        for (row, metric) in ladder.rows.iter().flat_map(|r| metrics.iter().map(move |m| (r, m))) {
            let mut cells = vec![
                ladder.target.name.clone(),
                levels::cell(title, row.at),
                metric.name.to_owned(),
            ];
            cells.extend(figure(row, metric));
            table.rows.push(cells);
        }
    }
    table
}

fn figure(row: &Row<'_>, metric: &Metric) -> [String; 5] {
    match row.figure(metric) {
        Ok(Estimate { value, low, high, repetitions, within_stage }) => {
            let edge = |edge: Option<f64>| edge.map_or(NONE.into(), number);
            let over = match (low.is_some(), within_stage) {
                (false, _) => "no interval",
                (true, true) => "samples inside the stage",
                (true, false) => "repetitions",
            };
            [number(value), edge(low), edge(high), repetitions.to_string(), over.to_owned()]
        }
        Err(why) => {
            let none = || NONE.to_owned();
            [none(), none(), none(), row.stages.len().to_string(), why]
        }
    }
}

/// Points of a metric over the levels of a ladder that have a place on the axis.
pub(super) fn points<'r, 'a>(
    ladder: &'r Ladder<'a>,
    title: &str,
    metric: &Metric,
) -> Vec<(&'r Row<'a>, Option<Estimate>)> {
    let rows = labels::placed(ladder, title).into_iter();
    rows.map(|row| (row, row.figure(metric).ok())).collect()
}

/// The ends of an interval that is over repetitions; one from inside a stage knows nothing of the
/// noise between runs, which a line would seem to.
pub(super) fn interval(estimate: &Estimate) -> Option<(f64, f64)> {
    estimate.low.zip(estimate.high).filter(|_| !estimate.within_stage)
}
