//! What analysis and claims add to a record: plain data, computed elsewhere.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::plan::{self, ClaimSpec};

/// What limited a stage.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// The answer, of a closed set.
    pub bottleneck: Bottleneck,
    /// The figures that decided it, as sentences.
    pub evidence: Vec<String>,
    /// The stop rule that ended the ladder here, as a sentence; `null` when none did.
    pub stopped_by: Option<String>,
    /// Why no conclusion may rest on the stage, or only some may, as sentences; empty: it is valid.
    #[serde(default)]
    pub invalid: Vec<String>,
}

/// What limited a stage.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Bottleneck {
    /// One thread was on a CPU for at least 95 % of the window.
    SingleThread,
    /// Every CPU that it may use was busy.
    Cpu,
    /// Its CPU quota held it back.
    CpuQuota,
    /// Its threads waited for CPUs that others held.
    RunQueue,
    /// Its memory limit or memory pressure.
    Memory,
    /// Connections were dropped because an accept queue was full.
    AcceptQueue,
    /// The load generator.
    Client,
    /// The target ended.
    TargetDied,
    /// Nothing: it was not saturated.
    None,
    /// The measurements do not say: figures are missing, or the rate no longer rose with the
    /// connections and nothing that is looked at was full.
    #[default]
    Unknown,
}

/// A figure with its uncertainty.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Estimate {
    /// Median over the counted repetitions (with one: the stage's own figure).
    pub value: f64,
    /// Lower end of the 95 % interval (with 3 or 4 repetitions: of the range that was seen);
    /// `null` where the data gives none.
    pub low: Option<f64>,
    /// Upper end of the same.
    pub high: Option<f64>,
    /// Repetitions behind it.
    pub repetitions: u32,
    /// With one or two repetitions the interval comes from the samples inside the stages (block
    /// bootstrap) and says nothing of the noise between runs.
    pub within_stage: bool,
}

/// Findings over the whole run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Analysis {
    /// One for every target, in the plan's order.
    pub ladders: Vec<LadderFindings>,
    /// Differences between targets, stage by stage; the first target is what the others are
    /// compared with.
    pub pairs: Vec<PairFinding>,
}

/// Findings about one target's ladder.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct LadderFindings {
    /// Name of the target.
    pub target: String,
    /// Medians of the counted repetitions, by stage.
    pub levels: Vec<Level>,
    /// Stage with the highest achieved rate, of those whose rate is valid in most counted
    /// repetitions, by its connections; `null` where none is.
    pub peak_connections: Option<u32>,
    /// The rate that was offered there; `null` in the closed loop.
    #[serde(default)]
    pub peak_offered_rps: Option<f64>,
    /// The highest achieved rate, per second.
    pub peak_rps: Option<f64>,
    /// Closed loop: first stage that reaches 95 % of the peak. Open loop: stage with the highest
    /// achieved rate over p99 response time. By its connections.
    pub knee_connections: Option<u32>,
    /// The rate that was offered there; `null` in the closed loop.
    #[serde(default)]
    pub knee_offered_rps: Option<f64>,
    /// Why there is no knee; `null` where there is one.
    #[serde(default)]
    pub knee_absent: Option<String>,
    /// Closed loop: mean achieved rate of the stages from the knee on that stay within 10 % of the peak, per
    /// second; `null` when the ladder ends before it flattens (the knee is its last stage), and in
    /// the open loop, where the rate is given.
    pub plateau_rps: Option<f64>,
    /// The most frequent bottleneck from the knee on; `unknown` where two were equally frequent.
    pub plateau_bottleneck: Option<Bottleneck>,
    /// Universal Scalability Law over the closed stages; `null` with fewer than four.
    pub usl: Option<UslFit>,
    /// Closed stages whose connections differ from achieved rate times mean response time by more
    /// than 5 % (Little's law), as sentences.
    pub little_violations: Vec<String>,
    /// Achieved rate of the control stage (probes detached) over the observed one's; `null`
    /// without a control stage.
    pub control_ratio: Option<f64>,
    /// The other way round and with its interval: achieved rate with the probes over that
    /// without, 1.0 where they cost nothing; `null` without a control stage.
    #[serde(default)]
    pub observed_ratio: Option<Estimate>,
    /// What should keep a reader from trusting a figure, as sentences.
    pub warnings: Vec<String>,
    /// What a search for a rate found; `null` where none was asked for.
    #[serde(default)]
    pub found_rate: Option<FoundRate>,
}

/// The highest rate that holds an objective, over the counted repetitions.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct FoundRate {
    /// The objective.
    pub objective: String,
    /// Median of the highest rates that held it, per second; `null` where a climb found none.
    pub rps: Option<f64>,
    /// Lowest of them.
    pub low: Option<f64>,
    /// Highest of them; with `low` the range that was seen.
    pub high: Option<f64>,
    /// One for every climb.
    pub climbs: Vec<FoundByClimb>,
}

