//! What the user asked for, validated: the vocabulary of a run.
//!
//! A `Plan` comes from a TOML file (`file.rs`), from the command line (`flags/`), or from the
//! embedded default (`default.rs`); after validation (`validate/`) nothing in it can surprise a
//! later module. It is stored whole in the record. This module does no I/O besides reading the
//! files that a plan names.

mod claim;
pub mod default;
mod error;
mod explain;
pub mod file;
pub mod flags;
mod job;
mod level;
mod load;
mod objective;
mod service;
mod target;
mod valid;
pub mod validate;

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use crate::tls::TlsSpec;
pub use claim::{ClaimSpec, NamedStages, StageSelector};
pub use error::PlanError;
pub(crate) use error::suggest;
pub use explain::Explain;
pub use job::JobSpec;
pub use level::Level;
pub(crate) use level::is_zero;
pub use load::{Arrivals, CatchUp, Client, Family, LoadSpec, Protocol, WebsocketMode};
pub use objective::{Condition, Figure, Objective};
pub use service::ServiceSpec;
pub use target::{Builtin, TargetSpec, UrlSource};
pub use valid::{ShareLimit, ValidRules};

use crate::units::{Share, Span};

/// One run: targets, ladder, rules, repetitions and the claims about them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Names the run folder and the report.
    #[serde(default = "default_name")]
    pub name: String,
    /// How many times the whole ladder is climbed per target.
    #[serde(default = "one")]
    pub repeat: u32,
    /// How many of the first repetitions are kept in the record but left out of the analysis.
    #[serde(default)]
    pub discard: u32,
    /// In which order targets and repetitions alternate.
    #[serde(default)]
    pub order: Order,
    /// The load levels.
    #[serde(default)]
    pub ladder: Ladder,
    /// The targets are programs that run to their end, not servers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<JobSpec>,
    /// When a ladder ends early; decided before the run.
    #[serde(default)]
    pub stop: StopRules,
    /// When a stage may carry conclusions.
    #[serde(default)]
    pub valid: ValidRules,
    /// How requests are made.
    #[serde(default)]
    pub load: LoadSpec,
    /// Whether and how the kernel side is watched.
    #[serde(default)]
    pub observe: ObserveSpec,
    /// What is measured; at least one.
    #[serde(default, rename = "target")]
    pub targets: Vec<TargetSpec>,
    /// What runs beside the targets because they need it, and is not measured.
    #[serde(default, rename = "service", skip_serializing_if = "Vec::is_empty")]
    pub services: Vec<ServiceSpec>,
    /// A TOML file of `[[claim]]` tables, read besides the inline ones, relative to the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claims_file: Option<PathBuf>,
    /// Statements to check.
    #[serde(default, rename = "claim")]
    pub claims: Vec<ClaimSpec>,
}

/// How the repetitions of several targets alternate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// A B B A A B ...: a drift of the machine does not look like a difference of targets.
    #[default]
    Interleaved,
    /// Every repetition of A, then every one of B.
    Serial,
}

/// The load levels of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ladder {
    /// Connections of each stage, each kept busy back to back (closed loop).
    #[serde(default = "default_connections")]
    pub connections: Vec<u32>,
    /// Requests per second of each stage, sent by a schedule whether or not earlier ones were
    /// answered (open loop) over the one number of `connections`; empty: closed loop.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rates: Vec<f64>,
    /// Instead of fixed rates: the highest rate that holds this objective is searched for, over
    /// the first number of `connections`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub find_rate: Option<Objective>,
    /// Length of the measured window of a stage.
    #[serde(default = "default_duration")]
    pub duration: Span,
    /// Load before the window, not measured.
    #[serde(default = "default_warmup")]
    pub warmup: Span,
    /// Rest between two stages.
    #[serde(default = "default_pause")]
    pub pause: Span,
}

impl Ladder {
    /// The levels in order: of rates where there are any, else of connections; none where the rates
    /// are searched for.
    #[must_use]
    pub fn levels(&self) -> Vec<Level> {
        if self.find_rate.is_some() {
            return Vec::new();
        }
        let closed = |&connections: &u32| Level { connections, offered_rps: None };
        if self.rates.is_empty() {
            return self.connections.iter().map(closed).collect();
        }
        let connections = self.connections.first().copied().unwrap_or(1);
        let open = |&rps: &f64| Level { connections, offered_rps: Some(rps) };
        self.rates.iter().map(open).collect()
    }
}

