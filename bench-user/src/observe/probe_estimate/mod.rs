//! What the probes will cost, tried before a run on the machine as it is.
//!
//! Known work (`work.rs`) is timed without probes, then with them attached twice over: to the root
//! of the v2 tree, where it is the target's own, and to an empty cgroup of ours, where it is
//! anybody else's; which of the two is a matter of one map entry, so it changes from slice to
//! slice. What is reported is the median of the slices less the median without probes. The probes
//! must have counted every call that was the target's own, or there is no estimate.
//! Blind to: cold caches, which a busy server has and a loop of one syscall has not.
//! Costs: about 150 ms before the run, in which the probes watch the whole machine.

mod work;

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Options;
use super::bpf::{BpfObserver, Cost, PartName};
use crate::host::CgroupTrees;
use crate::measured::Measured;
use crate::target::OwnCgroup;
use work::{CALLS, Slices, Work};

/// What the probes add to the events of this machine, before the run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProbeEstimate {
    /// A syscall that does next to nothing, without probes, ns.
    pub syscall_bare_ns: f64,
    /// Added to a syscall of the target, ns.
    pub syscall_inside_ns: Added,
    /// Added to a syscall of any other process, ns.
    pub syscall_outside_ns: Added,
    /// A context switch with the two syscalls that make it, without probes, ns.
    pub switch_bare_ns: f64,
    /// Added to a context switch of the target, its syscalls apart, ns.
    pub switch_inside_ns: Added,
    /// Added to a context switch of any other process, its syscalls apart, ns.
    pub switch_outside_ns: Added,
    /// By how much the kernel's figure for the run time of a probe is above what the run costs, ns:
    /// two clock reads, less the way into the probe.
    pub run_bias_ns: f64,
    /// What 100,000 syscalls a second of the target cost, as a share of one CPU.
    pub cpu_ratio_of_100k_syscalls_per_sec: f64,
}

/// A cost with the quartiles of its slices, with the probes and without: how noisy the machine was.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Added {
    /// Median.
    pub median: f64,
    /// Lower quartile.
    pub low: f64,
    /// Upper quartile.
    pub high: f64,
}

/// Tries the probes on known work. The run's id names the empty cgroup.
#[must_use]
pub fn probe_estimate(run_id: &str, options: &Options) -> Measured<ProbeEstimate> {
    tried(run_id, options).into()
}

fn tried(run_id: &str, options: &Options) -> Result<ProbeEstimate, String> {
    let trees = CgroupTrees::discover().map_err(|e| e.to_string())?;
    let root = trees.v2.ok_or("no cgroup v2 tree is mounted")?;
    let empty = OwnCgroup::create_empty(&root, run_id, "probe-estimate");
    let empty = empty.map_err(|e| e.to_string())?;
    let elsewhere = empty.v2();
    work::on_one_cpu(|| measure(&root, elsewhere.as_result()?, options))?
}

fn measure(root: &Path, elsewhere: &Path, options: &Options) -> Result<ProbeEstimate, String> {
    let mut work = Work::new()?;
    let mut bare = work.slices(work::BARE, || Ok(()))?;
    let mut probes = BpfObserver::attach(root, options).map_err(|e| e.to_string())?;
    probes.whole()?;
    let before = getppids(&probes)?;
    let (mut inside, mut outside) = (Slices::default(), Slices::default());
    for _ in 0..work::ATTACHED {
        inside.extend(work.slices(1, || probes.watch(root).map_err(|e| e.to_string()))?);
        outside.extend(work.slices(1, || probes.watch(elsewhere).map_err(|e| e.to_string()))?);
    }
    let counted = getppids(&probes)? - before;
    probes.watch(root).map_err(|e| e.to_string())?;
    let calibration = probes.begin_calibration()?;
    work.calls();
    let cost = probes.end_calibration(&calibration)?;
    drop((calibration, probes));
    bare.extend(work.slices(work::BARE, || Ok(()))?);

    let made = u64::from(CALLS) * u64::from(work::ATTACHED);
    if counted < made {
        return Err(format!("the probes counted {counted} of {made} calls"));
    }
    let mut found = bare.estimate(&inside, &outside)?;
    found.run_bias_ns = figure_ns(&cost).map_or(0.0, |ns| ns - found.syscall_inside_ns.median);
    Ok(found)
}

/// The kernel's figure for one run at a syscall.
#[expect(clippy::cast_precision_loss, reason = "a slice is far below 2^53 ns")]
fn figure_ns(cost: &Cost) -> Option<f64> {
    let part = cost.parts.get(&PartName::Syscalls).filter(|part| part.runs > 0)?;
    Some(part.run_ns as f64 / part.runs as f64)
}

fn getppids(probes: &BpfObserver) -> Result<u64, String> {
    Ok(probes.syscalls()?.of(syscalls::Sysno::getppid))
}
