//! The probes: what the kernel counted since they were attached.
//!
//! Wraps aya, so that no other module knows its types. Readings are cumulative and never clear a
//! map; only threads that have ended are taken out once they are read.

mod buckets;
mod cost;
mod counts;
mod explain;
mod fdinfo;
mod hook;
mod iterator;
mod kernel;
mod loader;
mod lost;
mod map;
mod memory;
mod offsets;
mod part;
mod refusal;
mod slots;
mod tasks;
mod threads;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use aya::Ebpf;
use aya::programs::Program;
use bench_ebpf::abi::{SchedCounts, SyscallCounts, maps};

pub(super) use cost::{Calibration, Cost, PartCost, PartName};
pub(super) use counts::{SchedReading, SyscallReading};
pub(super) use explain::ExplainReading;
pub use hook::Hook;
pub use refusal::LoadError;
pub(super) use tasks::Task;
pub(super) use threads::Entry;

use super::Options;
use super::symbols::Processes;
use crate::measured::Measured;
use crate::plan::Explain;
use kernel::Kernel;
use loader::Loaded;

/// The probes, attached to one cgroup until this is dropped.
pub(super) struct BpfObserver {
    ebpf: Ebpf,
    hook: Hook,
    syscalls: Measured<()>,
    sched: Measured<()>,
    tasks: Measured<()>,
    /// Ended threads that have stayed in the hash, as far as they have been taken out.
    ended_in_hash: u64,
    explain: BTreeMap<Explain, Measured<()>>,
    cgroup: PathBuf,
    processes: Processes,
    logger: Option<aya_log::EbpfLogger<&'static dyn log::Log>>,
}

impl BpfObserver {
    /// Loads and attaches the probes for a cgroup v2 directory and all below it. A part that the
    /// kernel refuses is missing, and the others count.
    ///
    /// # Errors
    /// One sentence with the remedy: no object, no right, not a v2 directory.
    pub(super) fn attach(cgroup: &Path, options: &Options) -> Result<Self, LoadError> {
        let kernel = Kernel::read(options.hook);
        let loaded = loader::load(cgroup, &kernel, options)?;
        let Loaded { mut ebpf, syscalls, sched, tasks, explain } = loaded;
        let logger =
            if options.probe_log { aya_log::EbpfLogger::init(&mut ebpf).ok() } else { None };
        let mut observer = Self {
            ebpf,
            hook: kernel.hook,
            syscalls,
            sched,
            tasks,
            ended_in_hash: 0,
            explain,
            cgroup: cgroup.to_owned(),
            processes: Processes::default(),
            logger,
        };
        observer.look_at_processes(false);
        Ok(observer)
    }

    /// Watches another cgroup from here on; what was counted stays.
    ///
    /// # Errors
    /// When it is no cgroup v2 directory.
    pub(super) fn watch(&mut self, cgroup: &Path) -> Result<(), LoadError> {
        loader::watch(&mut self.ebpf, cgroup)
    }

    /// Whether everything that was asked for is attached.
    ///
    /// # Errors
    /// Why the first part that is not could not be.
    pub(super) fn whole(&self) -> Result<(), String> {
        let base = [&self.syscalls, &self.sched, &self.tasks];
        let parts = base.into_iter().chain(self.explain.values());
        parts.map(Measured::as_result).collect::<Result<Vec<_>, _>>().map(drop).map_err(Into::into)
    }

    /// The explanations that were asked for: attached, or why not.
    pub(super) fn kinds(&self) -> &BTreeMap<Explain, Measured<()>> {
        &self.explain
    }

    /// Whether every thread that is switched away from in the cgroup is seen.
    pub(super) fn sees_threads(&self) -> bool {
        self.sched.value().is_some()
    }

    /// What the explanations that were asked for have counted so far.
    pub(super) fn explain(&mut self) -> ExplainReading {
        let reading = ExplainReading::read(&mut self.ebpf, &self.explain);
        self.look_at_processes(true);
        reading.with_processes(&self.processes)
    }

    /// Keeps what naming the frames of the target's processes takes, should they end; nothing
    /// where no stacks were asked for.
    pub(super) fn look_at_processes(&mut self, afresh: bool) {
        if self.explain.contains_key(&Explain::Stacks) {
            self.processes.look(&self.cgroup, afresh);
        }
    }

    /// Takes the programs of a kind off; what they counted stays readable, and the kind is
    /// `unavailable` from here on for this reason.
    pub(super) fn detach(&mut self, kind: Explain, why: &str) {
        for name in explain::part(kind).programs {
            // One that is not loaded is off already.
            match self.ebpf.program_mut(name) {
                Some(Program::BtfTracePoint(program)) => drop(program.unload()),
                Some(Program::TracePoint(program)) => drop(program.unload()),
                Some(Program::PerfEvent(program)) => drop(program.unload()),
                _ => {}
            }
        }
        self.explain.insert(kind, Measured::unavailable(why));
    }

    /// Syscalls so far.
    ///
    /// # Errors
    /// When the kernel refuses to read the map.
    pub(super) fn syscalls(&self) -> Result<SyscallReading, String> {
        self.syscalls.as_result()?;
        let values = map::per_cpu::<SyscallCounts>(&self.ebpf, maps::SYSCALLS)?;
        // Read after the counters: a miss that is not in the counts must be in the misses.
        let missed = fdinfo::missed(&self.ebpf, &[self.hook.program()])?;
        Ok(SyscallReading::sum(values.iter(), missed, self.hook.name()))
    }

    /// Switches and waits so far.
    ///
    /// # Errors
    /// As [`Self::syscalls`].
    pub(super) fn sched(&self) -> Result<SchedReading, String> {
        self.sched.as_result()?;
        let values = map::per_cpu::<SchedCounts>(&self.ebpf, maps::SCHED)?;
        let missed = fdinfo::missed(&self.ebpf, &[bench_ebpf::abi::programs::SCHED_SWITCH])?;
        Ok(SchedReading::sum(values.iter(), missed))
    }

    /// Passes on what the probes logged (`--probe-log`); nothing otherwise.
    pub(super) fn flush_log(&mut self) {
        if let Some(logger) = &mut self.logger {
            logger.flush();
        }
    }
}
