//! What the maps hold, summed over CPUs, and the difference of two readings.

use std::collections::BTreeMap;

use bench_ebpf::abi::{SchedCounts, SyscallCounts};
use bench_ebpf::hist::BUCKETS;
use syscalls::Sysno;

use super::{buckets, lost};
use crate::distribution::Distribution;
use crate::observe::sample::{Count, Syscalls};

/// Syscalls since the probes were attached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SyscallReading {
    by_number: Vec<u64>,
    compat: u64,
    unknown: u64,
    missed: u64,
    filter_failed: u64,
    hook: &'static str,
}

impl SyscallReading {
    pub(super) fn sum<'a>(
        cpus: impl Iterator<Item = &'a SyscallCounts>,
        missed: u64,
        hook: &'static str,
    ) -> Self {
        let mut sum = Self {
            by_number: vec![0; bench_ebpf::abi::SYSCALL_SLOTS],
            compat: 0,
            unknown: 0,
            missed,
            filter_failed: 0,
            hook,
        };
        for cpu in cpus {
            add(&mut sum.by_number, &cpu.by_number);
            sum.compat += cpu.compat;
            sum.unknown += cpu.unknown;
            sum.filter_failed += cpu.filter_failed;
        }
        sum
    }

    /// All of them.
    #[must_use]
    pub(crate) fn total(&self) -> u64 {
        self.by_number.iter().sum::<u64>() + self.compat + self.unknown
    }

    /// Failures between two readings, by cause; causes without one are left out.
    #[must_use]
    pub(crate) fn lost_since(&self, earlier: &Self) -> BTreeMap<String, u64> {
        lost::by_cause([
            ("syscalls_missed", self.missed - earlier.missed),
            ("syscalls_filter_failed", self.filter_failed - earlier.filter_failed),
        ])
    }

    /// Those of one number.
    #[must_use]
    pub(crate) fn of(&self, number: Sysno) -> u64 {
        usize::try_from(number.id()).ok().and_then(|n| self.by_number.get(n)).copied().unwrap_or(0)
    }

    /// The block of the record for the time between two readings.
    #[must_use]
    pub(crate) fn since(&self, earlier: &Self, window_ns: u64) -> Syscalls {
        let mut by_name = BTreeMap::new();
        let mut enter = |name: String, count: u64| {
            if count > 0 {
                by_name.insert(name, Count::over(count, window_ns));
            }
        };
        for (number, (now, then)) in self.by_number.iter().zip(&earlier.by_number).enumerate() {
            enter(name(number), now - then);
        }
        enter("compat32".into(), self.compat - earlier.compat);
        enter("unknown".into(), self.unknown - earlier.unknown);
        let total = Count::over(self.total() - earlier.total(), window_ns);
        Syscalls {
            total: total.count,
            per_sec: total.per_sec,
            per_request: None,
            by_name,
            missed: self.missed - earlier.missed + self.filter_failed - earlier.filter_failed,
            hook: self.hook.to_owned(),
        }
    }
}

/// Switches and waits since the probes were attached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SchedReading {
    waits: Vec<u64>,
    /// Switches seen.
    pub(crate) switches: u64,
    /// Ended threads that stayed in the hash because the ring was full: late, not lost.
    pub(super) ended_in_hash: u64,
    /// Failures by cause.
    pub(crate) lost: BTreeMap<&'static str, u64>,
}

