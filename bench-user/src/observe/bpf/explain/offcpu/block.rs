//! The block of the record: what two readings differ in.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use bench_ebpf::abi::offcpu::{THROTTLED, Waits};

use super::Reading;
use super::accounts::{Account, Totals};
use crate::distribution::Distribution;
use crate::observe::bpf::counts::name;
use crate::observe::bpf::{buckets, lost};
use crate::observe::explained::{
    Blocked, OffCpu, OffCpuThread, Share, StillBlocked, ThreadsSplit, TimeSplit,
    WAITS_WITHOUT_SYSCALL,
};
use crate::observe::sample::Count;

/// Threads that are shown one by one.
const THREADS_KEPT: usize = 256;

impl Reading {
    /// What came since.
    pub(in crate::observe::bpf::explain) fn since(&self, then: &Self, window_ns: u64) -> OffCpu {
        let mut before: HashMap<_, _> =
            then.threads.iter().map(|thread| (thread.key, &thread.totals)).collect();
        let mut live: Vec<(&Account, Totals)> = self
            .threads
            .iter()
            .map(|thread| match before.remove(&thread.key) {
                Some(then) => (thread, thread.totals.since(then)),
                None => (thread, thread.totals.clone()),
            })
            .collect();
        let ended = self.ended_since(then, before.into_values());
        live.sort_by_key(|(thread, gained)| {
            (Reverse(gained.on_cpu + gained.run_queue), thread.tid)
        });
        let mut all = ended.1.clone();
        let mut rest = Totals::default();
        for (_, gained) in &live {
            all.add(gained);
        }
        for (_, gained) in live.iter().skip(THREADS_KEPT) {
            rest.add(gained);
        }
        let rest_threads = live.len().saturating_sub(THREADS_KEPT) as u64;
        let whole = all.observed_ns();
        OffCpu {
            split: time_split(&all),
            by_reason: self.by_reason(then, &all.blocked, whole, window_ns),
            throttled_waits_ns: self.waits_since(then, THROTTLED),
            threads: live.iter().take(THREADS_KEPT).map(|(t, gained)| thread(t, gained)).collect(),
            rest: ThreadsSplit { threads: rest_threads, split: time_split(&rest) },
            ended: ThreadsSplit { threads: ended.0, split: time_split(&ended.1) },
            lost: lost::since(&self.lost, &then.lost),
        }
    }

    /// Threads that have ended since, without what they had before.
    fn ended_since<'a>(
        &self,
        then: &Self,
        gone: impl Iterator<Item = &'a Totals>,
    ) -> (u64, Totals) {
        let mut had = then.ended.clone();
        for totals in gone {
            had.add(totals);
        }
        (self.ended_threads - then.ended_threads, self.ended.since(&had))
    }

    fn by_reason(
        &self,
        then: &Self,
        blocked: &BTreeMap<u32, Waits>,
        whole: u64,
        window_ns: u64,
    ) -> BTreeMap<String, Blocked> {
        let block = |(reason, waits): (&u32, &Waits)| {
            let Share { ns, ratio } = Share::of(waits.ns, whole);
            let Count { count, per_sec, .. } = Count::over(waits.count, window_ns);
            let waits_ns = self.waits_since(then, *reason);
            (name_of(*reason), Blocked { count, per_sec, ns, ratio, waits_ns })
        };
        blocked.iter().map(block).collect()
    }

    fn waits_since(&self, then: &Self, reason: u32) -> Distribution {
        let now = self.waits.get(&reason).map_or(&[][..], Vec::as_slice);
        let none = vec![0; now.len()];
        buckets::since(now, then.waits.get(&reason).unwrap_or(&none), 0)
    }
}

fn thread(account: &Account, gained: &Totals) -> OffCpuThread {
    let whole = gained.observed_ns();
    let share = |(reason, waits): (&u32, &Waits)| (name_of(*reason), Share::of(waits.ns, whole));
    OffCpuThread {
        tid: account.tid,
        pid: account.pid,
        comm: account.comm.clone(),
        split: time_split(gained),
        by_reason: gained.blocked.iter().map(share).collect(),
        still: account.still.map(|(reason, ns)| StillBlocked { reason: name_of(reason), ns }),
    }
}

fn time_split(totals: &Totals) -> TimeSplit {
    let observed_ns = totals.observed_ns();
    let share = |ns| Share::of(ns, observed_ns);
    TimeSplit {
        observed_ns,
        on_cpu: share(totals.on_cpu),
        run_queue: share(totals.run_queue),
        throttled: share(totals.throttled),
        blocked: share(totals.blocked_ns()),
        unbooked: share(totals.unbooked),
    }
}

fn name_of(reason: u32) -> String {
    let word = WAITS_WITHOUT_SYSCALL.iter().find(|(of, _)| *of == reason);
    word.map_or_else(|| name(reason as usize), |(_, word)| (*word).to_owned())
}
