//! Who held the CPU while threads waited for it.
//!
//! Source: `probes/runq`. Yields waits for a CPU by cause, and who ran meanwhile. Blind to: the
//! name of who held the CPU for a thread that was moved there while it waited. Costs: a program
//! run at every switch and every wake-up of the machine.

mod block;

use std::collections::BTreeMap;

use aya::Ebpf;
use aya::maps::{Array, HashMap, MapData};
use bench_ebpf::abi::THREAD_SLOTS;
use bench_ebpf::abi::runq::{CPU_SLOTS, Counts, HOLDER_SLOTS, Holder, globals, maps, programs};
use bench_ebpf::queue::{self, ByCause, Cpu, Wait};

use crate::clock;
use crate::observe::bpf::kernel::Kernel;
use crate::observe::bpf::map;
use crate::observe::bpf::offsets::{OffsetError, Offsets, offset, queue_globals, task_globals};
use crate::observe::bpf::part::{Global, Part, attach_btf};
use crate::observe::bpf::refusal::LoadError;

/// Its programs and maps.
pub(super) const PART: Part = Part {
    globals: find_globals,
    maps: &[(maps::CPUS, CPU_SLOTS), (maps::WAITS, THREAD_SLOTS), (maps::HOLDERS, HOLDER_SLOTS)],
    programs: &[programs::SWITCH, programs::WAKEUP, programs::WAKEUP_NEW, programs::MIGRATE],
    attach: |ebpf, kernel| {
        attach_btf(ebpf, kernel, programs::SWITCH, "sched_switch")?;
        attach_btf(ebpf, kernel, programs::MIGRATE, "sched_migrate_task")?;
        attach_btf(ebpf, kernel, programs::WAKEUP_NEW, "sched_wakeup_new")?;
        attach_btf(ebpf, kernel, programs::WAKEUP, "sched_wakeup")
    },
};

fn find_globals(kernel: &Kernel) -> Result<Vec<Global>, LoadError> {
    let types = kernel.types()?;
    let mut found = Offsets::look_up(types)?.globals();
    found.extend(task_globals(types)?);
    found.extend(queue_globals(types)?);
    let cpu = offset(types, "rq", "cpu")?.ok_or(OffsetError::Missing("cpu"))?;
    found.push((globals::RQ_CPU, cpu));
    Ok(found)
}

/// Everything since the probes were attached.
pub(super) struct Reading {
    by_cause: ByCause,
    unattributed: u64,
    waits: u64,
    holders: BTreeMap<Holder, u64>,
    lost: BTreeMap<&'static str, u64>,
}

impl Reading {
    /// Reads the maps.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub(super) fn read(ebpf: &Ebpf) -> Result<Self, String> {
        let mut reading = Self {
            by_cause: ByCause::default(),
            unattributed: 0,
            waits: 0,
            holders: map::sums(ebpf, maps::HOLDERS, |sum: &mut u64, ns| *sum += ns)?,
            lost: BTreeMap::new(),
        };
        // Before the open waits: one that ends meanwhile is in neither, and its time comes with
        // the next reading; it is never there twice.
        for cpu in &*map::per_cpu(ebpf, maps::COUNTS)? {
            reading.add_cpu(cpu);
        }
        for split in open_waits(ebpf)? {
            reading.add(&split);
        }
        Ok(reading)
    }

    fn add(&mut self, split: &queue::Split) {
        for (sum, part) in self.by_cause.iter_mut().zip(split.by_cause) {
            *sum += part;
        }
        self.unattributed += split.unattributed;
    }

    fn add_cpu(&mut self, cpu: &Counts) {
        self.add(&queue::Split { by_cause: cpu.by_cause, unattributed: cpu.unattributed });
        self.waits += cpu.waits;
        for (cause, n) in [
            ("begin_unseen", cpu.begin_unseen),
            ("begin_twice", cpu.begin_twice),
            ("switches_unseen", cpu.switches_unseen),
            ("threads_full", cpu.threads_full),
            ("holders_full_ns", cpu.unnamed),
            ("torn_reads", cpu.torn),
            ("cpu_unknown", cpu.cpu_unknown),
        ] {
            *self.lost.entry(cause).or_default() += n;
        }
    }
}

/// What threads that wait now have waited so far.
fn open_waits(ebpf: &Ebpf) -> Result<Vec<queue::Split>, String> {
    let cpus: Array<&MapData, Cpu> = map::read(ebpf, maps::CPUS, Array::try_from)?;
    let waits: HashMap<&MapData, u64, Wait> = map::read(ebpf, maps::WAITS, HashMap::try_from)?;
    let mut open = Vec::new();
    for item in waits.iter() {
        let (_, wait) = item.map_err(|e| e.to_string())?;
        if wait.is_open == 0 {
            continue;
        }
        let cpu = cpus.get(&wait.cpu, 0).map_err(|e| e.to_string())?;
        let mut split = queue::open(&wait, &cpu, clock::now_ns().saturating_sub(wait.mono));
        for (sum, part) in split.by_cause.iter_mut().zip(wait.before) {
            *sum += part;
        }
        open.push(split);
    }
    Ok(open)
}
