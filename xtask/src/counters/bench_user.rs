//! `bench-user observe`.

use std::io::BufReader;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use rustix::time::{ClockId, clock_gettime};
use serde_json::Value;

use super::{Counter, await_line};

/// `bench-user observe`, attached.
pub(crate) struct BenchUser {
    counter: Counter,
    attach_ms: f64,
}

/// The blocks that it printed.
pub(crate) struct Blocks(Value);

impl BenchUser {
    /// Attaches it to the cgroup and waits for its word that it counts.
    ///
    /// # Errors
    /// When it ends without attaching; what it said is on the terminal.
    pub(crate) fn attach(binary: &Path, cgroup: &Path) -> Result<Self> {
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
    pub(crate) fn attach_ms(&self) -> f64 {
        self.attach_ms
    }

    /// Detaches it.
    ///
    /// # Errors
    /// When it fails or does not print its blocks.
    pub(crate) fn detach(self) -> Result<Blocks> {
        let output = self.counter.stop()?;
        let blocks = serde_json::from_str(&output);
        Ok(Blocks(blocks.context("read the output of `bench-user observe`")?))
    }
}

impl Blocks {
    /// Calls of a syscall that were counted.
    ///
    /// # Errors
    /// When the probes counted no syscalls, or the kernel skipped some.
    pub(crate) fn calls(&self, name: &str) -> Result<u64> {
        if let Some(why) = self.0.pointer("/syscalls/unavailable") {
            bail!("the probes counted no syscalls: {why}");
        }
        let missed = self.number("/syscalls/missed")?;
        if missed > 0 {
            bail!("the kernel skipped {missed} syscalls");
        }
        let count = self.0.pointer(&format!("/syscalls/by_name/{name}/count"));
        Ok(count.and_then(Value::as_u64).unwrap_or(0))
    }

    /// A whole number at a place of the output.
    ///
    /// # Errors
    /// When there is none.
    pub(crate) fn number(&self, place: &str) -> Result<u64> {
        let found = self.0.pointer(place).and_then(Value::as_u64);
        found.with_context(|| format!("bench-user printed no number at {place}"))
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a machine's uptime in ns is below 2^53 for 100 days"
)]
fn now_ms() -> f64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as f64 * 1e3 + now.tv_nsec as f64 / 1e6
}
