//! The CPUs of the machine, and which of them the load gets.
//!
//! Decides only; the workers pin themselves and the target's cpuset is written elsewhere.

use anyhow::{Context as _, anyhow, bail};

use crate::cpu_list;

/// Fewest CPUs on which load and target can be kept apart and both still have two.
const CPUS_TO_DIVIDE: usize = 4;

/// Which CPUs the load and the target get.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placement {
    /// Worker threads of the generator.
    pub workers: u32,
    /// CPUs that the workers are pinned to; empty: not pinned.
    pub load_cpus: Vec<usize>,
    /// CPUs left for a target that we start; empty: every CPU.
    pub target_cpus: Vec<usize>,
    /// Load and target compete for CPUs, which a reader of the figures must know.
    pub shared_with_target: bool,
}

impl Placement {
    /// That of a run without load: no CPU is kept from its targets.
    #[must_use]
    pub const fn without_load() -> Self {
        Self {
            workers: 0,
            load_cpus: Vec::new(),
            target_cpus: Vec::new(),
            shared_with_target: false,
        }
    }
}

/// The CPUs that are online now, ascending.
///
/// # Errors
/// When sysfs cannot be read.
pub fn online_cpus() -> anyhow::Result<Vec<usize>> {
    let path = "/sys/devices/system/cpu/online";
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("cannot read {path}; is sysfs mounted at /sys?"))?;
    cpu_list::parse(&text).map_err(|e| anyhow!("{path}: {e}"))
}

/// The CPUs that this process may use, ascending.
///
/// # Errors
/// When procfs cannot be read.
pub fn allowed_cpus() -> anyhow::Result<Vec<usize>> {
    // Not sched_getaffinity: a fixed set of 1024 CPUs makes it fail on the largest machines.
    allowed_cpus_of("self")
}

/// The CPUs that a process or thread may use: `PID`, `PID/task/TID` or `self`.
///
/// # Errors
/// When its status cannot be read, most often because it has ended.
pub fn allowed_cpus_of(task: &str) -> anyhow::Result<Vec<usize>> {
    let path = format!("/proc/{task}/status");
    let status = std::fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
    let list = status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"))
        .with_context(|| format!("{path} has no Cpus_allowed_list"))?;
    cpu_list::parse(list).map_err(|e| anyhow!("{path}: {e}"))
}

/// Divides the CPUs that this process may use between load and target.
///
/// `load_workers` and `load_cpus` are what the plan asks for. Without a wish the load gets half
/// of the CPUs: its own, the last ones, where there are at least four, else all of them together
/// with the target.
///
/// # Errors
/// When the CPUs cannot be found out, or the plan names one that this process may not use.
pub fn split(load_workers: Option<u32>, load_cpus: Option<&[usize]>) -> anyhow::Result<Placement> {
    divide(&allowed_cpus()?, load_workers, load_cpus)
}

fn divide(
    allowed: &[usize],
    load_workers: Option<u32>,
    load_cpus: Option<&[usize]>,
) -> anyhow::Result<Placement> {
    if let Some(wrong) = load_cpus.unwrap_or_default().iter().find(|cpu| !allowed.contains(cpu)) {
        bail!("load.cpus names CPU {wrong}, which this process may not use: {allowed:?} are");
    }
    let half = (allowed.len() / 2).max(1);
    let (target, load) = match load_cpus {
        Some(asked) => {
            (allowed.iter().copied().filter(|cpu| !asked.contains(cpu)).collect(), asked.to_vec())
        }
        None if allowed.len() >= CPUS_TO_DIVIDE => {
            let (target, load) = allowed.split_at(allowed.len() - half);
            (target.to_vec(), load.to_vec())
        }
        None => (Vec::new(), Vec::new()),
    };
    let default_workers = if load.is_empty() { half } else { load.len() };
    let workers = match load_workers {
        Some(0) => bail!("load.workers is 0: give at least one"),
        Some(n) => n,
        None => u32::try_from(default_workers)?,
    };
    // With no CPU left over, the target has to run where the load does.
    let shared_with_target = load.is_empty() || target.is_empty();
    Ok(Placement { workers, load_cpus: load, target_cpus: target, shared_with_target })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_cpus_are_divided_and_two_are_shared() {
        let four = divide(&[0, 1, 2, 3], None, None).unwrap();
        assert_eq!((four.workers, four.shared_with_target), (2, false));
        assert_eq!((four.target_cpus, four.load_cpus), (vec![0, 1], vec![2, 3]));
        let two = divide(&[0, 1], None, None).unwrap();
        assert_eq!((two.workers, two.shared_with_target), (1, true));
        assert!(two.load_cpus.is_empty() && two.target_cpus.is_empty());
        assert_eq!(divide(&[5], None, None).unwrap().workers, 1);
    }

    #[test]
    fn an_odd_cpu_goes_to_the_target() {
        let five = divide(&[0, 1, 2, 3, 4], None, None).unwrap();
        assert_eq!((five.target_cpus, five.load_cpus), (vec![0, 1, 2], vec![3, 4]));
    }

    #[test]
    fn what_the_plan_asks_for_is_kept_or_refused() {
        let asked = divide(&[0, 1, 2], Some(3), Some(&[1])).unwrap();
        assert_eq!((asked.workers, asked.load_cpus), (3, vec![1]));
        assert_eq!((asked.target_cpus, asked.shared_with_target), (vec![0, 2], false));
        assert!(divide(&[0, 1], None, Some(&[0, 1])).unwrap().shared_with_target);
        assert!(divide(&[0, 1], None, Some(&[4])).unwrap_err().to_string().contains("CPU 4"));
        assert!(divide(&[0, 1], Some(0), None).is_err());
    }

    #[test]
    fn this_process_may_use_only_cpus_that_are_online() {
        let (online, allowed) = (online_cpus().unwrap(), allowed_cpus().unwrap());
        assert!(!allowed.is_empty() && allowed.iter().all(|cpu| online.contains(cpu)));
    }
}
