//! Plain lines, for a log or a terminal that knows nothing else: no bar, no cursor.
//!
//! Besides what is said there is one line of figures whenever nothing was written for ten seconds,
//! because some CI systems take a silent job for a dead one.

use bench_user::live::{State, heartbeat, join};

use super::{Draw, Paint, write_line};

/// Longest silence, ns.
const SILENCE_NS: u64 = 10_000_000_000;

/// Standard error as lines.
pub(super) struct Lines {
    paint: Paint,
    /// When the last line was written, ns.
    last_ns: u64,
    has_spoken: bool,
}

impl Lines {
    pub(super) fn new(paint: Paint, now_ns: u64) -> Self {
        Self { paint, last_ns: now_ns, has_spoken: false }
    }
}

impl Draw for Lines {
    fn say(&mut self, line: &str) {
        self.has_spoken = true;
        write_line(&self.paint.line(line));
    }

    fn draw(&mut self, state: &State, now_ns: u64) {
        if std::mem::take(&mut self.has_spoken) {
            self.last_ns = now_ns;
        }
        if now_ns.saturating_sub(self.last_ns) >= SILENCE_NS {
            let line = join(&heartbeat(state, now_ns), |piece| self.paint.piece(piece));
            write_line(&format!("  {line}"));
            self.last_ns = now_ns;
        }
    }

    fn end(&mut self) {}
}
