//! CPU time of the whole machine: what strangers used beside target and load, what interrupts
//! took from whoever was running, and what the hypervisor took from all.
//!
//! Source: `/proc/stat`. Yields: busy, interrupt, softirq and stolen time. Blind to: who it was;
//! less than a tick; where the kernel does not time interrupts (CONFIG_IRQ_TIME_ACCOUNTING), those
//! that run between two ticks, and then a tick that met one counts whole.

use procfs::{CurrentSI as _, KernelStats};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::clock::{self, PROC_TICK_NS};
use crate::measured::Measured;

/// With fewer ticks than this between two readings one of them is more than a tenth of a CPU.
const TICKS: u64 = 10;

/// CPU time of the whole machine over a window, in CPUs: 1.0 is one CPU busy all the time. In
/// steps of a tick, 10 ms.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct MachineUse {
    /// Everything but idle, waiting for I/O and stolen time.
    pub busy_cpus: f64,
    /// Taken by the hypervisor for others.
    pub stolen_cpus: f64,
    /// Of the busy time: in hardware interrupts.
    #[serde(default)]
    pub irq_cpus: Measured<f64>,
    /// Of the busy time: in softirqs, whoever was interrupted by them. Packets that a target
    /// receives are mostly handled there and not in its own time.
    #[serde(default)]
    pub softirq_cpus: Measured<f64>,
}

/// Ticks since boot, over all CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MachineReading {
    /// When it was read, ns: other readings may be far from it where the machine is busy.
    at_ns: u64,
    busy: u64,
    stolen: u64,
    irq: Option<u64>,
    softirq: Option<u64>,
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
    let stolen = t.steal.unwrap_or(0);
    let at_ns = clock::now_ns();
    Measured::Value(MachineReading { at_ns, busy, stolen, irq: t.irq, softirq: t.softirq })
}

impl MachineReading {
    /// What was used between the two readings, in CPUs; unavailable where that is too few ticks.
    pub(super) fn since(self, then: Self) -> Measured<MachineUse> {
        let window_ns = self.at_ns.saturating_sub(then.at_ns);
        if window_ns < TICKS * PROC_TICK_NS {
            return Measured::unavailable(
                "the kernel counts it in steps of 10 ms, and it was short",
            );
        }
        #[expect(clippy::cast_precision_loss, reason = "ticks and windows are far below 2^53")]
        let cpus = |now: u64, then: u64| {
            now.saturating_sub(then) as f64 * PROC_TICK_NS as f64 / window_ns as f64
        };
        let part = |now: Option<u64>, then: Option<u64>| {
            let both = now.zip(then).map(|(now, then)| cpus(now, then));
            both.ok_or("this kernel's /proc/stat does not show it").into()
        };
        Measured::Value(MachineUse {
            busy_cpus: cpus(self.busy, then.busy),
            stolen_cpus: cpus(self.stolen, then.stolen),
            irq_cpus: part(self.irq, then.irq),
            softirq_cpus: part(self.softirq, then.softirq),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_over_a_window_are_cpus() {
        let at = |s: u64, busy, stolen, softirq| MachineReading {
            at_ns: s * 1_000_000_000,
            busy,
            stolen,
            irq: None,
            softirq,
        };
        let used = at(8, 1150, 15, Some(9)).since(at(7, 1000, 5, Some(4)));
        let used = used.value().expect("a second is long enough");
        assert!((used.busy_cpus - 1.5).abs() < 1e-9 && (used.stolen_cpus - 0.1).abs() < 1e-9);
        assert!(used.softirq_cpus.value().is_some_and(|cpus| (cpus - 0.05).abs() < 1e-9));
        assert!(used.irq_cpus.why().is_some());
        let short = at(7, 1150, 15, None).since(at(7, 1000, 5, None));
        assert!(short.why().is_some(), "one tick of two milliseconds would be five CPUs");
    }

    #[test]
    fn this_machine_has_been_busy_since_boot() {
        assert!(read().value().is_some_and(|reading| {
            reading.busy > reading.softirq.unwrap_or(0) && reading.softirq.is_some()
        }));
    }
}
