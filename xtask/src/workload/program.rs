//! The measured program itself, from its first command to the end of its input.

use std::fs;
use std::io::{Write, stdin, stdout};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Barrier, OnceLock};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use rustix::io::{read, write};
use rustix::pipe::pipe;
use rustix::process::getppid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use rustix::time::{ClockId, clock_gettime};

use super::Work;

/// The CPUs that we may use, before we stay on one.
static EVERYWHERE: OnceLock<CpuSet> = OnceLock::new();

/// The program itself: works until its input ends.
///
/// # Errors
/// When it cannot be pinned to a CPU, or does not understand a line.
pub(crate) fn serve() -> Result<()> {
    pin()?;
    for line in stdin().lines() {
        let work = line.context("read a command")?.parse()?;
        let before = books()?;
        let (ns, after) = match work {
            Work::Calls(count) => (calls(count), books()?),
            Work::Switches(count) => switches(count)?,
            Work::Shared(threads, count) => shared(threads, count)?,
            Work::Naps(count) => (naps(count), books()?),
        };
        let (switches, runs) = (after.0 - before.0, after.1 - before.1);
        writeln!(stdout(), "{ns} {switches} {runs}").context("answer")?;
    }
    Ok(())
}

/// Switches away from all threads of this program that are alive, and times that one was put on
/// a CPU.
fn books() -> Result<(u64, u64)> {
    let mut sum = (0, 0);
    for task in fs::read_dir("/proc/self/task").context("read /proc/self/task")? {
        let task = task?.path();
        let status = fs::read_to_string(task.join("status"))?;
        for line in status.lines().filter(|line| line.contains("ctxt_switches:")) {
            sum.0 += line.rsplit('\t').next().context("a value")?.trim().parse::<u64>()?;
        }
        let schedstat = fs::read_to_string(task.join("schedstat"))?;
        let runs =
            schedstat.split_whitespace().nth(2).context("a kernel with CONFIG_SCHED_INFO")?;
        sum.1 += runs.parse::<u64>()?;
    }
    Ok(sum)
}

/// Keeps this thread and those it makes on the last CPU that it may use: a switch then happens
/// between two threads of ours, and no call is slowed by a migration.
fn pin() -> Result<()> {
    let allowed = sched_getaffinity(None).context("ask for our CPUs")?;
    EVERYWHERE.get_or_init(|| allowed);
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
fn switches(count: u32) -> Result<(f64, (u64, u64))> {
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
    // While the other thread is alive: its books go with it.
    let books = books()?;
    drop(there_in);
    echo.join().map_err(|_panic| anyhow!("the other thread panicked"))??;
    Ok((elapsed / f64::from(rounds * 2), books))
}

/// Threads that make calls on all CPUs; they are there until the last is done.
fn shared(threads: u32, count: u32) -> Result<(f64, (u64, u64))> {
    let everywhere = EVERYWHERE.get().context("asked for our CPUs at the start")?;
    let gate = Barrier::new(threads as usize + 1);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                // Without it they would share one CPU, and still make their calls.
                sched_setaffinity(None, everywhere).ok();
                gate.wait();
                for _ in 0..count {
                    std::hint::black_box(getppid());
                }
                gate.wait();
                gate.wait();
            });
        }
        gate.wait();
        let start = elapsed_ns();
        gate.wait();
        let elapsed = elapsed_ns() - start;
        let books = books();
        gate.wait();
        Ok((elapsed / f64::from(threads) / f64::from(count), books?))
    })
}

fn naps(count: u32) -> f64 {
    let start = elapsed_ns();
    for _ in 0..count {
        thread::sleep(Duration::from_micros(50));
    }
    (elapsed_ns() - start) / f64::from(count)
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
fn now_ns() -> f64 {
    read_clock(ClockId::ProcessCPUTime)
}

fn elapsed_ns() -> f64 {
    read_clock(ClockId::Monotonic)
}

#[expect(clippy::cast_precision_loss, reason = "these clocks stay below 2^53 ns for 100 days")]
fn read_clock(clock: ClockId) -> f64 {
    let now = clock_gettime(clock);
    now.tv_sec as f64 * 1e9 + now.tv_nsec as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_work_comes_to_an_end_and_its_switches_are_in_the_books() {
        assert!(calls(1000) > 0.0 && naps(3) > 0.0);
        pin().expect("a CPU to stay on");
        let before = books().expect("procfs");
        let (ns, after) = switches(1000).expect("pipes can be made");
        // Other tests of this program have threads that come and go: at least our own are there.
        assert!(ns > 0.0 && after.0 - before.0 >= 900, "{before:?} {after:?}");
        assert!(shared(2, 1000).expect("threads can be made").0 > 0.0);
    }
}
