//! What the ledger knows of one thread, and how a sample shows it.

use std::borrow::Cow;

use bench_ebpf::abi::{Books, ThreadEntry, ThreadKey};

use super::books::{later, minus, plus};
use super::shown::Shown;
use crate::clock::PROC_TICK_NS;
use crate::measured::Measured;
use crate::observe::comm;
use crate::observe::thread_table::{Thread, ThreadKind};

/// A thread of the ledger.
#[derive(Debug, Clone)]
pub(super) struct Known {
    pub(super) tid: u32,
    pub(super) pid: u32,
    pub(super) comm: String,
    /// Name of its process's first thread, where a source shows it.
    pub(super) process: Option<String>,
    /// CPUs that it may run on, as a list; empty where procfs was not asked.
    pub(super) cpus_allowed: String,
    /// When it was born, ns, where a source shows that.
    pub(super) start_ns: Option<u64>,
    /// Where its `task_struct` lies, once a source has shown it.
    pub(super) task: Option<u64>,
    /// How often its id had been taken over, once the probe has shown it.
    pub(super) takeovers: Option<u64>,
    /// What it had when it was first known: not ours to count.
    pub(super) base: Mark,
    /// As of the last reading.
    pub(super) now: Mark,
    /// What of it was booked outside of the cgroup.
    pub(super) away: Books,
    /// At the begin of the window, if it was known then.
    pub(super) begin: Option<Mark>,
    /// The reading that showed it last, and the one in which any source knew it last.
    pub(super) shown_in: u64,
    pub(super) seen_in: u64,
    /// It was not among the live threads of the last reading, or in no source at all.
    pub(super) missing: bool,
    pub(super) unseen: bool,
    /// It is outside of the cgroup.
    pub(super) outside: bool,
    /// It came back and has not been switched away from since.
    came_back: bool,
    pub(super) end: Option<End>,
}

/// What a thread had of the target's time, and when.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Mark {
    pub(super) books: Books,
    /// Boot time, ns.
    pub(super) at_ns: u64,
    /// How often it had come back from outside.
    pub(super) absences: u64,
}

impl Mark {
    /// When the probe saw it first; its birth where that was in the target.
    fn first(entry: &ThreadEntry, start_ns: u64) -> Self {
        let at_ns = if entry.first == Books::default() { start_ns } else { entry.first_at };
        Self { books: entry.first, at_ns, absences: 0 }
    }
}

/// How a thread's account was closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// By its last switch.
    LastSwitch,
    /// Another thread took its id over.
    TakenOver,
    /// It was no longer there.
    Vanished,
}

impl Known {
    fn new(tid: u32, pid: u32, base: Mark) -> Self {
        Self {
            tid,
            pid,
            comm: String::new(),
            process: None,
            cpus_allowed: String::new(),
            start_ns: None,
            task: None,
            takeovers: None,
            base,
            now: base,
            away: Books::default(),
            begin: None,
            shown_in: 0,
            seen_in: 0,
            missing: false,
            unseen: false,
            outside: false,
            came_back: false,
            end: None,
        }
    }

    /// One that a reading of live threads shows first.
    pub(super) fn first_shown(shown: &Shown<'_>, born_here: bool) -> Self {
        let start_ns = shown.start_ns.unwrap_or(shown.start_ticks * PROC_TICK_NS);
        let base = match shown.own_entry() {
            // The probe saw it first, so the time since then is ours too.
            Some(entry) => Mark::first(entry, start_ns),
            None if born_here => Mark { at_ns: start_ns, ..Mark::default() },
            None => Mark { books: shown.now, at_ns: shown.at_ns, absences: 0 },
        };
        Self { task: shown.task, ..Self::new(shown.tid, shown.pid, base) }
    }

    /// One that only the probe has seen.
    pub(super) fn first_in_probe(key: &ThreadKey, entry: &ThreadEntry) -> Self {
        let tid = u32::try_from(key.tid).unwrap_or(u32::MAX);
        let comm = comm::text(&entry.comm).into_owned();
        Self { comm, ..Self::new(tid, entry.tgid, Mark::first(entry, key.start_ns)) }
    }

    /// The same thread under the id that it took over, as it was first shown there.
    pub(super) fn goes_on_as(self, shown: Self) -> Self {
        let books = later(self.now.books, shown.now.books);
        let now = Mark { books, ..shown.now };
        // What the probe has of it under the new id begins anew, its absences included.
        let away = self.away;
        let without = |mark: Mark| Mark { books: plus(mark.books, away), absences: 0, ..mark };
        let (base, begin) = (without(self.base), self.begin.map(without));
        Self { base, begin, now, ..shown }
    }

    /// Its name in the probe's hash.
    pub(super) fn key(&self, tid: u32) -> Option<ThreadKey> {
        Some(ThreadKey { tid: u64::from(tid), start_ns: self.start_ns? })
    }

