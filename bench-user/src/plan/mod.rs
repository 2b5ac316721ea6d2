//! What the user asked for, validated: the vocabulary of a run.
//!
//! A `Plan` comes from a TOML file (`file.rs`), from the command line, or from the embedded
//! default; after validation nothing in it can surprise a later module. It is stored whole in
//! the record. This module does no I/O besides reading the files that a plan names.

use std::collections::BTreeMap;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use url::Url;

use crate::units::{Bytes, Span};

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
    /// When a ladder ends early; decided before the run.
    #[serde(default)]
    pub stop: StopRules,
    /// How requests are made.
    #[serde(default)]
    pub load: LoadSpec,
    /// Whether and how the kernel side is watched.
    #[serde(default)]
    pub observe: ObserveSpec,
    /// What is measured; at least one.
    #[serde(default, rename = "target")]
    pub targets: Vec<TargetSpec>,
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

/// How requests are made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoadSpec {
    /// Worker threads, one runtime each; default: half of the CPUs, at least one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workers: Option<u32>,
    /// CPUs the workers are pinned to, as `"0-3,6"`; default: not pinned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<String>,
    /// A request without its last byte after this long is a timeout.
    #[serde(default = "default_timeout")]
    pub timeout: Span,
    /// Extra request headers.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
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
    /// Repeats the last stage of each ladder's first repetition with the probes detached, for the throughput ratio
    /// with and without them.
    #[serde(default = "yes")]
    pub control: bool,
    /// aya-log output of the probes (needs an object built with it).
    #[serde(default)]
    pub probe_log: bool,
}

/// One thing to measure. Exactly one of the ways to find it is set (`command`, `builtin`,
/// `container`, `cgroup`, `pid`, `unit`, or `url` alone).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TargetSpec {
    /// Name in the report and in claims.
    pub name: String,
    /// Program and arguments, started in a cgroup of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<Vec<String>>,
    /// A built-in server: `lean` or `chatty`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub builtin: Option<Builtin>,
    /// A running Docker or Podman container, by name or id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container: Option<String>,
    /// API socket of the container engine; default: the usual places and `DOCKER_HOST`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<String>,
    /// A cgroup v2 directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cgroup: Option<PathBuf>,
    /// A running process; its whole cgroup is watched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// A systemd unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// Moves a running target that has no v2 cgroup of its own into one that we make and remove.
    #[serde(default)]
    pub adopt: bool,
    /// Where requests go. A built-in server picks its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<Url>,
    /// The addresses to request in turn; default: `url` alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub urls: Option<UrlSource>,
    /// Path or URL that answers 2xx when the target is ready; default: `url` answers at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready: Option<String>,
    /// How long a started target may take until it is ready.
    #[serde(default = "default_ready_within")]
    pub ready_within: Span,
    /// Environment of a command, added to ours.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Working folder of a command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dir: Option<PathBuf>,
    /// CPU quota of a command, in CPUs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<f64>,
    /// CPUs that a command may run on, as `"0-3,6"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpuset: Option<String>,
    /// Memory limit of a command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Bytes>,
}

/// A server that comes with the tool. Both answer the same bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Builtin {
    /// One read and one write a request.
    Lean,
    /// One read a request and one write for every piece of the response.
    Chatty,
}

/// Where the list of addresses comes from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum UrlSource {
    /// `"crawl"`, or the path of a file with one address a line.
    Named(String),
    /// The addresses themselves, absolute or relative to `url`.
    List(Vec<String>),
}

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
    /// Stages by their connections.
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
const fn default_timeout() -> Span {
    Span::from_secs(10)
}
const fn default_interval() -> Span {
    Span(std::time::Duration::from_millis(500))
}
const fn default_ready_within() -> Span {
    Span::from_secs(60)
}

impl Default for Ladder {
    fn default() -> Self {
        Self {
            connections: default_connections(),
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

impl Default for LoadSpec {
    fn default() -> Self {
        Self { workers: None, cpus: None, timeout: default_timeout(), headers: BTreeMap::new() }
    }
}

impl Default for ObserveSpec {
    fn default() -> Self {
        Self { enabled: true, interval: default_interval(), control: true, probe_log: false }
    }
}

impl TargetSpec {
    /// A target of this name with every other key at its default; no way to find it is set yet.
    #[must_use]
    pub fn named(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            command: None,
            builtin: None,
            container: None,
            engine: None,
            cgroup: None,
            pid: None,
            unit: None,
            adopt: false,
            url: None,
            urls: None,
            ready: None,
            ready_within: default_ready_within(),
            env: BTreeMap::new(),
            dir: None,
            cpus: None,
            cpuset: None,
            memory: None,
        }
    }
}
