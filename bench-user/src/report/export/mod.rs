//! A run for other tools: its figures as CSV, its histograms as an HdrHistogram interval
//! log, its stacks for flame graphs, its claims for CI systems, its last stages as series for Prometheus and OpenTelemetry.

pub(super) mod csv;
pub(super) mod github;
pub(super) mod hlog;
pub(super) mod junit;
pub(super) mod otlp;
pub(super) mod prometheus;
pub(super) mod series;
pub(super) mod stacks;

use crate::analyze::levels;
use crate::record::{RunRecord, StageRecord, TargetRecord};

/// A stage and what it is in the run.
struct Exported<'a> {
    target: &'a TargetRecord,
    stage: &'a StageRecord,
    /// `counted` in the analysis, `discarded` as the plan wants, or a `control` stage, which
    /// repeats another one with the probes detached.
    role: &'static str,
}

/// Every stage, in the record's order.
fn stages(run: &RunRecord) -> Vec<Exported<'_>> {
    let mut stages = Vec::new();
    for target in &run.targets {
        for stage in &target.stages {
            let role = if levels::is_control(target, stage) {
                "control"
            } else if stage.repetition < run.plan.discard {
                "discarded"
            } else {
                "counted"
            };
            stages.push(Exported { target, stage, role });
        }
    }
    stages
}
