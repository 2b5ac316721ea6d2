//! Programs with a known amount of work, for tests that count it.
//!
//! The test binary starts itself again with the workload in an environment variable, so
//! [`dispatch`] must come first in `main`. A workload prints `ready`, waits for a byte, works,
//! prints `done`, and keeps all its threads until its input ends: before the byte and after
//! `done` a test can read at rest.
//!
//! `getppid THREADS COUNT` makes exactly COUNT calls in total (`getppid-at-once` does so without
//! waiting for anything); `spin MS [THREADS]` burns that much CPU time in each thread; `exec MS`
//! does so in one and then becomes `sleepers 1 1`; `pingpong ROUNDS` sends a byte there and back
//! between two threads; `command PROGRAM` runs another program; `families PROCESSES THREADS` starts and reaps so many processes, each with
//! so many threads besides its first, `storm THREADS` so many threads, one after another;
//! `sleepers THREADS NAPS` sleeps a millisecond NAPS times in each; `touch BYTES` writes into each
//! page of fresh memory.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use bench_user::clock;
use procfs::process::Process;

const VARIABLE: &str = "BENCH_TEST_WORKLOAD";

type Job = Box<dyn FnOnce() + Send>;

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
    if let Some(rest) = spec.strip_prefix("getppid-at-once ") {
        return at_once(jobs(&format!("getppid {rest}"))?);
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

/// One job for each thread.
fn jobs(spec: &str) -> Result<Vec<Job>> {
    if let Some(program) = spec.strip_prefix("command ") {
        return Ok(vec![command(program.to_owned())]);
    }
    let mut words = spec.split(' ');
    let name = words.next().unwrap_or_default();
    let numbers = words.map(str::parse).collect::<Result<Vec<u64>, _>>()?;
    match (name, &*numbers) {
        ("getppid", &[threads, count]) => Ok(share(count, threads).map(getppid).collect()),
        ("spin", &[ms]) => Ok(vec![spin(ms)]),
        ("spin", &[ms, threads]) => Ok((0..threads).map(|_| spin(ms)).collect()),
        ("pingpong", &[rounds]) => pingpong(rounds),
        ("sleepers", &[threads, naps]) => Ok((0..threads).map(|_| naps_of(naps)).collect()),
        ("families", &[processes, threads]) => Ok(vec![families(processes, threads)]),
        ("exec", &[ms]) => Ok(vec![exec(ms)]),
        ("storm", &[threads]) => Ok(vec![storm(threads)]),
        ("touch", &[bytes]) => Ok(vec![touch(usize::try_from(bytes)?)]),
        _ => bail!("there is no such workload"),
    }
}

/// `total` in `parts` whole parts that differ by at most one.
fn share(total: u64, parts: u64) -> impl Iterator<Item = u64> {
    (0..parts).map(move |n| total / parts + u64::from(n < total % parts))
}

fn getppid(count: u64) -> Job {
    Box::new(move || {
        for _ in 0..count {
            std::hint::black_box(rustix::process::getppid());
        }
    })
}

fn spin(ms: u64) -> Job {
    Box::new(move || {
        let end = clock::thread_cpu_ns() + ms * 1_000_000;
        while clock::thread_cpu_ns() < end {
            std::hint::spin_loop();
        }
    })
}

fn pingpong(rounds: u64) -> Result<Vec<Job>> {
    let (mut ping_in, mut ping_out) = std::io::pipe()?;
    let (mut pong_in, mut pong_out) = std::io::pipe()?;
    let one = "the other thread holds the other end to the last round";
    Ok(vec![
        Box::new(move || {
            for _ in 0..rounds {
                ping_out.write_all(b"p").expect(one);
                pong_in.read_exact(&mut [0]).expect(one);
            }
        }),
        Box::new(move || {
            for _ in 0..rounds {
                ping_in.read_exact(&mut [0]).expect(one);
                pong_out.write_all(b"p").expect(one);
            }
        }),
    ])
}

fn naps_of(naps: u64) -> Job {
    Box::new(move || {
        for _ in 0..naps {
            thread::sleep(Duration::from_millis(1));
        }
    })
}

/// Processes of so many threads besides the first, each gone before the next is started.
fn families(processes: u64, threads: u64) -> Job {
    Box::new(move || {
        let program = std::env::current_exe().expect("it runs");
        for _ in 0..processes {
            let family = Command::new(&program)
                .env(VARIABLE, format!("spin 1 {threads}"))
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status()
                .expect("it starts again");
            assert!(!family.success(), "without a byte to begin with it cannot have worked");
        }
    })
}

/// Another program, started and waited for.
fn command(program: String) -> Job {
    Box::new(move || {
        let status = Command::new(&program).stdin(Stdio::null()).status().expect("it can start");
        assert!(status.success(), "{status}");
    })
}

fn storm(threads: u64) -> Job {
    Box::new(move || {
        for _ in 0..threads {
            thread::spawn(|| {}).join().expect("it does nothing");
        }
    })
}

/// The whole process becomes another program, and this thread its first.
fn exec(ms: u64) -> Job {
    let spin = spin(ms);
    Box::new(move || {
        spin();
        let error = Command::new("/proc/self/exe").env(VARIABLE, "sleepers 1 1").exec();
        panic!("no exec: {error}");
    })
}

fn touch(bytes: usize) -> Job {
    Box::new(move || {
        // A huge page would take one fault for many pages.
        rustix::thread::disable_transparent_huge_pages(true).expect("a process may always do so");
        // Zeroed memory of this size comes untouched from the kernel.
        let mut memory = vec![0_u8; bytes];
        for page in memory.chunks_mut(rustix::param::page_size()) {
            page[0] = 1;
        }
        // Kept, so that a test can see it in use at rest.
        std::mem::forget(std::hint::black_box(memory));
    })
}