impl SchedReading {
    pub(super) fn sum<'a>(cpus: impl Iterator<Item = &'a SchedCounts>, missed: u64) -> Self {
        let mut sum =
            Self { waits: vec![0; BUCKETS], switches: 0, ended_in_hash: 0, lost: BTreeMap::new() };
        sum.lost.insert("sched_missed", missed);
        for cpu in cpus {
            add(&mut sum.waits, &cpu.waits);
            sum.switches += cpu.switches;
            sum.ended_in_hash += cpu.ended_in_hash;
            for (cause, n) in [
                ("sched_first_sights", cpu.first_sights),
                ("sched_merged_stints", cpu.merged),
                ("sched_reset", cpu.reset),
                ("sched_threads_full", cpu.threads_full),
                ("sched_filter_failed", cpu.filter_failed),
            ] {
                *sum.lost.entry(cause).or_default() += n;
            }
        }
        sum
    }

    /// Waits that were entered between two readings, each at the middle of its bucket, so at
    /// most 1/32 from its true length.
    #[must_use]
    pub(crate) fn waits_since(&self, earlier: &Self) -> Distribution {
        buckets::since(&self.waits, &earlier.waits, 0)
    }

    /// Failures between two readings, by cause; causes without one are left out.
    #[must_use]
    pub(crate) fn lost_since(&self, earlier: &Self) -> BTreeMap<String, u64> {
        lost::since(&self.lost, &earlier.lost)
    }
}

pub(super) fn add(sum: &mut [u64], part: &[u64]) {
    for (sum, part) in sum.iter_mut().zip(part) {
        *sum += part;
    }
}

/// The name of a syscall, or its number where it has none.
pub(super) fn name(number: usize) -> String {
    Sysno::new(number).map_or_else(|| format!("syscall_{number}"), |s| s.name().to_owned())
}

#[cfg(test)]
mod tests {
    use bench_ebpf::hist;

    use super::*;

    fn syscalls(fill: impl Fn(&mut SyscallCounts)) -> SyscallCounts {
        let mut counts = SyscallCounts {
            by_number: [0; bench_ebpf::abi::SYSCALL_SLOTS],
            compat: 0,
            unknown: 0,
            filter_failed: 0,
        };
        fill(&mut counts);
        counts
    }

    #[test]
    fn cpus_are_summed_and_readings_subtracted_by_name() {
        let zero = SyscallReading::sum([syscalls(|_| {})].iter(), 5, "tracepoint");
        let cpus = [
            syscalls(|c| c.by_number[Sysno::getppid as usize] = 3),
            syscalls(|c| {
                c.by_number[Sysno::getppid as usize] = 4;
                c.by_number[511] = 1;
                c.compat = 2;
            }),
        ];
        let block = SyscallReading::sum(cpus.iter(), 7, "tracepoint").since(&zero, 500_000_000);
        assert_eq!((block.total, block.per_sec, block.missed), (10, 20.0, 2));
        assert_eq!(block.by_name["getppid"].count, 7);
        assert_eq!((block.by_name["compat32"].count, block.by_name["syscall_511"].count), (2, 1));
        assert_eq!(block.by_name.len(), 3, "what was not called has no row");
    }

    #[test]
    fn a_wait_is_entered_within_a_thirty_second_part() {
        let mut counts = SchedCounts {
            waits: [0; BUCKETS],
            switches: 0,
            first_sights: 0,
            merged: 0,
            reset: 0,
            threads_full: 0,
            ended_in_hash: 0,
            filter_failed: 0,
        };
        let zero = SchedReading::sum([counts].iter(), 0);
        counts.waits[hist::bucket(123_456)] = 1000;
        counts.threads_full = 2;
        let now = SchedReading::sum([counts].iter(), 1);
        let waits = now.waits_since(&zero);
        assert_eq!(waits.count, 1000);
        let bucket = hist::bounds(hist::bucket(123_456));
        for edge in [waits.min.unwrap(), waits.max.unwrap()] {
            assert!((bucket.0 - 64..=bucket.1 + 64).contains(&edge), "empty buckets count: {edge}");
        }
        let p50 = waits.p50.unwrap();
        assert!(p50.abs_diff(123_456) * 32 <= 123_456 + 32 * 128, "{p50}");
        assert_eq!(
            now.lost_since(&zero),
            BTreeMap::from([("sched_missed".into(), 1), ("sched_threads_full".into(), 2)])
        );
    }
}