    /// Whether its id still belongs to it, by where the task now lies and by what the probe says.
    pub(super) fn is_still(&self, task: Option<u64>, entry: Option<&ThreadEntry>) -> bool {
        if let (Some(now), Some(then)) = (task, self.task)
            && now != then
        {
            return false;
        }
        // An entry of another task than the one shown is not of this moment.
        let Some(entry) = entry.filter(|entry| task.is_none_or(|task| task == entry.task)) else {
            return true;
        };
        match (self.takeovers, self.task) {
            (Some(takeovers), _) => takeovers == entry.takeovers,
            (None, Some(task)) => task == entry.task,
            // The probe sees every switch, so that between the first look at a thread and the
            // first switch that it sees lies at most the stint that was waited for.
            (None, None) => {
                let (base, first) = (self.base.books, entry.first);
                let goes_on = later(base, first) == first && first.pcount <= base.pcount + 1;
                entry.takeovers == 0 && goes_on
            }
        }
    }

    /// The present reading of live threads.
    pub(super) fn take_in_shown(&mut self, shown: Shown<'_>) {
        if self.comm != shown.comm {
            self.comm = shown.comm.clone().into_owned();
        }
        if self.process.as_deref() != shown.process.as_deref() {
            self.process = shown.process.clone().map(Cow::into_owned);
        }
        if let Some(cpus) = shown.cpus_allowed
            && self.cpus_allowed != cpus
        {
            cpus.clone_into(&mut self.cpus_allowed);
        }
        self.start_ns = self.start_ns.or(shown.start_ns);
        self.task = self.task.or(shown.task);
        let entry = shown.own_entry();
        if let Some(entry) = entry {
            self.take_in(entry);
        }
        // Every switch inside is seen by the probe; with more than the one that it may be about
        // to see, others were made outside.
        self.came_back =
            entry.is_some_and(|entry| shown.now.switches() > entry.last.switches() + 1);
        self.outside = shown.is_outside;
        if !self.outside && !self.came_back {
            self.now.books = later(self.now.books, shown.now);
            self.now.at_ns = shown.at_ns;
        }
    }

    /// Whether it ran for at least a hundredth of the window.
    pub(super) fn ran(&self, window_ns: u64) -> bool {
        self.added_in_window().sum_exec >= window_ns / 100
    }

    /// What it had of the target's time at the last reading.
    pub(super) fn had(&self) -> Mark {
        Mark { books: minus(self.now.books, self.away), ..self.now }
    }

    /// Since it was first known.
    pub(super) fn added(&self) -> Books {
        minus(self.had().books, self.base.books)
    }

    /// Since the window began.
    pub(super) fn added_in_window(&self) -> Books {
        minus(self.had().books, self.begin.unwrap_or(self.base).books)
    }

    /// The probe's last word.
    pub(super) fn take_in(&mut self, entry: &ThreadEntry) {
        self.task = Some(entry.task);
        self.takeovers = Some(entry.takeovers);
        self.away = entry.away;
        self.now.absences = entry.absences;
        self.now.books = later(self.now.books, entry.last);
        if entry.ended != 0 {
            self.now.at_ns = entry.ended_at;
            // It may have executed another program since it was last shown.
            self.comm = comm::text(&entry.comm).into_owned();
        }
    }

    /// Time that it existed inside the window, ns.
    fn lived(&self) -> Result<u64, &'static str> {
        let begin = self.begin.unwrap_or(self.base);
        match self.end {
            Some(End::TakenOver) => return Err("another thread took its id over by an exec"),
            Some(End::Vanished) => return Err("it left the cgroup, and when is not known"),
            None if self.missing => return Err("it was leaving when the window ended"),
            _ if self.outside || self.came_back || self.now.absences != begin.absences => {
                return Err("it was outside of the cgroup for a part of the window");
            }
            Some(End::LastSwitch) | None => {}
        }
        Ok(self.now.at_ns.saturating_sub(begin.at_ns))
    }

    /// With what it added in the window; the shares of it are left to [`share`].
    pub(super) fn row(&self) -> Thread {
        let added = self.added_in_window();
        let lived_ns: Measured<u64> = self.lived().into();
        let blocked_ns =
            lived_ns.clone().map(|ns| ns.saturating_sub(added.sum_exec + added.run_delay));
        Thread {
            tid: self.tid,
            pid: self.pid,
            comm: self.comm.clone(),
            process: self.process.clone().unwrap_or_default(),
            kind: ThreadKind::of(&self.comm),
            oncpu_ns: added.sum_exec,
            runq_ns: added.run_delay,
            blocked_ns,
            lived_ns,
            switches_voluntary: added.nvcsw,
            switches_involuntary: added.nivcsw,
            exited: self.end.is_some(),
            ..Thread::default()
        }
    }
}

/// Fills in the shares of the window.
pub(super) fn share(mut thread: Thread, window_ns: u64) -> Thread {
    #[expect(clippy::cast_precision_loss, reason = "a window is far below 2^53 ns")]
    let ratio = |ns: u64| if window_ns == 0 { 0.0 } else { ns as f64 / window_ns as f64 };
    thread.oncpu_ratio = ratio(thread.oncpu_ns);
    thread.runq_ratio = ratio(thread.runq_ns);
    thread.blocked_ratio = thread.blocked_ns.clone().map(ratio);
    thread
}
