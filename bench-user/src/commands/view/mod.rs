//! Shows a run while it goes on: lines for a log, a bar on a terminal, or a full screen.
//!
//! Nothing here may disturb what is measured. What happens is handed to a thread of its own through
//! a bounded channel, by a call that never waits: where a slow or stopped terminal leaves no room,
//! samples are dropped first and lines last, and it is said how many. Only the end of a run waits
//! for the terminal. The thread is nicer than the load (so it yields to it), draws a few times a
//! second and only what changed, is no part of any target's cgroup, and reads nothing of the
//! measured system: it has the samples of the record.
//!
//! While it runs, it alone writes to standard error: what others say ([`say`], the log) becomes
//! messages, so that no line tears a bar.

mod bars;
mod color;
mod lines;
mod log;
mod messages;
mod screen;

use std::io::{self, IsTerminal as _, Write as _};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::Context as _;
use bench_user::cli::ViewArgs;
use bench_user::clock;
use bench_user::live::{Outline, State};

use bars::Bars;
use color::Paint;
use lines::Lines;
pub(crate) use log::Log;
use messages::Message;
pub(crate) use messages::Sender;
use screen::Screen;

/// Longest time between two looks at whether there is something to draw.
const REDRAW: Duration = Duration::from_millis(250);

/// How much nicer than others the thread is.
const NICE: i32 = 10;

/// Where lines go while a view is open.
static OPEN: Mutex<Option<Sender>> = Mutex::new(None);

/// Writes a line to standard error, which may be closed: what is told is no reason to fail.
pub(crate) fn say(line: &str) {
    match open() {
        Some(sender) => sender.say(line),
        None => write_line(line),
    }
}

fn open() -> Option<Sender> {
    OPEN.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

fn write_line(line: &str) {
    drop(writeln!(io::stderr(), "{line}"));
}

/// Where a run is shown.
trait Draw: Send {
    /// Waits a little for what comes next.
    fn next(&mut self, from: &Receiver<Message>) -> Result<Message, RecvTimeoutError> {
        from.recv_timeout(REDRAW)
    }

    /// A line that stays.
    fn say(&mut self, line: &str);
    /// The run as it is now; called often.
    fn draw(&mut self, state: &State, now_ns: u64);
    /// Leaves only the lines.
    fn end(&mut self);
}

/// A run that is shown. Dropped, it ends when all that was said is written.
pub(crate) struct View {
    sender: Sender,
    thread: Option<JoinHandle<()>>,
}

impl View {
    /// Opens the view that the command line and standard error call for.
    ///
    /// # Errors
    /// When no thread can be started, or the terminal shows no full screen.
    pub(crate) fn open(args: &ViewArgs, outline: Outline) -> anyhow::Result<Self> {
        let paint = Paint::chosen(args.color);
        let on: Box<dyn Draw> = match (args.tui, is_terminal()) {
            (true, _) => Box::new(Screen::open(paint, outline.targets.len())?),
            (false, true) => Box::new(Bars::new(paint)),
            (false, false) => Box::new(Lines::new(io::stderr(), paint, clock::now_ns())),
        };
        let state = State::new(outline, clock::now_ns());
        let (sender, received) = messages::channel();
        let dropped = sender.clone();
        let thread = std::thread::Builder::new()
            .name("view".into())
            .spawn(move || {
                yield_to_others();
                show(&received, &dropped, state, on);
            })
            .context("start the thread that shows the run")?;
        *OPEN.lock().unwrap_or_else(PoisonError::into_inner) = Some(sender.clone());
        Ok(Self { sender, thread: Some(thread) })
    }

    /// Takes what happens.
    pub(crate) fn sender(&self) -> Sender {
        self.sender.clone()
    }
}

impl Drop for View {
    fn drop(&mut self) {
        *OPEN.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.sender.end();
        if let Some(thread) = self.thread.take() {
            // Its panic was told by itself.
            drop(thread.join());
        }
    }
}

/// Whether the full screen, where it is asked for, has somewhere to be.
///
/// # Errors
/// When standard error is no terminal.
pub(crate) fn can_open(args: &ViewArgs) -> anyhow::Result<()> {
    anyhow::ensure!(
        !args.tui || is_terminal(),
        "standard error is no terminal that can show a full screen: leave `--tui` out, or do not \
         redirect standard error"
    );
    Ok(())
}

/// Whether standard error can show more than lines.
fn is_terminal() -> bool {
    io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// Without the right to, it is as nice as the others.
fn yield_to_others() {
    let thread = rustix::thread::gettid();
    rustix::process::setpriority_process(Some(thread), NICE).unwrap_or_default();
}

/// Draws until the end comes.
fn show(from: &Receiver<Message>, sender: &Sender, mut state: State, mut on: Box<dyn Draw>) {
    loop {
        let mut next = on.next(from);
        loop {
            match next {
                Ok(Message::Says(line)) => on.say(&line),
                Ok(Message::News(news, at_ns)) => state.take(news, at_ns),
                Ok(Message::End) | Err(RecvTimeoutError::Disconnected) => {
                    tell_dropped(sender, &mut *on);
                    on.end();
                    return;
                }
                Err(RecvTimeoutError::Timeout) => break,
            }
            sender.taken();
            next = from.recv_timeout(Duration::ZERO);
        }
        tell_dropped(sender, &mut *on);
        on.draw(&state, clock::now_ns());
    }
}

fn tell_dropped(sender: &Sender, on: &mut dyn Draw) {
    let lines = sender.dropped_lines();
    if lines > 0 {
        on.say(&format!(
            "warning: {lines} lines were left out, because the terminal took none for so long; \
             what they say of stages is in the record"
        ));
    }
}
