//! What a record holds of a climb as a whole, in every stage of it: how it began and where it had its
//! limits.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::measured::Measured;

/// How a target began a climb, before its first request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Start {
    /// From the start of a command, or from the order to the engine of a container, to its first good
    /// answer, ms; `null` for one that ran already.
    pub startup_ms: Option<f64>,
    /// Resident memory of all its processes, bytes.
    pub rss_bytes: Measured<u64>,
    /// Size of a container's image, bytes; `null` for other kinds, and where the engine does not say.
    pub image_bytes: Option<u64>,
}

/// Where one climb of a target had its limits, by the rules of [`LadderFindings`](super::LadderFindings) over the stages
/// of that climb alone.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ClimbFindings {
    /// Connections of its last stage: where a stop rule or the target's end stopped it, else the
    /// end of the ladder; `null` where what stopped it was not the target.
    pub last_connections: Option<u32>,
    /// 1 where a stop rule or the target's end stopped it, 0 where it reached the ladder's end.
    pub stopped_ratio: Option<f64>,
    /// Highest achieved rate, per second; `null` where no stage is valid, or an invalid one achieved
    /// more.
    pub peak_rps: Option<f64>,
    /// Connections of the first stage that reaches 95 % of it; `null` in the open loop too.
    pub knee_connections: Option<u32>,
    /// Mean achieved rate of the stages from there on that stay within 10 % of the peak, per second;
    /// `null` in the open loop, and where the rate did not flatten before the climb's end.
    pub plateau_rps: Option<f64>,
}
