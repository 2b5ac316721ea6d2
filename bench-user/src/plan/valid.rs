//! When a stage may carry conclusions: limits that were set before the run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Limits beyond which a stage is invalid: kept and reported, and no claim may rest on it. What
/// the generator itself may do wrong has no key, because no plan can make it right.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ValidRules {
    /// Least share of the connections asked for that must be open (median), 0..=1.
    pub live: f64,
    /// Least share of the offered requests that must be answered well in the window, 0..=1.
    pub achieved: f64,
    /// Most connections opened again, per request; `false` for a server that is meant to close.
    pub reconnects: ShareLimit,
    /// Most requests that fail or are not answered 2xx, as a share of all; `false`: any.
    pub non_2xx: ShareLimit,
}

/// A share that must not be passed, or `false`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ShareLimit {
    /// Passed above this share, 0..=1.
    MoreThan(f64),
    /// `false`: there is no limit (`true` is refused by validation).
    Switch(bool),
}

impl ShareLimit {
    /// Whether `part` of `whole` is more than allowed.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "counts of a stage are below 2^53")]
    pub fn is_passed(self, part: u64, whole: u64) -> bool {
        matches!(self, Self::MoreThan(most) if part as f64 > most * whole as f64)
    }
}

impl Default for ValidRules {
    fn default() -> Self {
        let percent = ShareLimit::MoreThan(0.01);
        Self { live: 0.95, achieved: 0.99, reconnects: percent, non_2xx: percent }
    }
}
