//! What others on the machine used of its CPUs while a stage ran, as far as the books of the whole
//! machine, of the target, of its services and of the load tell it.

use crate::record::StageRecord;

/// More than this many CPUs used by neither target nor load is worth a warning, and enough to take
/// a CPU from a thread that wants it.
pub const STRANGERS_CPUS: f64 = 0.25;

/// CPUs that neither the target nor its services nor the load used: other programs, and the
/// kernel's own work.
/// Each worker is taken to be as busy as the busiest, so this is rather too low.
#[must_use]
pub fn strangers_cpus(stage: &StageRecord) -> Option<f64> {
    let machine = stage.machine.value()?;
    let target = stage.cgroup.cpu_ratio.value()?;
    let generator = &stage.load.generator;
    let load = generator.cpu_ratio * f64::from(generator.workers);
    let services: f64 = stage.services.iter().filter_map(|s| s.cpu_ratio.value()).sum();
    Some(machine.busy_cpus + machine.stolen_cpus - target - load - services)
}
