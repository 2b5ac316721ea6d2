//! Values as labels of axes, and the axis of a ladder's levels.

use super::kit::plot::Axis;
use super::kit::scale::Scale;
use crate::report::figures;
use crate::report::levels::{self, Ladder, Row};

/// From this ratio of the last level to the first on, equal ratios are equally far apart.
const WIDE: f64 = 8.0;

/// A round value of a metric without digits that say nothing: `20 k`, `1 ms`.
pub(super) fn label(metric: &str, value: f64) -> String {
    let shown = figures::show(metric, value);
    let end = shown.find(|c: char| !(c.is_ascii_digit() || ".,-".contains(c)));
    let (number, unit) = shown.split_at(end.unwrap_or(shown.len()));
    match number.contains('.') {
        true => format!("{}{unit}", number.trim_end_matches('0').trim_end_matches('.')),
        false => shown,
    }
}

/// An axis of values of a metric.
pub(super) fn axis(metric: &str, title: &str, scale: Scale) -> Axis {
    let ticks = scale.ticks(6).into_iter().map(|v| (v, label(metric, v))).collect();
    Axis { scale, title: title.to_owned(), ticks }
}

/// An axis of sizes from zero, whose labels are round in their unit.
pub(super) fn bytes_axis(title: &str, most: f64) -> Axis {
    let unit = [1_073_741_824.0, 1_048_576.0, 1024.0].into_iter().find(|unit| most >= *unit);
    let unit = unit.unwrap_or(1.0);
    let ticks = Scale::from_zero([most / unit]).ticks(6).into_iter().map(|n| n * unit);
    Axis {
        ticks: ticks.map(|v| (v, label("bytes", v))).collect(),
        scale: Scale::from_zero([most]),
        title: title.to_owned(),
    }
}

/// The levels that have a place on the axis of these ladders: the closed stage of a search has
/// none among rates.
pub(super) fn placed<'r, 'a>(ladder: &'r Ladder<'a>, title: &str) -> Vec<&'r Row<'a>> {
    let has_place = |row: &&Row<'_>| (title == levels::RATE) == row.at.offered_rps.is_some();
    ladder.rows.iter().filter(has_place).collect()
}

/// The axis of all levels of these ladders, and what tells them apart.
pub(super) fn levels_axis(ladders: &[Ladder<'_>]) -> (Axis, &'static str) {
    let title = levels::title(ladders.iter().flat_map(|l| &l.rows).map(|row| row.at));
    let rows = ladders.iter().flat_map(|ladder| placed(ladder, title));
    let mut ticks: Vec<(f64, String)> = rows.map(|row| (row.at.number(), row.at.short())).collect();
    ticks.sort_by(|a, b| a.0.total_cmp(&b.0));
    ticks.dedup_by(|a, b| a.0 == b.0);
    let (low, high) = (ticks.first().map_or(0.0, |t| t.0), ticks.last().map_or(1.0, |t| t.0));
    let scale = if low == high {
        // A ladder of one level stands in the middle.
        Scale::Linear { low: 0.0, high: 2.0 * high }
    } else if low > 0.0 && high / low >= WIDE {
        Scale::Log { low: low / 1.2, high: high * 1.2 }
    } else {
        Scale::from_zero([high])
    };
    let words = if title == levels::RATE { "offered, req/s" } else { "connections" };
    (Axis { scale, title: words.to_owned(), ticks }, title)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_have_no_digits_that_say_nothing() {
        let labels = [("x", 20_000.0), ("x_ns", 1e6), ("x_ratio", 0.5), ("cgroup.cpu_ratio", 0.5)];
        assert_eq!(labels.map(|(m, v)| label(m, v)), ["20 k", "1 ms", "50%", "0.5"]);
        assert_eq!(label("bytes", 1_572_864.0), "1.5MiB");
        assert_eq!(label("x", 100.0), "100");
    }
}
