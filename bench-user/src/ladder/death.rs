//! Whether a target died in a climb, seen in the events that pass: it is not climbed again.

use anyhow::Result;

use super::{Event, Sink};

/// Passes everything on and remembers whether the target died.
pub(super) struct DeathWatch<'a> {
    pub(super) sink: &'a mut dyn Sink,
    pub(super) died: bool,
}

impl Sink for DeathWatch<'_> {
    fn event(&mut self, event: Event<'_>) -> Result<()> {
        self.died |= matches!(event, Event::Died { .. });
        self.sink.event(event)
    }
}
