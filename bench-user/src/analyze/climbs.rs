//! Where each climb of a ladder had its limits: peak, knee and plateau over its own stages, and
//! where it ended.
//!
//! The findings over all climbs (`saturation.rs`) are of medians and have no interval. These are
//! figures of every climb, so that a claim about them has one. Jobs do not climb.

use std::collections::{BTreeMap, BTreeSet};

use super::levels;
use super::saturation;
use super::validity::{Judge, Rule};
use crate::plan::Plan;
use crate::record::{ClimbFindings, StageRecord, TargetRecord};

/// What every climb of a target that came to its end found, by its repetition.
#[must_use]
pub(super) fn of(plan: &Plan, target: &TargetRecord) -> BTreeMap<u32, ClimbFindings> {
    let stages = target.stages.iter().filter(|s| s.job.is_none());
    // Each climb once, however many stages it has.
    let repetitions: BTreeSet<u32> = stages.map(|s| s.repetition).collect();
    let found = |n| Some((n, climb(plan, target, n)?));
    repetitions.into_iter().filter_map(found).collect()
}

/// `None` for a climb that was cut short: nobody knows where it would have ended.
fn climb(plan: &Plan, target: &TargetRecord, repetition: u32) -> Option<ClimbFindings> {
    let steps = levels::steps_of(plan, target, |stage| stage.repetition == repetition);
    let last = steps.iter().flat_map(|s| &s.stages).max_by_key(|stage| stage.index)?;
    let is_stopped = last.verdict.stopped_by.is_some();
    let is_search = plan.ladder.find_rate.is_some();
    let is_last = u64::from(last.index) + 1 >= plan.ladder.levels().len() as u64;
    let is_over = last.after.is_some() || target.exit.as_ref().is_some_and(|exit| !exit.by_us);
    if !is_over || !(is_stopped || is_last || is_search) {
        return None;
    }

    let rates = saturation::rates(&steps);
    let peak = saturation::peak(&rates).filter(|&peak| {
        // An invalid stage that achieved more leaves open how much the target can do.
        rates.iter().all(|rate| rate.rps <= rates[peak].rps)
    });
    let is_open = rates.iter().any(|rate| rate.level.offered_rps.is_some());
    let closed_peak = peak.filter(|_| !is_open);
    let knee = closed_peak.and_then(|_| saturation::knee(&rates).ok());
    let has_died = last.after.is_none();
    let is_own = has_died || is_targets_own(&Judge::of(plan, target), last);
    let ended_by_target = !is_stopped || is_own;
    let own_end = Some(last).filter(|_| ended_by_target && !is_search);
    Some(ClimbFindings {
        last_connections: own_end.map(|last| last.connections),
        stopped_ratio: own_end.map(|_| f64::from(u8::from(is_stopped))),
        peak_rps: peak.map(|place| rates[place].rps),
        knee_connections: knee.map(|place| rates[place].level.connections),
        plateau_rps: closed_peak.and_then(|_| saturation::plateau(&rates)),
    })
}

/// Whether what stopped a climb can be laid to the target: a client without a CPU to spare, a proxy
/// or a service that had ended trips a rule as well.
fn is_targets_own(judge: &Judge, last: &StageRecord) -> bool {
    let foreign = |rule| {
        matches!(rule, Rule::Generator | Rule::Late | Rule::Proxy | Rule::Rest | Rule::Service)
    };
    !judge.reasons(last).iter().any(|reason| foreign(reason.rule))
}

