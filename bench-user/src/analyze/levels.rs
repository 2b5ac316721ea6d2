//! Which stages of a record count: the observed ones of the repetitions that the plan does not
//! discard, gathered by their place in the ladder.

use crate::record::{RunRecord, StageRecord, TargetRecord};

/// One place in the ladder with its stage of every counted repetition.
#[derive(Debug, Clone)]
pub struct Step<'r> {
    /// Place in the ladder; the same in every target.
    pub index: u32,
    /// Connections.
    pub connections: u32,
    /// By repetition; never empty.
    pub stages: Vec<&'r StageRecord>,
}

/// The counted stages of a target, in the order of its ladder.
#[must_use]
pub fn steps<'r>(run: &RunRecord, target: &'r TargetRecord) -> Vec<Step<'r>> {
    let mut counted: Vec<&StageRecord> = target
        .stages
        .iter()
        .filter(|s| s.repetition >= run.plan.discard && !is_control(target, s))
        .collect();
    counted.sort_by_key(|s| (s.index, s.repetition));
    counted
        .chunk_by(|a, b| a.index == b.index)
        .map(|stages| Step {
            index: stages[0].index,
            connections: stages[0].connections,
            stages: stages.to_vec(),
        })
        .collect()
}

/// Whether a stage repeats an observed one with the probes detached, and so does not count.
#[must_use]
pub fn is_control(target: &TargetRecord, stage: &StageRecord) -> bool {
    twin(target, stage).is_some()
}

/// The observed stage that a control stage repeats. A run that observes nothing has no twins,
/// so that its stages count.
fn twin<'r>(target: &'r TargetRecord, control: &StageRecord) -> Option<&'r StageRecord> {
    let same = |s: &&StageRecord| {
        s.observed && s.repetition == control.repetition && s.connections == control.connections
    };
    if control.observed { None } else { target.stages.iter().find(same) }
}

/// Achieved rate without the probes over the rate with them, the median of all control stages;
/// `None` without one.
#[must_use]
pub fn control_ratio(target: &TargetRecord) -> Option<f64> {
    let ratios: Vec<f64> = target
        .stages
        .iter()
        .filter_map(|control| {
            let observed = twin(target, control)?;
            let rate = observed.load.rate();
            (rate > 0.0).then(|| control.load.rate() / rate)
        })
        .collect();
    super::bootstrap::median(&ratios)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyze::builder::{a_run, a_stage};

    #[test]
    fn discarded_repetitions_and_control_stages_do_not_count() {
        let mut control = a_stage(20);
        control.observed = false;
        control.load.achieved_rps = 1100.0;
        let run = a_run()
            .target("a")
            .discard(1)
            .repetitions(3, |_| vec![a_stage(10), a_stage(20)])
            .stage(0, control)
            .done();
        let steps = steps(&run, &run.targets[0]);
        let shape: Vec<_> = steps.iter().map(|s| (s.connections, s.stages.len())).collect();
        assert_eq!(shape, [(10, 2), (20, 2)]);
        assert_eq!(control_ratio(&run.targets[0]), Some(1.1));
    }

    #[test]
    fn without_probes_the_stages_count_all_the_same() {
        let mut stage = a_stage(10);
        stage.observed = false;
        let run = a_run().target("a").stage(0, stage).done();
        assert_eq!(steps(&run, &run.targets[0]).len(), 1);
        assert_eq!(control_ratio(&run.targets[0]), None);
    }
}
