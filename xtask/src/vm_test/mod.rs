//! `vm-test`: the known-answer tests on the kernels of other machines.
//!
//! A kernel of Debian is booted under QEMU's software emulation with an initramfs that holds
//! busybox, `bench-user` and the binary of the privileged tests, on a pure cgroup v2 host with two
//! CPUs. What the tests say comes out of a serial port of its own, beside the console. Kernels and
//! the emulator are taken from the archive that this machine's apt already trusts, and stay in
//! `target/vm`: nothing is installed and nothing needs root. A whole Debian with the container
//! engines is booted the same way by `hosts`.

mod apt;
mod emulator;
pub(crate) mod hosts;
mod image;
mod kernel;
mod results;
mod table;

use std::thread::{self, ScopedJoinHandle};

use anyhow::{Context, Result, anyhow, bail, ensure};

use crate::workspace::Workspace;
use crate::{build_ebpf, setup, stamp};
use apt::Apt;
use emulator::{Boot, Emulator};
use image::Image;
use kernel::{Kernel, Series};
use results::Results;

/// Far more than a kernel takes on a machine that does nothing else, seconds.
const LIMIT_S: u32 = 900;

/// The series that are booted unless others are asked for.
const MATRIX: [&str; 5] = ["5.10", "6.1", "6.12", "6.18", "7.3"];

/// The series that every change is tried on; both come from Debian 12's own sources.
const IN_CI: [&str; 2] = ["6.1", "6.12"];

/// Beginnings of names that `--quick` leaves out: whole runs, and what holds one explanation or one
/// observer against much work. What stays loads, attaches and counts with every program, and holds
/// syscalls, switches, books, quotas and memory against known amounts.
const NOT_QUICK: [&str; 21] = [
    "bottleneck::",
    "calls::",
    "exec::",
    "hooks::",
    "hosts::",
    "identities::",
    "leaving::",
    "lives::",
    "local_ports",
    "many::",
    "net::",
    "offcpu::",
    "own_cost::",
    "run::",
    "runq::",
    "shares::",
    "softirq::",
    "stacks::",
    "store::",
    "uring::",
    "whole::the_default",
];

/// Arguments of `vm-test`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Series such as 6.12, or whole versions such as 6.12.117+deb12 [default: 5.10 6.1 6.12 6.18 7.3]
    kernels: Vec<Series>,
    /// How much of the kernel can be preempted, where it lets itself be asked; may be repeated
    #[arg(long, value_enum)]
    preempt: Vec<Preempt>,
    /// Leave out whole runs and what does much work, which take most of the time
    #[arg(long)]
    quick: bool,
    /// How many kernels to boot at a time
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..))]
    at_once: u8,
    /// Give up on a kernel after so many seconds
    #[arg(long, value_name = "S", default_value_t = LIMIT_S)]
    limit: u32,
    /// Arguments of the test binary, such as a part of a test's name
    #[arg(last = true)]
    tests: Vec<String>,
}

/// The kernel's parameter `preempt`.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Preempt {
    None,
    Voluntary,
    Lazy,
    Full,
}

impl Preempt {
    fn parameter(self) -> &'static str {
        match self {
            Self::None => "preempt=none",
            Self::Voluntary => "preempt=voluntary",
            Self::Lazy => "preempt=lazy",
            Self::Full => "preempt=full",
        }
    }
}

/// The verb.
pub(crate) fn main(workspace: &Workspace, args: &Args) -> Result<()> {
    let toolchain = setup::ensure(workspace)?;
    for object in [stamp::SILENT, stamp::LOGGING] {
        build_ebpf::compile(workspace, &toolchain, object)?;
    }
    let failed = boot_all(workspace, args)?;
    ensure!(failed == 0, "{failed} of the kernels failed a check");
    Ok(())
}

