//! Cumulative figures of all instruments at one instant, and their differences.

use std::collections::BTreeMap;

use bench_ebpf::abi::Books;

use super::bpf::{ExplainReading, SchedReading, SyscallReading};
use super::busiest::ThreadShare;
use super::cgroup::CgroupReading;
use super::explained::Explained;
use super::ledger::minus;
use super::machine::{MachineReading, MachineUse};
use super::net::{Net, NetObserver, NetReading};
use super::perf::PerfReading;
use super::sample::{CgroupUse, Count, PerfCount, Sched, Syscalls};
use crate::measured::Measured;

/// Failures that leave switches or waits out of the count.
const SPOILS_SCHED: [&str; 4] =
    ["sched_missed", "sched_threads_full", "sched_filter_failed", "sched_reset"];

/// How much is read.
#[derive(Debug, Clone, Copy)]
pub(super) enum Extent {
    /// Everything, at an edge of a window.
    Edge,
    /// What a look inside the window shows.
    Look { with_threads: bool },
    /// Inside the window, everything but what explains it.
    SoFar,
}

/// Cumulative figures of every instrument at one instant.
pub(super) struct Reading {
    pub(super) at_ns: u64,
    pub(super) took_ns: u64,
    pub(super) own_cpu_ns: u64,
    pub(super) syscalls: Measured<SyscallReading>,
    pub(super) sched: Measured<SchedReading>,
    pub(super) explain: Option<ExplainReading>,
    pub(super) perf: PerfReading,
    pub(super) cgroup: CgroupReading,
    /// At an edge, and of all that was counted so far.
    pub(super) net: Option<NetReading>,
    /// At a look.
    pub(super) accept_queue: Option<u64>,
    pub(super) machine: Measured<MachineReading>,
    pub(super) books: Measured<Books>,
}

/// A cheap look inside a window: what was added since the look before (or the window's begin).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Look {
    /// When, ns of `CLOCK_MONOTONIC`.
    pub at_ns: u64,
    /// Time since the look before, ns.
    pub interval_ns: u64,
    /// Syscalls.
    pub syscalls: Option<u64>,
    /// Context switches.
    pub switches: Option<u64>,
    /// CPUs used.
    pub cpu_ratio: Option<f64>,
    /// The busiest threads, the busiest first; empty where threads were not read at this look.
    pub busiest: Vec<ThreadShare>,
    /// Memory in use, bytes.
    pub memory_bytes: Option<u64>,
    /// Processes and threads.
    pub pids: Option<u64>,
    /// Held back by the quota, ns.
    pub throttled_ns: Option<u64>,
    /// Connections that wait at its listeners to be accepted.
    pub accept_queue: Option<u64>,
}

impl Look {
    /// A look at the clock, where nothing is observed.
    #[must_use]
    pub fn of_time_alone(at_ns: u64, interval_ns: u64) -> Self {
        Self { at_ns, interval_ns, ..Self::default() }
    }

    /// The busiest thread's share on a CPU.
    #[must_use]
    pub fn busiest_thread_ratio(&self) -> Option<f64> {
        self.busiest.first().map(|thread| thread.oncpu_ratio)
    }
}

impl Reading {
    pub(super) fn syscalls_since(&self, then: &Self) -> Option<u64> {
        Some(self.syscalls.value()?.total() - then.syscalls.value()?.total())
    }

    pub(super) fn switches_since(&self, then: &Self) -> Option<u64> {
        Some(self.sched.value()?.switches - then.sched.value()?.switches)
    }

    pub(super) fn syscall_block_since(&self, then: &Self, window_ns: u64) -> Measured<Syscalls> {
        let block = || {
            Ok::<_, &str>(self.syscalls.as_result()?.since(then.syscalls.as_result()?, window_ns))
        };
        block().into()
    }

    pub(super) fn explained_since(&self, then: &Self, window_ns: u64) -> Explained {
        match (&self.explain, &then.explain) {
            (Some(now), Some(then)) => now.since(then, window_ns),
            _ => Explained::default(),
        }
    }

    /// The cgroup's books, with the CPUs that its threads may use and the most threads at a look,
    /// where these are known and the books have less.
    pub(super) fn cgroup_since(
        &self,
        then: &Self,
        (cpus, most_threads): (Option<usize>, Option<u64>),
        window_ns: u64,
    ) -> CgroupUse {
        let mut cgroup = self.cgroup.since(&then.cgroup, window_ns);
        // Of a command that has ended nothing can be asked any more.
        if cgroup.cpus_allowed.value().is_none() {
            cgroup.cpus_allowed = then.cgroup.cpus_allowed.clone();
        }
        if let Some(cpus) = cpus.and_then(|n| u32::try_from(n).ok()) {
            cgroup.cpus_allowed = Measured::Value(cpus);
        }
        if cgroup.pids_peak.value().is_none()
            && let Some(most) = most_threads.max(cgroup.pids_current.value().copied())
        {
            cgroup.pids_peak = Measured::Value(most);
        }
        cgroup
    }

    pub(super) fn net_since(&self, then: &Self, observer: &NetObserver) -> Measured<Net> {
        match (&then.net, &self.net) {
            (Some(then), Some(now)) => observer.between(then, now),
            _ => Measured::default(),
        }
    }

    pub(super) fn machine_since(&self, then: &Self) -> Measured<MachineUse> {
        match (self.machine.as_result(), then.machine.as_result()) {
            (Ok(now), Ok(then)) => now.since(*then),
            (Err(why), _) | (_, Err(why)) => Measured::unavailable(why),
        }
    }

    /// Totals from the kernel's books, waits from the probe.
    pub(super) fn sched_since(
        &self,
        then: &Self,
        perf: &BTreeMap<String, Measured<PerfCount>>,
        window_ns: u64,
    ) -> Measured<Sched> {
        let block = || {
            let (probe, probe_then) = (self.sched.as_result()?, then.sched.as_result()?);
            let books = minus(*self.books.as_result()?, *then.books.as_result()?);
            let total = Count::over(books.nvcsw + books.nivcsw, window_ns);
            let lost = probe.lost_since(probe_then);
            Ok::<_, &str>(Sched {
                switches_voluntary: books.nvcsw,
                switches_involuntary: books.nivcsw,
                per_sec: total.per_sec,
                per_request: None,
                migrations: match perf.get("cpu-migrations") {
                    Some(count) => count.clone().map(|count| count.value),
                    None => Measured::unavailable("no perf counter of it was opened"),
                },
                runqlat_ns: probe.waits_since(probe_then),
                runqlat_sum_ns: books.run_delay,
                oncpu_ns: books.sum_exec,
                switches_seen: probe.switches - probe_then.switches,
                missed: SPOILS_SCHED.iter().filter_map(|cause| lost.get(*cause)).sum(),
            })
        };
        block().into()
    }

    pub(super) fn lost_since(&self, then: &Self) -> BTreeMap<String, u64> {
        let mut lost = BTreeMap::new();
        if let (Measured::Value(now), Measured::Value(then)) = (&self.sched, &then.sched) {
            lost.extend(now.lost_since(then));
        }
        if let (Measured::Value(now), Measured::Value(then)) = (&self.syscalls, &then.syscalls) {
            lost.extend(now.lost_since(then));
        }
        lost
    }
}
