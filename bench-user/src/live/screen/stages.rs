//! The ladder of the shown target: the stages that are over, and the one under way.

use ratatui::Frame;
use ratatui::layout::{Constraint, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::widgets::{Cell, Row, Table};

use super::{Screen, framed};
use crate::ladder::{Climb, Position};
use crate::live::Finished;
use crate::live::fit::{Tone, printable};
use crate::live::state::{State, Under};
use crate::live::status::per_request;
use crate::plan::Level;
use crate::report::word;
use crate::units::{show_count, show_ns, show_per_request};

const NONE: &str = "n/a";

impl Screen {
    pub(super) fn stages(&self, frame: &mut Frame<'_>, area: Rect, state: &State) {
        let target = self.target(state);
        let title = printable(&state.outline.targets[target]);
        let is_job = state.outline.job_timeout_ns.is_some();
        let has_climbs = state.outline.repeat > 1;
        let over = state.finished.iter().filter(|finished| finished.climb.target == target);
        let mut rows: Vec<Row<'_>> =
            over.map(|finished| self.over(finished, is_job, has_climbs)).collect();
        let under = state.under.as_ref().filter(|under| under.climb.target == target);
        rows.extend(under.map(|under| running(under, is_job, has_climbs, state.outline.is_held)));
        // The last ones, as many as there is room for below the head.
        let room = usize::from(area.height.saturating_sub(3));
        rows.drain(..rows.len().saturating_sub(room));
        let (names, widths) = columns(is_job, has_climbs);
        let head = Row::new(names).style(Style::new().add_modifier(Modifier::BOLD));
        frame.render_widget(Table::new(rows, widths).header(head).block(framed(title)), area);
    }

    fn over(&self, finished: &Finished, is_job: bool, has_climbs: bool) -> Row<'static> {
        let Finished { climb, position, .. } = finished;
        let mut cells = first_cells(*climb, Some(*position), is_job, has_climbs);
        if is_job {
            cells.push(finished.wall_ns.map_or(NONE.to_owned(), ns));
        } else {
            cells.push(finished.rate.map_or(NONE.to_owned(), show_count));
            cells.push(finished.response_ns_p99.map_or(NONE.to_owned(), ns));
            cells.push(finished.syscalls_per_request.map_or(NONE.to_owned(), show_per_request));
        }
        let (verdict, tone) = verdict(finished, is_job);
        let mut cells: Vec<Cell<'_>> = cells.into_iter().map(Cell::new).collect();
        cells.push(Cell::new(verdict).style(self.style(tone)));
        Row::new(cells)
    }
}

fn columns(is_job: bool, has_climbs: bool) -> (Vec<&'static str>, Vec<Constraint>) {
    let mut columns = Vec::new();
    if has_climbs {
        columns.push((if is_job { "run" } else { "climb" }, Constraint::Length(5)));
    }
    if is_job {
        columns.push(("wall time", Constraint::Length(10)));
    } else {
        columns.push(("load", Constraint::Length(6)));
        columns.push(("/s", Constraint::Length(7)));
        columns.push(("p99", Constraint::Length(9)));
        columns.push(("calls", Constraint::Length(6)));
    }
    columns.push(("verdict", Constraint::Fill(1)));
    columns.into_iter().unzip()
}

fn first_cells(
    climb: Climb,
    position: Option<Position>,
    is_job: bool,
    has_climbs: bool,
) -> Vec<String> {
    let mut cells = Vec::new();
    if has_climbs {
        cells.push((climb.repetition + 1).to_string());
    }
    if !is_job {
        cells.push(position.map_or(NONE.to_owned(), |position| {
            let Position { connections, offered_rps, .. } = position;
            Level { connections, offered_rps }.short()
        }));
    }
    cells
}

/// The stage under way, with the figures of its last sample.
fn running(under: &Under, is_job: bool, has_climbs: bool, is_held: bool) -> Row<'static> {
    let mut cells = first_cells(under.climb, under.position, is_job, has_climbs);
    if is_job {
        cells.push("...".to_owned());
    } else {
        let sample = under.samples.last();
        let wait = || "...".to_owned();
        let requests = sample.filter(|_| !is_held);
        cells.push(requests.map_or_else(wait, |sample| show_count(sample.achieved_rps)));
        let p99 = requests.map(|sample| sample.response_ns_p99.map_or(NONE.to_owned(), ns));
        cells.push(p99.unwrap_or_else(wait));
        let calls = requests.map(|sample| {
            let calls = per_request(sample.syscalls_per_sec, sample.achieved_rps);
            calls.map_or(NONE.to_owned(), show_per_request)
        });
        cells.push(calls.unwrap_or_else(wait));
    }
    cells.push("under way".to_owned());
    Row::new(cells).style(Style::new().add_modifier(Modifier::BOLD))
}

/// What became of a stage in a word or two, the worst first.
fn verdict(finished: &Finished, is_job: bool) -> (String, Tone) {
    let limit = word(finished.bottleneck);
    match (&finished.stopped_by, finished.position.is_control) {
        (Some(_), _) if is_job => ("failed".to_owned(), Tone::Bad),
        (Some(_), _) => (format!("stopped, {limit}"), Tone::Bad),
        (None, _) if finished.is_invalid => (format!("invalid, {limit}"), Tone::Near),
        (None, true) => ("no probes".to_owned(), Tone::Plain),
        (None, false) if is_job => ("done".to_owned(), Tone::Plain),
        (None, false) => (limit, Tone::Plain),
    }
}

#[expect(clippy::cast_precision_loss, reason = "times of a stage are below 2^53 ns")]
fn ns(ns: u64) -> String {
    show_ns(ns as f64)
}
