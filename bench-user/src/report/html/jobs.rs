//! Jobs: the time of every run beside the others', and the table of the text report.

use maud::{Markup, html};

use super::data;
use super::kit::blocks;
use super::kit::figure::{Figure, Key, missing};
use super::kit::plot::{self, Axis, Plot};
use super::kit::scale::Scale;
use super::kit::table::{self, Caption};
use super::labels;
use crate::plan::JobSpec;
use crate::record::StageRecord;
use crate::report::columns::OF_JOB;
use crate::report::figures;
use crate::report::job;
use crate::report::levels::Ladder;

/// Height of a target's row.
const ROW: f64 = 40.0;

/// The figure and the table.
pub(super) fn section(job: &JobSpec, ladders: &[Ladder<'_>]) -> Markup {
    html! {
        (times(ladders))
        (table::table(&job::table(job, ladders), Caption::Shown("Jobs: medians over the counted runs")))
        (blocks::items(&ladders.iter().filter_map(job::failures).collect::<Vec<_>>()))
        @if let Some(of) = job::syscalls(ladders) {
            (table::table(&of, Caption::Shown("Syscalls of one run")))
        }
    }
}

/// One row a target: a point a run, a line at the median.
fn times(ladders: &[Ladder<'_>]) -> Markup {
    let title = "Time of every run";
    let runs = |ladder: &Ladder<'_>| -> Vec<(u32, f64)> {
        let rows = ladder.rows.first();
        rows.map_or(Vec::new(), |row| row.not_failed().filter_map(time).collect())
    };
    let all: Vec<Vec<(u32, f64)>> = ladders.iter().map(runs).collect();
    if all.iter().all(Vec::is_empty) {
        return missing(
            title,
            "No counted run went well, so that no time says something of a job.",
        );
    }
    let scale = Scale::from_zero(all.iter().flatten().map(|(_, ns)| *ns));
    let rows = f64::from(u32::try_from(ladders.len()).unwrap_or(1));
    let y = Axis {
        scale: Scale::Linear { low: 0.0, high: 1.0 },
        title: String::new(),
        ticks: Vec::new(),
    };
    let plot =
        Plot::new(labels::axis("_ns", "from the release to the end of the last process", scale), y);
    let plot = Plot { left: 10.0, height: 68.0 + rows * ROW, ..plot };
    let id = "job-times";
    let body = html! {
        @for (place, (ladder, runs)) in ladders.iter().zip(&all).enumerate() {
            @let y = 26.0 + ROW * f64::from(u32::try_from(place).unwrap_or(0));
            g class=(plot::ink(place)) data-t=(place) { (row(&plot, place, ladder, runs, y)) }
        }
    };
    let median = html! { path.median d="M14 0V14" {} };
    let mut keys = super::ladder::target_keys(ladders);
    keys.push(Key::sign(median, "the median"));
    Figure {
        id,
        title: title.into(),
        says: says(ladders),
        keys,
        pictures: vec![plot.svg("times of runs", &Figure::says_id(id), &body)],
        data: data::estimates(ladders, &OF_JOB.iter().collect::<Vec<_>>()),
    }
    .draw()
}

#[expect(clippy::cast_precision_loss, reason = "places in a picture")]
fn time(stage: &StageRecord) -> Option<(u32, f64)> {
    Some((stage.repetition, stage.job.as_ref()?.wall_ns as f64))
}

fn row(plot: &Plot, place: usize, ladder: &Ladder<'_>, runs: &[(u32, f64)], top: f64) -> Markup {
    let name = &ladder.target.name;
    let median = ladder.rows.first().and_then(|row| row.figure(&OF_JOB[0]).ok());
    let y = top + 26.0;
    html! {
        text.bar-name x=(plot.left) y=(plot::round(top + 11.0)) { (super::kit::words::plain(name)) }
        @if let Some(median) = median {
            @let x = plot.px(median.value);
            @let shown = figures::show_estimate("job.wall_ns", &median);
            g.m data-v=(median.value) {
                (plot::tip(&format!("{name}\nmedian {shown}")))
                path.median d=(format!("M{x:.1} {:.1}v18", y - 9.0)) {}
            }
        }
        @for (repetition, ns) in runs {
            g.m data-v=(ns) {
                (plot::tip(&format!("{name}, run {}\n{}", repetition + 1, figures::show("_ns", *ns))))
                (plot::point(place, plot.px(*ns), y))
            }
        }
    }
}

fn says(ladders: &[Ladder<'_>]) -> String {
    let of = |ladder: &Ladder<'_>| {
        let median = ladder.rows.first()?.figure(&OF_JOB[0]).ok()?;
        let shown = figures::show_estimate("job.wall_ns", &median);
        Some(format!("{}: median {shown}.", ladder.target.name))
    };
    ladders.iter().filter_map(of).collect::<Vec<_>>().join(" ")
}
