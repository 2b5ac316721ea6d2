//! How far the stage under way is from the end of its ladder.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::Span;

use super::{Screen, gauge};
use crate::live::fit::{Tone, cut};
use crate::live::state::State;
use crate::live::status::distance;

impl Screen {
    pub(super) fn rule(&self, frame: &mut Frame<'_>, area: Rect, state: &State) {
        let noun = if state.outline.is_search { "objective" } else { "stop rule" };
        let distance = state.under.as_ref().and_then(|under| distance(state, under));
        let Some(distance) = distance else {
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
        let text = format!("{noun}: so far {}{word}", distance.text);
        let text = cut(&text, usize::from(words.width));
        frame.render_widget(Span::styled(text, self.style(tone)), words);
        frame.render_widget(gauge(distance.share, "").filled_style(self.style(tone)), share);
    }
}
