//! The full screen: standard error as an alternate screen, and the keys.
//!
//! Standard error and not standard output, so that the result can be piped. Whatever ends the
//! program that a program can see, an error, a panic or a signal, the terminal is as it was; then
//! what was said is written as lines.

use std::io::{self, Stderr};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use anyhow::Context as _;
use bench_user::live::{Screen as Drawn, State};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use rustix::process::{Signal, getpid, kill_process};

use super::messages::Message;
use super::{Draw, Paint, REDRAW, write_line};

/// Longest wait for a key.
const KEYS: Duration = Duration::from_millis(100);

/// Between two drawings that no key asked for, ns.
const REDRAW_NS: u64 = 500_000_000;

/// The terminal is in the state of the full screen.
static IS_ON: AtomicBool = AtomicBool::new(false);

/// Standard error as a full screen.
pub(super) struct Screen {
    terminal: Terminal<CrosstermBackend<Stderr>>,
    drawn: Drawn,
    paint: Paint,
    /// What was said: a few lines a stage.
    lines: Vec<String>,
    targets: usize,
    next_ns: u64,
}

impl Screen {
    /// Takes the terminal over.
    ///
    /// # Errors
    /// When it cannot be.
    pub(super) fn open(paint: Paint, targets: usize) -> anyhow::Result<Self> {
        restore_on_panic();
        let opened = (|| {
            enable_raw_mode()?;
            IS_ON.store(true, Ordering::SeqCst);
            execute!(io::stderr(), EnterAlternateScreen)?;
            Terminal::new(CrosstermBackend::new(io::stderr()))
        })();
        if opened.is_err() {
            restore();
        }
        let terminal =
            opened.context("the terminal cannot show a full screen: run it without `--tui`")?;
        let drawn = Drawn::new(paint.has_colors);
        Ok(Self { terminal, drawn, paint, lines: Vec::new(), targets, next_ns: 0 })
    }

    /// Waits a little for the user.
    fn key_or_resize(&mut self) -> io::Result<()> {
        if !event::poll(KEYS)? {
            return Ok(());
        }
        match event::read()? {
            Event::Key(key) if key.kind != KeyEventKind::Release => self.key(key),
            Event::Resize(..) => {}
            _ => return Ok(()),
        }
        self.next_ns = 0;
        Ok(())
    }

    fn key(&mut self, key: KeyEvent) {
        let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('c') if is_control => self.end_run(),
            KeyCode::Char('q') => self.end_run(),
            KeyCode::Char('?') => self.drawn.has_help = !self.drawn.has_help,
            KeyCode::Esc => self.drawn.has_help = false,
            KeyCode::Tab => self.drawn.next_target(self.targets),
            _ => {}
        }
    }

    /// As Ctrl-C does outside of a full screen, where the terminal itself makes it a signal.
    fn end_run(&mut self) {
        self.drawn.is_ending = true;
        // We may signal ourselves.
        kill_process(getpid(), Signal::INT).unwrap_or_default();
    }
}

impl Draw for Screen {
    fn next(&mut self, from: &Receiver<Message>) -> Result<Message, RecvTimeoutError> {
        match self.key_or_resize() {
            Ok(()) => from.recv_timeout(Duration::ZERO),
            // A terminal that is gone, which must not be asked again and again.
            Err(_) => from.recv_timeout(REDRAW),
        }
    }

    fn say(&mut self, line: &str) {
        self.drawn.say(line);
        self.lines.push(line.to_owned());
    }

    fn draw(&mut self, state: &State, now_ns: u64) {
        if now_ns < self.next_ns || !IS_ON.load(Ordering::SeqCst) {
            return;
        }
        self.next_ns = now_ns + REDRAW_NS;
        // A terminal that is gone is no reason to fail.
        drop(self.terminal.draw(|frame| self.drawn.draw(frame, state, now_ns)));
    }

    fn end(&mut self) {
        restore();
        for line in self.lines.drain(..) {
            write_line(&self.paint.line(&line));
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore();
    }
}

/// Gives the terminal back as it was, once.
fn restore() {
    if IS_ON.swap(false, Ordering::SeqCst) {
        // Where one of them fails the other may still work.
        drop(disable_raw_mode());
        drop(execute!(io::stderr(), LeaveAlternateScreen, Show));
    }
}

/// What a panic says should be seen, and on a terminal that works.
fn restore_on_panic() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let says = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            restore();
            says(panic);
        }));
    });
}
