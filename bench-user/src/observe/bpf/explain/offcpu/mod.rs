//! What threads wait in while they are off the CPU.
//!
//! Source: `probes/offcpu`. Yields each thread's time on a CPU, waiting for one and blocked by
//! reason, up to the instant at which the task iterator came to it. Blind to: threads outside of
//! our pid namespace. Costs: a program run at every switch away from the target's threads, and a
//! reading of all tasks of the machine at each edge of a window and look inside it.

mod accounts;
mod block;

use std::collections::BTreeMap;

use aya::Ebpf;
use aya::maps::{MapData, PerCpuArray};
use bench_ebpf::abi::THREAD_SLOTS;
use bench_ebpf::abi::offcpu::{Counts, HISTOGRAMS, OTHER, REASONS, globals, maps, programs};
use bench_ebpf::hist::BUCKETS;
use btf_rs::Btf;

use crate::observe::bpf::counts::add;
use crate::observe::bpf::iterator;
use crate::observe::bpf::kernel::Kernel;
use crate::observe::bpf::map;
use crate::observe::bpf::offsets::{
    OffsetError, Offsets, has_helper, offset, queue_globals, size_of_struct, task_globals,
};
use crate::observe::bpf::part::{Global, Part, attach_btf};
use crate::observe::bpf::refusal::{LoadError, refused};
use accounts::{Account, Totals};

/// Size of a kernel stack on x86_64 and on aarch64 with small pages
/// (arch/x86/include/asm/page_64_types.h, arch/arm64/include/asm/memory.h; without KASAN).
const KERNEL_STACK: u32 = 16 << 10;

/// Its programs and maps.
pub(super) const PART: Part = Part {
    globals: find_globals,
    maps: &[(maps::THREADS, THREAD_SLOTS), (maps::HISTOGRAMS, HISTOGRAMS)],
    programs: &[programs::SWITCH, programs::TASKS],
    attach: attach_all,
};

fn find_globals(kernel: &Kernel) -> Result<Vec<Global>, LoadError> {
    let types = kernel.types()?;
    let mut found = Offsets::look_up(types)?.globals();
    found.extend(task_globals(types)?);
    found.extend(queue_globals(types)?);
    found.extend(own_globals(types)?);
    Ok(found)
}

fn own_globals(types: &Btf) -> Result<Vec<Global>, OffsetError> {
    let member = |name, path| offset(types, name, path)?.ok_or(OffsetError::Missing(path));
    let (call, is_32) = match offset(types, "pt_regs", "orig_ax")? {
        Some(offset) => (offset, 0),
        None => (member("pt_regs", "syscallno")?, 1),
    };
    let regs = size_of_struct(types, "pt_regs")?.ok_or(OffsetError::Missing("pt_regs"))?;
    Ok(vec![
        (globals::HAS_PT_REGS, u32::from(has_helper(types, "BPF_FUNC_task_pt_regs")?)),
        (globals::STACK_REGS, KERNEL_STACK - regs),
        (globals::REGS_CALL, call),
        (globals::CALL_IS_32, is_32),
        (globals::TASK_STACK, member("task_struct", "stack")?),
        (globals::TASK_FLAGS, member("task_struct", "flags")?),
        (globals::TASK_ON_CPU, member("task_struct", "on_cpu")?),
    ])
}

/// The iterator is read once at the end, so that threads that sleep now have an account.
fn attach_all(ebpf: &mut Ebpf, kernel: &Kernel) -> Result<(), LoadError> {
    attach_btf(ebpf, kernel, programs::SWITCH, "sched_switch")?;
    iterator::load(ebpf, kernel, programs::TASKS)?;
    iterator::read(ebpf, programs::TASKS).map(drop).map_err(|why| refused("task iterator", &why))
}

/// Everything since the probes were attached.
pub(super) struct Reading {
    /// Threads alive, open stretches included.
    threads: Vec<Account>,
    /// Threads that have ended, together.
    ended: Totals,
    ended_threads: u64,
    /// Waits that are over, by reason.
    waits: BTreeMap<u32, Vec<u64>>,
    lost: BTreeMap<&'static str, u64>,
}

impl Reading {
    /// Reads the maps and all tasks.
    ///
    /// # Errors
    /// When the kernel refuses, or answers in another form.
    pub(super) fn read(ebpf: &mut Ebpf) -> Result<Self, String> {
        // Before the threads alive: one that ends meanwhile is in neither, and its time comes
        // with the next reading; it is never there twice.
        let counts = map::per_cpu(ebpf, maps::COUNTS)?;
        let bytes = iterator::read(ebpf, programs::TASKS)?;
        let threads = accounts::parse(&bytes).ok_or("the task iterator's answer was cut off")?;
        let mut reading = Self {
            threads,
            ended: Totals::default(),
            ended_threads: 0,
            waits: waits(ebpf, &counts)?,
            lost: BTreeMap::new(),
        };
        for cpu in &*counts {
            reading.add_cpu(cpu);
        }
        Ok(reading)
    }

    fn add_cpu(&mut self, cpu: &Counts) {
        self.ended_threads += cpu.ended;
        self.ended.on_cpu += cpu.ended_on_cpu;
        self.ended.run_queue += cpu.ended_run_queue;
        self.ended.throttled += cpu.ended_throttled;
        self.ended.unbooked += cpu.ended_unbooked;
        for (reason, waits) in (0_u32..).zip(&cpu.ended_by_reason) {
            self.ended.block(reason, *waits);
        }
        for (cause, n) in [
            ("absences", cpu.absences),
            ("address_reused", cpu.reset),
            ("threads_full", cpu.threads_full),
            ("filter_failed", cpu.filter_failed),
        ] {
            *self.lost.entry(cause).or_default() += n;
        }
    }
}

/// Each CPU gives its histograms to reasons in the order in which it meets them.
fn waits(ebpf: &Ebpf, counts: &[Counts]) -> Result<BTreeMap<u32, Vec<u64>>, String> {
    let map: PerCpuArray<&MapData, [u64; BUCKETS]> =
        map::read(ebpf, maps::HISTOGRAMS, PerCpuArray::try_from)?;
    let used = counts.iter().map(|cpu| cpu.histograms).max().unwrap_or(0);
    let mut waits = BTreeMap::new();
    for index in 0..=u32::try_from(used).unwrap_or(0) {
        let cpus = map.get(&index, 0).map_err(|e| e.to_string())?;
        for (cpu, histogram) in counts.iter().zip(&*cpus) {
            let of = |reason: &u32| u32::from(cpu.histogram_of[*reason as usize]) == index;
            let reason = match index {
                0 => Some(OTHER),
                _ => (0_u32..).take(REASONS).find(of),
            };
            if let Some(reason) = reason {
                add(waits.entry(reason).or_insert_with(|| vec![0; BUCKETS]), histogram);
            }
        }
    }
    Ok(waits)
}
