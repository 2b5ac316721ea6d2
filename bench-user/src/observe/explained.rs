//! Why a window was slow, as far as it was asked for: plain data, as the record keeps it.

mod calls;
mod off_cpu;
mod opcodes;
mod run_queue;
mod softirq;
mod stacks;
mod uring;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use calls::{ExplainedCall, InFlight, SyscallsExplained, Unpaired};
pub use off_cpu::{
    Blocked, OffCpu, OffCpuThread, Share, StillBlocked, ThreadsSplit, TimeSplit,
    WAITS_WITHOUT_SYSCALL,
};
pub use opcodes::is_known as is_opcode;
pub(super) use opcodes::name as opcode_name;
pub use run_queue::{Holder, HolderGroup, RunQueue};
pub use softirq::{SOFTIRQS, Softirq, SoftirqTime};
pub use stacks::{OffCpuStack, OffCpuStacks, OnCpuStack, OnCpuStacks, STACKS_KEPT, Stacks};
pub use uring::UringExplained;

use crate::measured::Measured;
use crate::plan::Explain;

/// One block for each kind that was asked for (`--explain`); `null` where it was not.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Explained {
    /// Syscalls from enter to return (`syscalls`).
    pub syscalls: Option<Measured<SyscallsExplained>>,
    /// Work given to io_uring (`io-uring`).
    pub io_uring: Option<Measured<UringExplained>>,
    /// What threads waited in while they were off the CPU (`off-cpu`).
    pub off_cpu: Option<Measured<OffCpu>>,
    /// Who held the CPU while threads waited for it (`run-queue`).
    pub run_queue: Option<Measured<RunQueue>>,
    /// Time in softirqs (`softirq`).
    pub softirq: Option<Measured<Softirq>>,
    /// Stacks on the CPU and off it, for flame graphs (`stacks`).
    pub stacks: Option<Measured<Stacks>>,
}

impl Explained {
    /// What was asked for, none of which could be had.
    pub(super) fn unavailable(asked: &[Explain], why: &str) -> Self {
        let mut explained = Self::default();
        for kind in asked {
            match kind {
                Explain::Syscalls => explained.syscalls = Some(Measured::unavailable(why)),
                Explain::IoUring => explained.io_uring = Some(Measured::unavailable(why)),
                Explain::OffCpu => explained.off_cpu = Some(Measured::unavailable(why)),
                Explain::RunQueue => explained.run_queue = Some(Measured::unavailable(why)),
                Explain::Softirq => explained.softirq = Some(Measured::unavailable(why)),
                Explain::Stacks => explained.stacks = Some(Measured::unavailable(why)),
            }
        }
        explained
    }
}
