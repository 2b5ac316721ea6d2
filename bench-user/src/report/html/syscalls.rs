//! Syscalls by name, one bar a target: which calls a request (or a run) is made of.

use std::collections::BTreeMap;

use maud::{Markup, html};

use super::data::number;
use super::kit::figure::{Figure, Key, missing};
use super::kit::plot::{self, Axis, Plot};
use super::kit::scale::Scale;
use super::labels;
use crate::report::figures::{self, NONE};
use crate::report::levels::Ladder;
use crate::report::page::Table;
use crate::report::{job, run, stages};

/// So many names have a colour of their own; the rest is one part.
const NAMES: usize = 7;

/// Height of a bar and of the space to the next.
const BAR: f64 = 34.0;

/// A target with its calls by name.
type Calls<'a> = (usize, String, BTreeMap<&'a str, f64>);

/// The figure; a sentence with the reason where nobody's calls were counted.
pub(super) fn figure(ladders: &[Ladder<'_>]) -> Markup {
    let is_job = ladders.iter().any(Ladder::is_job);
    let title = match (is_job, run::has_peaks(ladders)) {
        (true, _) => "Syscalls of one run by name",
        (false, true) => "Syscalls per request by name at the peak",
        (false, false) => "Syscalls per request by name at the highest rate",
    };
    let calls: Vec<Calls<'_>> =
        ladders.iter().enumerate().filter_map(|(i, l)| Some((i, bar_name(l), of(l)?))).collect();
    if calls.iter().all(|(.., by_name)| by_name.is_empty()) {
        return missing(title, &why_none(ladders));
    }
    let names = names(&calls);
    let metric = if is_job { "count" } else { "per_request" };
    let id = "syscalls-by-name";
    let most = calls.iter().map(|(.., by_name)| by_name.values().sum::<f64>());
    let plot = plot(&calls, metric, Scale::from_zero(most));
    let body = html! {
        @for (row, (place, name, by_name)) in calls.iter().enumerate() {
            g data-t=(place) { (bar(&plot, row, name, &parts(&names, by_name), metric)) }
        }
    };
    let mut keys: Vec<Key> =
        names.iter().enumerate().map(|(i, n)| Key::area(&format!("c{i}"), *n)).collect();
    if calls.iter().any(|(.., by_name)| by_name.len() > names.len()) {
        keys.push(Key::area("rest", "all others"));
    }
    Figure {
        id,
        title: title.into(),
        says: says(&calls, metric),
        keys,
        pictures: vec![plot.svg("stacked bars", &Figure::says_id(id), &body)],
        data: data(&calls, metric),
    }
    .draw()
}

fn of<'a>(ladder: &Ladder<'a>) -> Option<BTreeMap<&'a str, f64>> {
    if ladder.is_job() { job::counts(ladder) } else { stages::per_request(ladder.shown()?) }
}

fn bar_name(ladder: &Ladder<'_>) -> String {
    let at = ladder.shown().map_or(String::new(), |row| row.at_level());
    format!("{}{at}", ladder.target.name)
}

fn why_none(ladders: &[Ladder<'_>]) -> String {
    let stages = ladders.iter().flat_map(|ladder| &ladder.rows).flat_map(|row| &row.stages);
    let mut reasons: Vec<&str> = stages.filter_map(|stage| stage.syscalls.why()).collect();
    reasons.dedup();
    match reasons.first() {
        Some(why) => format!("Syscalls were not counted: {why}."),
        None => "There is no stage with counted syscalls and requests that were answered.".into(),
    }
}

/// The names with the most calls of any target, most first.
fn names<'a>(calls: &[Calls<'a>]) -> Vec<&'a str> {
    let mut highest = BTreeMap::<&str, f64>::new();
    for (name, n) in calls.iter().flat_map(|(.., by_name)| by_name) {
        let top = highest.entry(name).or_default();
        *top = top.max(*n);
    }
    let mut names: Vec<(&str, f64)> = highest.into_iter().collect();
    names.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(b.0)));
    names.into_iter().take(NAMES).map(|(name, _)| name).collect()
}

