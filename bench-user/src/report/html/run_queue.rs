//! Waits for a CPU as heat maps: one column a level, one row a length of wait, as dark as their
//! share of all waits at that level. Waits of all counted repetitions are added up.

use hdrhistogram::Histogram;
use maud::{Markup, html};

use super::kit::figure::{Figure, Key, missing};
use super::kit::plot::{self, Axis, Plot};
use super::kit::scale::Scale;
use super::labels;
use crate::report::columns::METRICS;
use crate::report::figures::{self, NONE};
use crate::report::levels::{self, Ladder, Row};
use crate::report::page::Table;

/// Edges of the rows within a decade.
const EDGES: [u64; 3] = [1, 2, 5];

/// Shares from which a cell is darker, and the words for it.
const SHADES: [(f64, &str); 6] = [
    (0.0, "up to 0.1%"),
    (0.001, "0.1% to 1%"),
    (0.01, "1% to 5%"),
    (0.05, "5% to 20%"),
    (0.2, "20% to 50%"),
    (0.5, "more than half"),
];

/// The levels of a target with their waits.
type Merged<'r, 'a> = Vec<(&'r Row<'a>, Histogram<u64>)>;

/// The waits at a level by their row.
struct Column {
    name: String,
    total: u64,
    counts: Vec<u64>,
    p99: Option<f64>,
}

