//! One account of every thread of the cgroup, from two sources that each know a part.
//!
//! For a live thread procfs has the kernel's books as they stand now, stints that still run
//! included. For a thread that has ended only the probe has them, as of its last switch. The
//! ledger joins the two so that every thread counts exactly once at every reading:
//!
//! ```text
//!  thread          reading A              reading B            counts in [A, B)
//!  lives on        books in procfs        books in procfs      B - A
//!  born, lives     -                      books in procfs      B - 0
//!  ends            books in procfs        last switch (probe)  last - A
//!  born, ends      -                      last switch (probe)  last - 0
//!  joins           -                      books in procfs      B - first sight
//! ```
//!
//! procfs is read before the probe's hash, so a thread that ends in between shows up ended in
//! the second and its final figures win. The books only grow, so the larger of two figures is
//! the later one. Nothing is read here; this is the arithmetic.

use std::collections::{HashMap, HashSet};

use bench_ebpf::abi::{Books, ThreadEntry, ThreadKey};

use crate::observe::sample::Thread;
use crate::observe::threads::ThreadBooks;

/// Nanoseconds in a clock tick of procfs (`USER_HZ` is 100 on every architecture of Linux).
const TICK_NS: u64 = 10_000_000;

/// Ended threads that are kept one by one within a window; the others count in the totals.
const ENDED_KEPT: usize = 4096;

/// A thread: its id and its start in clock ticks since boot, the finest that procfs shows.
type Id = (u32, u64);

#[derive(Debug, Clone)]
struct Known {
    pid: u32,
    comm: String,
    /// What it had when it was first known: not ours to count.
    base: Books,
    now: Books,
    /// Neither source showed it at the last reading.
    missing: bool,
}

/// All threads that were ever seen in the cgroup.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    /// Boot time in ticks from which on a thread's whole life is ours.
    since_ticks: u64,
    live: HashMap<Id, Known>,
    /// Ended, but still shown by procfs (a zombie): must not be taken for new.
    ended_shown: HashSet<Id>,
    /// What ended threads had added when they ended.
    ended_sum: Books,
    /// Ended since the window began.
    ended: Vec<(Id, Known)>,
    /// Threads that vanished without a last switch that the probe saw.
    pub(super) vanished: u64,
    /// Threads at the last reading that procfs no longer shows and that have not made their last
    /// switch: they are on their way out (or were moved away).
    pub(super) leaving: usize,
    window: HashMap<Id, Books>,
}

impl Ledger {
    /// An empty ledger; threads that start from `since_ns` of boot time on are counted whole.
    pub(super) fn new(since_ns: u64) -> Self {
        Self { since_ticks: since_ns / TICK_NS, ..Self::default() }
    }

    /// Joins a reading of procfs and one of the probe's hash taken after it; returns the ended
    /// threads, to be taken out of the hash.
    pub(super) fn update(
        &mut self,
        procfs: &[ThreadBooks],
        probe: &[(ThreadKey, ThreadEntry)],
    ) -> Vec<ThreadKey> {
        let mut shown: HashSet<Id> = HashSet::with_capacity(procfs.len());
        let in_probe: HashMap<Id, &ThreadEntry> =
            probe.iter().map(|(key, entry)| (id_of(key), entry)).collect();
        for thread in procfs {
            let id = (thread.tid, thread.start_ticks);
            shown.insert(id);
            if !self.ended_shown.contains(&id) {
                self.seen_in_procfs(id, thread, in_probe.get(&id).copied());
            }
        }
        let is_leaving = |(key, entry): &&(ThreadKey, ThreadEntry)| {
            entry.ended == 0 && !shown.contains(&id_of(key))
        };
        self.leaving = probe.iter().filter(is_leaving).count();
        let mut forget = Vec::new();
        for (key, entry) in probe {
            self.seen_by_probe(id_of(key), entry);
            if entry.ended != 0 {
                forget.push(*key);
                self.end(id_of(key));
            }
        }
        self.end_vanished(|id| shown.contains(id) || in_probe.contains_key(id));
        self.ended_shown.retain(|id| shown.contains(id));
        forget
    }

    fn seen_in_procfs(&mut self, id: Id, thread: &ThreadBooks, entry: Option<&ThreadEntry>) {
        let now = Books {
            run_delay: thread.runq_ns,
            pcount: thread.timeslices,
            sum_exec: thread.oncpu_ns,
            nvcsw: thread.voluntary,
            nivcsw: thread.involuntary,
        };
        let born_here = id.1 > self.since_ticks;
        let known = self.live.entry(id).or_insert_with(|| Known {
            pid: thread.pid,
            comm: String::new(),
            base: match entry {
                _ if born_here => Books::default(),
                // The probe saw it first, so the time since then is ours too.
                Some(entry) => entry.first,
                None => now,
            },
            now,
            missing: false,
        });
        known.now = later(known.now, now);
        if known.comm != thread.comm {
            known.comm.clone_from(&thread.comm);
        }
    }