/// When a ladder ends early. The stage that trips a rule is kept and marked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StopRules {
    /// Failed requests (connect, reset, early close, timeout, protocol, not sent) beyond which
    /// the ladder ends; `false` turns the rule off.
    #[serde(default = "limit_zero")]
    pub errors: Limit,
    /// Responses whose status is not 2xx beyond which the ladder ends; `false` turns it off.
    #[serde(default = "limit_zero")]
    pub non_2xx: Limit,
    /// The ladder ends when the 99th percentile reaches this; `false` turns it off.
    #[serde(default = "default_p99")]
    pub p99: SpanLimit,
}

/// A count that ends the ladder when it is passed, or `false`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Limit {
    /// Passed when more than this many are seen.
    MoreThan(u64),
    /// `false`: the rule is off (`true` is refused by validation).
    Switch(bool),
}

/// A duration that ends the ladder when it is reached, or `false`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum SpanLimit {
    /// Reached at this value or above.
    AtLeast(Span),
    /// `false`: the rule is off (`true` is refused by validation).
    Switch(bool),
}

/// Whether and how the kernel side is watched.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ObserveSpec {
    /// `false`: client numbers only.
    #[serde(default = "yes")]
    pub enabled: bool,
    /// Between two samples inside a stage.
    #[serde(default = "default_interval")]
    pub interval: Span,
    /// Repeats the last stage of every counted repetition with the probes detached, for the
    /// throughput ratio with and without them.
    #[serde(default = "yes")]
    pub control: bool,
    /// Why a stage is slow, from the kernel: `"all"` or a list of kinds.
    #[serde(default, deserialize_with = "explain::kinds", skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "explain::AllOrKinds")]
    pub explain: Vec<Explain>,
    /// Most that the probes may cost, as a share of the CPU time of target and load; what passes
    /// it is taken off, the most expensive explanation first, and at last the run is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_overhead: Option<Share>,
    /// aya-log output of the probes (needs an object built with it).
    #[serde(default)]
    pub probe_log: bool,
}

fn default_name() -> String {
    "run".into()
}
const fn one() -> u32 {
    1
}
const fn yes() -> bool {
    true
}
fn default_connections() -> Vec<u32> {
    vec![10, 20, 30, 50, 100, 200, 400, 800, 1600]
}
const fn default_duration() -> Span {
    Span::from_secs(30)
}
const fn default_warmup() -> Span {
    Span::from_secs(5)
}
const fn default_pause() -> Span {
    Span::from_secs(1)
}
const fn limit_zero() -> Limit {
    Limit::MoreThan(0)
}
const fn default_p99() -> SpanLimit {
    SpanLimit::AtLeast(Span::from_secs(1))
}
const fn default_interval() -> Span {
    Span(std::time::Duration::from_millis(500))
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            name: default_name(),
            repeat: one(),
            discard: 0,
            order: Order::default(),
            ladder: Ladder::default(),
            job: None,
            stop: StopRules::default(),
            valid: ValidRules::default(),
            load: LoadSpec::default(),
            observe: ObserveSpec::default(),
            targets: Vec::new(),
            services: Vec::new(),
            claims_file: None,
            claims: Vec::new(),
        }
    }
}

impl Default for Ladder {
    fn default() -> Self {
        Self {
            connections: default_connections(),
            rates: Vec::new(),
            find_rate: None,
            duration: default_duration(),
            warmup: default_warmup(),
            pause: default_pause(),
        }
    }
}

impl Default for StopRules {
    fn default() -> Self {
        Self { errors: limit_zero(), non_2xx: limit_zero(), p99: default_p99() }
    }
}

impl Default for ObserveSpec {
    fn default() -> Self {
        Self {
            enabled: true,
            interval: default_interval(),
            control: true,
            explain: Vec::new(),
            max_overhead: None,
            probe_log: false,
        }
    }
}
