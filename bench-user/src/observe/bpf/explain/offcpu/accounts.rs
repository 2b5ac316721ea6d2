//! A thread's account at an instant, its open stretch included.

use std::collections::BTreeMap;

use bench_ebpf::abi::offcpu::{Entry, HELD, OTHER, RUNNABLE, Record, THROTTLED, Waits};
use bench_ebpf::abi::value_of;
use bench_ebpf::gap::{self, Split};

use crate::observe::comm;

/// Where time went; only grows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Totals {
    pub(super) on_cpu: u64,
    pub(super) run_queue: u64,
    pub(super) throttled: u64,
    pub(super) unbooked: u64,
    /// By reason; only those that occurred.
    pub(super) blocked: BTreeMap<u32, Waits>,
}

impl Totals {
    /// Enters blocked time.
    pub(super) fn block(&mut self, reason: u32, waits: Waits) {
        if waits != Waits::default() {
            let sum = self.blocked.entry(reason).or_default();
            sum.count += waits.count;
            sum.ns += waits.ns;
        }
    }

    /// Adds another's.
    pub(super) fn add(&mut self, other: &Self) {
        self.on_cpu += other.on_cpu;
        self.run_queue += other.run_queue;
        self.throttled += other.throttled;
        self.unbooked += other.unbooked;
        for (reason, waits) in &other.blocked {
            self.block(*reason, *waits);
        }
    }

    /// What came since. An open wait is split by what was known of it then, so that a part may
    /// have shrunk by the time that it took to read it.
    pub(super) fn since(&self, then: &Self) -> Self {
        let mut gained = Self {
            on_cpu: self.on_cpu.saturating_sub(then.on_cpu),
            run_queue: self.run_queue.saturating_sub(then.run_queue),
            throttled: self.throttled.saturating_sub(then.throttled),
            unbooked: self.unbooked.saturating_sub(then.unbooked),
            blocked: BTreeMap::new(),
        };
        for (reason, waits) in &self.blocked {
            let before = then.blocked.get(reason).copied().unwrap_or_default();
            let gain = Waits {
                count: waits.count.saturating_sub(before.count),
                ns: waits.ns.saturating_sub(before.ns),
            };
            gained.block(*reason, gain);
        }
        gained
    }

    pub(super) fn blocked_ns(&self) -> u64 {
        self.blocked.values().map(|waits| waits.ns).sum()
    }

    pub(super) fn observed_ns(&self) -> u64 {
        self.on_cpu + self.run_queue + self.unbooked + self.blocked_ns()
    }
}

/// A thread of the target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Account {
    /// Where its `task_struct` lies and when the account was opened: unique.
    pub(super) key: (u64, u64),
    pub(super) tid: u32,
    pub(super) pid: u32,
    pub(super) comm: String,
    pub(super) totals: Totals,
    /// What it is blocked in and since how long, ns.
    pub(super) still: Option<(u32, u64)>,
}

/// What the iterator wrote; `None` where it ends in the middle of a thread.
pub(super) fn parse(mut bytes: &[u8]) -> Option<Vec<Account>> {
    let mut accounts = Vec::new();
    while !bytes.is_empty() {
        let record: Record = value_of(bytes)?;
        bytes = &bytes[size_of::<Record>()..];
        let entry: Entry = value_of(bytes)?;
        bytes = &bytes[size_of::<Entry>()..];
        accounts.push(account(&record, &entry));
    }
    Some(accounts)
}

fn account(record: &Record, entry: &Entry) -> Account {
    let mut totals = Totals {
        on_cpu: entry.on_cpu,
        run_queue: entry.run_queue,
        throttled: entry.throttled,
        unbooked: entry.unbooked,
        blocked: BTreeMap::new(),
    };
    for slot in entry.slots {
        totals.block(u32::try_from(slot.reason).unwrap_or(OTHER), slot.waits);
    }
    totals.block(OTHER, entry.other);
    let mut still = None;
    // What it does outside is not ours to count.
    let open = || gap::open(&entry.left, &record.now, record.last_queued, record.on_cpu != 0);
    if record.is_outside == 0
        && let Some(split) = open()
    {
        let reason = u32::try_from(entry.reason).unwrap_or(OTHER);
        enter(&mut totals, reason, &split);
        let is_blocked = split.on_cpu == 0 && record.last_queued == 0 && record.on_cpu == 0;
        if is_blocked && ![RUNNABLE, THROTTLED, HELD].contains(&reason) {
            still = Some((reason, split.rest));
        }
    }
    Account {
        key: (record.task, entry.opened),
        tid: record.tid,
        pid: record.tgid,
        comm: comm::text(&record.comm).into_owned(),
        totals,
        still,
    }
}

/// An open stretch counts with its time, but not yet as a wait.
fn enter(totals: &mut Totals, reason: u32, split: &Split) {
    totals.on_cpu += split.on_cpu;
    totals.run_queue += split.run_queue;
    match reason {
        RUNNABLE => totals.unbooked += split.rest,
        THROTTLED => {
            totals.throttled += split.run_queue;
            totals.unbooked += split.rest;
        }
        HELD => {}
        _ => totals.block(reason, Waits { count: 0, ns: split.rest }),
    }
}
