//! The plan's targets as jobs: each command is run to its end, again and again in the plan's order,
//! and every run is handed on as a stage without load.
//!
//! What a target wants to be run before each run of it is over before the instruments are there.

use std::path::Path;

use anyhow::{Context as _, Result, bail};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::climb::Expedition;
use super::execution::{Ending, Execution, Watched, execute, run_out};
use super::{Climb, Event, Interrupt, Places, Position, RunEnd, Sink, StageDone, schedule};
use crate::host::topology::Placement;
use crate::load::LoadSample;
use crate::measured::Measured;
use crate::observe::{ObserverSet, Sample};
use crate::plan::{JobSpec, Level, Plan, TargetSpec};
use crate::target::{
    Exit, JobPlaces, Spawned, Target, TargetKind, before_log, ensure_last_process_is_seen,
    prepare_before, prepare_job,
};

/// One run of a job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JobRun {
    /// From its release to the end of the last process of its cgroup, ns.
    pub wall_ns: u64,
    /// How much one run does, in the plan's unit; `null` where the plan does not say.
    pub work: Option<f64>,
    /// How its main process ended.
    pub exit: Exit,
    /// Why it is no run that a figure may be taken of, as the end of a sentence about it; `null`
    /// for one that went well.
    pub failed: Option<String>,
}

impl JobRun {
    fn of(job: &JobSpec, execution: &Execution) -> Self {
        let Execution { wall_ns, exit, ending, .. } = execution;
        let failed = match (ending, exit.code) {
            (Ending::TimedOut, _) => {
                Some(format!("took longer than its `timeout` of {} and was ended", job.timeout))
            }
            (Ending::Unseen, _) => Some(
                "cannot be timed: whether processes of it ran on could not be read in its cgroup"
                    .to_owned(),
            ),
            // Its main process may not have looked at what became of the others.
            (_, Some(0)) if exit.oom_killed.value() == Some(&true) => {
                Some("lost a process to the kernel's OOM killer".to_owned())
            }
            (_, Some(0)) => None,
            _ => Some(format!("failed: {exit}")),
        };
        Self { wall_ns: *wall_ns, work: job.work, exit: exit.clone(), failed }
    }
}

/// Runs every job of a plan as often as it says.
///
/// # Errors
/// Whatever keeps one from being run, or the sink from keeping it. A job that fails is no error.
pub(super) fn run(
    (plan, job): (&Plan, &JobSpec),
    places: Places<'_>,
    interrupt: &Interrupt,
    sink: &mut dyn Sink,
) -> Result<RunEnd> {
    // No load needs CPUs of its own, so every job may use all.
    let mut expedition = Expedition::new(plan, Placement::without_load(), interrupt, places);
    let ended = run_all(&mut expedition, job, sink);
    let stopped = expedition.services.stop(sink);
    ended.and_then(|end| stopped.map(|()| end))
}

/// Everything of a run that its services are needed for.
fn run_all(expedition: &mut Expedition<'_>, job: &JobSpec, sink: &mut dyn Sink) -> Result<RunEnd> {
    let plan = expedition.plan;
    ensure_last_process_is_seen()?;
    // Minutes of one job are lost when the program of another then is not there.
    for spec in &plan.targets {
        Target::can_start(spec).with_context(|| format!("target `{}`", spec.name))?;
    }
    expedition.start_services()?;
    expedition.try_probes(sink)?;
    for climb in schedule::climbs(plan.targets.len(), plan.repeat, plan.order) {
        if let Some(signal) = expedition.interrupt.signal() {
            return Ok(RunEnd::Interrupted(signal));
        }
        let spec = &plan.targets[climb.target];
        let ending = one(expedition, (job, spec), climb, sink)
            .with_context(|| format!("target `{}`", spec.name))?;
        if let Ending::Interrupted(signal) = ending {
            return Ok(RunEnd::Interrupted(signal));
        }
    }
    Ok(RunEnd::Done)
}

/// One run of one job; one that a signal ended is not handed on.
fn one(
    expedition: &mut Expedition<'_>,
    (job, spec): (&JobSpec, &TargetSpec),
    climb: Climb,
    sink: &mut dyn Sink,
) -> Result<Ending> {
    let places = JobPlaces { run_id: expedition.run_id, logs_dir: expedition.logs, shim: None };
    let interrupt = expedition.interrupt;
    let timeout_ns = Some(job.timeout.as_ns());
    let watched = Watched { interrupt, timeout_ns, to_the_last_process: true };
    if let Some(before) = prepare_before(spec, places)? {
        let ending = run_before(before, (job, spec), places.logs_dir, watched)?;
        if matches!(ending, Ending::Interrupted(_)) {
            return Ok(ending);
        }
    }
    expedition.services.look(sink)?;
    measured(expedition, (job, spec), prepare_job(spec, places)?, climb, watched, sink)
}

