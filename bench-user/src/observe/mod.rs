//! The instruments on the kernel's side.
//!
//! Knows a target's cgroup and pids and nothing of requests.

mod bpf;
mod busiest;
mod cgroup;
mod comm;
mod explained;
mod ledger;
mod machine;
mod net;
mod options;
mod overhead;
mod perf;
mod probe_estimate;
mod reading;
mod sample;
mod self_test;
mod set;
mod symbols;
mod thread_table;
pub mod threads;

pub use bpf::{Hook, LoadError};
pub use busiest::ThreadShare;
pub use cgroup::{CgroupObserver, CgroupReading};
pub use explained::{
    Blocked, Explained, ExplainedCall, Holder, HolderGroup, InFlight, OffCpu, OffCpuStack,
    OffCpuStacks, OffCpuThread, OnCpuStack, OnCpuStacks, RunQueue, SOFTIRQS, STACKS_KEPT, Share,
    Softirq, SoftirqTime, Stacks, StillBlocked, SyscallsExplained, ThreadsSplit, TimeSplit,
    Unpaired, UringExplained, WAITS_WITHOUT_SYSCALL, is_opcode,
};
pub use ledger::{ENDED_KEPT, folded_name};
pub use machine::MachineUse;
pub use net::{Listener, Net, NetObserver, NetReading};
pub use options::{Options, Probes};
pub use overhead::{Bias, Decision, Overhead};
pub use perf::{PerfObserver, PerfReading};
pub use probe_estimate::{Added, ProbeEstimate, probe_estimate};
pub use reading::Look;
pub use sample::{CgroupUse, Count, ObserverCost, PerfCount, Sample, Sched, Syscalls};
pub use self_test::self_test;
pub use set::ObserverSet;
pub use thread_table::{EndedGroup, Thread, ThreadKind};
