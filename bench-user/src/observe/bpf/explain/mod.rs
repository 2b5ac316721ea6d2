//! Explanations that are off unless asked for: their parts of the probes, and what the maps of
//! those that are attached hold.

mod calls;
mod offcpu;
mod runq;
mod softirq;
mod stacks;
mod uring;

use std::collections::BTreeMap;

use aya::Ebpf;

use super::part::Part;
use crate::measured::Measured;
use crate::observe::explained::Explained;
use crate::observe::symbols::Processes;
use crate::plan::Explain;

/// The part of the probes that a kind needs.
pub(super) fn part(kind: Explain) -> &'static Part {
    match kind {
        Explain::Syscalls => &calls::PART,
        Explain::IoUring => &uring::PART,
        Explain::OffCpu => &offcpu::PART,
        Explain::RunQueue => &runq::PART,
        Explain::Softirq => &softirq::PART,
        Explain::Stacks => &stacks::PART,
    }
}

/// What was counted since the probes were attached, for each kind that was asked for.
pub(in crate::observe) struct ExplainReading {
    syscalls: Option<Measured<calls::Reading>>,
    io_uring: Option<Measured<uring::Reading>>,
    off_cpu: Option<Measured<offcpu::Reading>>,
    run_queue: Option<Measured<runq::Reading>>,
    softirq: Option<Measured<softirq::Reading>>,
    stacks: Option<Measured<stacks::Reading>>,
}

impl ExplainReading {
    pub(super) fn read(ebpf: &mut Ebpf, asked: &BTreeMap<Explain, Measured<()>>) -> Self {
        // Waits first: they are held against the books of threads, which were read just before.
        let off_cpu = read(asked, Explain::OffCpu, || offcpu::Reading::read(ebpf));
        let run_queue = read(asked, Explain::RunQueue, || runq::Reading::read(ebpf));
        Self {
            off_cpu,
            run_queue,
            stacks: read(asked, Explain::Stacks, || stacks::Reading::read(ebpf)),
            softirq: read(asked, Explain::Softirq, || softirq::Reading::read(ebpf)),
            syscalls: read(asked, Explain::Syscalls, || calls::Reading::read(ebpf)),
            io_uring: read(asked, Explain::IoUring, || uring::Reading::read(ebpf)),
        }
    }

    /// With what names the frames of its stacks.
    pub(super) fn with_processes(mut self, processes: &Processes) -> Self {
        if let Some(Measured::Value(stacks)) = &mut self.stacks {
            stacks.processes = processes.clone();
        }
        self
    }

    /// The blocks of the record for the time between two readings.
    pub(in crate::observe) fn since(&self, then: &Self, window_ns: u64) -> Explained {
        let uring = |now: &uring::Reading, then: &_| now.since(then, window_ns);
        let off_cpu = |now: &offcpu::Reading, then: &_| now.since(then, window_ns);
        let run_queue = |now: &runq::Reading, then: &_| now.since(then, window_ns);
        let softirq = |now: &softirq::Reading, then: &_| now.since(then, window_ns);
        Explained {
            syscalls: since(self.syscalls.as_ref(), then.syscalls.as_ref(), calls::Reading::since),
            io_uring: since(self.io_uring.as_ref(), then.io_uring.as_ref(), uring),
            off_cpu: since(self.off_cpu.as_ref(), then.off_cpu.as_ref(), off_cpu),
            run_queue: since(self.run_queue.as_ref(), then.run_queue.as_ref(), run_queue),
            softirq: since(self.softirq.as_ref(), then.softirq.as_ref(), softirq),
            stacks: since(self.stacks.as_ref(), then.stacks.as_ref(), stacks::Reading::since),
        }
    }
}

/// What a kind has counted; `None` when it was not asked for.
fn read<R>(
    asked: &BTreeMap<Explain, Measured<()>>,
    kind: Explain,
    reading: impl FnOnce() -> Result<R, String>,
) -> Option<Measured<R>> {
    asked.get(&kind).map(|attached| match attached {
        Measured::Value(()) => reading().into(),
        Measured::Unavailable { unavailable } => Measured::unavailable(unavailable),
    })
}

fn since<R, B>(
    now: Option<&Measured<R>>,
    then: Option<&Measured<R>>,
    block: impl FnOnce(&R, &R) -> B,
) -> Option<Measured<B>> {
    let (now, then) = (now?, then?);
    let both = || Ok::<_, &str>(block(now.as_result()?, then.as_result()?));
    Some(both().into())
}
