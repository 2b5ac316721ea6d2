//! The distribution of times at every level: percentile plots whose axis stretches the slow end,
//! where a straight step to the right is ten times fewer requests.
//!
//! Each point is the median of the percentile over the counted repetitions, as everywhere in a
//! report; one that not every repetition has samples for is not drawn.

use hdrhistogram::Histogram;
use maud::{Markup, html};

use super::data::number;
use super::kit::figure::{Figure, missing};
use super::kit::plot::{self, Axis, Plot};
use super::kit::scale::Scale;
use super::{labels, ladder};
use crate::analyze::bootstrap;
use crate::distribution::{Distribution, Percentile};
use crate::plan::Level;
use crate::report::figures;
use crate::report::levels::{self, Ladder, Row};
use crate::report::page::Table;
use crate::report::times;

/// Points for every tenfold of requests.
const STEPS: u32 = 8;

/// Tenfolds: up to p99.99, the last that a record names.
const TENFOLDS: u32 = 4;

/// Percentiles with a label and their place, the logarithm of one over what is above.
const LABELS: [(f64, &str); 5] =
    [(0.301, "p50"), (1.0, "p90"), (2.0, "p99"), (3.0, "p99.9"), (4.0, "p99.99")];

/// One line: the percentiles of a target at a level.
struct Curve {
    place: usize,
    /// Place on the axis and time, ns.
    points: Vec<(f64, f64)>,
}