/// What is run before a run; an end other than a good one or a signal's is an error.
fn run_before(
    before: Spawned,
    (job, spec): (&JobSpec, &TargetSpec),
    logs_dir: &Path,
    watched: Watched<'_>,
) -> Result<Ending> {
    let Execution { ending, exit, .. } = execute(before, None, watched)?;
    let said = || logs_dir.join(before_log(spec)).display().to_string();
    match ending {
        Ending::Ended if exit.code != Some(0) => {
            bail!("its `before` failed ({exit}); its last words are in {}", said())
        }
        Ending::TimedOut => bail!(
            "its `before` took longer than {}, the `timeout` of [job], which is for it too: raise \
             that, or look what it does in {}",
            job.timeout,
            said()
        ),
        Ending::Unseen => bail!(
            "whether its `before` left processes behind could not be read in its cgroup: is the \
             cgroup tree still mounted?"
        ),
        Ending::Ended | Ending::Interrupted(_) => Ok(ending),
    }
}

/// Releases a job, watches it to its end and hands its run on, unless a signal ended it.
fn measured(
    expedition: &mut Expedition<'_>,
    (job, spec): (&JobSpec, &TargetSpec),
    spawned: Spawned,
    climb: Climb,
    watched: Watched<'_>,
    sink: &mut dyn Sink,
) -> Result<Ending> {
    let handle = spawned.handle(&spec.name, TargetKind::Command, Vec::new());
    let mut observers = expedition.observers(&handle, true);
    let missing = observers.as_ref().and_then(ObserverSet::probes_missing);
    if let Some(why) = missing {
        sink.event(Event::Warning(&format!("no probes: {why}")))?;
    }
    let position = Position {
        index: 0,
        repetition: climb.repetition,
        observed: observers.is_some() && missing.is_none(),
        is_control: false,
        connections: Level::JOB.connections,
        offered_rps: None,
    };
    sink.event(Event::JobBegins { climb, handle: &handle })?;
    if let Some(observers) = &mut observers {
        observers.begin();
    }
    let services_before = expedition.services.read();
    let over = run_out(spawned, observers, watched)?;
    let services = expedition.services.since(&services_before);
    let execution = over.counted();
    expedition.services.look(sink)?;
    let ending = execution.ending;
    if !matches!(ending, Ending::Interrupted(_)) {
        let run = JobRun::of(job, &execution);
        let kernel = execution
            .sample
            .map_or_else(|| Sample::empty("the kernel side was not asked for"), without_before);
        let done = Box::new(StageDone {
            position,
            before: None,
            load: LoadSample::default(),
            job: Some(run),
            kernel,
            requests: 0,
            services,
            samples: Vec::new(),
            stopped_by: None,
        });
        sink.event(Event::StageDone { climb, done })?;
    }
    Ok(ending)
}

/// What a server has before its first connection, a job has not.
fn without_before(mut sample: Sample) -> Sample {
    let why = "there is nothing before a job: its cgroup begins with it";
    sample.cgroup.memory_before_bytes = Measured::unavailable(why);
    sample
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ran(ending: Ending, code: Option<i32>, signal: Option<&str>) -> JobRun {
        let signal = signal.map(str::to_owned);
        let exit =
            Exit { code, signal, oom_killed: Measured::Value(false), restarts: None, by_us: false };
        let execution = Execution { wall_ns: 5, exit, ending, sample: None };
        JobRun::of(&JobSpec { work: Some(2.0), ..JobSpec::default() }, &execution)
    }

    #[test]
    fn only_a_whole_run_with_exit_code_0_went_well() {
        let well = ran(Ending::Ended, Some(0), None);
        assert_eq!((well.wall_ns, well.work, well.failed), (5, Some(2.0), None));
        let said = |run: JobRun| run.failed.unwrap();
        assert_eq!(said(ran(Ending::Ended, Some(3), None)), "failed: exit code 3");
        assert_eq!(said(ran(Ending::Ended, None, Some("SIGKILL"))), "failed: killed by SIGKILL");
        let late = said(ran(Ending::TimedOut, Some(0), None));
        assert_eq!(late, "took longer than its `timeout` of 10m and was ended");
        let unseen = said(ran(Ending::Unseen, Some(0), None));
        assert!(unseen.starts_with("cannot be timed"), "{unseen}");
    }
}
