//! The busiest threads, as bars of their share of the time on a CPU.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::Span;
use ratatui::widgets::{Paragraph, Wrap};

use super::{Screen, framed, gauge};
use crate::live::fit::{cut, printable};
use crate::live::state::State;
use crate::observe::ThreadShare;

/// Columns of a name with its number.
const NAME: u16 = 22;

impl Screen {
    pub(super) fn threads(&self, frame: &mut Frame<'_>, area: Rect, state: &State) {
        let target = self.target(state);
        let block = framed("busiest threads");
        let inner = block.inner(area);
        frame.render_widget(block, area);
        let under = state.under.as_ref().filter(|under| under.climb.target == target);
        let threads = under.map_or(&[][..], |under| &under.busiest);
        if threads.is_empty() {
            let why = match (under, state.outline.job_timeout_ns) {
                (_, Some(_)) => "a job's threads are counted at its end",
                (None, _) => "no stage of it is under way",
                (Some(under), _) if under.samples.is_empty() => "the window has not begun",
                (Some(_), _) => "not measured: only a watched target has threads",
            };
            frame.render_widget(Paragraph::new(why).wrap(Wrap { trim: true }), inner);
            return;
        }
        let rows = Layout::vertical(vec![Constraint::Length(1); usize::from(inner.height)]);
        for (thread, row) in threads.iter().zip(rows.split(inner).iter()) {
            draw(frame, *row, thread);
        }
    }
}

fn draw(frame: &mut Frame<'_>, row: Rect, thread: &ThreadShare) {
    let wide = NAME.min(row.width / 2);
    let parts = [Constraint::Length(wide), Constraint::Fill(1), Constraint::Length(6)];
    let [name, share, percent] = Layout::horizontal(parts).areas(row);
    let number = format!(" {}", thread.tid);
    let room = usize::from(wide).saturating_sub(number.len() + 1);
    let words = format!("{}{number}", cut(&printable(&thread.comm), room));
    frame.render_widget(Span::raw(words), name);
    frame.render_widget(gauge(thread.oncpu_ratio, ""), share);
    frame.render_widget(Span::raw(format!("{:>4.0} %", thread.oncpu_ratio * 100.0)), percent);
}
