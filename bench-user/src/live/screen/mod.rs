//! The full screen of a run: what is done, charts of the stage under way, its threads and its
//! nearest stop rule.
//!
//! A function from the state to a buffer, of whatever size the terminal has; what there is no room
//! for is left out, from the said lines to the threads. Everything that a colour says is said by
//! words too.

mod charts;
mod help;
mod rule;
mod stages;
mod threads;

use std::collections::VecDeque;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, LineGauge, Paragraph};

use super::fit::{Tone, cut, printable};
use super::state::State;
use super::status::{bar, status};
use super::{Finished, Piece, fit};
use crate::ladder::StageSample;

/// The least that the parts of the screen take.
const SMALLEST: (u16, u16) = (60, 16);

/// From so many columns on, threads have as much room as stages.
const WIDE: u16 = 120;

/// Said lines that are kept to be shown.
const LINES_KEPT: usize = 100;

/// What the user chose to see, and what was said.
#[derive(Debug, Clone, Default)]
pub struct Screen {
    /// The target that is shown, by its place in the plan; `None`: the one under way.
    pub shown: Option<usize>,
    /// The keys are explained.
    pub has_help: bool,
    /// The run is to end.
    pub is_ending: bool,
    has_colors: bool,
    lines: VecDeque<String>,
}

impl Screen {
    /// A screen that may use colours, or may not.
    #[must_use]
    pub fn new(has_colors: bool) -> Self {
        Self { has_colors, ..Self::default() }
    }

    /// A line that was said.
    pub fn say(&mut self, line: &str) {
        self.lines.extend(line.lines().map(printable));
        while self.lines.len() > LINES_KEPT {
            self.lines.pop_front();
        }
    }

    /// Shows the next target, and after the last the one under way again.
    pub fn next_target(&mut self, targets: usize) {
        let next = self.shown.map_or(0, |shown| shown + 1);
        self.shown = Some(next).filter(|next| *next < targets);
    }

    /// The target that is shown: the one that was chosen, or that of the stage under way, of the
    /// last one or of the first to come.
    fn target(&self, state: &State) -> usize {
        let under = || state.under.as_ref().map(|under| under.climb.target);
        let last = || state.finished.last().map(|last| last.climb.target);
        self.shown.or_else(under).or_else(last).unwrap_or(0)
    }

    /// Draws all of it.
    pub fn draw(&self, frame: &mut Frame<'_>, state: &State, now_ns: u64) {
        let area = frame.area();
        if area.width < SMALLEST.0 || area.height < SMALLEST.1 {
            self.draw_small(frame, state, now_ns);
            return;
        }
        let said = match area.height {
            ..20 => 0,
            20..40 => 3,
            _ => 8,
        };
        let rows = [
            Constraint::Length(2),
            Constraint::Fill(1),
            Constraint::Fill(1),
            Constraint::Length(1),
            Constraint::Length(said),
            Constraint::Length(1),
        ];
        let [head, upper, middle, rule, lines, keys] = Layout::vertical(rows).areas(area);
        self.head(frame, head, state, now_ns);
        let widths = if area.width < WIDE { [65, 35] } else { [50, 50] };
        let halves = widths.map(Constraint::Percentage);
        let [left, right] = Layout::horizontal(halves).areas(upper);
        self.stages(frame, left, state);
        self.threads(frame, right, state);
        self.charts(frame, middle, state);
        self.rule(frame, rule, state, now_ns);
        self.said(frame, lines);
        self.keys(frame, keys, state);
        if self.has_help {
            self.help(frame, area);
        }
    }

    /// The line and the bar alone.
    fn draw_small(&self, frame: &mut Frame<'_>, state: &State, now_ns: u64) {
        let area = frame.area();
        let (number, left) = bar(state, now_ns);
        let columns = usize::from(area.width);
        let (wide, high) = SMALLEST;
        let mut lines = vec![
            Line::raw(cut(&format!("{number}, {left}"), columns)),
            self.line(fit(status(state, now_ns), columns)),
            Line::raw(cut(&format!("make it {wide}x{high} or larger to see all"), columns)),
        ];
        lines.truncate(usize::from(area.height));
        frame.render_widget(Paragraph::new(lines), area);
    }

