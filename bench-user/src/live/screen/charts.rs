//! Charts over the time of the stage under way: what was achieved, and the 99th percentile. Of
//! jobs, the wall times of the runs.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::symbols::Marker;
use ratatui::widgets::{Axis, Chart, Dataset, GraphType, Paragraph, Wrap};

use super::{Screen, framed, samples};
use crate::ladder::StageSample;
use crate::live::state::State;
use crate::units::{show_count, show_ns};

/// One line over time, and how its values are read.
struct Curve<'a> {
    title: &'a str,
    points: Vec<(f64, f64)>,
    x_max: f64,
    x_label: String,
    show: fn(f64) -> String,
    /// Why there are no points.
    why_none: &'a str,
}

impl Screen {
    pub(super) fn charts(&self, frame: &mut Frame<'_>, area: Rect, state: &State) {
        let target = self.target(state);
        if state.outline.job_timeout_ns.is_some() {
            draw(frame, area, &walls(state, target));
            return;
        }
        let [left, right] = Layout::horizontal([Constraint::Percentage(50); 2]).areas(area);
        let samples = samples(state, target);
        draw(frame, left, &rate(state, samples));
        draw(frame, right, &p99(state, samples));
    }
}

fn rate<'a>(state: &State, samples: &[StageSample]) -> Curve<'a> {
    let rate = |sample: &StageSample| Some(sample.achieved_rps);
    let calls = |sample: &StageSample| sample.syscalls_per_sec;
    let (title, points) = if state.outline.is_held {
        ("syscalls/s", over_time(samples, calls))
    } else {
        ("responses/s", over_time(samples, rate))
    };
    curve(state, title, points, show_count, "no sample yet")
}

fn p99<'a>(state: &State, samples: &[StageSample]) -> Curve<'a> {
    #[expect(clippy::cast_precision_loss, reason = "times of a stage are below 2^53 ns")]
    let p99 = |sample: &StageSample| sample.response_ns_p99.map(|ns| ns as f64);
    let (points, why) = if state.outline.is_held {
        (Vec::new(), "streams that stay open have no response time")
    } else if samples.is_empty() {
        (Vec::new(), "no sample yet")
    } else {
        (over_time(samples, p99), "n/a: an interval needs 100 responses")
    };
    curve(state, "p99", points, show_ns, why)
}

fn over_time(
    samples: &[StageSample],
    value: impl Fn(&StageSample) -> Option<f64>,
) -> Vec<(f64, f64)> {
    samples.iter().filter_map(|sample| Some((sample.t_ms / 1e3, value(sample)?))).collect()
}

#[expect(clippy::cast_precision_loss, reason = "a window is below 2^53 ns")]
fn curve<'a>(
    state: &State,
    title: &'a str,
    points: Vec<(f64, f64)>,
    show: fn(f64) -> String,
    why_none: &'a str,
) -> Curve<'a> {
    let window_ns = state.outline.window_ns as f64;
    Curve { title, points, x_max: window_ns / 1e9, x_label: show_ns(window_ns), show, why_none }
}

/// The runs of a job in their order.
#[expect(clippy::cast_precision_loss, reason = "times and numbers of runs are below 2^53")]
fn walls<'a>(state: &State, target: usize) -> Curve<'a> {
    let of_it = state.finished.iter().filter(|finished| finished.climb.target == target);
    let walls = of_it.filter_map(|finished| finished.wall_ns);
    let points = walls.enumerate().map(|(n, ns)| ((n + 1) as f64, ns as f64)).collect();
    let repeat = state.outline.repeat;
    Curve {
        title: "wall time by run",
        points,
        x_max: f64::from(repeat.max(2)),
        x_label: format!("run {repeat}"),
        show: show_ns,
        why_none: "no run of it is over",
    }
}

fn draw(frame: &mut Frame<'_>, area: Rect, curve: &Curve<'_>) {
    let last = curve.points.last().map(|(_, value)| (curve.show)(*value));
    let title = last.map_or(curve.title.to_owned(), |last| format!("{}: {last}", curve.title));
    let block = framed(title);
    if curve.points.is_empty() {
        frame.render_widget(
            Paragraph::new(curve.why_none).wrap(Wrap { trim: true }).block(block),
            area,
        );
        return;
    }
    let top = curve.points.iter().map(|(_, value)| *value).fold(0.0, f64::max) * 1.1;
    let top = if top > 0.0 { top } else { 1.0 };
    let line = Dataset::default()
        .marker(Marker::Braille)
        .graph_type(if curve.points.len() > 1 { GraphType::Line } else { GraphType::Scatter })
        .data(&curve.points);
    let x =
        Axis::default().bounds([0.0, curve.x_max]).labels(["0".to_owned(), curve.x_label.clone()]);
    let y = Axis::default().bounds([0.0, top]).labels(["0".to_owned(), (curve.show)(top)]);
    frame.render_widget(Chart::new(vec![line]).block(block).x_axis(x).y_axis(y), area);
}
