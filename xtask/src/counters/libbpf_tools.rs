//! `syscount` and `runqlat` of libbpf-tools, on a cgroup.

use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, Result};

use super::{Counter, await_line, by_line};

/// `syscount`, attached.
pub(crate) struct Syscount(Counter);

/// `runqlat`, attached.
pub(crate) struct Runqlat(Counter);

impl Syscount {
    /// Attaches it and waits until it counts.
    ///
    /// # Errors
    /// When it ends without attaching.
    pub(crate) fn attach(cgroup: &Path) -> Result<Self> {
        let mut command = by_line("syscount");
        command.args(["-T", "500", "-c"]).arg(cgroup);
        attach(command, "Tracing syscalls").map(Self)
    }

    /// Detaches it; how many calls of a name it counted.
    ///
    /// # Errors
    /// When it cannot be ended.
    pub(crate) fn detach(self, name: &str) -> Result<u64> {
        Ok(calls(&self.0.stop()?, name))
    }
}

impl Runqlat {
    /// Attaches it and waits until it counts.
    ///
    /// # Errors
    /// When it ends without attaching.
    pub(crate) fn attach(cgroup: &Path) -> Result<Self> {
        let mut command = by_line("runqlat");
        command.arg("-c").arg(cgroup);
        attach(command, "Tracing run queue").map(Self)
    }

    /// Detaches it; how many waits are in its histogram.
    ///
    /// # Errors
    /// When it cannot be ended.
    pub(crate) fn detach(self) -> Result<u64> {
        Ok(samples(&self.0.stop()?))
    }
}

fn attach(mut command: std::process::Command, word: &str) -> Result<Counter> {
    let mut counter = Counter::start(&mut command, Stdio::inherit())?;
    await_line(&mut counter.words, word).with_context(|| format!("wait for `{word}`"))?;
    Ok(counter)
}

/// From lines such as `getppid   400000`.
fn calls(output: &str, name: &str) -> u64 {
    let count = |line: &str| {
        let mut words = line.split_whitespace();
        (words.next() == Some(name)).then(|| words.next()?.parse::<u64>().ok())?
    };
    output.lines().filter_map(count).sum()
}

/// From lines such as `2 -> 3    : 17   |****  |`.
fn samples(output: &str) -> u64 {
    let count = |line: &str| {
        let (range, rest) = line.split_once(':')?;
        range.contains("->").then(|| rest.split_whitespace().next()?.parse::<u64>().ok())?
    };
    output.lines().filter_map(count).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read_from_what_the_tools_print() {
        let syscount = "Tracing syscalls, printing top 500... Ctrl+C to quit.\n[10:00:00]\n\
                        SYSCALL                   COUNT\ngetppid                  400000\n\
                        read                         12\n\n";
        assert_eq!((calls(syscount, "getppid"), calls(syscount, "write")), (400_000, 0));
        let runqlat = "Tracing run queue latency... Hit Ctrl-C to end.\n\n\
                       \x20    usecs               : count    distribution\n\
                       \x20        0 -> 1          : 17       |**  |\n\
                       \x20        2 -> 3          : 25       |*** |\n";
        assert_eq!(samples(runqlat), 42);
    }
}
