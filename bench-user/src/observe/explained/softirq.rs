//! Time in softirqs.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Names of the kinds by number (include/linux/interrupt.h, the same since 2.6.39).
pub const SOFTIRQS: [&str; 10] =
    ["hi", "timer", "net_tx", "net_rx", "block", "irq_poll", "tasklet", "sched", "hrtimer", "rcu"];

/// Softirqs of the whole machine, and those that ran on top of the target's threads, whose time
/// on a CPU they are in (`irq:softirq_entry`, `irq:softirq_exit`).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Softirq {
    /// Time in all of them, ns.
    pub ns: u64,
    /// The same in CPUs: 1.0 is one CPU in softirqs all the time.
    pub cpus: f64,
    /// Time on top of the target's threads, ns.
    pub on_target_ns: u64,
    /// The same in CPUs; `cgroup.cpu_ratio` holds it.
    pub on_target_cpus: f64,
    /// By kind, as `/proc/softirqs` names them, in lower case; only those that ran.
    pub by_vector: BTreeMap<String, SoftirqTime>,
    /// What spoils these figures, by cause; absent causes are zero.
    pub lost: BTreeMap<String, u64>,
}

/// Softirqs of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct SoftirqTime {
    /// How many.
    pub count: u64,
    /// Per second of the window.
    pub per_sec: f64,
    /// Their time, ns.
    pub ns: u64,
    /// Of these, on top of the target's threads.
    pub on_target_count: u64,
    /// Their time, ns.
    pub on_target_ns: u64,
}
