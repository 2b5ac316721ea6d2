//! Drawings: axes, lines, points, areas. SVG whose colours, fonts and widths come from the style of
//! the page alone, so that one drawing serves both colour schemes and paper.
//!
//! A mark (class `m`) is something with a value: its `title` is what a reader sees who points at
//! it. What belongs to a target has its place in `data-t`, and its ink is the class `s0` to `s7`.

use std::fmt::Write as _;

use maud::{Markup, PreEscaped, html};

use super::scale::Scale;
use super::words::plain;

/// So many targets have an ink of their own; the next ones begin again, with other points.
const INKS: usize = 8;

/// Width of a character of a label beside an axis, and of the space between two of them.
const CHARACTER: f64 = 6.6;

/// One axis.
pub(in crate::report::html) struct Axis {
    pub(in crate::report::html) scale: Scale,
    pub(in crate::report::html) title: String,
    /// Values with their labels.
    pub(in crate::report::html) ticks: Vec<(f64, String)>,
}

/// A drawing: the area between two axes.
pub(in crate::report::html) struct Plot {
    pub(in crate::report::html) width: f64,
    pub(in crate::report::html) height: f64,
    /// Free at the left side, for the labels of values.
    pub(in crate::report::html) left: f64,
    pub(in crate::report::html) x: Axis,
    pub(in crate::report::html) y: Axis,
}

/// Free above and to the right of the area, and below it.
const TOP: f64 = 26.0;
const RIGHT: f64 = 14.0;
const BOTTOM: f64 = 42.0;

impl Plot {
    /// Of the usual size, which two fit beside each other and one on a phone.
    pub(in crate::report::html) fn new(x: Axis, y: Axis) -> Self {
        let longest = y.ticks.iter().map(|(_, label)| label.chars().count()).max().unwrap_or(0);
        let left = 14.0 + CHARACTER * f64::from(u32::try_from(longest).unwrap_or(0));
        Self { width: 460.0, height: 290.0, left, x, y }
    }

    pub(in crate::report::html) fn px(&self, x: f64) -> f64 {
        self.left + self.x.scale.at(x) * (self.width - self.left - RIGHT)
    }

    pub(in crate::report::html) fn py(&self, y: f64) -> f64 {
        let room = self.height - TOP - BOTTOM;
        TOP + (1.0 - self.y.scale.at(y).clamp(0.0, 1.0)) * room
    }

    /// Top and bottom of the area.
    pub(in crate::report::html) fn ends(&self) -> (f64, f64) {
        (TOP, self.height - BOTTOM)
    }

    /// The whole picture: axes behind what is drawn. Its name is what it is called beside others.
    pub(in crate::report::html) fn svg(&self, name: &str, says: &str, body: &Markup) -> Markup {
        let (top, bottom) = self.ends();
        let right = self.width - RIGHT;
        picture(
            self.width,
            self.height,
            name,
            says,
            &html! {
                g.axes {
                    @for (value, label) in &self.y.ticks {
                        @let y = self.py(*value);
                        path.rule d=(format!("M{:.1} {y:.1}H{right:.1}", self.left)) {}
                        text.end x=(round(self.left - 6.0)) y=(round(y + 4.0)) { (plain(label)) }
                    }
                    @for (x, label) in self.x_labels() {
                        path.tick d=(format!("M{x:.1} {bottom:.1}v4")) {}
                        text.middle x=(round(x)) y=(round(bottom + 17.0)) { (plain(label)) }
                    }
                    path.base d=(format!("M{:.1} {bottom:.1}H{right:.1}", self.left)) {}
                    text.top x="2" y=(round(top - 12.0)) { (plain(&self.y.title)) }
                    text.end x=(round(right)) y=(round(bottom + 34.0)) { (plain(&self.x.title)) }
                }
                (body)
            },
        )
    }

