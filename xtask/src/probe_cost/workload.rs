//! The measured program: does a known number of events when told to and says what each took.
//!
//! It is a process of its own, so that it can be moved into and out of the watched cgroup. Its two
//! sides speak by lines: `calls N` or `switches N` one way, ns of CPU time per event the other.

use std::fmt;
use std::io::{BufRead, BufReader, Write, stdin, stdout};
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::str::FromStr;
use std::thread;

use anyhow::{Context, Result, anyhow, bail};
use rustix::io::{read, write};
use rustix::pipe::pipe;
use rustix::process::getppid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use rustix::time::{ClockId, clock_gettime};

/// What to do, and how many times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Work {
    /// Syscalls that do next to nothing.
    Calls(u32),
    /// Context switches between two threads on one CPU, each with a read and a write.
    Switches(u32),
}

impl fmt::Display for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Calls(count) => write!(f, "calls {count}"),
            Self::Switches(count) => write!(f, "switches {count}"),
        }
    }
}

impl FromStr for Work {
    type Err = anyhow::Error;

    fn from_str(line: &str) -> Result<Self> {
        match line.split_once(' ') {
            Some(("calls", count)) => Ok(Self::Calls(count.parse()?)),
            Some(("switches", count)) => Ok(Self::Switches(count.parse()?)),
            _ => bail!("`{line}` is no work"),
        }
    }
}

/// The running program, seen from the outside. Ends when dropped.
pub(super) struct Workload {
    child: Child,
    commands: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Workload {
    /// Starts this program again as the measured one.
    ///
    /// # Errors
    /// When it cannot be started.
    pub(super) fn start() -> Result<Self> {
        let own = std::env::current_exe().context("find this program")?;
        let mut child = Command::new(own)
            .arg("workload")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("start the measured program")?;
        let commands = child.stdin.take().context("the measured program has no input")?;
        let answers = child.stdout.take().context("the measured program has no output")?;
        Ok(Self { child, commands, answers: BufReader::new(answers) })
    }

    /// Its process id.
    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Has the work done; ns per event.
    ///
    /// # Errors
    /// When the program has died.
    pub(super) fn time(&mut self, work: Work) -> Result<f64> {
        writeln!(self.commands, "{work}").context("speak to the measured program")?;
        let mut answer = String::new();
        self.answers.read_line(&mut answer).context("listen to the measured program")?;
        answer.trim().parse().with_context(|| format!("the measured program said {answer:?}"))
    }
}

impl Drop for Workload {
    fn drop(&mut self) {
        if let Err(error) = self.child.kill().and_then(|()| self.child.wait()) {
            eprintln!("warning: the measured program was not ended: {error}");
        }
    }
}

/// The program itself: works until its input ends.
///
/// # Errors
/// When it cannot be pinned to a CPU, or does not understand a line.
pub(crate) fn serve() -> Result<()> {
    pin()?;
    for line in stdin().lines() {
        let work = line.context("read a command")?.parse()?;
        let ns = match work {
            Work::Calls(count) => calls(count),
            Work::Switches(count) => switches(count)?,
        };
        writeln!(stdout(), "{ns}").context("answer")?;
    }
    Ok(())
}

/// Keeps this thread and those it makes on the last CPU that it may use: a switch then happens
/// between two threads of ours, and no call is slowed by a migration.
fn pin() -> Result<()> {
    let allowed = sched_getaffinity(None).context("ask for our CPUs")?;
    let last = (0..CpuSet::MAX_CPU).rev().find(|cpu| allowed.is_set(*cpu));
    let mut one = CpuSet::new();
    one.set(last.context("no CPU is allowed to us")?);
    sched_setaffinity(None, &one).context("stay on one CPU")
}

fn calls(count: u32) -> f64 {
    let start = now_ns();
    for _ in 0..count {
        std::hint::black_box(getppid());
    }
    (now_ns() - start) / f64::from(count)
}

/// A byte goes to and fro between two threads; each of its ways is one switch.
fn switches(count: u32) -> Result<f64> {
    let (there_out, there_in) = pipe().context("make a pipe")?;
    let (back_out, back_in) = pipe().context("make a pipe")?;
    let echo = thread::spawn(move || pass(&there_out, &back_in, u32::MAX));
    // The first exchange waits for the thread to start and is not timed.
    send(&there_in)?;
    receive(&back_out)?;

    let rounds = count / 2;
    let start = now_ns();
    for _ in 0..rounds {
        send(&there_in)?;
        receive(&back_out)?;
    }
    let elapsed = now_ns() - start;
    drop(there_in);
    echo.join().map_err(|_panic| anyhow!("the other thread panicked"))??;
    Ok(elapsed / f64::from(rounds * 2))
}

/// Passes at most `count` bytes on, until the sender is gone.
fn pass(from: &OwnedFd, to: &OwnedFd, count: u32) -> Result<()> {
    for _ in 0..count {
        if !receive(from)? {
            break;
        }
        send(to)?;
    }
    Ok(())
}

fn send(to: impl AsFd) -> Result<()> {
    write(to, &[0]).map(drop).context("write to a pipe")
}

/// Whether a byte came; none comes once the sender is gone.
fn receive(from: impl AsFd) -> Result<bool> {
    Ok(read(from, &mut [0_u8]).context("read from a pipe")? == 1)
}

/// CPU time of this program, all threads: other programs on the same CPU do not lengthen it, and the
/// kernel's work for a switch between two of our threads is part of it.
#[expect(clippy::cast_precision_loss, reason = "CPU time in ns is below 2^53 for 100 days")]
fn now_ns() -> f64 {
    let used = clock_gettime(ClockId::ProcessCPUTime);
    used.tv_sec as f64 * 1e9 + used.tv_nsec as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_read_as_it_was_written() {
        for work in [Work::Calls(7), Work::Switches(1000)] {
            assert_eq!(work.to_string().parse::<Work>().expect("our own words"), work);
        }
        assert!("sleep 3".parse::<Work>().is_err());
    }

    #[test]
    fn both_kinds_of_work_come_to_an_end() {
        assert!(calls(1000) > 0.0);
        assert!(switches(1000).expect("pipes can be made") > 0.0);
    }
}
