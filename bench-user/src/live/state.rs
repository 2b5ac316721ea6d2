//! Where a run is: what has happened so far, and what of it is shown.

use super::ahead::{self, Unit};
use super::pace::Pace;
use super::{Finished, News, Outline};
use crate::ladder::{Climb, Position, StageSample};
use crate::load::SoFar;
use crate::observe::ThreadShare;

/// Where in the plan's course a run is.
#[derive(Debug, Clone)]
pub(super) struct Course {
    /// What is under way, or comes next without anything between.
    pub(super) unit: Unit,
    /// Place in the order of the climb under way, or the next one.
    pub(super) next: usize,
    /// How many levels each target's last climb had.
    pub(super) levels: Vec<Option<usize>>,
    /// Targets that ended by themselves.
    pub(super) dead: Vec<bool>,
    /// A rule ended the ladder of the climb under way.
    pub(super) is_tripped: bool,
}

impl Course {
    /// Places of the climbs that are not over.
    pub(super) fn unfinished<'c>(
        &'c self,
        outline: &'c Outline,
    ) -> impl Iterator<Item = usize> + 'c {
        (self.next..outline.climbs.len()).filter(|n| !self.dead[outline.climbs[*n].target])
    }

    /// The climb under way, or the next one.
    pub(super) fn climb(&self, outline: &Outline) -> Option<Climb> {
        let climbing = outline.climbs.get(self.next).filter(|_| self.unit != Unit::Way);
        climbing.copied().or_else(|| self.unfinished(outline).next().map(|n| outline.climbs[n]))
    }

    pub(super) fn is_over(&self, outline: &Outline) -> bool {
        self.unfinished(outline).next().is_none()
    }
}

/// The stage, or the run of a job, under way.
#[derive(Debug, Clone)]
pub struct Under {
    /// Whose climb.
    pub climb: Climb,
    /// Which stage; `None` for a job.
    pub position: Option<Position>,
    /// When it began, ns.
    pub began_ns: u64,
    /// Its samples so far.
    pub samples: Vec<StageSample>,
    /// The busiest threads at the last look that read them.
    pub busiest: Vec<ThreadShare>,
    /// What its stop rules see.
    pub so_far: Option<SoFar>,
}

/// What a run does at an instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Nothing was started yet, or the last target is being stopped.
    Around,
    /// A target is started, or the one before it stopped.
    Way,
    /// Between two stages.
    Rest,
    /// Load, not measured.
    WarmUp,
    /// The window, or a job.
    Window,
    /// What is in flight is waited for.
    CoolDown,
}

/// A run at an instant.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Now {
    /// Number of the stage, or run of a job, that is under way or next, from 1.
    pub number: usize,
    /// How many there will be, as far as can be told.
    pub of: usize,
    /// There may be fewer.
    pub is_at_most: bool,
    /// Time left, ns; `None` where nothing is known of it yet.
    pub left_ns: Option<u64>,
    /// Since the run began, ns.
    pub elapsed_ns: u64,
    /// What it does.
    pub phase: Phase,
}

impl Now {
    /// How much is done, 0..=1: of the time where what is left is known, else of the stages.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "for a bar")]
    pub fn share(&self) -> f64 {
        match self.left_ns {
            Some(left) => self.elapsed_ns as f64 / (self.elapsed_ns + left).max(1) as f64,
            None => (self.number - 1) as f64 / self.of.max(1) as f64,
        }
    }
}

/// A run as it goes on.
#[derive(Debug, Clone)]
pub struct State {
    /// The plan's course.
    pub outline: Outline,
    /// What is over, in its order.
    pub finished: Vec<Finished>,
    /// What is under way.
    pub under: Option<Under>,
    /// The name of a target that gets a warm-up before the first climb.
    pub warms: Option<String>,
    pub(super) course: Course,
    pace: Pace,
    began_ns: u64,
    /// When the unit under way began.
    since_ns: u64,
}

impl State {
    /// A run that begins now.
    #[must_use]
    pub fn new(outline: Outline, now_ns: u64) -> Self {
        let targets = outline.targets.len();
        let course = Course {
            unit: Unit::Way,
            next: 0,
            levels: vec![None; targets],
            dead: vec![false; targets],
            is_tripped: false,
        };
        Self {
            outline,
            finished: Vec::new(),
            under: None,
            warms: None,
            course,
            pace: Pace::new(targets),
            began_ns: now_ns,
            since_ns: now_ns,
        }
    }

    /// Takes in what happened at that instant.
    pub fn take(&mut self, news: News, at_ns: u64) {
        match news {
            News::Warms(name) => self.warms = Some(name),
            News::StageBegins(climb, position) => self.stage_begins(climb, position, at_ns),
            News::JobBegins(climb) => {
                self.course.next = self.place_of(climb);
                self.course.unit = Unit::Stage { place: 0, is_control: false };
                self.begins(climb, None, at_ns);
            }
            News::Sampled { sample, busiest, so_far } => {
                let Some(under) = &mut self.under else { return };
                under.samples.push(*sample);
                under.so_far = Some(so_far);
                if !busiest.is_empty() {
                    under.busiest = busiest;
                }
            }
            News::Done(finished) => self.done(*finished, at_ns),
            News::Died(climb) => self.course.dead[climb.target] = true,
            News::Ended(climb) => {
                self.under = None;
                self.climb_over(climb);
            }
        }
    }

