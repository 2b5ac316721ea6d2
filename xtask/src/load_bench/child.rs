//! One client as a child: what it printed, and what it used.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use rustix::time::{ClockId, clock_gettime};
use wait4::Wait4;

use super::cpus::Cpu;

/// How often the peak memory of a running child is looked at.
const LOOK: Duration = Duration::from_millis(20);
/// A client that needs so much longer than it was told is ended.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

/// What an ended child used.
#[derive(Debug)]
pub(super) struct Used {
    /// CPU time in user and kernel mode, of all its threads and of the children it waited for.
    pub(super) cpu: Duration,
    /// From its start to its end.
    pub(super) wall: Duration,
    /// Peak resident memory, bytes; `None` when it ended before it could be looked at.
    pub(super) peak_bytes: Option<u64>,
}

/// Runs the command on the CPU, in the folder, for `limit` at most; its standard output and what it
/// used.
///
/// # Errors
/// When it cannot be started, does not succeed, or takes longer.
pub(super) fn run(
    command: &mut Command,
    cpu: Cpu,
    folder: &Path,
    limit: Duration,
) -> Result<(String, Used)> {
    // Files, because nobody reads a pipe while we wait, and a full one would stop the child.
    let [out, err] = ["stdout", "stderr"].map(|name| folder.join(name));
    let create = |path: &Path| {
        File::create(path).with_context(|| format!("make the file {}", path.display()))
    };
    command.current_dir(folder).stdin(Stdio::null()).stdout(create(&out)?).stderr(create(&err)?);
    let inherited = peak_bytes("self");
    let start = now();
    let mut child = cpu.spawn(command)?;
    let ended = wait(&mut child, start + limit);
    let wall = now().saturating_sub(start);
    let read =
        |path: &Path| fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let (status, usage, seen) = match ended {
        Ok(ended) => ended,
        Err(error) => {
            // When it has ended meanwhile there is nothing to end.
            child.kill().and_then(|()| child.wait()).ok();
            return Err(error).context(shown(command));
        }
    };
    if !status.success() {
        let words = read(&err).context("read what the client complained of")?;
        bail!("{}: {status}: {}", shown(command), words.trim());
    }
    let output = read(&out).context("read what the client printed")?;
    let peak_bytes = peak(usage.maxrss, inherited, seen);
    Ok((output, Used { cpu: usage.utime + usage.stime, wall, peak_bytes }))
}

type Ended = (ExitStatus, wait4::ResourceUsage, Option<u64>);

fn wait(child: &mut Child, deadline: Duration) -> Result<Ended> {
    let id = child.id().to_string();
    let mut seen = None;
    loop {
        seen = peak_bytes(&id).max(seen);
        if let Some(ended) = child.try_wait4().context("wait for the client")? {
            return Ok((ended.status, ended.rusage, seen));
        }
        if now() > deadline {
            bail!("it did not end in time");
        }
        thread::sleep(LOOK);
    }
}

/// The kernel's own maximum is exact, but a child's begins with the peak of the program that
/// started it (execve(2) keeps the larger of both). At or below that it says nothing of the
/// child, and what was last seen of the child's own memory, shortly before its end, is taken.
fn peak(kernels: u64, inherited: Option<u64>, seen: Option<u64>) -> Option<u64> {
    if inherited.is_some_and(|inherited| kernels > inherited) { Some(kernels) } else { seen }
}

/// `VmHWM` of a process: the peak since its execve(2). `None` once it has ended.
fn peak_bytes(process: &str) -> Option<u64> {
    parse_peak(&fs::read_to_string(format!("/proc/{process}/status")).ok()?)
}

fn parse_peak(status: &str) -> Option<u64> {
    let value = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = value.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kib * 1024)
}

fn shown(command: &Command) -> String {
    command.get_program().display().to_string()
}

fn now() -> Duration {
    let now = clock_gettime(ClockId::Monotonic);
    // The monotonic clock counts from boot and is never negative.
    Duration::try_from(now).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ran(words: &[&str], limit: Duration) -> Result<(String, Used)> {
        let folder = tempfile::tempdir().expect("room for files");
        let (_, cpu) = Cpu::pair(None, None).expect("at least one CPU");
        run(Command::new(words[0]).args(&words[1..]), cpu, folder.path(), limit)
    }

    #[test]
    fn memory_and_cpu_time_of_a_child_are_its_own() {
        // It fills one buffer of this size, which takes more CPU time than none.
        let (_, used) =
            ran(&["dd", "if=/dev/zero", "of=/dev/null", "bs=128M", "count=4"], PATIENCE)
                .expect("dd runs");
        let peak = used.peak_bytes.expect("above ours, so the kernel's own");
        assert!((128 << 20..160 << 20).contains(&peak), "{peak}");
        assert!(!used.cpu.is_zero() && used.cpu <= used.wall, "{used:?}");
    }

    #[test]
    fn output_is_kept_and_failure_repeats_the_complaint() {
        let (output, _) = ran(&["echo", "42"], PATIENCE).expect("echo runs");
        assert_eq!(output, "42\n");
        let error = ran(&["sh", "-c", "echo no room >&2; exit 3"], PATIENCE).expect_err("fails");
        assert!(error.to_string().contains("3: no room"), "{error}");
    }

    #[test]
    fn a_child_that_does_not_end_is_ended() {
        let error = ran(&["sleep", "1000"], Duration::ZERO).expect_err("it takes longer");
        assert!(format!("{error:#}").contains("in time"), "{error:#}");
    }

    #[test]
    fn the_peak_is_not_that_of_the_program_that_started_it() {
        assert_eq!(peak(90, Some(50), Some(80)), Some(90), "exact");
        assert_eq!(peak(50, Some(50), Some(20)), Some(20), "inherited");
        assert_eq!(peak(50, None, None), None);
    }

    #[test]
    fn the_peak_is_read_in_kib() {
        assert_eq!(parse_peak("VmPeak:\t  9 kB\nVmHWM:\t    4 kB\n"), Some(4096));
        assert_eq!(parse_peak("Name:\tzombie\n"), None);
    }
}
