//! Programs with a known amount of work, for tests that count it.
//!
//! The test binary starts itself again with the workload in an environment variable, so
//! [`dispatch`] must come first in `main`. A workload prints `ready`, waits for a byte, works,
//! prints `done`, and keeps all its threads until its input ends: before the byte and after
//! `done` a test can read at rest.
//!
//! `getppid THREADS COUNT` makes exactly COUNT calls in total (`getppid-at-once`, as any with this
//! ending, does so without waiting for anything); `spin MS [THREADS]` burns that much CPU time in each thread, `burn MS` in one function; `exec MS`
//! does so in one and then becomes `sleepers 1 1`; `pingpong ROUNDS` sends a byte there and back
//! between two threads; `command PROGRAM` runs another program; `families PROCESSES THREADS` starts and reaps so many processes, each with
//! so many threads besides its first, `copy PROGRAM` does so with a copy of this test; `storm THREADS` so many threads, one after another;
//! `sleepers THREADS NAPS` sleeps a millisecond NAPS times in each; `touch BYTES` writes into each
//! page of fresh memory; `dial BACKLOG COUNT` listens and opens so many connections that nobody
//! accepts. `callers.rs` has those that make particular syscalls. After the word `netns` a workload
//! works in a network namespace of its own.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::{Arc, Barrier};
use std::thread;

use anyhow::{Context as _, Result, bail, ensure};
use procfs::process::Process;

use crate::jobs::{Job, jobs};

pub(crate) const VARIABLE: &str = "BENCH_TEST_WORKLOAD";

/// Becomes a workload when the environment says so; else returns.
pub(crate) fn dispatch() {
    let Ok(spec) = std::env::var(VARIABLE) else { return };
    let outcome = run(&spec);
    if let Err(e) = &outcome {
        eprintln!("workload `{spec}`: {e:#}");
    }
    std::process::exit(i32::from(outcome.is_err()));
}

/// A running workload, killed when it is dropped.
pub(crate) struct Workload {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

impl Workload {
    /// Starts one and waits until it is set up and at rest.
    pub(crate) fn start(spec: &str) -> Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .env(VARIABLE, spec)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let stdin = child.stdin.take();
        let stdout = BufReader::new(child.stdout.take().context("its output is piped")?);
        let mut workload = Self { child, stdin, stdout };
        workload.wait_ready()?;
        Ok(workload)
    }

    /// Waits until it is set up and at rest, which it is again after an exec.
    pub(crate) fn wait_ready(&mut self) -> Result<()> {
        self.expect_line("ready")?;
        self.rest()
    }

    /// Its process id.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Lets it begin.
    pub(crate) fn go(&mut self) -> Result<()> {
        self.stdin.as_mut().context("it was ended already")?.write_all(b"g")?;
        Ok(())
    }

    /// Waits until its work is done and all its threads are at rest.
    pub(crate) fn wait_done(&mut self) -> Result<()> {
        self.expect_line("done")?;
        self.rest()
    }

    /// Lets it do all its work.
    pub(crate) fn work(&mut self) -> Result<()> {
        self.go()?;
        self.wait_done()
    }

    /// Lets several do all their work at the same time.
    pub(crate) fn work_together(all: &mut [Self]) -> Result<()> {
        for workload in &mut *all {
            workload.go()?;
        }
        for workload in all {
            workload.wait_done()?;
        }
        Ok(())
    }

    /// Ends its input, so that it exits, and reaps it.
    pub(crate) fn finish(mut self) -> Result<ExitStatus> {
        self.stdin = None;
        Ok(self.child.wait()?)
    }

    fn expect_line(&mut self, expected: &str) -> Result<()> {
        let mut line = String::new();
        self.stdout.read_line(&mut line)?;
        ensure!(line.trim_end() == expected, "it said `{line}` and not `{expected}`");
        Ok(())
    }

    /// A thread that is marked as sleeping may still be on its way off the CPU, so all of them
    /// must be seen asleep twice with not a single switch between.
    fn rest(&self) -> Result<()> {
        let process = Process::new(i32::try_from(self.pid())?)?;
        let look = || -> Result<Option<BTreeMap<i32, u64>>> {
            let mut switches = BTreeMap::new();
            for task in process.tasks()? {
                let task = task?;
                match task.stat()?.state {
                    'S' => {}
                    'Z' | 'X' => bail!("a thread of the workload has ended"),
                    _ => return Ok(None),
                }
                switches.insert(task.tid, task.schedstat()?.pcount);
            }
            Ok(Some(switches))
        };
        loop {
            let first = look()?;
            thread::yield_now();
            if first.is_some() && first == look()? {
                return Ok(());
            }
        }
    }
}

impl Drop for Workload {
    fn drop(&mut self) {
        // It may have ended by itself; then there is nothing to kill and nothing to report.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

fn run(spec: &str) -> Result<()> {
    if let Some(rest) = spec.strip_prefix("netns ") {
        crate::netns::enter()?;
        return run(rest);
    }
    if let Some((name, rest)) = spec.split_once("-at-once ") {
        return at_once(jobs(&format!("{name} {rest}"))?);
    }
    let jobs = jobs(spec)?;
    let gate = Arc::new(Barrier::new(jobs.len() + 1));
    let mut threads = Vec::new();
    for (n, job) in jobs.into_iter().enumerate() {
        let gate = Arc::clone(&gate);
        threads.push(thread::Builder::new().name(format!("work-{n}")).spawn(move || {
            gate.wait();
            job();
            gate.wait();
            gate.wait();
        })?);
    }
    let (mut stdin, mut stdout) = (std::io::stdin(), std::io::stdout());
    writeln!(stdout, "ready")?;
    stdin.read_exact(&mut [0])?;
    gate.wait();
    gate.wait();
    writeln!(stdout, "done")?;
    stdin.read_to_end(&mut Vec::new())?;
    gate.wait();
    for thread in threads {
        if thread.join().is_err() {
            bail!("a thread panicked");
        }
    }
    Ok(())
}

/// Without a handshake, for a run that is counted from its start to its end.
fn at_once(jobs: Vec<Job>) -> Result<()> {
    writeln!(std::io::stdout(), "a line of its own")?;
    for thread in jobs.into_iter().map(thread::spawn).collect::<Vec<_>>() {
        if thread.join().is_err() {
            bail!("a thread panicked");
        }
    }
    Ok(())
}
