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
//!  id taken over   books in procfs        books in procfs      last - A, and B - first sight
//! ```
//!
//! procfs is read before the probe's hash, so a thread that ends in between shows up ended in
//! the second and its final figures win. The books only grow, so the larger of two figures is
//! the later one. Nothing is read here; this is the arithmetic.

mod books;
mod known;

use std::collections::{BTreeSet, HashMap, HashSet};

use bench_ebpf::abi::{Books, ThreadEntry, ThreadKey};

pub(super) use books::minus;
use books::{later, plus};
use known::{Known, comm_of, thread};

use crate::clock::PROC_TICK_NS;
use crate::cpu_list;
use crate::observe::sample::Thread;
use crate::observe::threads::ThreadBooks;

/// Ended threads that are shown one by one, the busiest; the others count in the totals.
pub const ENDED_KEPT: usize = 4096;

/// A thread: its id and its start in clock ticks since boot, the finest that procfs shows.
type Id = (u32, u64);

/// All threads that were ever seen in the cgroup.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    /// Boot time in ticks from which on a thread's whole life is ours.
    since_ticks: u64,
    /// The probe shows every thread that has been switched away from in the cgroup.
    has_probe: bool,
    live: HashMap<Id, Known>,
    /// Ended, but still shown by procfs (a zombie): must not be taken for new.
    ended_shown: HashSet<Id>,
    /// What ended threads had added when they ended.
    ended_sum: Books,
    /// Ended since the window began.
    ended: Vec<(Id, Known)>,
    /// Threads that vanished in this window without a last switch that the probe saw.
    pub(super) vanished: u64,
    /// Threads at the last reading that procfs no longer shows and that have not made their last
    /// switch: they are on their way out (or were moved away).
    pub(super) leaving: usize,
    window: HashMap<Id, Books>,
}

impl Ledger {
    /// An empty ledger; threads that start in the cgroup from `since_ns` of boot time on are
    /// counted whole.
    pub(super) fn new(since_ns: u64) -> Self {
        Self { since_ticks: since_ns / PROC_TICK_NS, has_probe: true, ..Self::default() }
    }

    /// The same without a probe to say whether a thread started in the cgroup or joined it.
    pub(super) fn without_probe(since_ns: u64) -> Self {
        Self { has_probe: false, ..Self::new(since_ns) }
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
        for (key, entry) in probe {
            self.seen_by_probe(id_of(key), entry);
        }
        let forget = self.end_ended(probe);
        self.end_vanished(|id| shown.contains(id) || in_probe.contains_key(id));
        self.ended_shown.retain(|id| shown.contains(id));
        forget
    }

    /// Takes in only the threads that have ended, without a reading of procfs, and returns them
    /// as [`Self::update`] does.
    pub(super) fn end_ended(&mut self, probe: &[(ThreadKey, ThreadEntry)]) -> Vec<ThreadKey> {
        let ended = probe.iter().filter(|(_, entry)| entry.ended != 0);
        ended
            .map(|(key, entry)| {
                self.seen_by_probe(id_of(key), entry);
                self.end(id_of(key));
                *key
            })
            .collect()
    }

    fn seen_in_procfs(&mut self, id: Id, thread: &ThreadBooks, entry: Option<&ThreadEntry>) {
        let now = Books {
            run_delay: thread.runq_ns,
            pcount: thread.timeslices,
            sum_exec: thread.oncpu_ns,
            nvcsw: thread.voluntary,
            nivcsw: thread.involuntary,
        };
        if let Some(entry) = entry {
            self.close_if_taken_over(id, entry);
        }
        let is_new = id.1 > self.since_ticks;
        // Without a switch behind it, it has not been anywhere else.
        let born_here = is_new && (!self.has_probe || now.pcount <= 1);
        let known = self.live.entry(id).or_insert_with(|| Known {
            pid: thread.pid,
            comm: String::new(),
            cpus_allowed: String::new(),
            base: match entry {
                // The probe saw it first, so the time since then is ours too.
                Some(entry) => entry.first,
                None if born_here => Books::default(),
                None => now,
            },
            now,
            takeovers: entry.map(|entry| entry.takeovers),
            missing: false,
        });
        known.now = later(known.now, now);
        if known.comm != thread.comm {
            known.comm.clone_from(&thread.comm);
        }
        if known.cpus_allowed != thread.cpus_allowed {
            known.cpus_allowed.clone_from(&thread.cpus_allowed);
        }
    }

