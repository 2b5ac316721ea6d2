//! What a plan has ahead, as far as it is shown: climbs in their order, stages, their lengths.

use crate::ladder::{Climb, climbs, search};
use crate::plan::{Objective, Plan, Protocol, StopRules};

/// The plan's course.
#[derive(Debug, Clone)]
pub struct Outline {
    /// Name of the run.
    pub name: String,
    /// Names of the targets.
    pub targets: Vec<String>,
    /// Climbs of every target, or runs of every job.
    pub repeat: u32,
    /// All climbs in their order.
    pub climbs: Vec<Climb>,
    /// Stages of a ladder, the control stage not among them; of a search, the most that there can
    /// be.
    pub levels: usize,
    /// How many stages a search takes is known at its end.
    pub is_search: bool,
    /// What a search is to hold.
    pub objective: Option<Objective>,
    /// Which targets have control stages.
    pub has_control: Vec<bool>,
    /// The first climbs, which have none.
    pub discard: u32,
    /// Runs of jobs: the longest that one may take, ns.
    pub job_timeout_ns: Option<u64>,
    /// Length of a warm-up, ns.
    pub warmup_ns: u64,
    /// Length of a window, ns.
    pub window_ns: u64,
    /// Rest between two stages, ns.
    pub pause_ns: u64,
    /// When a ladder ends.
    pub stop: StopRules,
    /// Connections hold streams open: what comes on them is counted at the end of a stage.
    pub is_held: bool,
}

impl Outline {
    /// The course of a plan.
    #[must_use]
    pub fn of(plan: &Plan) -> Self {
        let Plan { ladder, observe, .. } = plan;
        let levels = ladder.levels().len();
        let is_search = ladder.find_rate.is_some() && plan.job.is_none();
        let is_watched = |target: &crate::plan::TargetSpec| !target.is_address_alone();
        let controls = plan.job.is_none() && observe.control && observe.enabled;
        Self {
            name: plan.name.clone(),
            targets: plan.targets.iter().map(|target| target.name.clone()).collect(),
            repeat: plan.repeat,
            climbs: climbs(plan.targets.len(), plan.repeat, plan.order),
            levels: match levels {
                _ if plan.job.is_some() => 1,
                0 => 1 + search::STAGES_MAX,
                levels => levels,
            },
            is_search,
            objective: ladder.find_rate.clone().filter(|_| is_search),
            has_control: plan.targets.iter().map(|t| controls && is_watched(t)).collect(),
            discard: plan.discard,
            job_timeout_ns: plan.job.as_ref().map(|job| job.timeout.as_ns()),
            warmup_ns: ladder.warmup.as_ns(),
            window_ns: ladder.duration.as_ns(),
            pause_ns: ladder.pause.as_ns(),
            stop: plan.stop.clone(),
            is_held: match plan.load.protocol {
                Protocol::Sse | Protocol::Idle => true,
                Protocol::Websocket => plan.load.websocket == crate::plan::WebsocketMode::Listen,
                Protocol::Http1 | Protocol::Http2 | Protocol::Grpc => false,
            },
        }
    }

    /// Whether a climb ends with a control stage, if its ladder could be climbed.
    #[must_use]
    pub fn has_control(&self, climb: Climb) -> bool {
        self.has_control[climb.target] && climb.repetition >= self.discard
    }

    /// What a stage takes by the plan, ns; the first of a climb has no pause before it.
    #[must_use]
    pub fn stage_ns(&self, is_first: bool) -> u64 {
        let pause_ns = if is_first { 0 } else { self.pause_ns };
        pause_ns + self.warmup_ns + self.window_ns
    }
}
