//! Stacks on the CPU and off it (`probes/stacks.rs`).
//!
//! A reading copies the counts by stack and the addresses of every stack; names come in when two
//! readings are subtracted, after the window (`fold`). A wait that goes on at the moment of a
//! reading is closed there for the reading's sake (`waits`).
//! Costs: a sample is taken 99 times a second and CPU; off the CPU two stacks are walked at every
//! wait. The maps take 40 MiB of kernel memory and 1 MiB more for each CPU.

mod fold;
mod reading;
mod waits;

use aya::Ebpf;
use aya::programs::PerfEvent;
use aya::programs::perf_event::{PerfEventConfig, PerfEventScope, SamplePolicy, SoftwareEvent};
use bench_ebpf::abi::THREAD_SLOTS;
use bench_ebpf::abi::stacks::{COUNT_SLOTS, SPILL_SLOTS, TRACE_SLOTS, maps, programs};

pub(super) use reading::Reading;

use crate::host::topology;
use crate::observe::bpf::kernel::Kernel;
use crate::observe::bpf::offsets::Offsets;
use crate::observe::bpf::part::{Part, attach_btf, program};
use crate::observe::bpf::refusal::{LoadError, explain, refused};

/// Samples per second and CPU: a prime, so that it keeps out of step with what a server does a
/// round number of times a second.
const FREQUENCY_HZ: u64 = 99;

/// On-CPU stacks need nothing of the kernel's types, so without them only the others are missing.
pub(super) const PART: Part = Part {
    globals: |kernel| Ok(offsets(kernel).map(|found| found.globals()).unwrap_or_default()),
    maps: &[
        (maps::TRACES, TRACE_SLOTS),
        (maps::SPILL, SPILL_SLOTS),
        (maps::ON_CPU, COUNT_SLOTS),
        (maps::OFF_CPU, COUNT_SLOTS),
        (maps::AWAY, THREAD_SLOTS),
    ],
    programs: &[programs::ON_CPU, programs::OFF_CPU],
    attach,
};

fn attach(ebpf: &mut Ebpf, kernel: &Kernel) -> Result<(), LoadError> {
    sample(ebpf)?;
    if let Err(why) = attach_off_cpu(ebpf, kernel) {
        // A reading finds that it is not loaded, and why.
        log::info!("no stacks off the CPU: {why}");
    }
    Ok(())
}

/// One event on every CPU that is online; the program keeps to the target's cgroup.
fn sample(ebpf: &mut Ebpf) -> Result<(), LoadError> {
    let fail = |why: &str| refused(programs::ON_CPU, why);
    let cpus = topology::online_cpus().map_err(|e| fail(&format!("{e:#}")))?;
    let program: &mut PerfEvent = program(ebpf, programs::ON_CPU)?;
    program.load().map_err(|e| fail(&explain(&e)))?;
    for cpu in cpus {
        let cpu = u32::try_from(cpu).map_err(|e| fail(&e.to_string()))?;
        program
            .attach(
                PerfEventConfig::Software(SoftwareEvent::CpuClock),
                PerfEventScope::AllProcessesOneCpu { cpu },
                SamplePolicy::Frequency(FREQUENCY_HZ),
                false,
            )
            .map_err(|e| fail(&explain(&e)))?;
    }
    Ok(())
}

fn attach_off_cpu(ebpf: &mut Ebpf, kernel: &Kernel) -> Result<(), LoadError> {
    // Without the offsets the program would read elsewhere; the verifier need not be asked.
    offsets(kernel)?;
    attach_btf(ebpf, kernel, programs::OFF_CPU, "sched_switch")
}

fn offsets(kernel: &Kernel) -> Result<Offsets, LoadError> {
    Ok(Offsets::look_up(kernel.types()?)?)
}

/// Why waits are not sampled although the rest is.
fn why_no_off_cpu() -> String {
    match offsets(&Kernel::read(None)) {
        Err(why) => why.to_string(),
        Ok(_) => "the kernel refused the probe of waits; RUST_LOG=info says why".to_owned(),
    }
}
