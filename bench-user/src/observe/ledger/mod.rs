//! One account of every thread of the cgroup, from two sources that each know a part.
//!
//! For a live thread the kernel's books as they stand now are shown by the task iterator, or by
//! procfs where that cannot be had, stints that still run included. For a thread that has ended
//! only the probe has them, as of its last switch. The ledger joins the two so that every thread
//! counts exactly once at every reading:
//!
//! ```text
//!  thread          reading A              reading B            counts in [A, B)
//!  lives on        books shown            books shown          B - A
//!  born, lives     -                      books shown          B - 0
//!  ends            books shown            last switch (probe)  last - A
//!  born, ends      -                      last switch (probe)  last - 0
//!  joins           -                      books shown          B - first sight
//!  leaves, returns books shown            books shown          B - A - (return - last inside)
//!  leaves, ends    books shown            last switch (probe)  last inside - A
//!  id taken over   books shown            books shown          last - A, and B - first sight
//! ```
//!
//! Live threads are read before the probe's ended ones, so a thread that ends in between shows
//! up ended in the second and its final figures win. The books only grow, so the larger of two
//! figures is the later one. Of a thread that was outside, the stints in which it left and in
//! which it returned are left out too. Nothing is read here; this is the arithmetic.

mod books;
mod busy;
mod ended;
mod known;
mod shown;
mod takeovers;

use std::collections::hash_map::Entry as Slot;
use std::collections::{BTreeSet, HashMap};

use bench_ebpf::abi::{Books, ThreadEntry, ThreadKey};

pub(super) use books::minus;
use books::plus;
use ended::Ended;
pub use ended::{ENDED_KEPT, folded_name};
use known::{End, Known, share};
use shown::Shown;

use crate::clock::PROC_TICK_NS;
use crate::cpu_list;
use crate::observe::bpf::{Entry, Task};
use crate::observe::thread_table::{EndedGroup, Thread};
use crate::observe::threads::ThreadBooks;

/// A thread: its id and its start in clock ticks since boot, the finest that procfs shows.
type Id = (u32, u64);

/// All threads that were ever seen in the cgroup.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    /// Boot time in ticks from which on a thread's whole life is ours.
    since_ticks: u64,
    /// The probe shows every thread that has been switched away from in the cgroup.
    has_probe: bool,
    /// Number of the present reading of live threads.
    reading: u64,
    live: HashMap<Id, Known>,
    /// Ended, but still shown (a zombie): must not be taken for new.
    ended_shown: HashMap<Id, Zombie>,
    /// What ended threads had added when they ended.
    ended_sum: Books,
    /// Ended since the window began.
    ended: Ended,
    /// Entries that the probe need not keep any more.
    forget: Vec<ThreadKey>,
    /// Threads that vanished in this window without a last switch that the probe saw.
    pub(super) vanished: u64,
}

/// A thread that has ended.
#[derive(Debug)]
struct Zombie {
    /// The last reading that showed it.
    shown_in: u64,
    /// Where its `task_struct` lay.
    task: Option<u64>,
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

    /// Joins a reading of procfs and one of the probe's threads taken after it, live and ended.
    pub(super) fn update(&mut self, procfs: &[ThreadBooks], probe: &[Entry]) {
        let in_probe: HashMap<Id, &ThreadEntry> =
            probe.iter().map(|(key, entry)| (id_of(key), entry)).collect();
        self.reading += 1;
        for thread in procfs {
            let entry = in_probe.get(&(thread.tid, thread.start_ticks)).copied();
            self.see(Shown::by_procfs(thread, entry));
        }
        self.close(probe);
    }

    /// Joins a reading of the task iterator and the threads that ended before or after it. Those
    /// that neither shows may be on their way out: the rest of the reading, [`Self::close`],
    /// wants the probe's entries of these keys.
    pub(super) fn update_live(&mut self, tasks: &[Task], ended: &[Entry]) -> Vec<ThreadKey> {
        self.reading += 1;
        // What ended while the iterator was read is shown alive and counts as ended.
        self.end_ended(ended);
        for task in tasks {
            self.see(Shown::by_iterator(task));
        }
        self.follow_renamed(tasks);
        let reading = self.reading;
        let mut unseen: Vec<_> =
            self.live.iter().filter(|(_, known)| known.seen_in != reading).collect();
        // One that ended outside is still in the probe's hash.
        unseen.retain(|(_, known)| !known.outside);
        unseen.into_iter().filter_map(|(id, known)| known.key(id.0)).collect()
    }

    /// Ends a reading with what the probe still has; returns what it need not keep any more.
    pub(super) fn close(&mut self, probe: &[Entry]) -> Vec<ThreadKey> {
        for (key, entry) in probe {
            self.seen_by_probe(key, entry);
        }
        self.end_ended(probe);
        let reading = self.reading;
        self.ended_shown.retain(|_, zombie| zombie.shown_in == reading);
        self.end_gone()
    }

    /// Takes in only the threads that have ended, at any time.
    pub(super) fn end_ended(&mut self, probe: &[Entry]) {
        for (key, entry) in probe.iter().filter(|(_, entry)| entry.ended != 0) {
            self.seen_by_probe(key, entry);
            self.end(id_of(key), End::LastSwitch);
        }
    }

