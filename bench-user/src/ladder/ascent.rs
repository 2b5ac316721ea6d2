//! The stages of one climb, from the first to the control stage: by the plan's levels, or by a
//! search for the highest rate that holds an objective.

use anyhow::Result;

use super::left_behind::LeftBehind;
use super::search::{self, Next, Tried};
use super::services::Services;
use super::stage::{self, End, Setting, Subject};
use super::{Climb, Event, Position, Sink, holds, rest};
use crate::load::{Generator, LoadSample};
use crate::observe::{ObserverSet, Options, Probes};
use crate::plan::{Level, Objective};
use crate::target::Target;

/// One climb under way.
pub(super) struct Ascent<'a> {
    pub(super) setting: Setting<'a>,
    pub(super) climb: Climb,
    pub(super) target: &'a mut Target,
    pub(super) services: &'a mut Services,
    pub(super) observers: Option<ObserverSet>,
    /// The probes are attached.
    pub(super) observed: bool,
    pub(super) generator: Generator,
    pub(super) sink: &'a mut dyn Sink,
}

/// A stage that was made.
struct Made {
    end: End,
    /// It tripped a stop rule.
    tripped: bool,
    /// `None` when a signal came before its window began.
    load: Option<LoadSample>,
}

impl Ascent<'_> {
    /// Makes all stages of the climb.
    pub(super) fn run(mut self) -> Result<End> {
        let (end, last) = match self.setting.plan.ladder.find_rate.clone() {
            Some(objective) => self.search(&objective)?,
            None => self.levels()?,
        };
        let plan = self.setting.plan;
        let is_counted = self.climb.repetition >= plan.discard;
        match last {
            Some(last) if end == End::Whole && plan.observe.control && is_counted => {
                self.control(last)
            }
            _ => Ok(end),
        }
    }

    /// The plan's levels in order, until a rule stops them.
    fn levels(&mut self) -> Result<(End, Option<Position>)> {
        let mut last = None;
        for (index, level) in (0..).zip(self.setting.plan.ladder.levels()) {
            let position = self.position(index, level);
            let made = self.stage(position)?;
            if made.end != End::Whole {
                return Ok((made.end, None));
            }
            last = Some(position);
            if made.tripped {
                break;
            }
        }
        Ok((End::Whole, last))
    }

    /// A closed stage for an estimate, then the rates of the search.
    fn search(&mut self, objective: &Objective) -> Result<(End, Option<Position>)> {
        let plan = self.setting.plan;
        let connections = plan.ladder.connections.first().copied().unwrap_or(1);
        let mut position = self.position(0, Level { connections, offered_rps: None });
        let made = self.stage(position)?;
        let estimate_rps = match (made.end, made.load) {
            (End::Whole, Some(load)) => load.achieved_rps,
            (end, _) => return Ok((end, None)),
        };
        let mut tried = Vec::new();
        loop {
            let rps = match search::next(estimate_rps, &tried) {
                Next::Try(rps) => rps,
                Next::Done(_why) => return Ok((End::Whole, Some(position))),
            };
            let level = Level { connections, offered_rps: Some(rps) };
            position = self.position(position.index + 1, level);
            let made = self.stage(position)?;
            let Some(load) = made.load.filter(|_| made.end == End::Whole) else {
                return Ok((made.end, None));
            };
            tried.push(Tried { rps, outcome: holds::outcome(objective, &plan.valid, &load) });
        }
    }

    /// The last stage once more, without the probes.
    fn control(mut self, last: Position) -> Result<End> {
        if !self.observed {
            return Ok(End::Whole);
        }
        // Before the stage, so that not even the hooks of an idle probe are there.
        drop(self.observers.take());
        let options = Options { probes: Probes::Detach, ..Options::default() };
        self.observers = Some(ObserverSet::attach(&self.target.handle, &options));
        let position = Position { observed: false, is_control: true, ..last };
        Ok(self.stage(position)?.end)
    }

    fn position(&self, index: u32, level: Level) -> Position {
        Position {
            index,
            repetition: self.climb.repetition,
            observed: self.observed,
            is_control: false,
            connections: level.connections,
            offered_rps: level.offered_rps,
        }
    }

    /// Runs a stage, after the rest before it, and hands it on at once.
    fn stage(&mut self, position: Position) -> Result<Made> {
        let none = |end| Made { end, tripped: false, load: None };
        let Self { setting, climb, target, services, observers, generator, sink, .. } = self;
        let climb = *climb;
        let is_first = position.index == 0 && !position.is_control;
        let pause = setting.plan.ladder.pause;
        let since_ns = crate::clock::now_ns();
        let deadline_ns = since_ns + if is_first { 0 } else { pause.as_ns() };
        let mut world = LeftBehind {
            target: &target.handle,
            sources: setting.plan.load.sources.len(),
            interrupt: setting.interrupt,
            since_ns,
        };
        let before = if setting.interrupt.wait_until(deadline_ns) {
            rest::wait(&mut world, position.connections, rest::longest(pause.0))
        } else {
            None
        };
        let Some(before) = before else { return Ok(none(End::Interrupted)) };
        services.look(*sink)?;
        sink.event(Event::StageBegins { climb, position })?;
        let subject = Subject { target, services, observers: observers.as_mut() };
        let (done, end) = stage::run(setting, (position, before), generator, subject, *sink)?;
        if end == End::Died {
            let exit = target.poll_exit();
            sink.event(Event::Died { climb, exit: exit.as_ref() })?;
        }
        let Some(done) = done else { return Ok(none(end)) };
        let made = Made { end, tripped: done.stopped_by.is_some(), load: Some(done.load.clone()) };
        sink.event(Event::StageDone { climb, done: Box::new(done) })?;
        Ok(made)
    }
}
