//! The ladder as pictures: throughput and response times over its levels, with the knee, the
//! plateau and where the ladder was stopped.

use maud::{Markup, html};

use super::data;
use super::kit::figure::{Figure, Key, missing};
use super::kit::plot::{self, Axis, Plot};
use super::kit::scale::Scale;
use super::labels;
use crate::plan::SpanLimit;
use crate::record::{Estimate, RunRecord};
use crate::report::columns::{METRICS, Metric, OF_HELD, P90};
use crate::report::figures;
use crate::report::findings;
use crate::report::levels::{self, Ladder, Row};

/// The classes that draw the lines of response times, from the median on.
const LINES: [&str; 3] = ["solid", "dotted", "dashed"];

/// Both figures; a sentence where no stage was counted.
pub(super) fn figures(run: &RunRecord, ladders: &[Ladder<'_>]) -> Markup {
    if ladders.iter().all(|ladder| ladder.rows.is_empty()) {
        return missing("Throughput", "No stage of a counted repetition was finished.");
    }
    html! { div.pair { div { (throughput(ladders)) } div { (times(run, ladders)) } } }
}

fn is_held(ladders: &[Ladder<'_>]) -> bool {
    ladders.iter().flat_map(|ladder| &ladder.rows).any(Row::is_held)
}

fn throughput(ladders: &[Ladder<'_>]) -> Markup {
    let metric = if is_held(ladders) { &OF_HELD[0] } else { &METRICS[0] };
    let id = "throughput";
    let (x, title) = labels::levels_axis(ladders);
    let series: Vec<_> = ladders.iter().map(|l| data::points(l, title, metric)).collect();
    let name = format!("Throughput, {} by level", metric.label);
    if series.iter().flatten().all(|(_, estimate)| estimate.is_none()) {
        let rows = ladders.iter().flat_map(|ladder| &ladder.rows);
        let why = rows.filter_map(|row| row.figure(metric).err()).next();
        return missing(&name, &format!("No level has one: {}.", why.unwrap_or_default()));
    }
    let estimates = series.iter().flatten().filter_map(|(_, e)| e.as_ref());
    let scale = Scale::from_zero(estimates.map(|e| e.high.unwrap_or(e.value).max(e.value)));
    let plot = Plot::new(x, labels::axis(metric.name, metric.label, scale));
    let body = html! {
        @if title == levels::RATE { (offered(&plot)) }
        @for (place, (ladder, points)) in ladders.iter().zip(&series).enumerate() {
            g class=(plot::ink(place)) data-t=(place) {
                (plateau(&plot, ladder))
                (stops(&plot, points))
                (line(&plot, place, &ladder.target.name, metric, points, "solid"))
                (knee(&plot, ladder, points))
            }
        }
    };
    let mut keys = target_keys(ladders);
    if title == levels::RATE {
        keys.push(Key::sign(html! { path.offered d="M1 12L27 2" {} }, "as much as was offered"));
    }
    keys.extend(signs(ladders));
    let says: Vec<String> = ladders.iter().filter_map(findings::peak_and_more).collect();
    let says =
        if says.is_empty() { "No level has a valid rate.".into() } else { says.join(". ") + "." };
    Figure {
        id,
        title: name,
        says,
        keys,
        pictures: vec![plot.svg("throughput over levels", &Figure::says_id(id), &body)],
        data: data::estimates(ladders, &[metric]),
    }
    .draw()
}

fn times(run: &RunRecord, ladders: &[Ladder<'_>]) -> Markup {
    let metrics: Vec<&Metric> = if is_held(ladders) {
        vec![&OF_HELD[1], &OF_HELD[2]]
    } else {
        vec![&METRICS[1], &P90, &METRICS[2]]
    };
    let id = "times";
    let name = if is_held(ladders) { "Times of events" } else { "Response times" };
    let (x, title) = labels::levels_axis(ladders);
    // Records of before it was kept have no p90.
    let has = |metric: &&Metric| {
        ladders.iter().flat_map(|ladder| &ladder.rows).any(|row| row.figure(metric).is_ok())
    };
    let metrics: Vec<&Metric> = metrics.into_iter().filter(has).collect();
    let all = |ladder, metric| data::points(ladder, title, metric);
    let values: Vec<f64> = ladders
        .iter()
        .flat_map(|ladder| metrics.iter().flat_map(move |metric| all(ladder, metric)))
        .filter_map(|(_, estimate)| Some(estimate?.value))
        .collect();
    let limit = stop_limit(run).filter(|limit| values.iter().any(|v| v * 4.0 >= *limit));
    let Some(scale) = Scale::log_around(values.iter().copied().chain(limit)) else {
        return missing(name, "No level has enough samples for a percentile.");
    };
    let plot = Plot::new(x, labels::axis("_ns", "logarithmic", scale));
    let body = html! {
        @if let Some(limit) = limit { (stop_line(&plot, limit)) }
        @for (place, ladder) in ladders.iter().enumerate() {
            g class=(plot::ink(place)) data-t=(place) {
                @for (metric, class) in lines(&metrics) {
                    (line(&plot, place, &ladder.target.name, metric, &all(ladder, metric), class))
                }
            }
        }
    };
    let mut keys = target_keys(ladders);
    for (metric, class) in lines(&metrics) {
        let sample = html! { path class=(format!("line {class}")) d="M1 7H27" {} };
        keys.push(Key::sign(sample, metric.label.replace('\n', " ")));
    }
    keys.extend(limit.map(|_| Key::sign(html! { path.limit d="M1 7H27" {} }, "p99 that stops")));
    Figure {
        id,
        title: format!("{name} by level"),
        says: says_times(ladders, metrics[metrics.len() - 1]),
        keys,
        pictures: vec![plot.svg(&format!("{name} over levels"), &Figure::says_id(id), &body)],
        data: data::estimates(ladders, &metrics),
    }
    .draw()
}

/// Each with its class; the last one, which says most, is dashed whatever is there besides.
fn lines<'m>(metrics: &'m [&'m Metric]) -> impl Iterator<Item = (&'m Metric, &'static str)> {
    let last = metrics.len() - 1;
    metrics
        .iter()
        .enumerate()
        .map(move |(i, m)| (*m, if i == last && i > 0 { LINES[2] } else { LINES[i] }))
}

/// The figure at the first and at the last level of each target.
fn says_times(ladders: &[Ladder<'_>], metric: &Metric) -> String {
    let of = |ladder: &Ladder<'_>| {
        let known = |row: &Row<'_>| {
            let value = row.figure(metric).ok()?.value;
            Some(format!("{} at {}", figures::show(metric.name, value), row.at))
        };
        let known: Vec<String> = ladder.rows.iter().filter_map(known).collect();
        let (first, rest) = known.split_first()?;
        let label = metric.label.replace('\n', " ");
        let to = rest.last().map_or(String::new(), |last| format!(", {last}"));
        Some(format!("{}: {label} {first}{to}.", ladder.target.name))
    };
    let each: Vec<String> = ladders.iter().filter_map(of).collect();
    if each.is_empty() { "No level has enough samples for it.".into() } else { each.join(" ") }
}

pub(super) fn target_keys(ladders: &[Ladder<'_>]) -> Vec<Key> {
    ladders.iter().enumerate().map(|(i, l)| Key::target(i, &l.target.name)).collect()
}

/// What the marks mean that are in the picture.
fn signs(ladders: &[Ladder<'_>]) -> Vec<Key> {
    let findings = || ladders.iter().filter_map(|ladder| ladder.findings);
    let has_knee = findings().any(|f| f.knee().is_some());
    let has_plateau = findings().any(|f| f.plateau_rps.is_some());
    let rows = ladders.iter().flat_map(|ladder| &ladder.rows);
    let has_stop = rows.flat_map(|row| &row.stages).any(|s| s.verdict.stopped_by.is_some());
    let knee = html! { path.knee d="M7 7a7 7 0 1 0 14 0a7 7 0 1 0 -14 0Z" {} };
    let plateau = html! { path.plateau d="M1 7H27" {} };
    let stop = html! { path.stop d="M14 0V14" {} };
    [
        (has_knee, knee, "the knee"),
        (has_plateau, plateau, "the plateau"),
        (has_stop, stop, "a stop rule ended the ladder"),
    ]
    .into_iter()
    .filter_map(|(is_there, sample, means)| is_there.then(|| Key::sign(sample, means)))
    .collect()
}

/// A target's line of a metric, its intervals and its points.
fn line(
    plot: &Plot,
    place: usize,
    name: &str,
    metric: &Metric,
    points: &[(&Row<'_>, Option<Estimate>)],
    class: &str,
) -> Markup {
    let at = |row: &Row<'_>, value: f64| (plot.px(row.at.number()), plot.py(value));
    let d = plot::line(points.iter().map(|(row, e)| e.map(|e| at(row, e.value))));
    let label = metric.label.replace('\n', " ");
    html! {
        path class=(format!("line {class}")) d=(d) {}
        @for (row, estimate) in points {
            @if let Some(estimate) = estimate {
                @let (x, y) = at(row, estimate.value);
                @let shown = figures::show_estimate(metric.name, estimate);
                g.m data-v=(estimate.value) {
                    (plot::tip(&format!("{name} at {}\n{label} {shown}", row.at)))
                    @if let Some((low, high)) = data::interval(estimate) {
                        path.whisker d=(format!("M{x:.1} {:.1}V{:.1}", plot.py(low), plot.py(high))) {}
                    }
                    (plot::point(place, x, y))
                }
            }
        }
    }
}

/// A ring around the point at the knee.
fn knee(plot: &Plot, ladder: &Ladder<'_>, points: &[(&Row<'_>, Option<Estimate>)]) -> Markup {
    let at = ladder.findings.and_then(|findings| findings.knee());
    let point = points.iter().find(|(row, _)| Some(row.at) == at);
    html! {
        @if let Some((row, Some(estimate))) = point {
            @let (x, y) = (plot.px(row.at.number()), plot.py(estimate.value));
            path.knee data-level=(row.at.number())
                d=(format!("M{:.1} {y:.1}a8 8 0 1 0 16 0a8 8 0 1 0 -16 0Z", x - 8.0)) {}
        }
    }
}

/// A line from the knee to the last level.
fn plateau(plot: &Plot, ladder: &Ladder<'_>) -> Markup {
    let found = ladder.findings.and_then(|f| Some((f.plateau_rps?, f.knee()?)));
    html! {
        @if let (Some((rate, knee)), Some(last)) = (found, ladder.rows.last()) {
            @let (from, to) = (plot.px(knee.number()), plot.px(last.at.number()));
            @let shown = figures::show("rps", rate);
            g.m data-v=(rate) {
                (plot::tip(&format!("{}\nplateau {shown}", ladder.target.name)))
                path.plateau d=(format!("M{from:.1} {:.1}H{to:.1}", plot.py(rate))) {}
            }
        }
    }
}

/// A line at each level where a rule ended a climb.
fn stops(plot: &Plot, points: &[(&Row<'_>, Option<Estimate>)]) -> Markup {
    let (top, bottom) = plot.ends();
    html! {
        @for (row, _) in points {
            @if let Some(rule) = row.stages.iter().find_map(|s| s.verdict.stopped_by.as_ref()) {
                @let x = plot.px(row.at.number());
                g.m {
                    (plot::tip(&format!("the ladder ended at {}: {rule}", row.at)))
                    path.stop d=(format!("M{x:.1} {top:.1}V{bottom:.1}")) {}
                }
            }
        }
    }
}

/// The rate that was offered.
fn offered(plot: &Plot) -> Markup {
    let most = |axis: &Axis| match axis.scale {
        Scale::Linear { high, .. } | Scale::Log { high, .. } => high,
    };
    let low = match plot.x.scale {
        Scale::Linear { low, .. } | Scale::Log { low, .. } => low,
    };
    let high = most(&plot.x).min(most(&plot.y));
    // On a logarithmic axis the line is a curve.
    let steps = (0..=40).map(|i| low + (high - low) * f64::from(i) / 40.0);
    let d = plot::line(steps.map(|rate| Some((plot.px(rate), plot.py(rate)))));
    html! { path.offered d=(d) {} }
}

fn stop_limit(run: &RunRecord) -> Option<f64> {
    match run.plan.stop.p99 {
        SpanLimit::AtLeast(span) => Some(span.0.as_secs_f64() * 1e9),
        SpanLimit::Switch(_) => None,
    }
}

fn stop_line(plot: &Plot, limit: f64) -> Markup {
    let end = plot.width - 14.0;
    html! {
        g.m {
            (plot::tip(&format!("a p99 of {} ends the ladder", figures::show("_ns", limit))))
            path.limit d=(format!("M{:.1} {:.1}H{end:.1}", plot.left, plot.py(limit))) {}
        }
    }
}
