//! What a run leaves behind: plain, versioned serde data, enough to make every report again.
//!
//! The field comments are the reference of the format. Only `store` touches files; nothing
//! here touches the measured system.

mod climb;
mod findings;
mod store;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use climb::{ClimbFindings, Start};
pub use findings::{
    Analysis, Bottleneck, ClaimResult, ClaimVerdict, Estimate, FoundByClimb, FoundRate,
    LadderFindings, Level, PairFinding, StageClaim, UslFit, Verdict,
};
pub use store::{RunDir, StoreError, parse, read, text};

use crate::host::HostInfo;
pub use crate::ladder::{After, Before, JobRun, ServiceUse, StageSample};

use crate::ladder::StageDone;
use crate::load::LoadSample;
use crate::measured::Measured;
use crate::observe::{
    CgroupUse, EndedGroup, Explained, MachineUse, Net, ObserverCost, PerfCount, ProbeEstimate,
    Sched, Syscalls, Thread,
};
use crate::plan::{self, Plan};
use crate::target::{Exit, Idle, Image, TargetKind};

/// The `schema` field of every record that this version writes.
pub const SCHEMA: &str = "bench-user/run/1";

/// The JSON Schema of a record, from the types that write it.
#[must_use]
pub fn schema() -> serde_json::Value {
    let mut schema = schemars::schema_for!(RunRecord);
    schema.insert("$id".into(), SCHEMA.into());
    schema.insert("title".into(), SCHEMA.into());
    let mut schema = serde_json::Value::from(schema);
    // Another version of the format is another schema, so this one accepts only its own name.
    schema["properties"]["schema"]["const"] = SCHEMA.into();
    schema
}

/// Names a run after the time of its start (RFC 3339) and a random part, so that two runs begun
/// in the same second get different folders: `20261130-101500-00c0ffee`.
#[must_use]
pub fn new_id(started_at: &str, random: u32) -> String {
    let digits: String = started_at.chars().filter(char::is_ascii_digit).take(14).collect();
    let (date, time) = digits.split_at(digits.len().min(8));
    format!("{date}-{time}-{random:08x}")
}

/// One run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunRecord {
    /// `bench-user/run/1`.
    pub schema: String,
    /// Names the run: date, time and a random part.
    pub id: String,
    /// UTC, RFC 3339.
    pub started_at: String,
    /// What made the record.
    pub tool: Tool,
    /// What was asked for.
    pub plan: Plan,
    /// The machine.
    pub host: HostInfo,
    /// What the probes would add to the events of this machine, tried before the run.
    #[serde(default)]
    pub probe_estimate: Measured<ProbeEstimate>,
    /// One for every target of the plan, in its order.
    pub targets: Vec<TargetRecord>,
    /// One for every service of the plan, in its order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub services: Vec<ServiceRecord>,
    /// Findings over the whole run; `null` until its end.
    pub analysis: Option<Analysis>,
    /// The claims and what became of them.
    pub claims: Vec<ClaimResult>,
    /// Why the run ended before its plan was done; `null` when it was done.
    pub interrupted: Option<String>,
}

/// What made the record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tool {
    /// Version of `bench-user`.
    pub version: String,
}

/// One target and its stages.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TargetRecord {
    /// Name in the plan.
    pub name: String,
    /// How it was found.
    pub kind: TargetKind,
    /// The cgroup v2 directory that was watched.
    pub cgroup: Measured<String>,
    /// How many addresses were requested in turn, and the first of them; left out for a job.
    #[serde(default, skip_serializing_if = "Urls::is_none")]
    pub urls: Urls,
    /// A container's image; `null` for other kinds.
    pub image: Option<Image>,
    /// From the start of a command (of an image: from the order to its engine) to its first good
    /// answer, ms; `null` for one that ran already.
    pub startup_ms: Option<f64>,
    /// Before the first request; `null` until it was looked at.
    pub idle: Option<Idle>,
    /// Whether it still answered after its last stage; `null` while it has stages to come.
    pub final_health: Option<bool>,
    /// How it ended; `null` for a target that runs on.
    pub exit: Option<Exit>,
    /// What a reader should know of how it was found, as sentences.
    #[serde(default)]
    pub notes: Vec<String>,
    /// A user-space proxy that requests passed on their way to it, as a sentence with the remedy;
    /// `null` where none was seen.
    #[serde(default)]
    pub proxy: Option<String>,
    /// In the order they ran.
    pub stages: Vec<StageRecord>,
}

/// A service that ran beside the targets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServiceRecord {
    /// Name in the plan.
    pub name: String,
    /// How it ended; `null` while it runs, and where it was not started.
    pub exit: Option<Exit>,
}

/// The addresses of a target.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Urls {
    /// How many.
    pub count: usize,
    /// The first one.
    pub first: String,
}

