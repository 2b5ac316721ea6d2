//! What the probes cost the rate, from the control stages: the last stage of a climb and, at once
//! after it, the same without the probes (I9 of the identities that the tests hold).
//!
//! Both stages of a pair stand side by side in time, so the ratio is taken inside the pair, and a
//! machine that gets slower over the run does not look like a cost. The interval is over climbs.

use super::bootstrap::{self, INTERVAL_FROM};
use super::levels::Step;
use super::{estimate, levels};
use crate::plan::Order;
use crate::record::{Estimate, RunRecord, StageRecord, TargetRecord};

const RATE: &str = "load.achieved_rps";

/// Rate without the probes over that with them, the median of all pairs; `None` without one.
pub(super) fn control_ratio(target: &TargetRecord) -> Option<f64> {
    bootstrap::median(&ratios(target).iter().map(|ratio| 1.0 / ratio).collect::<Vec<_>>())
}

/// Rate with the probes over that without; with fewer than three pairs the interval is that of
/// the samples inside the stages.
pub(super) fn observed_ratio(target: &TargetRecord, order: Order) -> Option<Estimate> {
    let ratios = ratios(target);
    let value = bootstrap::median(&ratios)?;
    if ratios.len() < INTERVAL_FROM {
        let (observed, controls): (Vec<_>, Vec<_>) = levels::controlled(target).into_iter().unzip();
        let change = estimate::change(&observed, &controls, RATE, order).ok()?;
        let ratio = |end: Option<f64>| end.map(|change| change + 1.0);
        return Some(Estimate {
            value,
            low: ratio(change.low),
            high: ratio(change.high),
            ..change
        });
    }
    let interval = bootstrap::interval(&ratios);
    Some(Estimate {
        value,
        low: interval.map(|(low, _)| low),
        high: interval.map(|(_, high)| high),
        repetitions: u32::try_from(ratios.len()).unwrap_or(u32::MAX),
        within_stage: false,
    })
}

/// Of every pair in which both had a rate.
fn ratios(target: &TargetRecord) -> Vec<f64> {
    let ratio = |(observed, control): (&StageRecord, &StageRecord)| {
        let (with, without) = (observed.load.rate(), control.load.rate());
        (with > 0.0 && without > 0.0).then(|| with / without)
    };
    levels::controlled(target).into_iter().filter_map(ratio).collect()
}

/// A warm-up in which the probes cost more than the plan allows: what is attached was decided
/// before the first climb and stays, so that all windows are watched alike.
pub(super) fn passed_limit(run: &RunRecord, steps: &[Step]) -> Option<String> {
    let most = run.plan.observe.max_overhead?;
    let stages = steps.iter().flat_map(|step| &step.stages);
    let passing = stages.filter_map(|stage| {
        let ratio = stage.observer_cost.probe_overhead_ratio.filter(|ratio| *ratio > most.0)?;
        Some((ratio, stage.repetition))
    });
    let (ratio, repetition) = passing.max_by(|a, b| a.0.total_cmp(&b.0))?;
    Some(format!(
        "the probes cost {:.2} % of the CPU time of target and load in the warm-up of climb {}, \
         more than the {most} of `max_overhead`, which was held before the first climb",
        ratio * 100.0,
        repetition + 1
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyze::builder::{a_run, a_stage, samples};
    use crate::ladder::StageSample;
    use crate::units::Share;

    /// Pairs of (rate with, rate without), one a climb.
    fn target(pairs: &[(f64, f64)]) -> TargetRecord {
        let stage = |observed, rate: f64| {
            let mut stage = a_stage(20);
            stage.observed = observed;
            stage.load.achieved_rps = rate;
            stage.samples = samples(|i| StageSample {
                achieved_rps: rate * (1.0 + 0.01 * f64::from(i % 3)),
                ..StageSample::default()
            });
            stage
        };
        let climb = |i: u32| -> Vec<StageRecord> {
            let (with, without) = pairs[i as usize];
            vec![stage(true, with), stage(false, without)]
        };
        let run = a_run().target("a").repetitions(u32::try_from(pairs.len()).unwrap(), climb);
        run.done().targets.remove(0)
    }

    #[test]
    fn a_drift_that_both_stages_of_a_pair_shared_cancels() {
        let slower = |i: i32| (970.0 / 2_f64.powi(i), 1000.0 / 2_f64.powi(i));
        let halving: Vec<(f64, f64)> = (0..5).map(slower).collect();
        let found = observed_ratio(&target(&halving), Order::Serial).unwrap();
        assert_eq!((found.repetitions, found.within_stage), (5, false));
        for figure in [Some(found.value), found.low, found.high] {
            assert!((figure.unwrap() - 0.97).abs() < 1e-9, "{found:?}");
        }
        let turned = control_ratio(&target(&halving)).unwrap();
        assert!((turned - 1.0 / 0.97).abs() < 1e-9, "{turned}");
    }

    #[test]
    fn one_pair_has_the_interval_of_its_samples_and_says_so() {
        let found = observed_ratio(&target(&[(950.0, 1000.0)]), Order::Serial).unwrap();
        assert!((found.value - 0.95).abs() < 1e-9 && found.within_stage, "{found:?}");
        assert!(found.low.unwrap() < 0.95 && found.high.unwrap() > 0.95, "{found:?}");
    }

    #[test]
    fn a_climb_whose_probes_passed_the_limit_is_named() {
        let climb = |i: u32| {
            let mut stage = a_stage(20);
            stage.observer_cost.probe_overhead_ratio = Some([0.01, 0.034, 0.03][i as usize]);
            vec![stage]
        };
        let mut run = a_run().target("a").repetitions(3, climb).done();
        let said = |run: &RunRecord| passed_limit(run, &levels::steps(run, &run.targets[0]));
        assert_eq!(said(&run), None, "there is no limit");
        run.plan.observe.max_overhead = Some(Share(0.02));
        let why = said(&run).unwrap();
        assert!(why.contains("3.40 %") && why.contains("of climb 2, more than the 2%"), "{why}");
        run.plan.observe.max_overhead = Some(Share(0.034));
        assert_eq!(said(&run), None, "it is kept to the last digit");
    }

    #[test]
    fn a_stage_without_a_rate_makes_no_pair() {
        let silent = target(&[(0.0, 1000.0), (1000.0, 0.0)]);
        assert_eq!(observed_ratio(&silent, Order::Serial), None);
        assert_eq!(control_ratio(&silent), None);
    }
}
