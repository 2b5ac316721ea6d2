//! A live thread as one reading shows it, from whichever source.

use std::borrow::Cow;

use bench_ebpf::abi::{Books, ThreadEntry};

use crate::clock::PROC_TICK_NS;
use crate::observe::bpf::Task;
use crate::observe::comm;
use crate::observe::threads::ThreadBooks;

/// A live thread.
pub(super) struct Shown<'a> {
    pub(super) tid: u32,
    pub(super) start_ticks: u64,
    /// The finer start, which only the task iterator shows.
    pub(super) start_ns: Option<u64>,
    pub(super) pid: u32,
    pub(super) comm: Cow<'a, str>,
    pub(super) process: Option<Cow<'a, str>>,
    /// As a list; the task iterator does not show them.
    pub(super) cpus_allowed: Option<&'a str>,
    pub(super) now: Books,
    /// When these books were read, boot time in ns.
    pub(super) at_ns: u64,
    /// Where its `task_struct` lies.
    pub(super) task: Option<u64>,
    /// What the probe has of the id.
    pub(super) entry: Option<&'a ThreadEntry>,
    /// It is outside of the cgroup now.
    pub(super) is_outside: bool,
}

impl<'a> Shown<'a> {
    pub(super) fn by_procfs(thread: &'a ThreadBooks, entry: Option<&'a ThreadEntry>) -> Self {
        Self {
            tid: thread.tid,
            start_ticks: thread.start_ticks,
            start_ns: None,
            pid: thread.pid,
            comm: Cow::Borrowed(&thread.comm),
            process: None,
            cpus_allowed: Some(&thread.cpus_allowed),
            now: Books {
                run_delay: thread.runq_ns,
                pcount: thread.timeslices,
                sum_exec: thread.oncpu_ns,
                nvcsw: thread.voluntary,
                nivcsw: thread.involuntary,
            },
            at_ns: thread.at_ns,
            task: None,
            entry,
            is_outside: false,
        }
    }

    /// What the probe has of the thread itself: an exec by another thread than the first takes
    /// the id over, and the probe sees it at the next switch only.
    pub(super) fn own_entry(&self) -> Option<&'a ThreadEntry> {
        self.entry.filter(|entry| self.task.is_none_or(|task| task == entry.task))
    }

    /// With the wait that has not ended yet, which is the window's too.
    pub(super) fn by_iterator(task: &'a Task) -> Self {
        let record = &task.record;
        Self {
            tid: u32::try_from(record.key.tid).unwrap_or(u32::MAX),
            start_ticks: record.key.start_ns / PROC_TICK_NS,
            start_ns: Some(record.key.start_ns),
            pid: record.tgid,
            comm: comm::text(&record.comm),
            process: Some(comm::text(&record.process)),
            cpus_allowed: None,
            now: Books { run_delay: record.now.run_delay + record.open_wait, ..record.now },
            at_ns: record.at_ns,
            task: Some(record.task),
            entry: task.entry.as_ref(),
            is_outside: record.is_outside != 0,
        }
    }
}
