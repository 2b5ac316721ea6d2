//! CPU time of the whole machine, to see what strangers used beside target and load.
//!
//! Source: `/proc/stat`. Yields: busy and stolen time. Blind to: who it was; less than a tick.

use procfs::{CurrentSI as _, KernelStats};

use super::MachineUse;
use crate::clock::PROC_TICK_NS;
use crate::measured::Measured;

/// Ticks since boot, over all CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MachineReading {
    busy: u64,
    stolen: u64,
}

/// Reads them.
pub(super) fn read() -> Measured<MachineReading> {
    let stats = match KernelStats::current() {
        Ok(stats) => stats,
        Err(e) => return Measured::unavailable(format!("/proc/stat cannot be read: {e}")),
    };
    let t = stats.total;
    let interrupts = t.irq.unwrap_or(0) + t.softirq.unwrap_or(0);
    // Time of guests is inside `user` already.
    let busy = t.user + t.nice + t.system + interrupts;
    Measured::Value(MachineReading { busy, stolen: t.steal.unwrap_or(0) })
}

impl MachineReading {
    /// What was used since, in CPUs.
    pub(super) fn since(self, then: Self, window_ns: u64) -> MachineUse {
        #[expect(clippy::cast_precision_loss, reason = "ticks and windows are far below 2^53")]
        let cpus = |now: u64, then: u64| {
            if window_ns == 0 {
                0.0
            } else {
                now.saturating_sub(then) as f64 * PROC_TICK_NS as f64 / window_ns as f64
            }
        };
        MachineUse {
            busy_cpus: cpus(self.busy, then.busy),
            stolen_cpus: cpus(self.stolen, then.stolen),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_over_a_window_are_cpus() {
        let (then, now) =
            (MachineReading { busy: 1000, stolen: 5 }, MachineReading { busy: 1150, stolen: 15 });
        let used = now.since(then, 1_000_000_000);
        assert!((used.busy_cpus - 1.5).abs() < 1e-9 && (used.stolen_cpus - 0.1).abs() < 1e-9);
    }

    #[test]
    fn this_machine_has_been_busy_since_boot() {
        assert!(read().value().is_some_and(|reading| reading.busy > 0));
    }
}