    /// The whole run: where it is, and the line of figures.
    fn head(&self, frame: &mut Frame<'_>, area: Rect, state: &State, now_ns: u64) {
        let [first, second] = Layout::vertical([Constraint::Length(1); 2]).areas(area);
        let (number, left) = bar(state, now_ns);
        let number = format!("{}  {number} ", printable(&state.outline.name));
        let left = format!(" {left}");
        let columns = |text: &str| u16::try_from(Span::raw(text).width()).unwrap_or(u16::MAX);
        let parts = [
            Constraint::Length(columns(&number)),
            Constraint::Fill(1),
            Constraint::Length(columns(&left)),
        ];
        let [before, middle, behind] = Layout::horizontal(parts).areas(first);
        frame
            .render_widget(Span::styled(number, Style::new().add_modifier(Modifier::BOLD)), before);
        frame.render_widget(gauge(state.now(now_ns).share(), ""), middle);
        frame.render_widget(Span::raw(left), behind);
        let pieces = fit(status(state, now_ns), usize::from(second.width));
        frame.render_widget(self.line(pieces), second);
    }

    fn said(&self, frame: &mut Frame<'_>, area: Rect) {
        let skipped = self.lines.len().saturating_sub(usize::from(area.height));
        let shown = self.lines.iter().skip(skipped);
        let columns = usize::from(area.width);
        let lines: Vec<Line<'_>> = shown.map(|line| Line::raw(cut(line, columns))).collect();
        frame.render_widget(
            Paragraph::new(lines).style(Style::new().add_modifier(Modifier::DIM)),
            area,
        );
    }

    fn keys(&self, frame: &mut Frame<'_>, area: Rect, state: &State) {
        let words = if self.is_ending {
            "ending: the stage under way is given up and what is finished is kept".to_owned()
        } else {
            let name = self.shown.map(|target| state.outline.targets[target].as_str());
            let shown = name.map_or("the one under way".to_owned(), printable);
            format!("q end  ? help  Tab target: {shown}")
        };
        let words = cut(&words, usize::from(area.width));
        frame.render_widget(
            Span::styled(words, Style::new().add_modifier(Modifier::REVERSED)),
            area,
        );
    }

    fn line(&self, pieces: Vec<Piece>) -> Line<'static> {
        let mut spans = Vec::new();
        for piece in pieces {
            if !spans.is_empty() {
                spans.push(Span::raw(", "));
            }
            spans.push(Span::styled(piece.text, self.style(piece.tone)));
        }
        Line::from(spans)
    }

    /// How a tone looks: with colours and without them.
    fn style(&self, tone: Tone) -> Style {
        let style = match tone {
            Tone::Plain => return Style::new(),
            Tone::Near => Style::new().add_modifier(Modifier::BOLD),
            Tone::Bad => Style::new().add_modifier(Modifier::BOLD | Modifier::REVERSED),
        };
        match tone {
            Tone::Near if self.has_colors => style.fg(Color::Yellow),
            Tone::Bad if self.has_colors => style.fg(Color::Red),
            _ => style,
        }
    }
}

/// A part of the screen with its name.
fn framed(title: impl Into<String>) -> Block<'static> {
    Block::bordered().title(title.into())
}

/// A share as a line of so much of its width.
fn gauge(share: f64, label: &str) -> LineGauge<'_> {
    let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
    LineGauge::default()
        .ratio(share)
        .label(label.to_owned())
        .filled_symbol("█")
        .unfilled_symbol("░")
}

/// The samples that are charted of a target: those of its stage under way, else of its last one.
fn samples(state: &State, target: usize) -> &[StageSample] {
    let under = state.under.as_ref().filter(|under| under.climb.target == target);
    let last = || state.finished.iter().rev().find(|finished| finished.climb.target == target);
    match under {
        Some(under) => &under.samples,
        None => last().map_or(&[], |finished: &Finished| &finished.samples),
    }
}
