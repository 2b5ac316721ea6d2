//! `host-test`: the ways to name a target, in a Debian as people run it.
//!
//! systemd on cgroup v2 alone, Podman with crun, Docker with systemd's driver, containers in
//! containers: a whole Debian 12 is booted under QEMU's software emulation, and a script in it
//! starts the lean built-in server in each of these ways and measures it with `bench-user run`.
//! That server makes two calls a request, so each record has a known answer, which is judged here.
//! The disk is made once and stays in `target/vm/debian`; making it takes root, nothing else does.

mod checks;
mod disk;
mod payload;
mod told;

use std::fs;

use anyhow::{Context, Result, ensure};

use super::apt::{Apt, folder};
use super::emulator::{self, Boot, Emulator};
use super::results::Results;
use super::table;
use crate::process::run;
use crate::workspace::Workspace;
use crate::{build_ebpf, setup, stamp};
use disk::Disk;

/// Several times what it takes on two CPUs that do nothing else, seconds.
const LIMIT_S: u32 = 1800;

/// Arguments of `host-test`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Give up after so many seconds
    #[arg(long, value_name = "S", default_value_t = LIMIT_S)]
    limit: u32,
}

/// The verb.
pub(crate) fn main(workspace: &Workspace, args: &Args) -> Result<()> {
    ensure!(std::env::consts::ARCH == "x86_64", "the emulated machine is an x86_64 one");
    let toolchain = setup::ensure(workspace)?;
    build_ebpf::compile(workspace, &toolchain, stamp::SILENT)?;
    run(workspace.cargo().args(["build", "--package", "bench-user"]))?;
    let apt = Apt::of_the_machine(workspace)?;
    let emulator = Emulator::get(workspace, &apt)?;
    let disk = Disk::get(workspace, &apt)?;
    let payload = payload::pack(workspace, &workspace.target.join("debug/bench-user"))?;
    eprintln!("booting Debian ...");
    let folder = folder(workspace).join("debian");
    let boot = Boot {
        log: folder.join("log"),
        said: folder.join("said"),
        kernel: &disk.kernel,
        initramfs: &disk.initramfs,
        // Docker wants a profile of AppArmor's where that is on, and the package is not there.
        parameters: &["root=/dev/vda", "rw", "apparmor=0"],
        disks: &[disk.file, payload],
        init: &[],
        limit_s: args.limit,
    };
    let ended = emulator.run(&boot)?;
    let said = fs::read(&boot.said).context("read what the machine said")?;
    let said = String::from_utf8_lossy(&said);
    let machine = said.lines().find_map(|line| line.trim_end().strip_prefix("machine "));
    let kernel = machine.unwrap_or("a machine that did not start").to_owned();
    let results = Results { kernel, checks: checks::outcomes(&said, &ended) };
    let has_failed = results.has_failed();
    if has_failed {
        eprintln!("all that was said is in {}", boot.said.display());
        eprintln!("the last lines of {}:\n{}", boot.log.display(), emulator::tail(&boot.log)?);
    }
    table::print(&[results]);
    ensure!(!has_failed, "a check failed");
    Ok(())
}
