//! The measured program: does a known number of events when told to and says what each took.
//!
//! It is a process of its own, so that it can be moved into and out of the watched cgroup. Its two
//! sides speak by lines: `calls N`, `switches N`, `shared THREADS CALLS` or `naps N` one way; the
//! other way ns per event, and what the kernel's own books say that it took: times that a thread
//! of it was switched away from, and was put on a CPU.

mod program;

use std::fmt;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::str::FromStr;

use anyhow::{Context, Result, bail};

pub(crate) use program::serve;

/// What to do, and how many times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Work {
    /// Syscalls that do next to nothing.
    Calls(u32),
    /// Context switches between two threads on one CPU, each with a read and a write.
    Switches(u32),
    /// The same syscalls, so many in each of so many threads, on all CPUs at once.
    Shared(u32, u32),
    /// Sleeps of 50 microseconds, each ended by a timer's interrupt.
    Naps(u32),
}

/// What the work took.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Done {
    /// CPU time per event, ns; elapsed time for work on all CPUs and for naps.
    pub(crate) ns: f64,
    /// Switches away from its threads (`nvcsw` and `nivcsw`), of those that live on.
    pub(crate) switches: u64,
    /// Times that one was put on a CPU (`pcount` of `schedstat`).
    pub(crate) runs: u64,
}

impl fmt::Display for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Calls(count) => write!(f, "calls {count}"),
            Self::Switches(count) => write!(f, "switches {count}"),
            Self::Shared(threads, calls) => write!(f, "shared {threads} {calls}"),
            Self::Naps(count) => write!(f, "naps {count}"),
        }
    }
}

impl FromStr for Work {
    type Err = anyhow::Error;

    fn from_str(line: &str) -> Result<Self> {
        let words: Vec<&str> = line.split(' ').collect();
        match *words {
            ["calls", count] => Ok(Self::Calls(count.parse()?)),
            ["switches", count] => Ok(Self::Switches(count.parse()?)),
            ["shared", threads, calls] => Ok(Self::Shared(threads.parse()?, calls.parse()?)),
            ["naps", count] => Ok(Self::Naps(count.parse()?)),
            _ => bail!("`{line}` is no work"),
        }
    }
}

/// The running program, seen from the outside. Ends when dropped.
pub(crate) struct Workload {
    child: Child,
    commands: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Workload {
    /// Starts this program again as the measured one.
    ///
    /// # Errors
    /// When it cannot be started.
    pub(crate) fn start() -> Result<Self> {
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
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Has the work done; ns per event.
    ///
    /// # Errors
    /// When the program has died.
    pub(crate) fn time(&mut self, work: Work) -> Result<f64> {
        self.work(work).map(|done| done.ns)
    }

    /// Has the work done.
    ///
    /// # Errors
    /// When the program has died.
    pub(crate) fn work(&mut self, work: Work) -> Result<Done> {
        writeln!(self.commands, "{work}").context("speak to the measured program")?;
        let mut answer = String::new();
        self.answers.read_line(&mut answer).context("listen to the measured program")?;
        let words: Vec<&str> = answer.split_whitespace().collect();
        let [ns, switches, runs] = *words else { bail!("the measured program said {answer:?}") };
        Ok(Done { ns: ns.parse()?, switches: switches.parse()?, runs: runs.parse()? })
    }
}

impl Drop for Workload {
    fn drop(&mut self) {
        if let Err(error) = self.child.kill().and_then(|()| self.child.wait()) {
            eprintln!("warning: the measured program was not ended: {error}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_read_as_it_was_written() {
        for work in [Work::Calls(7), Work::Switches(1000), Work::Shared(4, 9), Work::Naps(3)] {
            assert_eq!(work.to_string().parse::<Work>().expect("our own words"), work);
        }
        assert!("sleep 3".parse::<Work>().is_err());
    }
}
