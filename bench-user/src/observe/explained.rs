//! Why a window was slow, as far as it was asked for: plain data, as the record keeps it.

mod calls;
mod opcodes;
mod stacks;
mod uring;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use calls::{ExplainedCall, InFlight, SyscallsExplained, Unpaired};
pub use opcodes::is_known as is_opcode;
pub(super) use opcodes::name as opcode_name;
pub use stacks::{OffCpuStack, OffCpuStacks, OnCpuStack, OnCpuStacks, STACKS_KEPT, Stacks};
pub use uring::UringExplained;

use crate::measured::Measured;

/// One block for each kind that was asked for (`--explain`); `null` where it was not.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Explained {
    /// Syscalls from enter to return.
    pub syscalls: Option<Measured<SyscallsExplained>>,
    /// Work given to io_uring.
    pub io_uring: Option<Measured<UringExplained>>,
    /// Stacks on the CPU and off it, for flame graphs.
    pub stacks: Option<Measured<Stacks>>,
}
