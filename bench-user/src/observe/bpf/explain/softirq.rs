//! Time in softirqs.
//!
//! Source: `probes/softirq.rs`. Yields runs and time by kind, on the whole machine and on top of
//! the target's threads. Blind to: hard interrupts. Costs: two program runs a softirq.

use aya::Ebpf;
use bench_ebpf::abi::softirq::{Counts, Runs, VECTORS, maps, programs};

use crate::observe::bpf::part::{Part, attach_btf};
use crate::observe::bpf::{lost, map};
use crate::observe::explained::{SOFTIRQS, Share, Softirq, SoftirqTime};
use crate::observe::sample::Count;

/// Its programs and maps.
pub(super) const PART: Part = Part {
    globals: |_| Ok(Vec::new()),
    maps: &[],
    programs: &[programs::ENTRY, programs::EXIT],
    attach: |ebpf, kernel| {
        attach_btf(ebpf, kernel, programs::EXIT, "softirq_exit")?;
        attach_btf(ebpf, kernel, programs::ENTRY, "softirq_entry")
    },
};

/// Everything since the probes were attached.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Reading {
    runs: [Runs; VECTORS],
    unpaired: u64,
    filter_failed: u64,
}

impl Reading {
    /// Reads the map.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub(super) fn read(ebpf: &Ebpf) -> Result<Self, String> {
        Ok(Self::sum(map::per_cpu(ebpf, maps::COUNTS)?.iter()))
    }

    fn sum<'a>(cpus: impl Iterator<Item = &'a Counts>) -> Self {
        let mut sum = Self::default();
        for cpu in cpus {
            for (sum, runs) in sum.runs.iter_mut().zip(cpu.runs) {
                sum.count += runs.count;
                sum.ns += runs.ns;
                sum.target_count += runs.target_count;
                sum.target_ns += runs.target_ns;
            }
            sum.unpaired += cpu.unpaired;
            sum.filter_failed += cpu.filter_failed;
        }
        sum
    }

    /// What came since.
    pub(super) fn since(&self, then: &Self, window_ns: u64) -> Softirq {
        let mut block = Softirq::default();
        for (number, (now, then)) in self.runs.iter().zip(&then.runs).enumerate() {
            let runs = Count::over(now.count - then.count, window_ns);
            let time = SoftirqTime {
                count: runs.count,
                per_sec: runs.per_sec,
                ns: now.ns - then.ns,
                on_target_count: now.target_count - then.target_count,
                on_target_ns: now.target_ns - then.target_ns,
            };
            block.ns += time.ns;
            block.on_target_ns += time.on_target_ns;
            if time != SoftirqTime::default() {
                let name = SOFTIRQS.get(number).map(|name| (*name).to_owned());
                block.by_vector.insert(name.unwrap_or_else(|| format!("vector_{number}")), time);
            }
        }
        block.cpus = Share::of(block.ns, window_ns).ratio;
        block.on_target_cpus = Share::of(block.on_target_ns, window_ns).ratio;
        block.lost = lost::by_cause([
            // The first ends after attaching have no begin; those are before the first reading.
            ("unpaired", self.unpaired - then.unpaired),
            ("filter_failed", self.filter_failed - then.filter_failed),
        ]);
        block
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpus_are_summed_and_readings_subtracted_by_name() {
        let mut one = Counts::default();
        one.runs[3] = Runs { count: 5, ns: 500, target_count: 2, target_ns: 150 };
        let mut two = Counts::default();
        two.runs[3] = Runs { count: 1, ns: 100, target_count: 1, target_ns: 100 };
        two.runs[12].count = 1;
        let then = Reading::sum([one].iter());
        let block = Reading::sum([one, one, two].iter()).since(&then, 1000);
        let rx = block.by_vector["net_rx"];
        assert_eq!((rx.count, rx.ns, rx.on_target_count, rx.on_target_ns), (6, 600, 3, 250));
        assert_eq!((block.cpus, block.on_target_cpus), (0.6, 0.25));
        assert_eq!(block.by_vector.len(), 2, "what did not run has no row");
        assert_eq!(block.by_vector["vector_12"].count, 1);
    }
}