/// One picture a level, a line a target.
pub(super) fn figure(ladders: &[Ladder<'_>]) -> Markup {
    let title = "Distribution of times at every level";
    let Some(measure) = measure(ladders) else {
        return missing(
            title,
            "No request was answered in a counted stage, so there is no time to show.",
        );
    };
    let title = format!("Distribution of the {} at every level", called(measure));
    let column = levels::title(ladders.iter().flat_map(|l| &l.rows).map(|row| row.at));
    let levels = levels_of(ladders, column);
    let curves: Vec<Vec<Curve>> =
        levels.iter().map(|(at, _)| curves(ladders, at, measure)).collect();
    let times = curves.iter().flatten().flat_map(|c| &c.points).map(|(_, ns)| *ns);
    let Some(scale) = Scale::log_around(times) else {
        return missing(&title, "The record holds no histogram of it.");
    };
    let id = "distribution";
    let draw = |((_, name), curves): (&(Level, String), &Vec<Curve>)| {
        picture(ladders, scale, name, measure, curves, &Figure::says_id(id))
    };
    Figure {
        id,
        title,
        says: says(ladders, &levels, &curves),
        keys: ladder::target_keys(ladders),
        pictures: levels.iter().zip(&curves).map(draw).collect(),
        data: data(ladders, &levels, &curves, measure),
    }
    .draw()
}

/// All levels of all targets, in order, with their names.
pub(super) fn levels_of(ladders: &[Ladder<'_>], column: &str) -> Vec<(Level, String)> {
    let mut levels: Vec<Level> = Vec::new();
    for row in ladders.iter().flat_map(|ladder| &ladder.rows) {
        if !levels.contains(&row.at) {
            levels.push(row.at);
        }
    }
    let key = |at: &Level| (at.offered_rps.is_some(), at.number());
    levels.sort_by(|a, b| key(a).0.cmp(&key(b).0).then(key(a).1.total_cmp(&key(b).1)));
    let unit = if column == levels::RATE { " req/s" } else { "" };
    let name = |at: Level| match at.offered_rps {
        Some(_) => format!("{}{unit}", at.short()),
        None => at.to_string(),
    };
    levels.into_iter().map(|at| (at, name(at))).collect()
}

/// What was timed: responses, or else what streams were held for.
fn measure(ladders: &[Ladder<'_>]) -> Option<&'static str> {
    let rows = || ladders.iter().flat_map(|ladder| &ladder.rows);
    let all: Vec<&str> = rows().flat_map(times::measures).map(|(name, _)| name).collect();
    // Where streams are held, a response lasts as long as its stream.
    let held = rows().any(Row::is_held);
    let wanted: &[&'static str] = if held { &["gap", "first event"] } else { &["response"] };
    wanted.iter().copied().find(|name| all.contains(name))
}

/// A measure in words.
fn called(measure: &str) -> &str {
    match measure {
        "gap" => "time between events",
        "first event" => "time to the first event",
        _ => "response time",
    }
}

fn distributions<'a>(row: &Row<'a>, measure: &str) -> Vec<&'a Distribution> {
    let found = times::measures(row).into_iter().find(|(name, _)| *name == measure);
    found.map_or(Vec::new(), |(_, of)| of)
}

fn curves(ladders: &[Ladder<'_>], at: &Level, measure: &str) -> Vec<Curve> {
    let curve = |(place, ladder): (usize, &Ladder<'_>)| {
        let row = ladder.rows.iter().find(|row| row.at == *at)?;
        let points = percentiles(&distributions(row, measure));
        (!points.is_empty()).then_some(Curve { place, points })
    };
    ladders.iter().enumerate().filter_map(curve).collect()
}

/// Medians over the repetitions; empty where one has no histogram.
fn percentiles(of: &[&Distribution]) -> Vec<(f64, f64)> {
    let Some(histograms) = of.iter().map(|d| d.histogram()).collect::<Option<Vec<_>>>() else {
        return Vec::new();
    };
    let fewest = of.iter().map(|d| d.count).min().unwrap_or(0);
    let each: Vec<Vec<f64>> =
        of.iter().zip(&histograms).map(|(d, h)| of_one(d, h, fewest)).collect();
    let place = |i: usize| places().nth(i);
    let count = each.first().map_or(0, Vec::len);
    let median = |i: usize| {
        let values: Vec<f64> = each.iter().map(|values| values[i]).collect();
        Some((place(i)?, bootstrap::median(&values)?))
    };
    (0..count).filter_map(median).collect()
}

/// Places along the axis, from the median on.
fn places() -> impl Iterator<Item = f64> {
    let first = 2f64.log10();
    let steps = (1..=STEPS * TENFOLDS).map(|i| f64::from(i) / f64::from(STEPS));
    std::iter::once(first).chain(steps.filter(move |place| *place > first))
}

/// Times at all places that so many samples support, in one pass. Where the record names the
/// percentile, its value is the one.
#[expect(clippy::cast_precision_loss, reason = "counts and times are far below 2^53")]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a rank is at most the count of samples"
)]
fn of_one(d: &Distribution, h: &Histogram<u64>, fewest: u64) -> Vec<f64> {
    let supported = |place: &f64| 10f64.powf(*place) <= fewest as f64 * 1.000_001;
    let (min, max) = (d.min.unwrap_or(0), d.max.unwrap_or(u64::MAX));
    let mut buckets = h.iter_recorded();
    let (mut seen, mut value) = (0, 0);
    let at = |place: f64| {
        // Nearest rank, as everywhere; the rounding of the logarithm must not add one.
        let above = h.len() as f64 * 10f64.powf(-place);
        let rank = h.len() - (above * 1.000_000_001) as u64;
        while seen < rank
            && let Some(bucket) = buckets.next()
        {
            (seen, value) = (seen + bucket.count_at_value(), bucket.value_iterated_to());
        }
        let named = Percentile::ALL.into_iter().zip(LABELS);
        let known = named.filter(|(_, (of, _))| (of - place).abs() < 0.001);
        let known = known.map(|(percentile, _)| d.percentile(percentile)).find_map(Result::ok);
        known.unwrap_or(value.max(min).min(max)) as f64
    };
    places().take_while(supported).map(at).collect()
}

fn picture(
    ladders: &[Ladder<'_>],
    scale: Scale,
    name: &str,
    measure: &str,
    curves: &[Curve],
    says: &str,
) -> Markup {
    let x = Axis {
        scale: Scale::Linear { low: 0.25, high: f64::from(TENFOLDS) + 0.1 },
        title: "percentile".into(),
        ticks: LABELS.map(|(place, label)| (place, label.to_owned())).to_vec(),
    };
    let plot = Plot::new(x, labels::axis("_ns", &format!("{} at {name}", called(measure)), scale));
    let at = |point: &(f64, f64)| (plot.px(point.0), plot.py(point.1));
    plot.svg(
        &format!("{measure} at {name}"),
        says,
        &html! {
            @for Curve { place, points } in curves {
                @let target = &ladders[*place].target.name;
                g class=(plot::ink(*place)) data-t=(place) {
                    path.line d=(plot::line(points.iter().map(|p| Some(at(p))))) {}
                    @for point in points {
                        @if let Some((_, label)) = named(point.0) {
                            @let (x, y) = at(point);
                            g.m data-v=(point.1) {
                                (plot::tip(&format!(
                                    "{target} at {name}\n{label} {}", figures::show("_ns", point.1)
                                )))
                                (plot::point(*place, x, y))
                            }
                        }
                    }
                }
            }
            @if curves.is_empty() {
                text.middle x=(plot.width / 2.0) y=(plot.height / 2.0) { "no samples" }
            }
        },
    )
}

fn named(place: f64) -> Option<(f64, &'static str)> {
    LABELS.into_iter().find(|(of, _)| (of - place).abs() < 0.001)
}

/// The named percentiles of each target at the level that is shown of it.
fn says(ladders: &[Ladder<'_>], levels: &[(Level, String)], curves: &[Vec<Curve>]) -> String {
    let of = |(place, ladder): (usize, &Ladder<'_>)| {
        let row = ladder.shown()?;
        let at = levels.iter().position(|(at, _)| *at == row.at)?;
        let curve = curves[at].iter().find(|curve| curve.place == place)?;
        let known = curve.points.iter().filter_map(|(place, ns)| {
            Some(format!("{} {}", named(*place)?.1, figures::show("_ns", *ns)))
        });
        let known: Vec<String> = known.collect();
        Some(format!("{} at {}: {}.", ladder.target.name, row.at, known.join(", ")))
    };
    let each: Vec<String> = ladders.iter().enumerate().filter_map(of).collect();
    format!(
        "Both axes are logarithmic: one step to the right is ten times fewer requests. Points are \
         medians over the counted repetitions. {}",
        each.join(" ")
    )
}

fn data(
    ladders: &[Ladder<'_>],
    levels: &[(Level, String)],
    curves: &[Vec<Curve>],
    measure: &str,
) -> Table {
    let mut table = Table::new(["target", "level", ">percentile", &format!(">{measure}, ns")]);
    for ((_, name), curves) in levels.iter().zip(curves) {
        for Curve { place, points } in curves {
            for (at, ns) in points {
                table.rows.push(vec![
                    ladders[*place].target.name.clone(),
                    name.clone(),
                    format!("{:.4}", 100.0 - 10f64.powf(2.0 - at)),
                    number(*ns),
                ]);
            }
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: impl IntoIterator<Item = u64>) -> Distribution {
        let mut h = Histogram::new(3).unwrap();
        values.into_iter().for_each(|value| h.record(value).unwrap());
        Distribution::from_histogram(&h, None)
    }

    #[test]
    fn a_curve_goes_through_the_percentiles_of_the_record_as_far_as_samples_go() {
        let d = of(1..=1000);
        let points = percentiles(&[&d]);
        let named: Vec<(&str, f64)> =
            points.iter().filter_map(|(at, ns)| Some((named(*at)?.1, *ns))).collect();
        assert_eq!(named, [("p50", 500.0), ("p90", 900.0), ("p99", 990.0), ("p99.9", 999.0)]);
        assert!((points.last().unwrap().0 - 3.0).abs() < 1e-9, "no p99.99 of 1,000 samples");
        // Half a step behind p90: 1 - 10^-1.125 of 1,000 is the 926th sample.
        let next = points.iter().find(|(at, _)| (at - 1.125).abs() < 1e-9).unwrap();
        assert_eq!(next.1, 926.0);
    }

    #[test]
    fn over_repetitions_it_is_the_median_and_needs_all_of_them() {
        let (a, b, c) = (of(1..=1000), of((1..=1000).map(|n| n + 100)), of(1..=50));
        let median = percentiles(&[&a, &b, &b]);
        assert_eq!(median[0].1, 600.0);
        assert!(percentiles(&[&a, &c]).last().unwrap().0 < 2.0, "50 samples have no p99");
        assert!(percentiles(&[&a, &Distribution::default()]).is_empty());
    }
}
