//! Runs stages and takes both readings at the same boundary: the only module that knows both
//! `load` and `observe`.
//!
//! What is finished goes to a [`Sink`] at once, so that nothing is lost when a later stage
//! fails. The ladder writes no file and judges nothing but its stop rules.

mod after;
mod ascent;
mod climb;
mod death;
pub mod execution;
mod holds;
mod interrupt;
mod job;
mod join;
mod left_behind;
mod looks;
mod overhead;
mod rest;
mod schedule;
pub mod search;
mod services;
mod setup;
mod stage;
mod stop;

use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use url::Url;

pub use after::After;
pub use holds::outcome;
pub use interrupt::{Interrupt, Waited};
pub use job::JobRun;
pub use rest::Before;
pub use schedule::{Climb, climbs};
pub use services::ServiceUse;

use self::climb::Expedition;
use self::death::DeathWatch;
use crate::cpu_list;
use crate::host::{CgroupTrees, topology};
use crate::load::{self, LoadSample, SoFar};
use crate::measured::Measured;
use crate::observe::{ProbeEstimate, Sample, ThreadShare};
use crate::plan::Plan;
use crate::target::{Exit, Idle, Target, TargetHandle};

/// Which stage of which climb.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Position {
    /// Place in the ladder, from 0.
    pub index: u32,
    /// Which climb, from 0.
    pub repetition: u32,
    /// The probes are attached.
    pub observed: bool,
    /// It repeats a stage without the probes.
    pub is_control: bool,
    /// Connections of the stage.
    pub connections: u32,
    /// Requests per second of an open loop.
    pub offered_rps: Option<f64>,
}

/// A finished stage, both sides.
#[derive(Debug, Clone)]
pub struct StageDone {
    /// Which one.
    pub position: Position,
    /// What was left behind by the one before; `None` for a job, which does not feel it.
    pub before: Option<Before>,
    /// The client's side; the default for a job, which has none.
    pub load: LoadSample,
    /// A run of a job; `None` for a stage of load.
    pub job: Option<JobRun>,
    /// The kernel's side.
    pub kernel: Sample,
    /// Complete responses between the two kernel readings.
    pub requests: u64,
    /// What runs beside the target, in the plan's order.
    pub services: Vec<ServiceUse>,
    /// Looks inside the window.
    pub samples: Vec<StageSample>,
    /// The stop rule that it tripped, as a sentence.
    pub stopped_by: Option<String>,
}

/// One look inside a stage.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct StageSample {
    /// Since the start of the window, ms; the figures are of the time since the sample before.
    pub t_ms: f64,
    /// Complete responses per second.
    pub achieved_rps: f64,
    /// Median of the response time, ns, to 1 %; `null` where nothing ended in the interval.
    #[serde(default)]
    pub response_ns_p50: Option<u64>,
    /// 99th percentile of the response time, ns; `null` where the interval has too few.
    pub response_ns_p99: Option<u64>,
    /// Syscalls per second.
    pub syscalls_per_sec: Option<f64>,
    /// Context switches per second.
    pub switches_per_sec: Option<f64>,
    /// CPUs used.
    pub cpu_ratio: Option<f64>,
    /// Busiest thread's share on a CPU.
    pub busiest_thread_ratio: Option<f64>,
    /// Memory in use, bytes.
    pub memory_bytes: Option<u64>,
    /// Processes and threads.
    pub pids: Option<u64>,
    /// Held back by the quota, ns.
    pub throttled_ns: Option<u64>,
    /// Connections that wait at its listeners to be accepted.
    #[serde(default)]
    pub accept_queue: Option<u64>,
}