    fn seen_by_probe(&mut self, id: Id, entry: &ThreadEntry) {
        let known = self.live.entry(id).or_insert_with(|| Known {
            pid: entry.tgid,
            comm: comm_of(entry),
            base: entry.first,
            now: entry.last,
            missing: false,
        });
        known.now = later(known.now, entry.last);
    }

    /// A thread on its way out leaves the cgroup's list shortly before its last switch, so it is
    /// given up only when a second reading misses it too.
    fn end_vanished(&mut self, is_seen: impl Fn(&Id) -> bool) {
        let mut gone = Vec::new();
        for (id, known) in &mut self.live {
            let was_missing = std::mem::replace(&mut known.missing, !is_seen(id));
            if known.missing && was_missing {
                gone.push(*id);
            }
        }
        for id in gone {
            self.vanished += 1;
            self.end(id);
        }
    }

    fn end(&mut self, id: Id) {
        let Some(known) = self.live.remove(&id) else { return };
        self.ended_sum = plus(self.ended_sum, minus(known.now, known.base));
        self.ended_shown.insert(id);
        if self.ended.len() < ENDED_KEPT {
            self.ended.push((id, known));
        }
    }

    /// What all threads together have added since the ledger began.
    pub(super) fn total(&self) -> Books {
        self.live
            .values()
            .fold(self.ended_sum, |sum, known| plus(sum, minus(known.now, known.base)))
    }

    /// From here on [`Self::threads`] counts.
    pub(super) fn begin_window(&mut self) {
        self.ended.clear();
        self.window = self.live.iter().map(|(id, known)| (*id, known.now)).collect();
    }

    /// Every thread and what it added since the window began, busiest first.
    pub(super) fn threads(&self, window_ns: u64) -> Vec<Thread> {
        let live = self.live.iter().map(|(id, known)| (id, known, false));
        let ended = self.ended.iter().map(|(id, known)| (id, known, true));
        let mut threads: Vec<Thread> = live
            .chain(ended)
            .map(|(id, known, exited)| {
                let begin = self.window.get(id).copied().unwrap_or(known.base);
                thread(id.0, known, minus(known.now, begin), exited, window_ns)
            })
            .collect();
        threads.sort_by_key(|t| (std::cmp::Reverse(t.oncpu_ns), t.tid));
        threads
    }

    /// On-CPU time of each live thread so far, ns: the difference of two calls gives the busiest.
    pub(super) fn oncpu_now(&self) -> HashMap<Id, u64> {
        self.live.iter().map(|(id, known)| (*id, known.now.sum_exec)).collect()
    }
}

fn thread(tid: u32, known: &Known, added: Books, exited: bool, window_ns: u64) -> Thread {
    #[expect(clippy::cast_precision_loss, reason = "a window is far below 2^53 ns")]
    let ratio = |ns: u64| if window_ns == 0 { 0.0 } else { ns as f64 / window_ns as f64 };
    Thread {
        tid,
        pid: known.pid,
        comm: known.comm.clone(),
        oncpu_ratio: ratio(added.sum_exec),
        runq_ratio: ratio(added.run_delay),
        oncpu_ns: added.sum_exec,
        runq_ns: added.run_delay,
        switches_voluntary: added.nvcsw,
        switches_involuntary: added.nivcsw,
        exited,
    }
}

fn id_of(key: &ThreadKey) -> Id {
    (u32::try_from(key.tid).unwrap_or(u32::MAX), key.start_ns / TICK_NS)
}

fn comm_of(entry: &ThreadEntry) -> String {
    let end = entry.comm.iter().position(|b| *b == 0).unwrap_or(entry.comm.len());
    String::from_utf8_lossy(&entry.comm[..end]).into_owned()
}

fn each(a: Books, b: Books, f: impl Fn(u64, u64) -> u64) -> Books {
    Books {
        run_delay: f(a.run_delay, b.run_delay),
        pcount: f(a.pcount, b.pcount),
        sum_exec: f(a.sum_exec, b.sum_exec),
        nvcsw: f(a.nvcsw, b.nvcsw),
        nivcsw: f(a.nivcsw, b.nivcsw),
    }
}

fn later(a: Books, b: Books) -> Books {
    each(a, b, u64::max)
}

fn plus(a: Books, b: Books) -> Books {
    each(a, b, |a, b| a + b)
}

/// Books only grow; a figure that went back (an exec that took over another thread's id) adds
/// nothing rather than a number near 2^64.
pub(super) fn minus(a: Books, b: Books) -> Books {
    each(a, b, u64::saturating_sub)
}

#[cfg(test)]
mod tests;
