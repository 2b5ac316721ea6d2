//! A bar over the whole run and a line of figures below it, under the lines that stay.

use std::fmt::Write;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use bench_user::live::{State, bar, fit, join, status};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use super::{Draw, Paint, write_line};

/// Steps of the bar.
const STEPS: u64 = 1000;

/// Columns where the terminal does not say how many it has.
const COLUMNS: usize = 80;

/// Between two drawings, ns.
const REDRAW_NS: u64 = 200_000_000;

/// More than the drawings that [`REDRAW_NS`] allows, so that none of them is left out.
const HZ: u8 = 20;

/// What is written around the bar and below it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Words {
    number: String,
    left: String,
    line: String,
}

/// Standard error as a terminal.
pub(super) struct Bars {
    paint: Paint,
    bar: ProgressBar,
    words: Arc<Mutex<Words>>,
    /// The step and the words that are drawn now.
    drawn: Option<(u64, Words)>,
    next_ns: u64,
}

impl Bars {
    pub(super) fn new(paint: Paint) -> Self {
        let words = Arc::<Mutex<Words>>::default();
        let key = |word: fn(&Words) -> &str| {
            let words = Arc::clone(&words);
            move |_: &ProgressState, out: &mut dyn Write| {
                let words = words.lock().unwrap_or_else(PoisonError::into_inner);
                // What it is written into is memory.
                out.write_str(word(&words)).unwrap_or_default();
            }
        };
        // All that changes is drawn at once, by keys of our own: each setter of a bar would draw.
        let style = ProgressStyle::with_template("{number} [{wide_bar}] {left}\n{line}")
            .expect("the template is well formed")
            .progress_chars("=> ")
            .with_key("number", key(|words| &words.number))
            .with_key("left", key(|words| &words.left))
            .with_key("line", key(|words| &words.line));
        let bar = ProgressBar::with_draw_target(Some(STEPS), ProgressDrawTarget::hidden());
        bar.set_style(style);
        bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(HZ));
        Self { paint, bar, words, drawn: None, next_ns: 0 }
    }
}

impl Draw for Bars {
    fn say(&mut self, line: &str) {
        let line = self.paint.line(line);
        match self.drawn {
            Some(_) => self.bar.println(line),
            None => write_line(&line),
        }
    }

    fn draw(&mut self, state: &State, now_ns: u64) {
        if now_ns < self.next_ns {
            return;
        }
        let columns = rustix::termios::tcgetwinsize(io::stderr())
            .map_or(COLUMNS, |size| usize::from(size.ws_col).max(1));
        let (number, left) = bar(state, now_ns);
        let pieces = fit(status(state, now_ns), columns.saturating_sub(1));
        let line = join(&pieces, |piece| self.paint.piece(piece));
        let words = Words { number, left, line };
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "a share is within 0..=1"
        )]
        let step = (state.now(now_ns).share().clamp(0.0, 1.0) * STEPS as f64) as u64;
        let now = Some((step, words.clone()));
        if self.drawn == now {
            return;
        }
        *self.words.lock().unwrap_or_else(PoisonError::into_inner) = words;
        self.bar.update(|bar| bar.set_pos(step));
        self.drawn = now;
        self.next_ns = now_ns + REDRAW_NS;
    }

    fn end(&mut self) {
        self.bar.finish_and_clear();
    }
}
