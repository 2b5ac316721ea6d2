//! What a search for a rate found: its stages judged again from the record, climb by climb.

use super::bootstrap::median;
use super::levels::Step;
use crate::ladder::outcome;
use crate::ladder::search::{self, Next, Outcome, Tried};
use crate::plan::{Objective, ValidRules};
use crate::record::{FoundByClimb, FoundRate, RunRecord, StageRecord};

/// The findings of the counted climbs; `None` where the plan asks for no search.
pub(super) fn found(run: &RunRecord, steps: &[Step]) -> Option<FoundRate> {
    let objective = run.plan.ladder.find_rate.as_ref()?;
    let mut stages: Vec<&StageRecord> =
        steps.iter().flat_map(|step| &step.stages).copied().collect();
    stages.sort_by_key(|stage| (stage.repetition, stage.index));
    let climbs: Vec<FoundByClimb> = stages
        .chunk_by(|a, b| a.repetition == b.repetition)
        .map(|climb| one(objective, &run.plan.valid, climb))
        .collect();
    // A climb that found none is no rate of zero: without it the median would be too high.
    let rates: Option<Vec<f64>> = climbs.iter().map(|climb| climb.holds_at).collect();
    let rates = rates.unwrap_or_default();
    Some(FoundRate {
        objective: objective.to_string(),
        rps: median(&rates),
        low: rates.iter().copied().min_by(f64::total_cmp),
        high: rates.iter().copied().max_by(f64::total_cmp),
        climbs,
    })
}

fn one(objective: &Objective, rules: &ValidRules, stages: &[&StageRecord]) -> FoundByClimb {
    let tried: Vec<Tried> = stages
        .iter()
        .filter_map(|stage| {
            let outcome = outcome(objective, rules, &stage.load);
            Some(Tried { rps: stage.offered_rps?, outcome })
        })
        .collect();
    let closed = stages.iter().find(|stage| stage.offered_rps.is_none());
    let why = match search::next(closed.map_or(0.0, |stage| stage.load.achieved_rps), &tried) {
        Next::Done(why) => why,
        Next::Try(_) => "the climb ended before the search".to_owned(),
    };
    let (holds_at, fails_at) = (search::holds_at(&tried), search::fails_at(&tried));
    let failed = tried.into_iter().find_map(|t| match t.outcome {
        Outcome::Fails(why) if Some(t.rps) == fails_at => Some(why),
        _ => None,
    });
    let repetition = stages.first().map_or(0, |stage| stage.repetition);
    FoundByClimb { repetition, holds_at, fails_at, failed, why }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyze::builder::{a_run, a_stage};
    use crate::analyze::levels::steps;

    fn offered(rps: f64, p99_ms: u64) -> StageRecord {
        let mut stage = a_stage(10);
        stage.offered_rps = Some(rps);
        stage.load.outcomes.ok = stage.load.requests;
        stage.load.response_ns.p99 = Some(p99_ms * 1_000_000);
        stage
    }

    fn found_in(climbs: &[&[(f64, u64)]]) -> FoundRate {
        let climb = |i: u32| {
            let tried = climbs[i as usize].iter().map(|&(rps, p99_ms)| offered(rps, p99_ms));
            std::iter::once(a_stage(10)).chain(tried).collect()
        };
        let count = u32::try_from(climbs.len()).unwrap();
        let mut run = a_run().target("a").repetitions(count, climb).done();
        run.plan.ladder.find_rate = Some("p99 < 8ms".parse().unwrap());
        found(&run, &steps(&run, &run.targets[0])).unwrap()
    }

    #[test]
    fn every_climb_has_its_own_result_and_the_median_its_range() {
        let found = found_in(&[
            &[(500.0, 2), (1000.0, 9), (750.0, 3), (760.0, 9)],
            &[(500.0, 2), (1000.0, 9), (750.0, 9), (700.0, 3), (710.0, 8)],
            &[(500.0, 2), (1000.0, 7), (1010.0, 12)],
        ]);
        assert_eq!((found.rps, found.low, found.high), (Some(750.0), Some(700.0), Some(1000.0)));
        let climb = &found.climbs[1];
        assert_eq!(
            (climb.repetition, climb.holds_at, climb.fails_at),
            (1, Some(700.0), Some(710.0))
        );
        assert_eq!(climb.failed.as_deref(), Some("p99 was 8.00 ms"));
        assert_eq!(climb.why, "the gap is at most 2 %");
    }

    #[test]
    fn a_climb_without_a_rate_leaves_no_median() {
        let found = found_in(&[&[(500.0, 2), (505.0, 9)], &[(500.0, 9)]]);
        assert_eq!((found.rps, found.climbs[1].holds_at), (None, None));
        assert_eq!(found.climbs[1].why, "the climb ended before the search");
    }
}
