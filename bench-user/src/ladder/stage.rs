//! One stage: warm-up, measured window, cool-down, with the kernel read at the window's edges.
//!
//! ```text
//!  load    |-- warm-up --|============ window ============|-- cool-down --|
//!  kernel                R......L......L......L......L....R
//!                        readings, and looks every interval
//! ```
//!
//! The window is fixed before the load starts; the readings happen when this thread gets a CPU
//! after that instant. The rates of either side are over its own window, and the quotients over
//! the responses between the two readings, so a late reading shifts nothing.

use anyhow::Result;

use super::looks::Looks;
use super::services::Services;
use super::{Before, Interrupt, Position, Sink, StageDone, join, setup, stop};
use crate::clock;
use crate::load::{Generator, LoadSample, Progress, RunningLoad, Window};
use crate::measured::Measured;
use crate::observe::{Look, ObserverSet, Sample};
use crate::plan::Plan;
use crate::target::Target;

/// What all stages of a climb share.
pub(super) struct Setting<'a> {
    pub(super) plan: &'a Plan,
    pub(super) interrupt: &'a Interrupt,
    /// What the target's cgroup used before the first connection, bytes; `None`: not watched.
    pub(super) memory_before: Option<Measured<u64>>,
}

/// What a stage is made with, besides the load.
pub(super) struct Subject<'a> {
    pub(super) target: &'a mut Target,
    pub(super) services: &'a mut Services,
    pub(super) observers: Option<&'a mut ObserverSet>,
}

/// Why a stage ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// Its window was whole.
    Whole,
    /// The target ended.
    Died,
    /// A signal.
    Interrupted,
}

/// Runs one stage; `None` when a signal came before its window began.
pub(super) fn run(
    setting: &Setting<'_>,
    (position, before): (Position, Before),
    generator: &mut Generator,
    mut subject: Subject<'_>,
    sink: &mut dyn Sink,
) -> Result<(Option<StageDone>, End)> {
    let ladder = &setting.plan.ladder;
    let start_ns = clock::now_ns() + ladder.warmup.as_ns();
    let window = Window { start_ns, end_ns: start_ns + ladder.duration.as_ns() };
    let mut load = generator.begin(setup::of_stage(&setting.plan.load, position, window))?;

    if let Some(observers) = &mut subject.observers {
        observers.prepare();
        observers.begin_calibration();
    }
    if !setting.interrupt.wait_until(start_ns) {
        load.stop();
        drop(load.finish());
        return Ok((None, End::Interrupted));
    }
    if let Some(observers) = &mut subject.observers {
        observers.end_calibration();
    }
    let services_before = subject.services.read();
    let at_begin = load.progress();
    if let Some(observers) = &mut subject.observers {
        observers.begin();
    }
    let inside = inside(setting, &mut subject, &mut load, (&window, at_begin), sink);
    let at_end = load.progress();
    let Subject { target, services, observers } = subject;
    let kernel = observers.and_then(ObserverSet::end);
    let services = services.since(&services_before);
    let (looks, end) = match inside {
        Ok(seen) => seen,
        Err(error) => {
            load.stop();
            drop(load.finish());
            return Err(error);
        }
    };
    if end != End::Whole {
        load.stop();
    }
    let (sample, intervals) = load.finish();

    let mut kernel = kernel.unwrap_or_else(|| {
        let not_asked = "the kernel side was not asked for";
        Sample::empty(target.handle.cgroup.why().unwrap_or(not_asked))
    });
    let requests = at_end.completed - at_begin.completed;
    if let Some(before) = &setting.memory_before {
        kernel.cgroup.memory_before_bytes = before.clone();
    }
    join::per_request(&mut kernel, requests);
    let samples = looks.samples(&intervals);
    let stopped_by = stopped_by(setting.plan, end, &sample);
    let done = StageDone {
        position,
        before: Some(before),
        load: sample,
        job: None,
        kernel,
        requests,
        services,
        samples,
        stopped_by,
    };
    Ok((Some(done), end))
}

/// Why the ladder is to end after this stage, as a sentence; `None` where it goes on.
fn stopped_by(plan: &Plan, end: End, sample: &LoadSample) -> Option<String> {
    match end {
        End::Died => Some("the target ended in this stage".to_owned()),
        End::Interrupted => Some("a signal ended the run in this stage".to_owned()),
        // A search goes on below a rate that is too much.
        End::Whole if plan.ladder.find_rate.is_some() => None,
        End::Whole => stop::tripped(&plan.stop, sample),
    }
}

/// How often the target is asked whether it lives, ns: what fails after its end is not the
/// server's fault, so little of it may get into the stage.
const DEATH_POLL_NS: u64 = 20_000_000;

/// Looks every interval until the window ends, the target does, or a signal comes.
fn inside(
    setting: &Setting<'_>,
    subject: &mut Subject<'_>,
    load: &mut RunningLoad<'_>,
    (window, at_begin): (&Window, Progress),
    sink: &mut dyn Sink,
) -> Result<(Looks, End)> {
    let Subject { target, services, observers } = subject;
    let interval_ns = setup::interval_ns(setting.plan);
    let mut looks = Looks::new(window.start_ns, interval_ns, at_begin);
    let mut next = window.start_ns + interval_ns;
    loop {
        let poll = clock::now_ns() + DEATH_POLL_NS;
        if !setting.interrupt.wait_until(poll.min(next).min(window.end_ns)) {
            return Ok((looks, End::Interrupted));
        }
        if target.poll_exit().is_some() {
            return Ok((looks, End::Died));
        }
        services.look(sink)?;
        let now = clock::now_ns();
        if now >= window.end_ns {
            return Ok((looks, End::Whole));
        }
        if now >= next {
            let progress = load.progress();
            let look = match observers {
                Some(observers) => observers.look(),
                None => Look::of_time_alone(now, interval_ns),
            };
            looks.push(look, progress);
            // A look that came late does not make the next ones late, and none is made up for.
            while next <= clock::now_ns() {
                next += interval_ns;
            }
        }
        looks.tell(load, sink)?;
    }
}
