//! The probes: what the kernel counted since they were attached.
//!
//! Wraps aya, so that no other module knows its types. Readings are cumulative and never clear a
//! map; only threads that have ended are taken out of the hash of threads once they are read.

mod counts;
mod loader;
mod offsets;

use std::path::Path;

use aya::Ebpf;
use aya::maps::{HashMap, PerCpuArray};
use bench_ebpf::abi::{SchedCounts, SyscallCounts, ThreadEntry, ThreadKey, maps};

pub(super) use counts::{SchedReading, SyscallReading};
pub use loader::LoadError;

use crate::clock;
use loader::Hook;

/// The probes, attached to one cgroup until this is dropped.
pub(super) struct BpfObserver {
    ebpf: Ebpf,
    hook: Hook,
    logger: Option<aya_log::EbpfLogger<&'static dyn log::Log>>,
}

/// How often and how long the programs ran, as the kernel keeps it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct ProgramCost {
    /// Runs since loading, counted only while BPF statistics are on.
    pub(super) runs: u64,
    /// Their run time, ns.
    pub(super) run_ns: u64,
    /// How long that was measured, ns.
    pub(super) over_ns: u64,
}

/// The kernel measures every BPF program of the machine while this lives.
pub(super) struct Calibration {
    begin: ProgramCost,
    begin_ns: u64,
    _statistics: std::os::fd::OwnedFd,
}

impl BpfObserver {
    /// Loads and attaches the probes for a cgroup v2 directory and all below it.
    ///
    /// # Errors
    /// One sentence with the remedy: no object, no BTF, no right, not a v2 directory.
    pub(super) fn attach(cgroup: &Path, with_log: bool) -> Result<Self, LoadError> {
        let (mut ebpf, hook) = loader::load(cgroup, with_log)?;
        let logger = if with_log { aya_log::EbpfLogger::init(&mut ebpf).ok() } else { None };
        Ok(Self { ebpf, hook, logger })
    }

    /// Which hook counts syscalls.
    pub(super) fn hook_name(&self) -> &'static str {
        self.hook.name()
    }

    /// Syscalls so far.
    ///
    /// # Errors
    /// When the kernel refuses to read the map.
    pub(super) fn syscalls(&self) -> Result<SyscallReading, String> {
        let values = self.per_cpu::<SyscallCounts>(maps::SYSCALLS)?;
        // Read after the counters: a miss that is not in the counts must be in the misses.
        let missed = self.info(self.hook.program(), "recursion_misses")?;
        Ok(SyscallReading::sum(values.iter(), missed, self.hook.name()))
    }

    /// Switches and waits so far.
    ///
    /// # Errors
    /// As [`Self::syscalls`].
    pub(super) fn sched(&self) -> Result<SchedReading, String> {
        let values = self.per_cpu::<SchedCounts>(maps::SCHED)?;
        let missed = self.info(bench_ebpf::abi::programs::SCHED_SWITCH, "recursion_misses")?;
        Ok(SchedReading::sum(values.iter(), missed))
    }

    /// Every thread in the hash; ended ones are read once more than they need, so that their
    /// last figures are whole.
    ///
    /// # Errors
    /// As [`Self::syscalls`].
    pub(super) fn threads(&self) -> Result<Vec<(ThreadKey, ThreadEntry)>, String> {
        let map = self.ebpf.map(maps::THREADS).ok_or("the object has no map of threads")?;
        let map: HashMap<_, ThreadKey, ThreadEntry> =
            HashMap::try_from(map).map_err(|e| e.to_string())?;
        let mut threads = Vec::new();
        for item in map.iter() {
            let (key, mut entry) = item.map_err(|e| e.to_string())?;
            if entry.ended != 0 {
                // The copy may have begun before the end was written.
                entry = map.get(&key, 0).map_err(|e| e.to_string())?;
            }
            threads.push((key, entry));
        }
        Ok(threads)
    }

    /// Takes ended threads out of the hash.
    ///
    /// # Errors
    /// As [`Self::syscalls`]; a thread that is no longer there is none.
    pub(super) fn forget(&mut self, ended: &[ThreadKey]) -> Result<(), String> {
        let map = self.ebpf.map_mut(maps::THREADS).ok_or("the object has no map of threads")?;
        let mut map: HashMap<_, ThreadKey, ThreadEntry> =
            HashMap::try_from(map).map_err(|e| e.to_string())?;
        for key in ended {
            match map.remove(key) {
                Ok(()) | Err(aya::maps::MapError::KeyNotFound) => {}
                Err(e) => return Err(e.to_string()),
            }
        }
        Ok(())
    }

    /// Turns the kernel's BPF statistics on (5.8 and later); `None` where they cannot be had.
    pub(super) fn begin_calibration(&self) -> Option<Calibration> {
        let statistics = aya::sys::enable_stats(aya::sys::Stats::RunTime).ok()?;
        let begin_ns = clock::now_ns();
        Some(Calibration { begin: self.cost().ok()?, begin_ns, _statistics: statistics })
    }

    /// What the programs have cost since.
    pub(super) fn end_calibration(&self, since: &Calibration) -> Option<ProgramCost> {
        let (begin, now) = (since.begin, self.cost().ok()?);
        Some(ProgramCost {
            runs: now.runs - begin.runs,
            run_ns: now.run_ns - begin.run_ns,
            over_ns: clock::now_ns() - since.begin_ns,
        })
    }

    fn cost(&self) -> Result<ProgramCost, String> {
        let mut cost = ProgramCost::default();
        for (name, program) in self.ebpf.programs() {
            if program.fd().is_ok() {
                cost.runs += self.info(name, "run_cnt")?;
                cost.run_ns += self.info(name, "run_time_ns")?;
            }
        }
        Ok(cost)
    }

    /// Passes on what the probes logged (`--probe-log`); nothing otherwise.
    pub(super) fn flush_log(&mut self) {
        if let Some(logger) = &mut self.logger {
            logger.flush();
        }
    }

    fn per_cpu<T: aya::Pod>(&self, name: &str) -> Result<aya::maps::PerCpuValues<T>, String> {
        let map = self.ebpf.map(name).ok_or_else(|| format!("the object has no map {name}"))?;
        PerCpuArray::try_from(map)
            .and_then(|array| array.get(&0, 0))
            .map_err(|e| format!("map {name} cannot be read: {e}"))
    }

    /// A figure that the kernel shows only in the descriptor's fdinfo
    /// (kernel/bpf/syscall.c, `bpf_prog_show_fdinfo`). `recursion_misses` is there since 5.12;
    /// before, a BTF tracepoint had no guard that could skip an event, so absent is zero.
    fn info(&self, program: &str, field: &str) -> Result<u64, String> {
        use std::os::fd::{AsFd as _, AsRawFd as _};
        let fd = self
            .ebpf
            .program(program)
            .ok_or_else(|| format!("the object has no program {program}"))?
            .fd()
            .map_err(|e| e.to_string())?
            .as_fd()
            .as_raw_fd();
        let text = std::fs::read_to_string(format!("/proc/self/fdinfo/{fd}"))
            .map_err(|e| format!("/proc/self/fdinfo/{fd}: {e}"))?;
        Ok(counts::field(&text, field).unwrap_or(0))
    }
}
