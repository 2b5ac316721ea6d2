//! QEMU: the one on the PATH, else one that is unpacked beside the kernels.

use std::fmt;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::time::{ClockId, clock_gettime};

use super::apt::{Apt, folder};
use crate::privilege;
use crate::workspace::Workspace;

const PROGRAM: &str = "qemu-system-x86_64";
const PACKAGE: &str = "qemu-system-x86";

/// Lines of the console that a failure shows.
const TAIL: usize = 25;

/// The program and where its parts are.
pub(super) struct Emulator {
    program: PathBuf,
    /// Root of the unpacked packages; `None` for an installed one.
    root: Option<PathBuf>,
}

/// What to boot.
pub(super) struct Boot<'a> {
    /// Gets what the console says.
    pub(super) log: PathBuf,
    /// Gets what comes out of the second serial port: what the tests say.
    pub(super) said: PathBuf,
    pub(super) kernel: &'a Path,
    pub(super) initramfs: &'a Path,
    /// Parameters of the kernel beside those that every boot has.
    pub(super) parameters: &'a [&'a str],
    /// Raw disks, `/dev/vda` and on. What is written to them is forgotten.
    pub(super) disks: &'a [PathBuf],
    /// Arguments of the first process.
    pub(super) init: &'a [String],
    /// How long it may take.
    pub(super) limit_s: u32,
}

/// How a boot ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// The machine switched itself off.
    ByItself,
    /// It was ended after so many seconds.
    TooLate(u32),
    /// The emulator failed.
    Failed(String),
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ByItself => f.write_str("the machine was switched off or restarted"),
            Self::TooLate(seconds) => write!(f, "it was not done after {seconds} s"),
            Self::Failed(status) => write!(f, "the emulator failed ({status})"),
        }
    }
}

impl Emulator {
    /// Finds it or downloads it.
    pub(super) fn get(workspace: &Workspace, apt: &Apt) -> Result<Self> {
        if let Some(program) = privilege::on_path(PROGRAM) {
            return Ok(Self { program, root: None });
        }
        let root = folder(workspace).join("qemu");
        if !root.is_dir() {
            eprintln!("Downloading the emulator ...");
            apt.unpack(&apt.missing_for(PACKAGE)?, &root)?;
        }
        Ok(Self { program: root.join("usr/bin").join(PROGRAM), root: Some(root) })
    }

    /// Boots, and waits for the end.
    pub(super) fn run(&self, boot: &Boot<'_>) -> Result<Ended> {
        let console =
            File::create(&boot.log).with_context(|| format!("write {}", boot.log.display()))?;
        File::create(&boot.said).with_context(|| format!("write {}", boot.said.display()))?;
        let mut command = Command::new(&self.program);
        if let Some(root) = &self.root {
            let libraries = ["usr/lib/x86_64-linux-gnu", "lib/x86_64-linux-gnu"]
                .map(|folder| root.join(folder).display().to_string());
            command.env("LD_LIBRARY_PATH", libraries.join(":"));
            for folder in ["usr/share/qemu", "usr/share/seabios", "usr/lib/ipxe/qemu"] {
                command.arg("-L").arg(root.join(folder));
            }
        }
        // A paravirtual KVM inside a machine without hardware support stops such kernels, so it
        // is the software's turn everywhere, and the results are comparable. One thread for both
        // CPUs: with two, a CPU may run a breakpoint that the other has taken out of the kernel's
        // text already, and the kernel stops (seen on 6.12, where a tracepoint was turned on).
        let child = command
            .args(["-accel", "tcg,thread=single", "-cpu", "max", "-M", "q35", "-m", "2G"])
            .args(["-smp", "2", "-display", "none", "-no-reboot", "-nic", "none"])
            .args(["-serial", "stdio", "-serial"])
            .arg(format!("file:{}", boot.said.display()))
            .args(["-monitor", "none", "-kernel"])
            .arg(boot.kernel)
            .arg("-initrd")
            .arg(boot.initramfs)
            .args(["-append", &command_line(boot)])
            .args(boot.disks.iter().flat_map(|disk| ["-drive".to_owned(), drive(disk)]))
            .stdin(Stdio::null())
            .stdout(console.try_clone().context("the log of the console")?)
            .stderr(console)
            .spawn()
            .with_context(|| format!("start {}", self.program.display()))?;
        Running(child).wait(boot.limit_s)
    }
}

fn drive(disk: &Path) -> String {
    // A comma in a path is doubled there.
    let path = disk.display().to_string().replace(',', ",,");
    format!("file={path},format=raw,if=virtio,snapshot=on")
}

/// The kernel's.
fn command_line(boot: &Boot<'_>) -> String {
    // `panic=-1` restarts at once, which `-no-reboot` makes the end.
    // The check of the timer waits for ticks that a busy machine may make the emulator miss.
    let mut words = vec!["console=ttyS0", "panic=-1", "no_timer_check"];
    words.extend(boot.parameters);
    let mut line = words.join(" ");
    if !boot.init.is_empty() {
        line.push_str(&format!(" -- {}", boot.init.join(" ")));
    }
    line
}

/// Ended when it is dropped.
struct Running(Child);

impl Running {
    fn wait(mut self, limit_s: u32) -> Result<Ended> {
        let deadline = seconds() + u64::from(limit_s);
        while seconds() < deadline {
            if let Some(status) = self.0.try_wait().context("wait for the emulator")? {
                let is_well = status.success();
                return Ok(if is_well {
                    Ended::ByItself
                } else {
                    Ended::Failed(status.to_string())
                });
            }
            thread::sleep(Duration::from_millis(100));
        }
        Ok(Ended::TooLate(limit_s))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It has ended by itself, unless it hung.
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

fn seconds() -> u64 {
    u64::try_from(clock_gettime(ClockId::Monotonic).tv_sec).unwrap_or_default()
}

/// The end of a log.
pub(super) fn tail(log: &Path) -> Result<String> {
    let bytes = fs::read(log).with_context(|| format!("read {}", log.display()))?;
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    Ok(lines[lines.len().saturating_sub(TAIL)..].join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str) -> Running {
        Running(Command::new("sh").args(["-c", script]).spawn().expect("a shell"))
    }

    #[test]
    fn a_machine_that_hangs_is_ended_and_said_so() {
        assert_eq!(sh("exec sleep 1000").wait(1).unwrap(), Ended::TooLate(1));
    }

    #[test]
    fn a_failed_emulator_is_no_machine_that_was_switched_off() {
        assert_eq!(sh("exit 0").wait(60).unwrap(), Ended::ByItself);
        assert!(matches!(sh("exit 3").wait(60).unwrap(), Ended::Failed(_)));
    }
}
