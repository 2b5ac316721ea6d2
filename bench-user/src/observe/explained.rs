//! Why a window was slow, as far as it was asked for: plain data, as the record keeps it.

mod stacks;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use stacks::{OffCpuStack, OffCpuStacks, OnCpuStack, OnCpuStacks, STACKS_KEPT, Stacks};

use crate::measured::Measured;

/// One block for each kind that was asked for (`--explain`); `null` where it was not.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Explained {
    /// Stacks on the CPU and off it, for flame graphs.
    pub stacks: Option<Measured<Stacks>>,
}
