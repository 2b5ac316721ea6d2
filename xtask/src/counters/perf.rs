//! `perf stat` and `perf trace`, on a cgroup.
//!
//! Neither says when it is attached, so each is taken to be when it has descriptors of perf events
//! and sleeps with the same number of them at two looks.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::{Counter, with_tracefs};

/// Between two looks, and how many at most.
const LOOK: Duration = Duration::from_millis(200);
const LOOKS: u32 = 100;

/// `perf stat --for-each-cgroup`, attached.
pub(crate) struct PerfStat(Counter);

/// `perf trace -s`, attached.
pub(crate) struct PerfTrace(Counter);

impl PerfStat {
    /// Attaches it to switches of a cgroup below the mount of the v2 tree.
    ///
    /// # Errors
    /// When it ends without attaching.
    pub(crate) fn attach(mount: &Path, cgroup: &Path) -> Result<Self> {
        let name = cgroup.strip_prefix(mount).context("a cgroup below the mount")?;
        let mut command = with_tracefs();
        command.args(["perf", "stat", "-x", ";", "--log-fd", "1", "-a"]);
        command.args(["-e", "context-switches", "--for-each-cgroup"]);
        attached(Counter::start(command.arg(name), Stdio::inherit())?).map(Self)
    }

    /// Detaches it; context switches.
    ///
    /// # Errors
    /// When it prints none.
    pub(crate) fn detach(self) -> Result<u64> {
        let output = self.0.stop()?;
        stat(&output, "context-switches").with_context(|| format!("perf stat said {output:?}"))
    }
}

impl PerfTrace {
    /// Attaches it to the syscalls of a cgroup below the mount of the v2 tree.
    ///
    /// # Errors
    /// When it ends without attaching.
    pub(crate) fn attach(mount: &Path, cgroup: &Path) -> Result<Self> {
        let name = cgroup.strip_prefix(mount).context("a cgroup below the mount")?;
        let mut command = with_tracefs();
        command.args(["sh", "-c", "exec perf trace -s -a -G \"$1\" 2>&1", "sh"]).arg(name);
        attached(Counter::start(&mut command, Stdio::inherit())?).map(Self)
    }

    /// Detaches it; how many calls of a name it counted, and how many events it says it lost.
    ///
    /// # Errors
    /// When it cannot be ended.
    pub(crate) fn detach(self, name: &str) -> Result<(u64, u64)> {
        let output = self.0.stop()?;
        if !output.contains("Summary of events") {
            bail!("it printed no summary but {:?}", output.get(..300).unwrap_or(&output));
        }
        Ok((traced(&output, name), lost(&output)))
    }
}

fn attached(mut counter: Counter) -> Result<Counter> {
    let process = format!("/proc/{}", counter.child.id());
    let mut before = 0;
    for _ in 0..LOOKS {
        thread::sleep(LOOK);
        if let Some(status) = counter.child.try_wait().context("look at perf")? {
            let output = counter.stop().unwrap_or_default();
            bail!("perf ended before it was attached ({status}): {output}");
        }
        let links = fs::read_dir(format!("{process}/fd")).into_iter().flatten().flatten();
        let is_event = |link: fs::DirEntry| {
            fs::read_link(link.path()).is_ok_and(|to| to.to_string_lossy().contains("[perf_event]"))
        };
        let events = links.map(is_event).filter(|is| *is).count();
        let stat = fs::read_to_string(format!("{process}/stat")).unwrap_or_default();
        let sleeps = stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('S'));
        if events > 0 && events == before && sleeps {
            return Ok(counter);
        }
        before = events;
    }
    bail!("perf did not attach")
}

/// From lines such as `40011;;context-switches;bench-peers;...`.
fn stat(output: &str, event: &str) -> Option<u64> {
    output.lines().find_map(|line| {
        let mut fields = line.split(';');
        let (value, _unit, name) = (fields.next()?, fields.next()?, fields.next()?);
        (name == event).then(|| value.parse().ok())?
    })
}

/// Sum over threads, from lines such as `getppid   400000   0  52.1 ...`.
fn traced(output: &str, name: &str) -> u64 {
    let count = |line: &str| {
        let mut words = line.split_whitespace();
        (words.next() == Some(name)).then(|| words.next()?.parse::<u64>().ok())?
    };
    output.lines().filter_map(count).sum()
}

/// From lines such as `LOST 4711 events!`.
fn lost(output: &str) -> u64 {
    let count = |line: &str| {
        let (n, _) = line.trim().strip_prefix("LOST ")?.split_once(" events")?;
        n.parse::<u64>().ok()
    };
    output.lines().filter_map(count).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read_from_what_perf_prints() {
        let output =
            "40011;;context-switches;bench;1;100.00;;\n812;;raw_syscalls:sys_enter;bench;\n";
        assert_eq!(stat(output, "context-switches"), Some(40_011));
        assert_eq!(stat(output, "raw_syscalls:sys_enter"), Some(812));
        assert_eq!(stat(output, "page-faults"), None);
        let trace = "LOST 12 events!\nLOST 30 events!\n workload (7), 3 events\n\
                     \x20  getppid   100  0  1.0\n   getppid   23  0  1.0\n   read  4  0 1.0\n";
        assert_eq!((traced(trace, "getppid"), lost(trace)), (123, 42));
    }
}