    fn see(&mut self, shown: Shown<'_>) {
        let id = (shown.tid, shown.start_ticks);
        if let Some(zombie) = self.ended_shown.get_mut(&id) {
            // An exec by another thread than the first gives the id a second life.
            let is_alive = match (zombie.task, shown.task) {
                (Some(then), Some(now)) => then != now,
                _ => shown.entry.is_some_and(|entry| entry.ended == 0),
            };
            if !is_alive {
                zombie.shown_in = self.reading;
                return;
            }
        }
        self.close_if_taken_over(id, shown.task, shown.entry);
        let known = match self.live.entry(id) {
            Slot::Occupied(known) => known.into_mut(),
            Slot::Vacant(free) => {
                // Without a switch behind it, it has not been anywhere else.
                let is_new = id.1 > self.since_ticks;
                let born_here = is_new && (!self.has_probe || shown.now.pcount <= 1);
                free.insert(Known::first_shown(&shown, born_here))
            }
        };
        known.seen_in = self.reading;
        known.shown_in = self.reading;
        known.take_in_shown(shown);
    }

    fn seen_by_probe(&mut self, key: &ThreadKey, entry: &ThreadEntry) {
        let id = id_of(key);
        self.close_if_taken_over(id, None, Some(entry));
        let known = self.live.entry(id).or_insert_with(|| Known::first_in_probe(key, entry));
        known.seen_in = self.reading;
        known.start_ns = Some(key.start_ns);
        known.take_in(entry);
    }

    /// A thread on its way out is no longer shown shortly before its last switch, so it is given
    /// up only when a second reading misses it too.
    fn end_gone(&mut self) -> Vec<ThreadKey> {
        let mut gone = Vec::new();
        for (id, known) in &mut self.live {
            known.missing = known.shown_in != self.reading;
            let is_unseen = known.seen_in != self.reading;
            if std::mem::replace(&mut known.unseen, is_unseen) && is_unseen {
                gone.push(*id);
            }
        }
        for id in gone {
            self.vanished += 1;
            self.forget.extend(self.live.get(&id).and_then(|known| known.key(id.0)));
            self.end(id, End::Vanished);
        }
        std::mem::take(&mut self.forget)
    }

    fn end(&mut self, id: Id, how: End) {
        let Some(known) = self.live.remove(&id) else { return };
        // One that vanished may come back.
        if how == End::LastSwitch {
            let zombie = Zombie { shown_in: known.shown_in, task: known.task };
            self.ended_shown.insert(id, zombie);
        }
        self.account(known, how);
    }

    fn account(&mut self, mut known: Known, how: End) {
        self.ended_sum = plus(self.ended_sum, known.added());
        known.end = Some(how);
        self.ended.keep(&known);
    }

    /// What all threads together have added since the ledger began.
    pub(super) fn total(&self) -> Books {
        self.live.values().fold(self.ended_sum, |sum, known| plus(sum, known.added()))
    }

    /// From here on [`Self::threads`] counts.
    pub(super) fn begin_window(&mut self) {
        self.vanished = 0;
        self.ended.clear();
        for known in self.live.values_mut() {
            known.begin = Some(known.had());
        }
    }

    /// Nothing was done between the begin of the window and this time, ns of `CLOCK_BOOTTIME`.
    pub(super) fn stood_still_until(&mut self, at_ns: u64) {
        for begin in self.live.values_mut().filter_map(|known| known.begin.as_mut()) {
            begin.at_ns = begin.at_ns.max(at_ns);
        }
    }

    /// Every thread and what it added since the window began, busiest first.
    pub(super) fn threads(&mut self, window_ns: u64) -> Vec<Thread> {
        let live = self.live.values().map(Known::row);
        let rows = live.chain(self.ended.rows().iter().cloned());
        let mut threads: Vec<Thread> = rows.map(|row| share(row, window_ns)).collect();
        let first: HashMap<u32, String> = threads
            .iter()
            .filter(|thread| thread.tid == thread.pid)
            .map(|thread| (thread.pid, thread.comm.clone()))
            .collect();
        for thread in threads.iter_mut().filter(|thread| thread.process.is_empty()) {
            thread.process = first.get(&thread.pid).cloned().unwrap_or_default();
        }
        threads.sort_by_key(|t| (std::cmp::Reverse(t.oncpu_ns), t.tid));
        threads
    }

    /// All threads that ended since the window began, by name.
    pub(super) fn ended(&self) -> Vec<EndedGroup> {
        self.ended.groups()
    }

    /// Ids and starts in ticks of the live threads that ran for at least a hundredth of the
    /// window.
    pub(super) fn ran(&self, window_ns: u64) -> Vec<(u32, u64)> {
        let ran = self.live.iter().filter(|(_, known)| known.ran(window_ns));
        ran.map(|(id, _)| *id).collect()
    }

    /// CPUs that a thread may run on, for a ledger that is not filled from procfs.
    pub(super) fn set_cpus_allowed(&mut self, id: (u32, u64), cpus: String) {
        if let Some(known) = self.live.get_mut(&id) {
            known.cpus_allowed = cpus;
        }
    }

    /// CPUs that the threads may run on which ran for at least a hundredth of the window, all
    /// together; `None` where none did.
    pub(super) fn cpus_allowed(&self, window_ns: u64) -> Option<usize> {
        let ran = self.live.values().filter(|known| known.ran(window_ns));
        let lists: BTreeSet<&str> = ran.map(|known| known.cpus_allowed.as_str()).collect();
        let cpus = lists.into_iter().filter_map(|list| cpu_list::parse(list).ok()).flatten();
        Some(cpus.collect::<BTreeSet<_>>().len()).filter(|n| *n > 0)
    }
}

fn id_of(key: &ThreadKey) -> Id {
    (u32::try_from(key.tid).unwrap_or(u32::MAX), key.start_ns / PROC_TICK_NS)
}

#[cfg(test)]
mod tests;
