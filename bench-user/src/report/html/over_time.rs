//! The insides of the stages, one after the other: rate, response times, CPU, memory, throttling.
//! Of one climb of each target, the middle one at each level.

use maud::{Markup, html};

use super::data::number;
use super::kit::figure::{Figure, missing};
use super::kit::plot::{self, Axis, Plot};
use super::kit::scale::Scale;
use super::samples::{self, GAUGES, Gauge, Point};
use super::{distribution, labels, ladder};
use crate::record::StageRecord;
use crate::report::figures;
use crate::report::levels::{self, Ladder};
use crate::report::page::Table;

/// A stage's points: whose, in which slot, how long it was, and one entry a gauge.
struct Track<'a> {
    place: usize,
    slot: usize,
    stage: &'a StageRecord,
    points: Vec<Vec<Option<Point>>>,
}

/// One picture a gauge, for those that have values; a sentence where no stage has samples.
pub(super) fn figure(ladders: &[Ladder<'_>]) -> Markup {
    let title = "Inside the stages";
    let column = levels::title(ladders.iter().flat_map(|l| &l.rows).map(|row| row.at));
    let slots = distribution::levels_of(ladders, column);
    let tracks: Vec<Track<'_>> = ladders
        .iter()
        .enumerate()
        .flat_map(|(place, ladder)| {
            let slots = &slots;
            ladder.rows.iter().filter_map(move |row| {
                let slot = slots.iter().position(|(at, _)| *at == row.at)?;
                Some(track(place, slot, row.middle()))
            })
        })
        .filter(|track| !track.stage.samples.is_empty())
        .collect();
    if tracks.is_empty() {
        let why = "No stage has samples: it was shorter than the interval between two, or none was finished.";
        return missing(title, why);
    }
    let id = "over-time";
    let gauges: Vec<(usize, &Gauge)> =
        GAUGES.iter().enumerate().filter(|(i, _)| has(&tracks, *i)).collect();
    let draw = |(i, gauge): &(usize, &Gauge)| {
        picture(ladders, &slots, &tracks, *i, gauge, &Figure::says_id(id))
    };
    Figure {
        id,
        title: title.into(),
        says: says(&tracks, &gauges),
        keys: ladder::target_keys(ladders),
        pictures: gauges.iter().map(draw).collect(),
        data: data(ladders, &slots, &tracks, &gauges),
    }
    .draw()
}

fn track(place: usize, slot: usize, stage: &StageRecord) -> Track<'_> {
    let is_job = stage.job.is_some();
    let points = |gauge: &Gauge| match is_job && gauge.metric.starts_with("load.") {
        true => Vec::new(),
        false => samples::points(&stage.samples, gauge),
    };
    Track { place, slot, stage, points: GAUGES.iter().map(points).collect() }
}

