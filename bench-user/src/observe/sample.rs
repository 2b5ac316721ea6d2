//! What the kernel side says of one window: plain data, as the record keeps it.
//!
//! Every block is the difference of two cumulative readings. `per_request` stays `null` until
//! the ladder, which alone knows both sides, fills it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::explained::Explained;
use super::machine::MachineUse;
use super::net::Net;
use super::thread_table::{EndedGroup, Thread};
use crate::distribution::Distribution;
use crate::measured::Measured;

/// The kernel's side of one window.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sample {
    /// Length of the window, ns, from the begin of one reading to the begin of the other.
    pub window_ns: u64,
    /// Syscalls of the cgroup.
    pub syscalls: Measured<Syscalls>,
    /// Scheduling of the cgroup's threads.
    pub sched: Measured<Sched>,
    /// Every thread that was seen in the window, busiest first.
    pub threads: Measured<Vec<Thread>>,
    /// Those of them that ended, by name, and together with those that are not listed one by one.
    #[serde(default)]
    pub ended: Measured<Vec<EndedGroup>>,
    /// perf counters on the cgroup, by name.
    pub perf: BTreeMap<String, Measured<PerfCount>>,
    /// The cgroup's own books.
    pub cgroup: CgroupUse,
    /// TCP: the target's listeners, and the counters of its network namespace.
    pub net: Measured<Net>,
    /// CPU time of the whole machine.
    pub machine: Measured<MachineUse>,
    /// Why it was slow, as far as that was asked for.
    #[serde(default)]
    pub explain: Explained,
    /// What observing cost and what it lost.
    pub observer_cost: ObserverCost,
}

impl Sample {
    /// A window in which nothing was measured, for this reason.
    #[must_use]
    pub fn empty(why: &str) -> Self {
        Self {
            window_ns: 0,
            syscalls: Measured::unavailable(why),
            sched: Measured::unavailable(why),
            threads: Measured::unavailable(why),
            ended: Measured::unavailable(why),
            perf: BTreeMap::new(),
            cgroup: CgroupUse::unavailable(why),
            net: Measured::unavailable(why),
            machine: Measured::unavailable(why),
            explain: Explained::default(),
            observer_cost: ObserverCost::default(),
        }
    }
}

/// A counted thing with its rates.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Count {
    /// How many.
    pub count: u64,
    /// Per second of the window.
    pub per_sec: f64,
    /// Per complete response; `null` where there was no load.
    pub per_request: Option<f64>,
}

impl Count {
    /// A count over a window of `window_ns`.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
    pub fn over(count: u64, window_ns: u64) -> Self {
        let per_sec = if window_ns == 0 { 0.0 } else { count as f64 * 1e9 / window_ns as f64 };
        Self { count, per_sec, per_request: None }
    }
}

/// Syscalls entered by threads of the cgroup (`raw_syscalls:sys_enter`).
///
/// Blind to vDSO calls, calls that seccomp refuses, and work that io_uring does without a syscall.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Syscalls {
    /// All of them, 32-bit calls included.
    pub total: u64,
    /// All per second.
    pub per_sec: f64,
    /// All per complete response; `null` where there was no load.
    pub per_request: Option<f64>,
    /// By name; `compat32` holds 32-bit calls, `unknown` numbers outside the table.
    pub by_name: BTreeMap<String, Count>,
    /// Events that the kernel skipped (`recursion_misses`): with any, every count here is a
    /// lower bound and no claim may rest on it.
    pub missed: u64,
    /// Which hook counted: `btf-tracepoint` or `tracepoint`.
    pub hook: String,
}

/// Scheduling of the cgroup's threads, from the kernel's own books
/// (`task_struct.sched_info`, `se.sum_exec_runtime`, `nvcsw`, `nivcsw`).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Sched {
    /// Switches away from a thread that had to wait for something.
    pub switches_voluntary: u64,
    /// Switches away from a thread that could have gone on; `sched_yield` counts here.
    pub switches_involuntary: u64,
    /// Both per second.
    pub per_sec: f64,
    /// Both per complete response; `null` where there was no load.
    pub per_request: Option<f64>,
    /// Moves to another CPU (perf `cpu-migrations`).
    pub migrations: Measured<u64>,
    /// Waits on a run queue. `count` and the percentiles are of waits whose stint on a CPU
    /// ended inside the window.
    pub runqlat_ns: Distribution,
    /// All time spent waiting on a run queue that the kernel booked inside the window, ns.
    pub runqlat_sum_ns: u64,
    /// Time on a CPU, ns, interrupt time included; the books of a running thread lag by up to
    /// one timer tick.
    pub oncpu_ns: u64,
    /// Switches that the probe saw, an independent count: differs from the two above by at most
    /// one for every thread at the edges of the window.
    pub switches_seen: u64,
    /// Skipped events and failed map operations; with any, the figures here are lower bounds.
    pub missed: u64,
}

