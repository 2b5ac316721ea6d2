//! `bpftrace`, as one would write it by hand for a cgroup.

use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, Result};

use super::{Counter, await_line, with_tracefs};

/// What it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Script {
    /// Syscalls by number in a per-CPU map (`count()`).
    Syscalls,
    /// Waits for a CPU, as its own `runqlat.bt` measures them: a timestamp in a map at each wake-up
    /// and a histogram. It knows no cgroups.
    RunQueue,
    /// Calls of one syscall twice, in a per-CPU map and by `++`, and switches away from the
    /// cgroup's threads.
    Counts(u32),
}

impl Script {
    fn text(self, cgroup: &Path) -> String {
        // Only threads right in the cgroup: bpftrace has no test by ancestry.
        let ours = format!("cgroup == cgroupid(\"{}\")", cgroup.display());
        match self {
            Self::Syscalls => format!(
                "tracepoint:raw_syscalls:sys_enter /{ours}/ {{ @calls[args->id] = count(); }}"
            ),
            Self::RunQueue => "tracepoint:sched:sched_wakeup, tracepoint:sched:sched_wakeup_new \
                 { @since[args->pid] = nsecs; } \
                 tracepoint:sched:sched_switch { \
                 if (args->prev_state == 0) { @since[args->prev_pid] = nsecs; } \
                 $ns = @since[args->next_pid]; \
                 if ($ns) { @usecs = hist((nsecs - $ns) / 1000); } \
                 delete(@since[args->next_pid]); } \
                 END { clear(@since); }"
                .to_owned(),
            Self::Counts(number) => format!(
                "tracepoint:raw_syscalls:sys_enter /{ours} && args->id == {number}/ \
                 {{ @calls = count(); @plain++; }} \
                 tracepoint:sched:sched_switch /{ours}/ {{ @switches = count(); }}"
            ),
        }
    }
}

/// `bpftrace`, attached.
pub(crate) struct Bpftrace(Counter);

impl Bpftrace {
    /// Attaches it and waits until it counts.
    ///
    /// # Errors
    /// When it ends without attaching.
    pub(crate) fn attach(script: Script, cgroup: &Path) -> Result<Self> {
        // BEGIN runs when the other probes are attached.
        let program = format!("BEGIN {{ printf(\"attached\\n\"); }} {}", script.text(cgroup));
        let mut command = with_tracefs();
        command.args(["bpftrace", "-B", "line", "-e", &program]);
        // It complains of a limit that it does not need.
        let mut counter = Counter::start(&mut command, Stdio::null())?;
        await_line(&mut counter.words, "attached").context("wait for bpftrace to attach")?;
        Ok(Self(counter))
    }

    /// Detaches it; what it printed.
    ///
    /// # Errors
    /// When it cannot be ended.
    pub(crate) fn detach(self) -> Result<String> {
        self.0.stop()
    }
}

/// The value of a map that it printed, such as `calls` or `calls[110]`.
pub(crate) fn value(output: &str, map: &str) -> Option<u64> {
    let value = |line: &str| {
        line.strip_prefix('@')?.strip_prefix(map)?.strip_prefix(':')?.trim().parse().ok()
    };
    output.lines().find_map(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_found_among_other_lines() {
        let output = "attached\n\n\n@calls: 400012\n@calls[110]: 7\n@plain: 399000\n\n";
        assert_eq!(value(output, "calls"), Some(400_012));
        assert_eq!(value(output, "calls[110]"), Some(7));
        assert_eq!(value(output, "plain"), Some(399_000));
        assert_eq!(value("attached\n", "calls"), None);
    }
}