    /// Labels that have room beside each other, from the left.
    fn x_labels(&self) -> Vec<(f64, &str)> {
        let mut free = f64::NEG_INFINITY;
        let mut labels = Vec::new();
        for (value, label) in &self.x.ticks {
            let x = self.px(*value);
            let half =
                CHARACTER * f64::from(u32::try_from(label.chars().count()).unwrap_or(0)) / 2.0;
            if x - half >= free {
                labels.push((x, label.as_str()));
                free = x + half + CHARACTER;
            }
        }
        labels
    }
}

/// A picture of a size, with its name and where it is described.
pub(in crate::report::html) fn picture(
    width: f64,
    height: f64,
    name: &str,
    says: &str,
    body: &Markup,
) -> Markup {
    html! {
        svg viewBox=(format!("0 0 {width:.0} {height:.0}")) role="img" tabindex="0"
            aria-label=(plain(name)) aria-describedby=(says) { (body) }
    }
}

/// The class of a target's ink.
pub(in crate::report::html) fn ink(target: usize) -> String {
    format!("s{}", target % INKS)
}

/// What a reader sees who points at a mark: a `title`.
pub(in crate::report::html) fn tip(text: &str) -> Markup {
    html! { title { (plain(text)) } }
}

/// A line through points; broken where there is none.
pub(in crate::report::html) fn line(
    points: impl IntoIterator<Item = Option<(f64, f64)>>,
) -> String {
    let mut d = String::new();
    let mut pen_is_down = false;
    for point in points {
        if let Some((x, y)) = point {
            let pen = if pen_is_down { 'L' } else { 'M' };
            write!(d, "{pen}{x:.1} {y:.1}").expect("text takes text");
        }
        pen_is_down = point.is_some();
    }
    d
}

/// The area between two lines, from left to right and back.
pub(in crate::report::html) fn band(edges: &[(f64, f64, f64)]) -> String {
    let there = edges.iter().map(|(x, low, _)| Some((*x, *low)));
    let back = edges.iter().rev().map(|(x, _, high)| Some((*x, *high)));
    let d = line(there.chain(back));
    if d.is_empty() { d } else { d + "Z" }
}

/// A point of a target: each of the first ones has a shape of its own, so that ink is not all that
/// tells them apart.
pub(in crate::report::html) fn point(target: usize, x: f64, y: f64) -> Markup {
    let d = match target % 4 {
        0 => format!("M{:.1} {y:.1}a3.6 3.6 0 1 0 7.2 0a3.6 3.6 0 1 0 -7.2 0Z", x - 3.6),
        1 => format!("M{:.1} {:.1}h6.4v6.4h-6.4Z", x - 3.2, y - 3.2),
        2 => format!("M{x:.1} {:.1}l4.2 7h-8.4Z", y - 4.4),
        _ => format!("M{x:.1} {:.1}l4.4 4.4l-4.4 4.4l-4.4 -4.4Z", y - 4.4),
    };
    html! { path.point d=(d) {} }
}

/// A coordinate, to a tenth of a unit.
pub(in crate::report::html) fn round(n: f64) -> PreEscaped<String> {
    PreEscaped(format!("{n:.1}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_broken_where_nothing_was_measured() {
        let points = [Some((0.0, 1.0)), Some((1.0, 2.0)), None, Some((3.0, 4.0))];
        assert_eq!(line(points), "M0.0 1.0L1.0 2.0M3.0 4.0");
        assert_eq!(band(&[(0.0, 1.0, 3.0), (1.0, 1.0, 2.0)]), "M0.0 1.0L1.0 1.0L1.0 2.0L0.0 3.0Z");
    }

    #[test]
    fn labels_leave_room_for_each_other() {
        let axis = |ticks: Vec<(f64, String)>| Axis {
            scale: Scale::Linear { low: 0.0, high: 100.0 },
            title: String::new(),
            ticks,
        };
        let close = [0.0, 1.0, 50.0, 51.0, 99.0].map(|v| (v, format!("{v:.2}"))).to_vec();
        let plot = Plot::new(axis(close), axis(Vec::new()));
        let labels: Vec<&str> = plot.x_labels().into_iter().map(|(_, label)| label).collect();
        assert_eq!(labels, ["0.00", "50.00", "99.00"]);
    }
}