/// The part of it that runs in CI, after the probes are built.
///
/// # Errors
/// When a kernel fails a check. A machine whose sources are not Debian's cannot have the kernels:
/// that is said and is no error.
pub(crate) fn in_ci(workspace: &Workspace) -> Result<()> {
    let kernels = IN_CI.iter().map(|name| name.parse()).collect::<Result<_>>()?;
    // Most of the time a machine has one busy CPU of its two.
    let args = Args {
        kernels,
        preempt: Vec::new(),
        quick: true,
        at_once: 2,
        limit: LIMIT_S,
        tests: Vec::new(),
    };
    if !Apt::of_the_machine(workspace)?.is_debian() {
        eprintln!("warning: this machine's apt knows no Debian archive: no other kernel is tried");
        return Ok(());
    }
    let failed = boot_all(workspace, &args)?;
    ensure!(failed == 0, "{failed} of the kernels failed a check");
    Ok(())
}

/// Boots them in turn and prints the table; how many failed.
fn boot_all(workspace: &Workspace, args: &Args) -> Result<usize> {
    ensure!(std::env::consts::ARCH == "x86_64", "the emulated machine is an x86_64 one");
    let asked = match args.kernels.as_slice() {
        [] => MATRIX.iter().map(|name| name.parse()).collect::<Result<Vec<Series>>>()?,
        some => some.to_vec(),
    };
    let apt = Apt::of_the_machine(workspace)?;
    let mut tests = args.tests.clone();
    if args.quick {
        eprintln!("left out by --quick: the tests {}", NOT_QUICK.join(", "));
        // One word each: the kernel passes at most 32 on to init.
        tests.extend(NOT_QUICK.iter().map(|name| format!("--skip={name}")));
    }
    let emulator = Emulator::get(workspace, &apt)?;
    let image = Image::build(workspace, &apt)?;
    let mut kernels = Vec::new();
    for series in &asked {
        let kernel = Kernel::get(workspace, &apt, series)
            .with_context(|| format!("the kernel {series} cannot be had"))?;
        kernels.push(kernel);
    }
    let boots: Vec<_> = kernels
        .iter()
        .flat_map(|kernel| preemptions(&args.preempt).into_iter().map(move |how| (kernel, how)))
        .collect();
    let mut all = Vec::new();
    for together in boots.chunks(usize::from(args.at_once)) {
        let ended = thread::scope(|scope| {
            let running: Vec<_> = together
                .iter()
                .map(|(kernel, how)| {
                    let (emulator, image, tests) = (&emulator, &image, &tests);
                    scope.spawn(move || boot(emulator, image, kernel, *how, tests, args.limit))
                })
                .collect();
            running.into_iter().map(ScopedJoinHandle::join).collect::<Vec<_>>()
        });
        for results in ended {
            all.push(results.map_err(|_panic| anyhow!("a boot panicked"))??);
        }
    }
    table::print(&all);
    Ok(all.iter().filter(|results| results.has_failed()).count())
}

fn preemptions(asked: &[Preempt]) -> Vec<Option<Preempt>> {
    if asked.is_empty() { vec![None] } else { asked.iter().copied().map(Some).collect() }
}

fn boot(
    emulator: &Emulator,
    image: &Image,
    kernel: &Kernel,
    preempt: Option<Preempt>,
    tests: &[String],
    limit_s: u32,
) -> Result<Results> {
    let parameter = preempt.map(Preempt::parameter);
    let name = [Some(&*kernel.version), parameter].into_iter().flatten().collect::<Vec<_>>();
    let name = name.join(" ");
    eprintln!("booting {name} ...");
    let boot = Boot {
        log: image.folder.join(format!("{}.log", name.replace(' ', "-"))),
        said: image.folder.join(format!("{}.said", name.replace(' ', "-"))),
        kernel: &kernel.image,
        initramfs: &image.file,
        parameters: parameter.as_slice(),
        disks: &[],
        init: tests,
        limit_s,
    };
    let ended = emulator.run(&boot)?;
    let said = std::fs::read(&boot.said).context("read what the tests said")?;
    let results = Results::read(&name, &String::from_utf8_lossy(&said), &ended);
    if results.has_failed() {
        eprintln!("the last lines of {}:\n{}", boot.log.display(), emulator::tail(&boot.log)?);
    }
    if results.checks.is_empty() {
        bail!("{name}: no test was run; {ended}");
    }
    Ok(results)
}
