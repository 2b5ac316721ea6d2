//! One reading of every instrument, in an order that keeps the skew between those that are held
//! against each other small.

use super::ObserverSet;
use crate::clock;
use crate::measured::Measured;
use crate::observe::bpf::ExplainReading;
use crate::observe::machine;
use crate::observe::reading::{Extent, Reading};

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
        let books =
            if let Extent::Edge | Extent::SoFar | Extent::Look { with_threads: true } = extent {
                self.read_threads()
            } else {
                self.take_ended_threads();
                Measured::unavailable("left out of this look: there are too many threads")
            };
        let explain = self.explain(extent);
        let (net, machine, accept_queue) = match extent {
            Extent::Edge | Extent::SoFar => (Some(self.net.read()), machine::read(), None),
            Extent::Look { .. } => (None, Measured::default(), self.net.look()),
        };
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

    /// At once after the threads' books, which tell of the same waits; inside a window nobody asks
    /// for it.
    fn explain(&mut self, extent: Extent) -> Option<ExplainReading> {
        let Measured::Value(bpf) = &mut self.bpf else { return None };
        match extent {
            Extent::Edge => Some(bpf.explain()),
            Extent::Look { .. } | Extent::SoFar => {
                bpf.look_at_processes(false);
                None
            }
        }
    }
}