/// One map a target; a sentence with the reason where there is none.
pub(super) fn figure(ladders: &[Ladder<'_>]) -> Markup {
    let title = "Waits for a CPU at every level";
    let merged: Vec<(usize, Merged<'_, '_>)> =
        ladders.iter().enumerate().map(|(i, ladder)| (i, histograms(ladder))).collect();
    let all = || merged.iter().flat_map(|(_, rows)| rows).map(|(_, h)| h);
    if all().all(|h| h.is_empty()) {
        return missing(title, &why_none(ladders));
    }
    let edges =
        edges(all().map(lowest).min().unwrap_or(0), all().map(|h| h.max()).max().unwrap_or(0));
    let column = levels::title(ladders.iter().flat_map(|l| &l.rows).map(|row| row.at));
    let maps: Vec<(usize, Vec<Column>)> = merged
        .into_iter()
        .filter(|(_, rows)| !rows.is_empty())
        .map(|(place, rows)| {
            (place, rows.iter().map(|(row, h)| of(row, h, &edges, column)).collect())
        })
        .collect();
    let id = "run-queue-map";
    let picture = |(place, columns): &(usize, Vec<Column>)| {
        let name = &ladders[*place].target.name;
        html! { div data-t=(place) { (map(name, columns, &edges, &Figure::says_id(id))) } }
    };
    let mut keys: Vec<Key> = SHADES
        .iter()
        .enumerate()
        .map(|(i, (_, words))| Key::area(&format!("h{i}"), *words))
        .collect();
    keys.push(Key::sign(html! { path.p99 d="M1 7H27" {} }, "p99, median of the repetitions"));
    Figure {
        id,
        title: title.into(),
        says: says(ladders),
        keys,
        pictures: maps.iter().map(picture).collect(),
        data: data(ladders, &maps, &edges),
    }
    .draw()
}

/// The waits of each level, all counted repetitions added up.
fn histograms<'r, 'a>(ladder: &'r Ladder<'a>) -> Merged<'r, 'a> {
    let of = |row: &'r Row<'a>| {
        let waits = row.stages.iter().filter_map(|s| s.sched.value()?.runqlat_ns.histogram());
        let sum = waits.reduce(|mut sum, more| {
            sum.auto(true);
            sum.add(more).expect("a histogram that resizes itself takes any value");
            sum
        })?;
        Some((row, sum))
    };
    ladder.rows.iter().filter_map(of).collect()
}

/// The shortest wait that was one: those of nothing stand in the lowest row whatever it is.
fn lowest(h: &Histogram<u64>) -> u64 {
    h.iter_recorded().map(|v| v.value_iterated_to()).find(|ns| *ns > 0).unwrap_or(0)
}

/// Upper edges of the rows, ns: 1, 2 and 5 of each decade, from the first above the shortest wait
/// to the first above the longest.
fn edges(low: u64, high: u64) -> Vec<u64> {
    let all: Vec<u64> = (0..12u32).flat_map(|d| EDGES.map(|n| n * 10u64.pow(d))).collect();
    let first = all.iter().position(|edge| *edge >= low).unwrap_or(0);
    let last = all.iter().position(|edge| *edge >= high).unwrap_or(all.len() - 1);
    all[first..=last.max(first)].to_vec()
}

#[expect(clippy::cast_precision_loss, reason = "shares are for people")]
fn share(n: u64, of: u64) -> f64 {
    n as f64 / of.max(1) as f64
}

fn of(row: &Row<'_>, h: &Histogram<u64>, edges: &[u64], column: &str) -> Column {
    let mut counts = vec![0; edges.len()];
    for value in h.iter_recorded() {
        let at = edges.partition_point(|edge| *edge < value.value_iterated_to());
        counts[at.min(edges.len() - 1)] += value.count_at_value();
    }
    let p99 = row.figure(&METRICS[5]).ok().map(|estimate| estimate.value);
    Column { name: levels::cell(column, row.at), total: h.len(), counts, p99 }
}

fn map(target: &str, columns: &[Column], edges: &[u64], says: &str) -> Markup {
    let many = |n: usize| f64::from(u32::try_from(n).unwrap_or(1));
    let middle = |i: usize| many(i) + 0.5;
    let x = Axis {
        scale: Scale::Linear { low: 0.0, high: many(columns.len()) },
        title: "level".into(),
        ticks: columns.iter().enumerate().map(|(i, c)| (middle(i), c.name.clone())).collect(),
    };
    let row_of = |ns: f64| {
        let place = edges.iter().position(|edge| *edge as f64 >= ns).unwrap_or(edges.len() - 1);
        middle(place)
    };
    let ticks = edges.iter().enumerate().filter(|(_, edge)| edge.to_string().starts_with('1'));
    let y = Axis {
        scale: Scale::Linear { low: 0.0, high: many(edges.len()) },
        title: format!("{target}: wait up to"),
        ticks: ticks.map(|(i, edge)| (many(i) + 1.0, labels::label("_ns", *edge as f64))).collect(),
    };
    let plot = Plot::new(x, y);
    plot.svg(&format!("heat map of {target}"), says, &html! {
        @for (i, column) in columns.iter().enumerate() {
            @for (j, count) in column.counts.iter().enumerate().filter(|(_, n)| **n > 0) {
                @let (left, right) = (plot.px(many(i)), plot.px(many(i + 1)));
                @let (top, bottom) = (plot.py(many(j + 1)), plot.py(many(j)));
                @let part = share(*count, column.total);
                g.m data-v=(count) {
                    (plot::tip(&format!(
                        "{target} at {}\n{} of {} waits ({}) took up to {}", column.name,
                        figures::count(*count), figures::count(column.total),
                        figures::fine_percent(part), figures::ns(edges[j])
                    )))
                    rect class=(shade(part)) x=(plot::round(left + 0.5)) y=(plot::round(top + 0.5))
                        width=(plot::round(right - left - 1.0))
                        height=(plot::round(bottom - top - 1.0)) {}
                }
            }
            @if let Some(p99) = column.p99 {
                @let y = plot.py(row_of(p99));
                path.p99 d=(format!("M{:.1} {y:.1}H{:.1}", plot.px(many(i)), plot.px(many(i + 1)))) {}
            }
        }
    })
}

fn shade(share: f64) -> String {
    format!("h{}", SHADES.iter().rposition(|(from, _)| share >= *from).unwrap_or(0))
}

fn why_none(ladders: &[Ladder<'_>]) -> String {
    let stages = || ladders.iter().flat_map(|ladder| &ladder.rows).flat_map(|row| &row.stages);
    match stages().find_map(|stage| stage.sched.why()) {
        Some(why) => format!("Waits for a CPU were not measured: {why}."),
        None if stages().next().is_none() => {
            "No stage of a counted repetition was finished.".into()
        }
        None => "No wait for a CPU was seen.".into(),
    }
}

fn says(ladders: &[Ladder<'_>]) -> String {
    let of = |ladder: &Ladder<'_>| {
        let known = ladder.rows.iter().filter_map(|row| {
            let value = row.figure(&METRICS[5]).ok()?.value;
            Some((value, row))
        });
        let (value, row) = known.max_by(|a, b| a.0.total_cmp(&b.0))?;
        let shown = figures::show("_ns", value);
        Some(format!("{}: the longest p99 is {shown}{}.", ladder.target.name, row.at_level()))
    };
    let each: Vec<String> = ladders.iter().filter_map(of).collect();
    format!(
        "Each cell is the share of all waits at its level, the counted repetitions together. {}",
        each.join(" ")
    )
}

fn data(ladders: &[Ladder<'_>], maps: &[(usize, Vec<Column>)], edges: &[u64]) -> Table {
    let mut table =
        Table::new(["target", ">level", ">wait up to, ns", ">waits", ">of", ">p99, ns"]);
    for (place, columns) in maps {
        for column in columns {
            for (edge, count) in edges.iter().zip(&column.counts).filter(|(_, n)| **n > 0) {
                table.rows.push(vec![
                    ladders[*place].target.name.clone(),
                    column.name.clone(),
                    edge.to_string(),
                    count.to_string(),
                    column.total.to_string(),
                    column.p99.map_or(NONE.into(), super::data::number),
                ]);
            }
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_go_from_the_shortest_to_the_longest_wait() {
        assert_eq!(edges(3, 40), [5, 10, 20, 50]);
        assert_eq!(edges(0, 0), [1]);
        assert_eq!(edges(100, 100), [100]);
    }

    #[test]
    fn a_cell_is_as_dark_as_its_share() {
        let shades = [0.0005, 0.001, 0.04, 0.05, 0.3, 1.0].map(shade);
        assert_eq!(shades, ["h0", "h1", "h2", "h3", "h4", "h5"]);
    }
}
