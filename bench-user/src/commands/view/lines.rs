//! Plain lines, for a log or a terminal that knows nothing else: no bar, no cursor.
//!
//! Besides what is said there is one line of figures whenever nothing was written for ten seconds,
//! because some CI systems take a silent job for a dead one.

use std::io::Write;

use bench_user::live::{State, heartbeat, join};

use super::{Draw, Paint};

/// Longest silence, ns.
const SILENCE_NS: u64 = 10_000_000_000;

/// Standard error, or what stands for it, as lines.
pub(super) struct Lines<W> {
    to: W,
    paint: Paint,
    /// When the last line was written, ns.
    last_ns: u64,
    has_spoken: bool,
}

impl<W: Write + Send> Lines<W> {
    pub(super) fn new(to: W, paint: Paint, now_ns: u64) -> Self {
        Self { to, paint, last_ns: now_ns, has_spoken: false }
    }

    fn write(&mut self, line: &str) {
        // It may be closed: what is told is no reason to fail.
        drop(writeln!(self.to, "{line}"));
    }
}

impl<W: Write + Send> Draw for Lines<W> {
    fn say(&mut self, line: &str) {
        self.has_spoken = true;
        self.write(&self.paint.line(line));
    }

    fn draw(&mut self, state: &State, now_ns: u64) {
        if std::mem::take(&mut self.has_spoken) {
            self.last_ns = now_ns;
        }
        if now_ns.saturating_sub(self.last_ns) >= SILENCE_NS {
            let line = join(&heartbeat(state, now_ns), |piece| self.paint.piece(piece));
            self.write(&format!("  {line}"));
            self.last_ns = now_ns;
        }
    }

    fn end(&mut self) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use bench_user::live::Outline;
    use bench_user::plan::default;

    const S: u64 = 1_000_000_000;

    #[test]
    fn a_log_that_was_silent_for_ten_seconds_gets_a_line() {
        let plan = default::embedded();
        let state = State::new(Outline::of(&plan), 0);
        let mut lines = Lines::new(Vec::new(), Paint { has_colors: false }, 0);
        lines.draw(&state, 3 * S);
        lines.say("run folder: x");
        lines.draw(&state, 4 * S);
        lines.draw(&state, 14 * S - 1);
        assert_eq!(lines.to, b"run folder: x\n");
        lines.draw(&state, 14 * S);
        lines.draw(&state, 24 * S - 1);
        let written = String::from_utf8(lines.to).unwrap();
        let (said, beat) = written.split_once('\n').unwrap();
        assert_eq!(said, "run folder: x");
        assert!(
            beat.starts_with("  preparing, stage 1 of ") && beat.ends_with(" left\n"),
            "{beat:?}"
        );
        assert_eq!(beat.matches('\n').count(), 1);
    }
}
