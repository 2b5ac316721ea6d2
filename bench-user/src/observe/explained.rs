//! Why a window was slow, as far as it was asked for: plain data, as the record keeps it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One block for each kind that was asked for (`--explain`); `null` where it was not.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Explained {}