/// The parts of a bar: name, calls and class.
fn parts<'a>(names: &[&'a str], by_name: &BTreeMap<&str, f64>) -> Vec<(&'a str, f64, String)> {
    let known = names.iter().enumerate();
    let of = |name: &str| by_name.get(name).copied().unwrap_or(0.0);
    let mut parts: Vec<_> = known.map(|(i, name)| (*name, of(name), format!("c{i}"))).collect();
    let others = by_name.iter().filter(|(name, _)| !names.contains(*name));
    parts.push(("all others", others.map(|(_, n)| n).sum(), "rest".into()));
    parts.retain(|(_, n, _)| *n > 0.0);
    parts
}

fn plot(calls: &[Calls<'_>], metric: &str, scale: Scale) -> Plot {
    let rows = f64::from(u32::try_from(calls.len()).unwrap_or(1));
    let words = if metric == "count" { "syscalls" } else { "syscalls per request" };
    let x = Axis { title: words.into(), ..labels::axis(metric, words, scale) };
    let y = Axis {
        scale: Scale::Linear { low: 0.0, high: rows },
        title: String::new(),
        ticks: Vec::new(),
    };
    Plot { height: 68.0 + rows * (BAR + 18.0), left: 8.0, ..Plot::new(x, y) }
}

/// A bar under the name of its target; parts that are wide enough have their name in them.
fn bar(plot: &Plot, row: usize, name: &str, parts: &[(&str, f64, String)], metric: &str) -> Markup {
    let top = 26.0 + f64::from(u32::try_from(row).unwrap_or(0)) * (BAR + 18.0);
    let total: f64 = parts.iter().map(|(_, n, _)| n).sum();
    let starts = parts.iter().scan(0.0, |sum, (_, n, _)| {
        let start = *sum;
        *sum += n;
        Some(start)
    });
    html! {
        text.bar-name x=(plot.left) y=(plot::round(top + 11.0)) {
            (format!("{name}: {}", figures::show(metric, total)))
        }
        @for ((part, n, class), start) in parts.iter().zip(starts) {
            @let (from, to) = (plot.px(start), plot.px(start + n));
            g.m data-v=(n) {
                (plot::tip(&format!("{name}\n{part} {}", figures::show(metric, *n))))
                rect class=(class) x=(plot::round(from)) y=(plot::round(top + 16.0))
                    width=(plot::round((to - from).max(0.5))) height=(BAR - 8.0) {}
                @if to - from > 7.5 * f64::from(u32::try_from(part.len()).unwrap_or(0)) + 8.0 {
                    text class=(format!("middle on-{class}")) x=(plot::round(f64::midpoint(from, to)))
                        y=(plot::round(top + 33.0)) { (part) }
                }
            }
        }
    }
}

fn says(calls: &[Calls<'_>], metric: &str) -> String {
    let of = |(_, name, by_name): &Calls<'_>| {
        let total: f64 = by_name.values().sum();
        let mut most: Vec<(&&str, &f64)> = by_name.iter().collect();
        most.sort_by(|a, b| b.1.total_cmp(a.1).then(a.0.cmp(b.0)));
        let show = |n: f64| figures::show(metric, n);
        let most = most.iter().take(3).map(|(call, n)| format!("{call} {}", show(**n)));
        format!("{name}: {} ({}).", show(total), most.collect::<Vec<_>>().join(", "))
    };
    calls.iter().map(of).collect::<Vec<_>>().join(" ")
}

fn data(calls: &[Calls<'_>], metric: &str) -> Table {
    let mut titles = vec!["syscall".to_owned()];
    titles
        .extend(calls.iter().map(|(_, name, _)| format!(">{name}, {}", metric.replace('_', " "))));
    let mut table = Table::new(titles);
    let mut all: Vec<&str> =
        calls.iter().flat_map(|(.., by_name)| by_name.keys().copied()).collect();
    all.sort_unstable();
    all.dedup();
    for call in all {
        let mut cells = vec![call.to_owned()];
        cells.extend(calls.iter().map(|(.., by_name)| match by_name.is_empty() {
            true => NONE.to_owned(),
            // A name that is absent from a counted block was counted as zero.
            false => number(by_name.get(call).copied().unwrap_or(0.0)),
        }));
        table.rows.push(cells);
    }
    table
}
