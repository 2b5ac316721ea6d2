//! The two counters under test, each attached as its own process and detached by Ctrl-C.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process};
use rustix::time::{ClockId, clock_gettime};

/// `bench-user observe`, attached.
pub(super) struct BenchUser {
    counter: Counter,
    attach_ms: f64,
}

impl BenchUser {
    /// Attaches it to the cgroup and waits for its word that it counts.
    ///
    /// # Errors
    /// When it ends without attaching; what it said is on the terminal.
    pub(super) fn attach(binary: &Path, cgroup: &Path) -> Result<Self> {
        let start = now_ms();
        let mut command = Command::new(binary);
        // The duration only bounds its life should we die.
        command.args(["observe", "--json", "--duration", "10m", "--cgroup"]).arg(cgroup);
        let mut counter = Counter::start(&mut command, Stdio::piped())?;
        let words = counter.child.stderr.take().context("bench-user has no standard error")?;
        let mut words = BufReader::new(words);
        await_line(&mut words, "observing").context("wait for `bench-user observe` to attach")?;
        let attach_ms = now_ms() - start;
        // What it says from here on must not fill the pipe.
        std::thread::spawn(move || std::io::copy(&mut words, &mut std::io::stderr()));
        Ok(Self { counter, attach_ms })
    }

    /// From its start to its word, ms.
    pub(super) fn attach_ms(&self) -> f64 {
        self.attach_ms
    }

    /// Detaches it; how many calls of getppid it counted.
    ///
    /// # Errors
    /// When it fails or its count is not in its output.
    pub(super) fn detach(self) -> Result<u64> {
        let output = self.counter.stop()?;
        let json: serde_json::Value =
            serde_json::from_str(&output).context("read the output of `bench-user observe`")?;
        let count = json.pointer("/syscalls/by_name/getppid/count");
        match (count.and_then(serde_json::Value::as_u64), json.pointer("/syscalls/unavailable")) {
            (Some(count), _) => Ok(count),
            (None, Some(why)) => bail!("the probes counted no syscalls: {why}"),
            (None, None) => bail!("the probes counted no call of getppid in the cgroup"),
        }
    }
}

/// `bpftrace`, counting one process at the hook of the syscall probe.
pub(super) struct Bpftrace(Counter);

impl Bpftrace {
    /// Attaches it and waits until it counts.
    ///
    /// # Errors
    /// When it ends without attaching.
    pub(super) fn attach(pid: u32) -> Result<Self> {
        // BEGIN runs when the other probes are attached.
        let program = format!(
            "BEGIN {{ printf(\"attached\\n\"); }} \
             tracepoint:raw_syscalls:sys_enter /pid == {pid}/ {{ @ = count(); }}"
        );
        let mut command = with_tracefs();
        command.args(["bpftrace", "-B", "line", "-e", &program]);
        let mut counter = Counter::start(&mut command, Stdio::inherit())?;
        await_line(&mut counter.words, "attached").context("wait for bpftrace to attach")?;
        Ok(Self(counter))
    }

    /// Detaches it; how many syscalls it counted.
    ///
    /// # Errors
    /// When its count is not in its output.
    pub(super) fn detach(self) -> Result<u64> {
        let output = self.0.stop()?;
        parse_count(&output).with_context(|| format!("bpftrace printed no count but {output:?}"))
    }
}

/// Runs what follows where tracefs is mounted: bpftrace looks its tracepoints up there. A mount
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

/// The value in a line `@: 42`.
fn parse_count(output: &str) -> Option<u64> {
    output.lines().find_map(|line| line.strip_prefix("@:")?.trim().parse().ok())
}

/// A process that counts until it is interrupted, then prints. Ends when dropped.
struct Counter {
    child: Child,
    words: BufReader<std::process::ChildStdout>,
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
        let status = self.child.wait().context("wait for the counter to end")?;
        if !status.success() {
            bail!("the counter failed: {status}");
        }
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

#[expect(
    clippy::cast_precision_loss,
    reason = "a machine's uptime in ns is below 2^53 for 100 days"
)]
fn now_ms() -> f64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as f64 * 1e3 + now.tv_nsec as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_is_found_among_other_lines() {
        assert_eq!(parse_count("attached\n\n\n@: 400012\n\n"), Some(400_012));
        assert_eq!(parse_count("attached\n"), None);
    }

    #[test]
    fn a_counter_that_ends_too_early_is_not_waited_for() {
        assert!(await_line(&mut "hello\nobserving 3 probes\n".as_bytes(), "observing").is_ok());
        assert!(await_line(&mut "error: no BTF\n".as_bytes(), "observing").is_err());
    }
}
