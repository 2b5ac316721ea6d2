//! One reading of every thread: the task iterator, or procfs where it cannot be had, and what the
//! probes keep of threads that ended.

use std::collections::HashSet;
use std::path::Path;
use std::time::Duration;

use bench_ebpf::abi::Books;

use super::ObserverSet;
use crate::clock;
use crate::measured::Measured;
use crate::observe::bpf::BpfObserver;
use crate::observe::threads;

/// Longest wait for threads on their way out, ns.
const SETTLE_NS: u64 = 1_000_000_000;

impl ObserverSet {
    /// What all threads have added so far.
    pub(super) fn read_threads(&mut self) -> Measured<Books> {
        let began = clock::now_ns();
        let directory = match self.directory.clone() {
            Measured::Value(directory) => directory,
            Measured::Unavailable { unavailable } => return Measured::unavailable(unavailable),
        };
        let books = self.joined(&directory);
        self.threads_at_ns = clock::now_ns();
        self.threads_ns = self.threads_at_ns - began;
        books.into()
    }

    /// Live threads first, then those that ended: see the ledger.
    fn joined(&mut self, directory: &Path) -> Result<Books, String> {
        match &mut self.bpf {
            Measured::Value(bpf) if bpf.has_tasks() && bpf.sees_threads() => {
                let tasks = bpf.tasks()?;
                let ended = bpf.take_ended()?;
                let unseen = self.ledger.update_live(&tasks, &ended);
                let forget = self.ledger.close(&bpf.look_up(&unseen)?);
                bpf.forget(forget.iter())?;
            }
            Measured::Value(bpf) if bpf.sees_threads() => {
                let shown = threads::read_cgroup(directory).map_err(|e| e.to_string())?;
                let mut probed = bpf.live_entries()?;
                probed.extend(bpf.take_ended()?);
                self.ledger.update(&shown, &probed);
            }
            _ => {
                let shown = threads::read_cgroup(directory).map_err(|e| e.to_string())?;
                self.ledger.update(&shown, &[]);
            }
        }
        Ok(self.ledger.total())
    }

    /// Threads that end would fill the ring of a target that starts many, so they are taken out
    /// of it at every look. What fails here fails again at the end of the window, and is said.
    pub(super) fn take_ended_threads(&mut self) {
        if let Measured::Value(bpf) = &mut self.bpf
            && let Ok(ended) = bpf.take_ended()
        {
            self.ledger.end_ended(&ended);
        }
    }

    /// CPUs that the threads may run on which ran in the window; procfs alone shows them.
    pub(super) fn cpus_allowed(&mut self, window_ns: u64) -> Option<usize> {
        if self.bpf.value().is_some_and(BpfObserver::has_tasks) {
            for id in self.ledger.ran(window_ns) {
                if let Some(cpus) = threads::cpus_allowed(id) {
                    self.ledger.set_cpus_allowed(id, cpus);
                }
            }
        }
        self.ledger.cpus_allowed(window_ns)
    }

    /// Waits until threads that are on their way out have made their last switch, at most a
    /// second: a process can be waited for before all its threads have left the CPU, and their
    /// last stint is in the kernel's books only then.
    pub fn settle(&mut self) {
        let deadline = clock::now_ns() + SETTLE_NS;
        while self.is_any_leaving() && clock::now_ns() < deadline {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Whether the probe has a thread that is no longer shown and has not made its last switch.
    /// What cannot be read is not waited for; the end of the window says so.
    fn is_any_leaving(&mut self) -> bool {
        let (Measured::Value(bpf), Measured::Value(directory)) = (&mut self.bpf, &self.directory)
        else {
            return false;
        };
        let leaving = if bpf.has_tasks() {
            bpf.tasks().and_then(|tasks| {
                let shown: HashSet<u64> = tasks.iter().map(|task| task.record.task).collect();
                Ok(bpf.live_entries()?.iter().any(|(_, entry)| !shown.contains(&entry.task)))
            })
        } else {
            threads::read_cgroup(directory).map_err(|e| e.to_string()).and_then(|shown| {
                let shown: HashSet<u64> = shown.iter().map(|thread| thread.tid.into()).collect();
                Ok(bpf.live_entries()?.iter().any(|(key, _)| !shown.contains(&key.tid)))
            })
        };
        leaving.unwrap_or(false)
    }
}