fn has(tracks: &[Track<'_>], gauge: usize) -> bool {
    tracks.iter().any(|track| track.points[gauge].iter().any(Option::is_some))
}

type Slots = [(crate::plan::Level, String)];

fn picture(
    ladders: &[Ladder<'_>],
    slots: &Slots,
    tracks: &[Track<'_>],
    i: usize,
    gauge: &Gauge,
    says: &str,
) -> Markup {
    let values = tracks.iter().flat_map(|t| &t.points[i]).flatten().map(|point| point.high);
    let most = values.fold(0.0, f64::max);
    let y = match gauge.metric.contains("bytes") {
        true => labels::bytes_axis(gauge.title, most),
        false => labels::axis(gauge.metric, gauge.title, Scale::from_zero([most])),
    };
    let many = |n: usize| f64::from(u32::try_from(n).unwrap_or(1));
    let middles = slots.iter().enumerate().map(|(i, (at, _))| (many(i) + 0.5, at.short()));
    let is_job = slots.iter().all(|(at, _)| at.is_job());
    let x = Axis {
        scale: Scale::Linear { low: 0.0, high: many(slots.len()) },
        title: if is_job { "time of the run" } else { "time inside each stage, by level" }.into(),
        ticks: if is_job { Vec::new() } else { middles.collect() },
    };
    let plot = Plot { height: 230.0, ..Plot::new(x, y) };
    let (top, bottom) = plot.ends();
    plot.svg(gauge.title, says, &html! {
        @for slot in 1..slots.len() {
            path.part d=(format!("M{:.1} {top:.1}V{bottom:.1}", plot.px(many(slot)))) {}
        }
        @for track in tracks {
            @let at = |p: &Point| plot.px(many(track.slot) + 0.04 + 0.92 * (p.at_s / longest(tracks, track.slot)).min(1.0));
            g class=(plot::ink(track.place)) data-t=(track.place) {
                @let known: Vec<&Point> = track.points[i].iter().flatten().collect();
                @if !gauge.is_highest && samples::together(&track.stage.samples) > 1 {
                    @let edges: Vec<_> = known.iter().map(|p| (at(p), plot.py(p.low), plot.py(p.high))).collect();
                    path.band d=(plot::band(&edges)) {}
                }
                path.line d=(plot::line(track.points[i].iter().map(|p| p.as_ref().map(|p| (at(p), plot.py(p.value)))))) {}
                @for point in &known {
                    g.m data-v=(point.value) {
                        (plot::tip(&format!(
                            "{} at {}, {:.1} s\n{} {}", ladders[track.place].target.name,
                            slots[track.slot].1, point.at_s, gauge.title, figures::show(gauge.metric, point.value)
                        )))
                        path.dot d=(format!("M{:.1} {:.1}h.1", at(point), plot.py(point.value))) {}
                    }
                }
            }
        }
    })
}

/// The longest stage in a slot, s: its whole width.
fn longest(tracks: &[Track<'_>], slot: usize) -> f64 {
    let end = |stage: &StageRecord| stage.samples.last().map_or(0.0, |s| s.t_ms / 1e3);
    let ends =
        tracks.iter().filter(|t| t.slot == slot).map(|t| end(t.stage).max(t.stage.duration_s));
    ends.fold(f64::MIN_POSITIVE, f64::max)
}

fn says(tracks: &[Track<'_>], gauges: &[(usize, &Gauge)]) -> String {
    let together = tracks.iter().map(|t| samples::together(&t.stage.samples)).max().unwrap_or(1);
    let point = match together {
        1 => "A point is one sample.".to_owned(),
        n => format!(
            "A point is up to {n} samples: their mean over time (of a p99 the highest), inside a band \
             from the lowest to the highest."
        ),
    };
    let absent: Vec<&str> = GAUGES
        .iter()
        .enumerate()
        .filter(|(i, _)| !gauges.iter().any(|(known, _)| known == i))
        .map(|(_, gauge)| gauge.title)
        .collect();
    let absent = match absent.is_empty() {
        true => String::new(),
        false => format!(" Not in the samples: {}.", absent.join("; ")),
    };
    format!("Of one climb of each target, the middle one at each level. {point}{absent}")
}

fn data(
    ladders: &[Ladder<'_>],
    slots: &Slots,
    tracks: &[Track<'_>],
    gauges: &[(usize, &Gauge)],
) -> Table {
    let mut titles = vec!["target".to_owned(), "level".into(), ">time, s".into()];
    titles.extend(gauges.iter().map(|(_, gauge)| format!(">{}", gauge.metric)));
    let mut table = Table::new(titles);
    for track in tracks {
        let count = track.points.iter().map(Vec::len).max().unwrap_or(0);
        for n in 0..count {
            let all: Vec<Option<Point>> =
                gauges.iter().map(|(i, _)| track.points[*i].get(n).copied().flatten()).collect();
            let Some(at) = all.iter().flatten().next() else { continue };
            let mut cells = vec![
                ladders[track.place].target.name.clone(),
                slots[track.slot].1.clone(),
                format!("{:.3}", at.at_s),
            ];
            let value = |p: &Option<Point>| p.map_or(figures::NONE.into(), |p| number(p.value));
            cells.extend(all.iter().map(value));
            table.rows.push(cells);
        }
    }
    table
}
