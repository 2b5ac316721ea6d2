//! Which stages of a record count: the observed ones of the repetitions that the plan does not
//! discard, gathered by what they held: connections, and the rate of an open loop.

use super::validity::Judge;
use crate::plan::{Level, Plan};
use crate::record::{RunRecord, StageRecord, TargetRecord};

/// One level of the ladder with its stage of every counted repetition.
#[derive(Debug, Clone)]
pub struct Step<'r> {
    /// What it held.
    pub level: Level,
    /// By repetition; never empty.
    pub stages: Vec<&'r StageRecord>,
    /// What is asked of them.
    pub judge: Judge<'r>,
}

impl Step<'_> {
    /// Whether most of its stages have a rate that says something of the target.
    #[must_use]
    pub fn has_a_rate(&self) -> bool {
        let fit = |stage: &&&StageRecord| self.judge.is_fit(stage, "load.achieved_rps").is_ok();
        self.stages.iter().filter(fit).count() * 2 > self.stages.len()
    }
}

/// The counted stages of a target, in the order of its ladder: closed stages in that of the plan,
/// open ones by their rate, because a search for a rate goes up and down.
#[must_use]
pub fn steps<'r>(run: &'r RunRecord, target: &'r TargetRecord) -> Vec<Step<'r>> {
    steps_of(&run.plan, target, |stage| stage.repetition >= run.plan.discard)
}

/// The same of the stages that are chosen, less the control stages.
pub(super) fn steps_of<'r>(
    plan: &'r Plan,
    target: &'r TargetRecord,
    is_chosen: impl Fn(&StageRecord) -> bool,
) -> Vec<Step<'r>> {
    let chosen = target.stages.iter().filter(|s| is_chosen(s) && !is_control(target, s));
    let mut counted: Vec<&StageRecord> = chosen.collect();
    let judge = Judge::of(plan, target);
    let rate = |s: &StageRecord| s.offered_rps.unwrap_or(0.0);
    counted.sort_by(|a, b| {
        rate(a).total_cmp(&rate(b)).then((a.index, a.repetition).cmp(&(b.index, b.repetition)))
    });
    counted
        .chunk_by(|a, b| a.level() == b.level())
        .map(|stages| Step { level: stages[0].level(), stages: stages.to_vec(), judge })
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
        s.observed && s.repetition == control.repetition && s.level() == control.level()
    };
    if control.observed { None } else { target.stages.iter().find(same) }
}

/// Every control stage behind the observed stage that it repeats, of the closed loop: in the open
/// loop the rate is the schedule's, with the probes and without.
#[must_use]
pub fn controlled(target: &TargetRecord) -> Vec<(&StageRecord, &StageRecord)> {
    let pair = |control| {
        let observed = twin(target, control).filter(|stage| stage.offered_rps.is_none())?;
        Some((observed, control))
    };
    target.stages.iter().filter_map(pair).collect()
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
        let shape: Vec<_> = steps.iter().map(|s| (s.level.connections, s.stages.len())).collect();
        assert_eq!(shape, [(10, 2), (20, 2)]);
        let pairs = controlled(&run.targets[0]);
        let rates: Vec<_> = pairs.iter().map(|(o, c)| (o.load.rate(), c.load.rate())).collect();
        assert_eq!(rates, [(1000.0, 1100.0)]);
    }

    #[test]
    fn stages_of_one_number_of_connections_are_told_apart_by_their_rate() {
        let open = |rps| {
            let mut stage = a_stage(10);
            stage.offered_rps = Some(rps);
            stage
        };
        let climb = |i| match i {
            0 => vec![open(400.0), open(800.0), open(600.0)],
            _ => vec![open(400.0), open(800.0), open(500.0)],
        };
        let run = a_run().target("a").repetitions(2, climb).done();
        let steps = steps(&run, &run.targets[0]);
        let shape: Vec<_> = steps.iter().map(|s| (s.level.short(), s.stages.len())).collect();
        let expect = [("400", 2), ("500", 1), ("600", 1), ("800", 2)];
        assert_eq!(shape, expect.map(|(rate, n)| (rate.to_owned(), n)));
    }

    #[test]
    fn without_probes_the_stages_count_all_the_same() {
        let mut stage = a_stage(10);
        stage.observed = false;
        let run = a_run().target("a").stage(0, stage).done();
        assert_eq!(steps(&run, &run.targets[0]).len(), 1);
        assert!(controlled(&run.targets[0]).is_empty());
    }
}