impl Urls {
    /// A job has none.
    #[must_use]
    pub const fn is_none(&self) -> bool {
        self.count == 0 && self.first.is_empty()
    }
}

/// Closed or open loop, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Loop {
    /// Every connection sends its next request when the last was answered.
    Closed,
    /// Requests are sent by a schedule.
    Open,
    /// There are no requests: a program runs to its end.
    Job,
}

/// One stage: a load level held for a time, seen from both sides, or one run of a job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StageRecord {
    /// Place in the ladder, from 0.
    pub index: u32,
    /// Which climb of the ladder, from 0.
    pub repetition: u32,
    /// The probes were attached; `false` for a control stage, and where there were none.
    pub observed: bool,
    /// Closed or open loop, or a job.
    #[serde(rename = "loop")]
    pub kind: Loop,
    /// Connections asked for; left out for a job.
    #[serde(default, skip_serializing_if = "plan::is_zero")]
    pub connections: u32,
    /// Requests per second that the schedule wanted; `null` in the closed loop.
    pub offered_rps: Option<f64>,
    /// Length of the measured window, s.
    pub duration_s: f64,
    /// What the stage before had left behind when it began; `null` in records that are older than
    /// this figure.
    #[serde(default)]
    pub before: Option<Before>,
    /// How the target began the climb that the stage is of; `null` in records that are older than
    /// this.
    #[serde(default)]
    pub start: Option<Start>,
    /// How the target was when that climb was over; `null` where it was cut short, and left out of
    /// records that are older than this and of those of jobs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<After>,
    /// Where that climb had its limits; left out while it goes on, and of jobs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub climb: Option<ClimbFindings>,
    /// The client's side; left out for a job.
    #[serde(default, skip_serializing_if = "LoadSample::is_none")]
    pub load: LoadSample,
    /// The run of a job; left out for a stage of load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<JobRun>,
    /// Complete responses between the two kernel readings: the denominator of `per_request`.
    #[serde(default)]
    pub observed_requests: u64,
    /// Syscalls of the cgroup.
    pub syscalls: Measured<Syscalls>,
    /// Scheduling of its threads.
    pub sched: Measured<Sched>,
    /// Its threads, busiest first.
    pub threads: Measured<Vec<Thread>>,
    /// Those that ended, by name.
    #[serde(default)]
    pub ended: Measured<Vec<EndedGroup>>,
    /// perf counters by name.
    pub perf: std::collections::BTreeMap<String, Measured<PerfCount>>,
    /// The cgroup's own books.
    pub cgroup: CgroupUse,
    /// TCP: its listeners, and the counters of its network namespace.
    pub net: Measured<Net>,
    /// CPU time of the whole machine.
    #[serde(default)]
    pub machine: Measured<MachineUse>,
    /// What the services beside the target did, in the plan's order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub services: Vec<ServiceUse>,
    /// Why it was slow, as far as that was asked for.
    #[serde(default)]
    pub explain: Explained,
    /// What observing cost and lost.
    pub observer_cost: ObserverCost,
    /// Inside the stage, in order of time.
    pub samples: Vec<StageSample>,
    /// What limited the stage.
    pub verdict: Verdict,
}

impl StageRecord {
    /// What it held.
    #[must_use]
    pub fn level(&self) -> plan::Level {
        plan::Level { connections: self.connections, offered_rps: self.offered_rps }
    }
}

impl From<StageDone> for StageRecord {
    fn from(done: StageDone) -> Self {
        let StageDone { position, before, load, job, kernel, .. } = done;
        let StageDone { requests, services, samples, stopped_by, .. } = done;
        let window_ns = job.as_ref().map_or(load.window_ns, |job| job.wall_ns);
        #[expect(clippy::cast_precision_loss, reason = "a window is far below 2^53 ns")]
        let duration_s = window_ns as f64 / 1e9;
        let kind = match (&job, position.offered_rps) {
            (Some(_), _) => Loop::Job,
            (None, Some(_)) => Loop::Open,
            (None, None) => Loop::Closed,
        };
        Self {
            index: position.index,
            repetition: position.repetition,
            observed: position.observed,
            kind,
            connections: position.connections,
            offered_rps: position.offered_rps,
            duration_s,
            before,
            start: None,
            after: None,
            climb: None,
            load,
            job,
            observed_requests: requests,
            syscalls: kernel.syscalls,
            sched: kernel.sched,
            threads: kernel.threads,
            ended: kernel.ended,
            perf: kernel.perf,
            cgroup: kernel.cgroup,
            net: kernel.net,
            machine: kernel.machine,
            services,
            explain: kernel.explain,
            observer_cost: kernel.observer_cost,
            samples,
            verdict: Verdict { stopped_by, ..Verdict::default() },
        }
    }
}