/// Why a figure of a climb is `null`.
pub(super) fn absent(stage: &StageRecord, field: &str) -> &'static str {
    match (&stage.climb, field) {
        (None, _) => "its climb was cut short, or the record is older than this figure",
        (_, "last_connections" | "stopped_ratio") => {
            "what ended its climb was not the target, or the climb was a search for a rate"
        }
        (_, "peak_rps") => {
            "no stage of its climb is valid, none achieved anything, or an invalid one achieved more"
        }
        (Some(found), "plateau_rps") if found.knee_connections.is_some() => {
            "its climb ended before the rate flattened, or the stages after that are invalid"
        }
        _ => "its climb has no knee: the loop is open, or its peak is not known",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyze::builder::{a_run, a_stage};
    use crate::analyze::metrics::value;
    use crate::analyze::settle_verdicts;
    use crate::ladder::After;
    use crate::measured::Measured;
    use crate::record::RunRecord;

    fn a_climb(rates: &[(u32, f64)]) -> Vec<StageRecord> {
        let after = After {
            rss_bytes: Measured::Value(5),
            memory_current_bytes: Measured::Value(7),
            health_ratio: 1.0,
        };
        let stage = |&(connections, rps): &(u32, f64)| {
            let mut stage = StageRecord { after: Some(after.clone()), ..a_stage(connections) };
            stage.load.achieved_rps = rps;
            stage
        };
        rates.iter().map(stage).collect()
    }

    fn settled(mut run: RunRecord, ladder: &[u32]) -> RunRecord {
        run.plan.ladder.connections = ladder.to_vec();
        settle_verdicts(&mut run);
        run
    }

    const RISING: [(u32, f64); 4] = [(10, 500.0), (20, 960.0), (50, 1000.0), (100, 940.0)];

    #[test]
    fn a_climb_to_the_end_has_all_its_figures_in_every_stage() {
        let run = a_run().target("a").repetitions(1, |_| a_climb(&RISING)).done();
        let run = settled(run, &[10, 20, 50, 100]);
        let of = |name| value(&run.targets[0].stages[0], name);
        assert_eq!(of("climb.peak_rps"), Ok(1000.0));
        assert_eq!(of("climb.knee_connections"), Ok(20.0));
        // 960, 1000 and 940 are all within 10 % of the peak.
        assert!((of("climb.plateau_rps").unwrap() - 2900.0 / 3.0).abs() < 1e-9);
        assert_eq!(of("climb.last_connections"), Ok(100.0));
        assert_eq!(of("climb.stopped_ratio"), Ok(0.0));
        assert_eq!(of("after.health_ratio"), Ok(1.0));
        assert_eq!(of("after.rss_bytes"), Ok(5.0));
    }

    #[test]
    fn each_climb_has_its_own() {
        let climb = |n: u32| a_climb(&RISING[..if n == 0 { 2 } else { 4 }]);
        let mut run = a_run().target("a").repetitions(2, climb).done();
        run.targets[0].stages[1].verdict.stopped_by = Some("p99".into());
        let run = settled(run, &[10, 20, 50, 100]);
        let stages = &run.targets[0].stages;
        assert_eq!(value(&stages[0], "climb.last_connections"), Ok(20.0));
        assert_eq!(value(&stages[0], "climb.stopped_ratio"), Ok(1.0));
        assert_eq!(value(&stages[2], "climb.last_connections"), Ok(100.0));
        let why = value(&stages[0], "climb.plateau_rps").unwrap_err();
        assert!(why.contains("ended before the rate flattened"), "{why}");
    }

    #[test]
    fn a_climb_that_was_cut_short_has_none() {
        let run = a_run().target("a").repetitions(1, |_| a_climb(&RISING[..2])).done();
        let run = settled(run, &[10, 20, 50, 100]);
        let why = value(&run.targets[0].stages[0], "climb.peak_rps").unwrap_err();
        assert!(why.contains("cut short"), "{why}");
        let run = a_run().target("a").stage(0, a_stage(10)).done();
        let run = settled(run, &[10]);
        let why = value(&run.targets[0].stages[0], "after.health_ratio").unwrap_err();
        assert!(why.contains("cut short"), "{why}");
    }

    #[test]
    fn the_client_stops_no_climb_and_hides_the_peak() {
        let mut run = a_run().target("a").repetitions(1, |_| a_climb(&RISING[..3])).done();
        let last = &mut run.targets[0].stages[2];
        last.verdict.stopped_by = Some("p99".into());
        last.load.generator.limited = true;
        let run = settled(run, &[10, 20, 50, 100]);
        for name in ["climb.last_connections", "climb.stopped_ratio", "climb.peak_rps"] {
            assert!(value(&run.targets[0].stages[0], name).is_err(), "{name}");
        }
    }

    #[test]
    fn a_target_that_ended_ended_its_climb() {
        let mut stages = a_climb(&RISING[..2]);
        for stage in &mut stages {
            stage.after = None;
        }
        stages[1].verdict.stopped_by = Some("the target ended in this stage".into());
        // Whatever the client was like.
        stages[1].load.generator.limited = true;
        let mut run = a_run().target("a").repetitions(1, |_| stages.clone()).done();
        let mut exit = crate::analyze::catalogue::job_template().exit;
        exit.by_us = false;
        run.targets[0].exit = Some(exit);
        let run = settled(run, &[10, 20, 50]);
        let of = |name| value(&run.targets[0].stages[0], name);
        assert_eq!(of("climb.last_connections"), Ok(20.0));
        assert_eq!(of("climb.stopped_ratio"), Ok(1.0));
    }
}