    fn seen_by_probe(&mut self, id: Id, entry: &ThreadEntry) {
        self.close_if_taken_over(id, entry);
        let known = self.live.entry(id).or_insert_with(|| Known {
            pid: entry.tgid,
            comm: comm_of(entry),
            cpus_allowed: String::new(),
            base: entry.first,
            now: entry.last,
            takeovers: None,
            missing: false,
        });
        known.takeovers = Some(entry.takeovers);
        if entry.ended != 0 {
            known.comm = comm_of(entry);
        }
        known.now = later(known.now, entry.last);
    }

    /// Closes the account of an id that now belongs to another thread, whose books have nothing
    /// to do with those of the one before.
    fn close_if_taken_over(&mut self, id: Id, entry: &ThreadEntry) {
        let Some(known) = self.live.get(&id) else { return };
        let (base, first) = (known.base, entry.first);
        // The probe sees every switch, so that between the first look at a thread and the first
        // switch that it sees lies at most the stint that was waited for.
        let goes_on = later(base, first) == first && first.pcount <= base.pcount + 1;
        let is_same = match known.takeovers {
            Some(takeovers) => takeovers == entry.takeovers,
            None => entry.takeovers == 0 && goes_on,
        };
        if is_same {
            return;
        }
        let begin = self.window.remove(&id);
        let Some(mut known) = self.live.remove(&id) else { return };
        self.ended_sum = plus(self.ended_sum, minus(known.now, known.base));
        known.base = begin.unwrap_or(known.base);
        self.keep_ended(id, known);
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
        self.keep_ended(id, known);
    }

    fn drop_idlest(&mut self) {
        let window = &self.window;
        self.ended.sort_by_cached_key(|(id, known)| {
            let begin = window.get(id).copied().unwrap_or(known.base);
            std::cmp::Reverse(minus(known.now, begin).sum_exec)
        });
        self.ended.truncate(ENDED_KEPT);
    }

    fn keep_ended(&mut self, id: Id, known: Known) {
        self.ended.push((id, known));
        // Twice as many before any is dropped, so that each is sorted once on average.
        if self.ended.len() >= 2 * ENDED_KEPT {
            self.drop_idlest();
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
        self.vanished = 0;
        self.ended.clear();
        self.window = self.live.iter().map(|(id, known)| (*id, known.now)).collect();
    }

    /// Every thread and what it added since the window began, busiest first.
    pub(super) fn threads(&mut self, window_ns: u64) -> Vec<Thread> {
        if self.ended.len() > ENDED_KEPT {
            self.drop_idlest();
        }
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

    /// CPUs that the threads may run on which ran for at least a hundredth of the window, all
    /// together; `None` where none did.
    pub(super) fn cpus_allowed(&self, window_ns: u64) -> Option<usize> {
        let ran = self.live.iter().filter(|(id, known)| {
            let begin = self.window.get(id).copied().unwrap_or(known.base);
            minus(known.now, begin).sum_exec >= window_ns / 100
        });
        let lists: BTreeSet<&str> = ran.map(|(_, known)| known.cpus_allowed.as_str()).collect();
        let cpus = lists.into_iter().filter_map(|list| cpu_list::parse(list).ok()).flatten();
        Some(cpus.collect::<BTreeSet<_>>().len()).filter(|n| *n > 0)
    }

    /// On-CPU time of each live thread so far, ns: the difference of two calls gives the busiest.
    pub(super) fn oncpu_now(&self) -> HashMap<Id, u64> {
        self.live.iter().map(|(id, known)| (*id, known.now.sum_exec)).collect()
    }
}

fn id_of(key: &ThreadKey) -> Id {
    (u32::try_from(key.tid).unwrap_or(u32::MAX), key.start_ns / PROC_TICK_NS)
}

#[cfg(test)]
mod tests;
