//! One reading of every instrument, in an order that keeps the skew between those that are held
//! against each other small.

use std::path::Path;

use bench_ebpf::abi::Books;

use super::ObserverSet;
use crate::clock;
use crate::measured::Measured;
use crate::observe::bpf::ExplainReading;
use crate::observe::reading::{Extent, Reading};
use crate::observe::{machine, threads};

impl ObserverSet {
    pub(super) fn read(&mut self, extent: Extent) -> Reading {
        let at_ns = clock::now_ns();
        let own_cpu_ns = clock::thread_cpu_ns();
        let (syscalls, sched) = match &self.bpf {
            Measured::Value(bpf) => (bpf.syscalls().into(), bpf.sched().into()),
            Measured::Unavailable { unavailable: why } => {
                (Measured::unavailable(why), Measured::unavailable(why))
            }
        };
        let perf = self.perf.read();
        let cgroup = self.cgroup.read();
        let books = if let Extent::Edge | Extent::Look { with_threads: true } = extent {
            self.read_threads()
        } else {
            self.take_ended_threads();
            Measured::unavailable("left out of this look: there are too many threads")
        };
        let (net, machine, accept_queue) = match extent {
            Extent::Edge => (Some(self.net.read()), machine::read(), None),
            Extent::Look { .. } => (None, Measured::default(), self.net.look()),
        };
        let explain = self.explain(extent);
        let took_ns = clock::now_ns() - at_ns;
        Reading {
            at_ns,
            took_ns,
            own_cpu_ns,
            syscalls,
            sched,
            explain,
            perf,
            cgroup,
            net,
            accept_queue,
            machine,
            books,
        }
    }

    /// Last, because it takes longest; inside a window nobody asks for it.
    fn explain(&mut self, extent: Extent) -> Option<ExplainReading> {
        let Measured::Value(bpf) = &mut self.bpf else { return None };
        match extent {
            Extent::Edge => Some(bpf.explain()),
            Extent::Look { .. } => {
                bpf.look_at_processes(false);
                None
            }
        }
    }

    /// procfs first, then the probe's hash: see the ledger.
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

    fn joined(&mut self, directory: &Path) -> Result<Books, String> {
        let shown = threads::read_cgroup(directory).map_err(|e| e.to_string())?;
        if let Measured::Value(bpf) = &mut self.bpf {
            let probed = bpf.threads()?;
            let ended = self.ledger.update(&shown, &probed);
            bpf.forget(&ended)?;
        } else {
            self.ledger.update(&shown, &[]);
        }
        Ok(self.ledger.total())
    }

    /// Threads that end would fill the hash of a target that starts many, so they are taken out
    /// of it at every look. What fails here fails again at the end of the window, and is said.
    fn take_ended_threads(&mut self) {
        if let Measured::Value(bpf) = &mut self.bpf
            && let Ok(probed) = bpf.threads()
        {
            let ended = self.ledger.end_ended(&probed);
            bpf.forget(&ended).ok();
        }
    }
}