    /// The run at this instant.
    #[must_use]
    pub fn now(&self, now_ns: u64) -> Now {
        let Self { outline, course, .. } = self;
        let elapsed_ns = now_ns.saturating_sub(self.since_ns);
        let ahead = ahead::stages(outline, course);
        let is_stage = usize::from(course.unit != Unit::Way);
        let of = self.finished.len() + is_stage + ahead;
        Now {
            number: (self.finished.len() + 1).min(of.max(1)),
            of,
            is_at_most: outline.is_search && !course.is_over(outline),
            left_ns: ahead::ns(outline, course, &self.pace, elapsed_ns),
            elapsed_ns: now_ns.saturating_sub(self.began_ns),
            phase: self.phase(now_ns),
        }
    }

    /// The name of the target under way, or the next one.
    #[must_use]
    pub fn target(&self) -> Option<&str> {
        let climb = self.course.climb(&self.outline)?;
        Some(&self.outline.targets[climb.target])
    }

    fn phase(&self, now_ns: u64) -> Phase {
        let Some(under) = &self.under else {
            let is_around = self.course.is_over(&self.outline) || self.finished.is_empty();
            return match self.course.unit {
                Unit::Way if is_around => Phase::Around,
                Unit::Way => Phase::Way,
                Unit::Stage { .. } => Phase::Rest,
            };
        };
        let since_ns = now_ns.saturating_sub(under.began_ns);
        let Outline { warmup_ns, window_ns, .. } = self.outline;
        match under.position {
            Some(_) if since_ns < warmup_ns => Phase::WarmUp,
            Some(_) if since_ns >= warmup_ns + window_ns => Phase::CoolDown,
            _ => Phase::Window,
        }
    }

    fn stage_begins(&mut self, climb: Climb, position: Position, at_ns: u64) {
        self.course.next = self.place_of(climb);
        if self.course.unit == Unit::Way {
            self.pace.way_took(at_ns.saturating_sub(self.since_ns));
            self.since_ns = at_ns;
            self.course.is_tripped = false;
        }
        let place = if position.is_control { self.outline.levels } else { position.index as usize };
        self.course.unit = Unit::Stage { place, is_control: position.is_control };
        self.begins(climb, Some(position), at_ns);
    }

    fn begins(&mut self, climb: Climb, position: Option<Position>, at_ns: u64) {
        self.warms = None;
        let (samples, busiest) = (Vec::new(), Vec::new());
        self.under =
            Some(Under { climb, position, began_ns: at_ns, samples, busiest, so_far: None });
    }

    fn done(&mut self, finished: Finished, at_ns: u64) {
        let took_ns = at_ns.saturating_sub(self.since_ns);
        let Finished { climb, position, .. } = finished;
        self.since_ns = at_ns;
        self.under = None;
        if self.outline.job_timeout_ns.is_some() {
            self.pace.run_took(climb.target, took_ns);
            self.course.next += 1;
            self.course.unit = Unit::Way;
            self.finished.push(finished);
            return;
        }
        let is_first = position.index == 0 && !position.is_control;
        if !self.course.dead[climb.target] {
            self.pace.stage_took(took_ns, self.outline.stage_ns(is_first));
        }
        self.course.is_tripped |= finished.stopped_by.is_some();
        self.finished.push(finished);
        match self.unit_after(climb, position) {
            Unit::Way => self.climb_over(climb),
            stage => self.course.unit = stage,
        }
    }

    /// No stage of a climb comes any more, though its target may still have to be stopped.
    fn climb_over(&mut self, climb: Climb) {
        let of_it = |f: &&Finished| f.climb == climb && !f.position.is_control;
        let levels = self.finished.iter().filter(of_it).count();
        self.course.levels[climb.target] = Some(levels).filter(|n| *n > 0);
        self.course.next = self.place_of(climb) + 1;
        self.course.unit = Unit::Way;
    }

    /// What comes after a stage. Where a search ends is known when its climb has.
    fn unit_after(&self, climb: Climb, position: Position) -> Unit {
        let place = position.index as usize + 1;
        if position.is_control || self.course.dead[climb.target] {
            Unit::Way
        } else if !self.course.is_tripped && place < self.outline.levels {
            Unit::Stage { place, is_control: false }
        } else if self.outline.has_control(climb) {
            Unit::Stage { place: self.outline.levels, is_control: true }
        } else {
            Unit::Way
        }
    }

    fn place_of(&self, climb: Climb) -> usize {
        let order = &self.outline.climbs;
        order.iter().position(|other| *other == climb).unwrap_or(self.course.next)
    }
}
