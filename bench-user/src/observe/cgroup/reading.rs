//! One reading of a cgroup's books, and the difference of two.

use std::collections::BTreeMap;

use crate::measured::Measured;
use crate::observe::CgroupUse;

/// The books of a cgroup at one moment; times and counts are cumulative.
#[derive(Debug, Clone, PartialEq)]
pub struct CgroupReading {
    /// CPU time, ns.
    pub usage_ns: Measured<u64>,
    /// CPU time in user mode, ns.
    pub user_ns: Measured<u64>,
    /// CPU time in the kernel, ns.
    pub system_ns: Measured<u64>,
    /// The smallest CPU quota from the cgroup up to the root, in CPUs.
    pub cpu_limit: Measured<f64>,
    /// How many CPUs it may use.
    pub cpus_allowed: Measured<u32>,
    /// Enforcement periods of the quota that binds; of an ancestor, where that sets it.
    pub nr_periods: Measured<u64>,
    /// Periods in which that quota ran out.
    pub nr_throttled: Measured<u64>,
    /// Time that this quota held its tasks back, ns, summed over CPUs.
    pub throttled_ns: Measured<u64>,
    /// Highest memory use ever, bytes.
    pub memory_peak_bytes: Measured<u64>,
    /// Memory use now, bytes.
    pub memory_current_bytes: Measured<u64>,
    /// The smallest memory limit from the cgroup up to the root, bytes.
    pub memory_limit_bytes: Measured<u64>,
    /// OOM kills.
    pub oom_kills: Measured<u64>,
    /// What happened at its memory limits, by the kernel's names.
    pub memory_events: BTreeMap<String, Measured<u64>>,
    /// Most processes and threads at once, ever.
    pub pids_peak: Measured<u64>,
    /// Processes and threads now.
    pub pids_current: Measured<u64>,
    /// Stall totals by `cpu.some` and so on, ns.
    pub psi: BTreeMap<String, Measured<u64>>,
}

impl CgroupReading {
    /// What was used since `earlier`, over a window of `window_ns`.
    #[must_use]
    pub fn since(&self, earlier: &Self, window_ns: u64) -> CgroupUse {
        CgroupUse {
            cpu_ratio: match delta(&self.usage_ns, &earlier.usage_ns) {
                Measured::Value(_) if window_ns == 0 => {
                    Measured::unavailable("the window has no length")
                }
                usage => usage.map(|ns| ns as f64 / window_ns as f64),
            },
            user_ns: delta(&self.user_ns, &earlier.user_ns),
            system_ns: delta(&self.system_ns, &earlier.system_ns),
            cpu_limit: self.cpu_limit.clone(),
            cpus_allowed: self.cpus_allowed.clone(),
            nr_periods: delta(&self.nr_periods, &earlier.nr_periods),
            nr_throttled: delta(&self.nr_throttled, &earlier.nr_throttled),
            throttled_ns: delta(&self.throttled_ns, &earlier.throttled_ns),
            memory_before_bytes: Measured::default(),
            memory_peak_bytes: self.memory_peak_bytes.clone(),
            memory_current_bytes: self.memory_current_bytes.clone(),
            memory_limit_bytes: self.memory_limit_bytes.clone(),
            oom_kills: delta(&self.oom_kills, &earlier.oom_kills),
            memory_events: deltas(&self.memory_events, &earlier.memory_events),
            pids_peak: self.pids_peak.clone(),
            pids_current: self.pids_current.clone(),
            psi: deltas(&self.psi, &earlier.psi),
        }
    }
}

type ByName = BTreeMap<String, Measured<u64>>;

fn deltas(later: &ByName, earlier: &ByName) -> ByName {
    let added = later.iter().map(|(name, later)| {
        let added = match earlier.get(name) {
            Some(earlier) => delta(later, earlier),
            None => Measured::unavailable("not read at the start of the window"),
        };
        (name.clone(), added)
    });
    added.collect()
}

fn delta(later: &Measured<u64>, earlier: &Measured<u64>) -> Measured<u64> {
    let difference = || -> Result<u64, String> {
        let (later, earlier) = (later.as_result()?, earlier.as_result()?);
        later.checked_sub(*earlier).ok_or_else(|| "the counter was set back in the window".into())
    };
    difference().into()
}
