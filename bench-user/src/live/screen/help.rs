//! What the keys do, over everything else.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::widgets::{Clear, Paragraph};

use super::{Screen, framed};

const KEYS: [&str; 9] = [
    "q, Ctrl-C  end the run; what is finished is kept",
    "Tab        show the next target, then the one",
    "           under way again",
    "?          open and close this",
    "",
    "calls      syscalls per response",
    "verdict    what limited the stage",
    "so far     the stage as its stop rules see it;",
    "           other figures are of the last sample",
];

impl Screen {
    pub(super) fn help(&self, frame: &mut Frame<'_>, area: Rect) {
        let height = u16::try_from(KEYS.len() + 2).unwrap_or(u16::MAX);
        let [_, row, _] = Layout::vertical([
            Constraint::Fill(1),
            Constraint::Length(height.min(area.height)),
            Constraint::Fill(1),
        ])
        .areas(area);
        let [_, middle, _] =
            Layout::horizontal([Constraint::Fill(1), Constraint::Length(56), Constraint::Fill(1)])
                .areas(row);
        frame.render_widget(Clear, middle);
        frame.render_widget(Paragraph::new(KEYS.join("\n")).block(framed("keys")), middle);
    }
}
