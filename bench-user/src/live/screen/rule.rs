//! How far the stage under way is from the end of its ladder, a rate of a search from its objective,
//! or the run of a job from its timeout.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::Span;

use super::{Screen, gauge};
use crate::live::fit::{Tone, cut};
use crate::live::rules::Distance;
use crate::live::state::{State, Under};
use crate::live::status::{distance, job_time};

impl Screen {
    pub(super) fn rule(&self, frame: &mut Frame<'_>, area: Rect, state: &State, now_ns: u64) {
        let timeout_ns = state.outline.job_timeout_ns;
        let noun = match (timeout_ns, state.outline.is_search) {
            (Some(_), _) => "timeout",
            (None, true) => "objective, so far",
            (None, false) => "stop rule, so far",
        };
        let held_against = |under: &Under| match timeout_ns {
            Some(most_ns) => Some(timeout(state, under, most_ns, now_ns)),
            None => distance(state, under),
        };
        let Some(distance) = state.under.as_ref().and_then(held_against) else {
            let words = format!("{noun}: nothing to hold against it yet");
            frame.render_widget(Span::raw(cut(&words, usize::from(area.width))), area);
            return;
        };
        let (tone, word) = match (distance.is_near(), distance.is_reached()) {
            (true, _) => (Tone::Near, " (near)"),
            (_, true) => (Tone::Bad, " (reached)"),
            _ => (Tone::Plain, ""),
        };
        let parts = [Constraint::Percentage(60), Constraint::Percentage(40)];
        let [words, share] = Layout::horizontal(parts).areas(area);
        let text = cut(&format!("{noun}: {}{word}", distance.text), usize::from(words.width));
        frame.render_widget(Span::styled(text, self.style(tone)), words);
        frame.render_widget(gauge(distance.share, "").filled_style(self.style(tone)), share);
    }
}

#[expect(clippy::cast_precision_loss, reason = "a run of a job is below 2^53 ns")]
fn timeout(state: &State, under: &Under, most_ns: u64, now_ns: u64) -> Distance {
    let took_ns = now_ns.saturating_sub(under.began_ns);
    let text = job_time(state, under, now_ns);
    Distance { text, share: took_ns as f64 / most_ns.max(1) as f64 }
}
