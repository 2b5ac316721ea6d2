//! Programs that count what a cgroup does, each as a process of its own: ours and its peers. Each
//! is attached when its type is made, and counts until it is detached by Ctrl-C.

mod bench_user;
mod bpftrace;
mod libbpf_tools;
mod perf;

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process};

pub(crate) use bench_user::BenchUser;
pub(crate) use bpftrace::{Bpftrace, Script, value as bpftrace_value};
pub(crate) use libbpf_tools::{Runqlat, Syscount};
pub(crate) use perf::{PerfStat, PerfTrace};

/// A process that counts until it is interrupted, then prints. Ends when dropped.
struct Counter {
    child: Child,
    words: BufReader<ChildStdout>,
}

impl Counter {
    fn start(command: &mut Command, stderr: Stdio) -> Result<Self> {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(stderr)
            .spawn()
            .with_context(|| format!("start {}", command.get_program().display()))?;
        let words = child.stdout.take().context("a counter has no standard output")?;
        Ok(Self { child, words: BufReader::new(words) })
    }

    /// Interrupts it and gives what it printed.
    fn stop(mut self) -> Result<String> {
        kill_process(Pid::from_child(&self.child), Signal::INT).context("interrupt the counter")?;
        let mut output = String::new();
        self.words.read_to_string(&mut output).context("read what was counted")?;
        self.child.wait().context("wait for the counter to end")?;
        Ok(output)
    }
}

impl Drop for Counter {
    fn drop(&mut self) {
        // After `stop` there is nothing left to end, and both calls say so.
        if self.child.kill().is_ok() {
            self.child.wait().ok();
        }
    }
}

/// Reads lines until one begins with `word`; the others go to the terminal.
fn await_line(lines: &mut impl BufRead, word: &str) -> Result<()> {
    for line in lines.lines() {
        let line = line.context("read from the counter")?;
        if line.starts_with(word) {
            return Ok(());
        }
        eprintln!("{line}");
    }
    bail!("it ended before it was attached")
}

/// Runs what follows where tracefs is mounted: most peers look their tracepoints up there. A mount
/// namespace of its own keeps a machine that has none mounted as it was.
fn with_tracefs() -> Command {
    const TRACEFS: &str = "/sys/kernel/tracing";
    if [TRACEFS, "/sys/kernel/debug/tracing"].iter().any(|at| Path::new(at).join("events").is_dir())
    {
        return Command::new("env");
    }
    let mut command = Command::new("unshare");
    let mount = format!("mount -t tracefs none {TRACEFS} && exec \"$@\"");
    command.args(["--mount", "sh", "-c", &mount, "sh"]);
    command
}

/// A program of libbpf-tools keeps what it prints to a pipe until it ends, also the word that it
/// is attached; `stdbuf` has it print every line at once.
fn by_line(program: &str) -> Command {
    let mut command = with_tracefs();
    command.args(["stdbuf", "-oL", program]);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_that_ends_too_early_is_not_waited_for() {
        assert!(await_line(&mut "hello\nobserving 3 probes\n".as_bytes(), "observing").is_ok());
        assert!(await_line(&mut "error: no BTF\n".as_bytes(), "observing").is_err());
    }
}
