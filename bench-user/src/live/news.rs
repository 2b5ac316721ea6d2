//! What the ladder tells, as owned data that can be handed to another thread.

use crate::ladder::{Climb, Position, StageSample};
use crate::load::SoFar;
use crate::observe::ThreadShare;
use crate::record::{Bottleneck, StageRecord};

/// Something that happened.
#[derive(Debug, Clone)]
pub enum News {
    /// A target gets a warm-up before the first climb.
    Warms(String),
    /// A stage begins its warm-up.
    StageBegins(Climb, Position),
    /// A run of a job begins.
    JobBegins(Climb),
    /// A look inside the window.
    Sampled {
        /// As in the record.
        sample: Box<StageSample>,
        /// The busiest threads at it.
        busiest: Vec<ThreadShare>,
        /// The whole stage so far.
        so_far: SoFar,
    },
    /// A stage, or a run of a job, is over.
    Done(Box<Finished>),
    /// A target ended by itself and is not climbed again.
    Died(Climb),
    /// A climb is over and its target stopped.
    Ended(Climb),
}

/// A stage that is over, as far as it is shown.
#[derive(Debug, Clone)]
pub struct Finished {
    /// Whose climb.
    pub climb: Climb,
    /// Which stage.
    pub position: Position,
    /// What it achieved per second; `None` for a job.
    pub rate: Option<f64>,
    /// How long a job took, ns.
    pub wall_ns: Option<u64>,
    /// 99th percentile of the response time, ns.
    pub response_ns_p99: Option<u64>,
    /// Syscalls per complete response.
    pub syscalls_per_request: Option<f64>,
    /// What limited it.
    pub bottleneck: Bottleneck,
    /// The stop rule that it tripped, or why a job failed, as a sentence.
    pub stopped_by: Option<String>,
    /// No conclusion may rest on it, or only some.
    pub is_invalid: bool,
    /// Its samples, as in the record.
    pub samples: Vec<StageSample>,
}

impl Finished {
    /// What is shown of a stage that was just recorded.
    #[must_use]
    pub fn of(climb: Climb, position: Position, stage: &StageRecord) -> Self {
        let syscalls = stage.syscalls.value().and_then(|syscalls| syscalls.per_request);
        let job = stage.job.as_ref();
        Self {
            climb,
            position,
            rate: job.is_none().then(|| stage.load.rate()),
            wall_ns: job.map(|job| job.wall_ns),
            response_ns_p99: stage.load.response_ns.p99,
            syscalls_per_request: syscalls,
            bottleneck: stage.verdict.bottleneck,
            stopped_by: job
                .and_then(|job| job.failed.clone())
                .or_else(|| stage.verdict.stopped_by.clone()),
            is_invalid: !stage.verdict.invalid.is_empty(),
            samples: stage.samples.clone(),
        }
    }
}