/// A perf counter of the cgroup, summed over CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PerfCount {
    /// Events, or ns for `task-clock`.
    pub value: u64,
    /// The counter shared its hardware with others and `value` is an estimate.
    pub scaled: bool,
}

/// The cgroup's own books, from whichever hierarchy owns the controller.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CgroupUse {
    /// CPU time used over the window, in CPUs: 1.0 is one CPU busy all the time.
    pub cpu_ratio: Measured<f64>,
    /// CPU time in user mode, ns.
    pub user_ns: Measured<u64>,
    /// CPU time in the kernel, ns.
    pub system_ns: Measured<u64>,
    /// CPU quota, in CPUs; unavailable when there is none.
    pub cpu_limit: Measured<f64>,
    /// How many CPUs the threads may use that ran in the window (cpuset and affinity); those of
    /// the main process where none ran for a hundredth of it.
    pub cpus_allowed: Measured<u32>,
    /// Enforcement periods that passed.
    pub nr_periods: Measured<u64>,
    /// Periods in which it ran out of quota.
    pub nr_throttled: Measured<u64>,
    /// Time it was held back by the quota, ns.
    pub throttled_ns: Measured<u64>,
    /// Memory use before the climb's first connection, bytes.
    #[serde(default)]
    pub memory_before_bytes: Measured<u64>,
    /// Highest memory use ever, bytes.
    pub memory_peak_bytes: Measured<u64>,
    /// Memory use at the end of the window, bytes.
    pub memory_current_bytes: Measured<u64>,
    /// Memory limit, bytes; unavailable when there is none.
    pub memory_limit_bytes: Measured<u64>,
    /// OOM kills inside the window.
    pub oom_kills: Measured<u64>,
    /// What happened at its memory limits inside the window, by the kernel's names: on v2 `low`,
    /// `high`, `max`, `oom` and `oom_kill` (`memory.events`, descendants included); on v1
    /// `failcnt`, how often the limit was met, and `oom_kill`, both of the directory alone.
    #[serde(default)]
    pub memory_events: BTreeMap<String, Measured<u64>>,
    /// Most processes and threads at once, as the pids controller counts them.
    pub pids_peak: Measured<u64>,
    /// Processes and threads at the end of the window.
    pub pids_current: Measured<u64>,
    /// Time in which some or all tasks were stalled, by `cpu.some`, `memory.full` and so on, ns.
    pub psi: BTreeMap<String, Measured<u64>>,
}

impl CgroupUse {
    /// Nothing of it, for this reason.
    #[must_use]
    pub fn unavailable(why: &str) -> Self {
        Self {
            cpu_ratio: Measured::unavailable(why),
            user_ns: Measured::unavailable(why),
            system_ns: Measured::unavailable(why),
            cpu_limit: Measured::unavailable(why),
            cpus_allowed: Measured::unavailable(why),
            nr_periods: Measured::unavailable(why),
            nr_throttled: Measured::unavailable(why),
            throttled_ns: Measured::unavailable(why),
            memory_before_bytes: Measured::unavailable(why),
            memory_peak_bytes: Measured::unavailable(why),
            memory_current_bytes: Measured::unavailable(why),
            memory_limit_bytes: Measured::unavailable(why),
            oom_kills: Measured::unavailable(why),
            memory_events: BTreeMap::new(),
            pids_peak: Measured::unavailable(why),
            pids_current: Measured::unavailable(why),
            psi: BTreeMap::new(),
        }
    }
}

/// What observing cost and what it lost.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ObserverCost {
    /// Run time of the probes in the warm-up before this window, ns, on all threads of the
    /// machine; `null` unless a calibration was held, because it costs every BPF program time.
    pub bpf_ns: Option<u64>,
    /// Runs of the probes in that warm-up.
    pub bpf_runs: Option<u64>,
    /// How long that warm-up was measured, ns.
    #[serde(default)]
    pub bpf_window_ns: Option<u64>,
    /// What they really cost there, as a share of one CPU: the run time less what the measuring
    /// itself adds to a run (`probe_estimate.run_bias_ns`).
    #[serde(default)]
    pub probe_cpu_ratio: Option<f64>,
    /// The same as a share of the CPU time that the target and this process, which makes the
    /// load, used in that warm-up: what `max_overhead` limits.
    #[serde(default)]
    pub probe_overhead_ratio: Option<f64>,
    /// The same by part: `sched`, `syscalls`, `explain.KIND`.
    #[serde(default)]
    pub probe_ns_by_part: BTreeMap<String, u64>,
    /// CPU time of the thread that reads the instruments, ns.
    pub user_cpu_ns: u64,
    /// How long the two readings took together, ns: the skew between the first and the last
    /// source read.
    pub read_ns: u64,
    /// What was lost or thrown away, by cause; absent causes are zero.
    pub lost: BTreeMap<String, u64>,
}
