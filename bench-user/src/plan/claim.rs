//! A claim as it is written; `claims` evaluates it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A statement to check; `claims` evaluates it. Exactly one of `metric` and `cel` is set.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClaimSpec {
    /// Names the claim in reports.
    pub id: String,
    /// The sentence in words.
    #[serde(default)]
    pub says: String,
    /// Dotted name of a number of a stage, such as `syscalls.per_request`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric: Option<String>,
    /// Name of the target that the claim is about; may be left out with a single target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
    /// Name of the target to compare with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against: Option<String>,
    /// `"<= -40%"` or `"-40% +- 5%"` with `against`; `">= 0.95"` or `"== single-thread"` without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expect: Option<String>,
    /// A CEL expression over both targets' stage metrics that must be true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cel: Option<String>,
    /// Where it must hold.
    #[serde(default)]
    pub stages: StageSelector,
}

/// The stages a claim is about.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum StageSelector {
    /// Every stage that both targets reached.
    #[default]
    #[serde(with = "selector_all")]
    #[schemars(with = "String")]
    All,
    /// `saturated` (from the knee on) or `peak` (the stage with the highest rate).
    Named(NamedStages),
    /// Stages by their connections, or in a ladder of rates by their rate.
    Connections(Vec<u32>),
}

/// Stages named by what the analysis found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum NamedStages {
    /// From the knee on.
    Saturated,
    /// The stage with the highest achieved rate.
    Peak,
}

mod selector_all {
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str("all")
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<(), D::Error> {
        match String::deserialize(d)?.as_str() {
            "all" => Ok(()),
            _ => Err(serde::de::Error::custom("expected all, saturated, peak or a list")),
        }
    }
}
