//! `[job]`: a plan whose targets are programs that run to their end instead of serving requests.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::Span;

/// What one run of every target's program is. A plan that has it climbs no ladder: each command is
/// run to its end in a cgroup of its own, `repeat` times in the plan's `order`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JobSpec {
    /// How much one run does, in `unit`; gives `job.work_per_sec`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<f64>,
    /// What `work` counts, such as `"records"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// A run that takes longer is ended and has failed; a target's `before` that takes longer ends
    /// all.
    #[serde(default = "default_timeout")]
    pub timeout: Span,
}

const fn default_timeout() -> Span {
    Span::from_secs(600)
}

impl Default for JobSpec {
    fn default() -> Self {
        Self { work: None, unit: None, timeout: default_timeout() }
    }
}