/// Something that is finished or begins.
pub enum Event<'a> {
    /// The probes were tried, before the first climb.
    ProbesTried(&'a Measured<ProbeEstimate>),
    /// A target runs, was not loaded yet, and gets a warm-up before the first climb, for the limit
    /// on what the probes cost.
    Warmed {
        /// Place of the target in the plan.
        place: usize,
        /// The target.
        target: &'a Target,
    },
    /// A target runs and is ready.
    Started {
        /// Whose climb.
        climb: Climb,
        /// The target.
        target: &'a Target,
        /// What it held when it was ready, before it was asked for more.
        idle: &'a Idle,
        /// What will be requested.
        urls: &'a Arc<[Url]>,
    },
    /// A stage begins its warm-up.
    StageBegins {
        /// Whose climb.
        climb: Climb,
        /// Which stage.
        position: Position,
    },
    /// A look inside the window of a stage, as it will be among the samples of its record; one that
    /// is told late may lack the client's percentiles.
    Sampled {
        /// The look.
        sample: &'a StageSample,
        /// The busiest threads at it.
        busiest: &'a [ThreadShare],
        /// The whole stage, as the stop rules see it.
        so_far: SoFar,
    },
    /// A job is ready to be released.
    JobBegins {
        /// Which of its runs.
        climb: Climb,
        /// Where it is watched.
        handle: &'a TargetHandle,
    },
    /// The target ended by itself.
    Died {
        /// Whose climb.
        climb: Climb,
        /// How, where it can be known.
        exit: Option<&'a Exit>,
    },
    /// A stage is finished, whole or cut short.
    StageDone {
        /// Whose climb.
        climb: Climb,
        /// Both sides of it.
        done: Box<StageDone>,
    },
    /// A climb is over and its target is stopped.
    Ended {
        /// Whose climb.
        climb: Climb,
        /// How it was after its last stage; `None` when the climb was cut short.
        after: Option<&'a After>,
        /// How the target ended, for one that we started.
        exit: Option<&'a Exit>,
    },
    /// A service ended by itself, or was stopped at the end of the run.
    ServiceEnded {
        /// Its place in the plan.
        service: usize,
        /// How.
        exit: Exit,
    },
    /// Something that the user should know now.
    Warning(&'a str),
}

/// Takes what is finished, as it is finished.
pub trait Sink {
    /// Takes one event.
    ///
    /// # Errors
    /// When it cannot be kept; the run ends.
    fn event(&mut self, event: Event<'_>) -> Result<()>;
}

/// Where a run finds and leaves its files.
#[derive(Debug, Clone, Copy)]
pub struct Places<'a> {
    /// Names the cgroups that are made.
    pub run_id: &'a str,
    /// Gets the output of commands.
    pub logs: &'a Path,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunEnd {
    /// Every climb was done.
    Done,
    /// A signal ended it.
    Interrupted(&'static str),
}

/// Climbs every ladder of a plan.
///
/// A target that ends by itself is not climbed again. A climb that fails ends the run with its
/// error; what was finished before is with the sink.
///
/// # Errors
/// Whatever keeps a target from starting, the load from running, or the sink from keeping it.
pub fn run(
    plan: &Plan,
    places: Places<'_>,
    interrupt: &Interrupt,
    sink: &mut dyn Sink,
) -> Result<RunEnd> {
    if let Some(job) = &plan.job {
        return job::run((plan, job), places, interrupt, sink);
    }
    let load_cpus =
        plan.load.cpus.as_deref().map(cpu_list::parse).transpose().map_err(anyhow::Error::msg)?;
    let mut placement = topology::split(plan.load.workers, load_cpus.as_deref())?;
    if !placement.target_cpus.is_empty() && !CgroupTrees::discover()?.can_limit("cpuset") {
        sink.event(Event::Warning(
            "a started target is not kept off the CPUs of the load: no cgroup of ours can have \
             the cpuset controller here (`bench-user doctor`)",
        ))?;
        placement.target_cpus.clear();
    }
    let most = plan.ladder.connections.iter().max().copied().unwrap_or(0);
    load::check_headers(&plan.load.headers)?;
    load::ensure_dialable(&setup::dial(&plan.load), most)?;
    load::ensure_descriptors(most, placement.workers, load::descriptors_in_use())?;
    let mut expedition = Expedition::new(plan, placement, interrupt, places);
    let ended = climb_all(&mut expedition, sink);
    let stopped = expedition.services.stop(sink);
    ended.and_then(|end| stopped.map(|()| end))
}

/// Everything of a run that its services are needed for.
fn climb_all(expedition: &mut Expedition<'_>, sink: &mut dyn Sink) -> Result<RunEnd> {
    let Expedition { plan, interrupt, .. } = *expedition;
    expedition.start_services()?;
    if let Some(signal) = interrupt.signal() {
        return Ok(RunEnd::Interrupted(signal));
    }
    expedition.find_all()?;
    expedition.try_probes(sink)?;
    expedition.keep_limit(sink)?;
    let mut dead = vec![false; plan.targets.len()];
    for climb in schedule::climbs(plan.targets.len(), plan.repeat, plan.order) {
        if let Some(signal) = interrupt.signal() {
            return Ok(RunEnd::Interrupted(signal));
        }
        if dead[climb.target] {
            continue;
        }
        let mut watch = DeathWatch { sink, died: false };
        expedition.climb(climb, &mut watch)?;
        dead[climb.target] = watch.died;
    }
    Ok(interrupt.signal().map_or(RunEnd::Done, RunEnd::Interrupted))
}