/// What the search of one climb found.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct FoundByClimb {
    /// Which climb of the ladder, from 0.
    pub repetition: u32,
    /// Highest rate that held the objective, per second.
    pub holds_at: Option<f64>,
    /// Lowest rate that did not, per second.
    pub fails_at: Option<f64>,
    /// What failed there, as a sentence; `null` without such a rate.
    pub failed: Option<String>,
    /// Why the search ended, as a sentence.
    pub why: String,
}

/// One stage over its counted repetitions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Level {
    /// Connections; left out for a job.
    #[serde(default, skip_serializing_if = "plan::is_zero")]
    pub connections: u32,
    /// Requests per second that were offered; `null` in the closed loop.
    #[serde(default)]
    pub offered_rps: Option<f64>,
    /// By metric name (as in claims).
    pub metrics: BTreeMap<String, Estimate>,
    /// The bottleneck that most repetitions showed; `unknown` where two were equally frequent.
    pub bottleneck: Bottleneck,
}

/// X(N) = lambda N / (1 + sigma (N - 1) + kappa N (N - 1)), Gunther 1993.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UslFit {
    /// Rate of one connection, per second.
    pub lambda: f64,
    /// Contention.
    pub sigma: f64,
    /// Coherency.
    pub kappa: f64,
    /// Root mean square of the relative residuals.
    pub residual: f64,
}

/// One metric of one stage, target against target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PairFinding {
    /// The target that is compared.
    pub of: String,
    /// What it is compared with.
    pub against: String,
    /// Connections of the stage; left out for a job.
    #[serde(default, skip_serializing_if = "plan::is_zero")]
    pub connections: u32,
    /// Requests per second that were offered; `null` in the closed loop.
    #[serde(default)]
    pub offered_rps: Option<f64>,
    /// Metric name.
    pub metric: String,
    /// (of - against) / against: -0.4 is 40 % less.
    pub change: Estimate,
    /// The interval of the change excludes zero, comes from five repetitions or more, and every
    /// stage is fit to carry a conclusion. Of a hundred comparisons of equal targets about five
    /// may say so by chance.
    pub differs: bool,
}

/// A claim and what became of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClaimResult {
    /// The claim.
    pub claim: ClaimSpec,
    /// The answer over all its stages: fails if one stage fails, else the least certain one.
    pub verdict: ClaimVerdict,
    /// Why, in one sentence with the figures.
    pub because: String,
    /// Stage by stage.
    pub stages: Vec<StageClaim>,
}

/// The answer to a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ClaimVerdict {
    /// The whole interval meets the bound.
    Holds,
    /// The whole interval misses it.
    Fails,
    /// The interval straddles it, there is no interval, or the stage is not fit for a claim.
    Inconclusive,
    /// The metric was not measured.
    Unavailable,
}

/// A claim in one stage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StageClaim {
    /// Connections of the stage; left out for a job.
    #[serde(default, skip_serializing_if = "plan::is_zero")]
    pub connections: u32,
    /// Requests per second that were offered; `null` in the closed loop.
    #[serde(default)]
    pub offered_rps: Option<f64>,
    /// The answer here.
    pub verdict: ClaimVerdict,
    /// The figure that was compared: the metric, or its relative change; `null` for a bottleneck
    /// and an expression, and where it was not measured.
    pub figure: Option<Estimate>,
    /// The metric of the target that the claim is about.
    pub of: Option<f64>,
    /// The metric of the other target.
    pub against: Option<f64>,
    /// Why, in one sentence.
    pub because: String,
}

impl LadderFindings {
    /// What the stage with the highest rate held.
    #[must_use]
    pub fn peak(&self) -> Option<plan::Level> {
        let offered_rps = self.peak_offered_rps;
        self.peak_connections.map(|connections| plan::Level { connections, offered_rps })
    }

    /// What the stage at the knee held.
    #[must_use]
    pub fn knee(&self) -> Option<plan::Level> {
        let offered_rps = self.knee_offered_rps;
        self.knee_connections.map(|connections| plan::Level { connections, offered_rps })
    }
}

impl Level {
    /// What the stage held.
    #[must_use]
    pub fn level(&self) -> plan::Level {
        plan::Level { connections: self.connections, offered_rps: self.offered_rps }
    }
}

impl PairFinding {
    /// What the stage held.
    #[must_use]
    pub fn level(&self) -> plan::Level {
        plan::Level { connections: self.connections, offered_rps: self.offered_rps }
    }
}

impl StageClaim {
    /// What the stage held.
    #[must_use]
    pub fn level(&self) -> plan::Level {
        plan::Level { connections: self.connections, offered_rps: self.offered_rps }
    }
}
