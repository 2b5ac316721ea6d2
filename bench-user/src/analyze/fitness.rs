//! Whether a figure may carry a claim: the stage must be valid as far as the figure goes, and
//! what was counted for it must be whole.

use super::validity::Judge;
use crate::measured::Measured;
use crate::record::StageRecord;

impl Judge<'_> {
    /// Whether a claim may rest on this metric of this stage.
    ///
    /// # Errors
    /// Why not, in one sentence.
    pub fn is_fit(&self, stage: &StageRecord, metric: &str) -> Result<(), String> {
        let reasons = self.reasons(stage);
        if let Some(reason) = reasons.into_iter().find(|reason| !reason.rule.spares(metric)) {
            return Err(reason.says);
        }
        let block = metric.split_once('.').map_or(metric, |(block, _)| block);
        let missed = match block {
            "syscalls" => stage.syscalls.value().map_or(0, |s| s.missed),
            "sched" | "threads" => stage.sched.value().map_or(0, |s| s.missed),
            "explain" => explained(stage, metric),
            _ => 0,
        };
        if missed > 0 {
            return Err(format!(
                "{missed} events that `{metric}` counts were missed{}, so it is a lower bound",
                causes(stage, block)
            ));
        }
        Ok(())
    }
}

/// What the explanation that a metric is of missed or had no room for.
fn explained(stage: &StageRecord, metric: &str) -> u64 {
    match metric.split('.').nth(1) {
        Some("syscalls") => stage
            .explain
            .syscalls
            .as_ref()
            .and_then(Measured::value)
            .map_or(0, |calls| calls.missed + calls.lost.values().sum::<u64>()),
        Some("io_uring") => {
            stage.explain.io_uring.as_ref().and_then(Measured::value).map_or(0, |u| u.missed)
        }
        _ => 0,
    }
}

/// Why events of a block were missed, as far as the record says.
fn causes(stage: &StageRecord, block: &str) -> String {
    let probe = if block == "syscalls" { "syscalls_" } else { "sched_" };
    let lost = &stage.observer_cost.lost;
    let named = lost.iter().filter(|(cause, n)| cause.starts_with(probe) && **n > 0);
    let named: Vec<_> = named.map(|(cause, n)| format!("{cause} {n}")).collect();
    if named.is_empty() { String::new() } else { format!(" ({})", named.join(", ")) }
}

/// Whether counts of the stage are lower bounds, because the kernel skipped events.
#[must_use]
pub fn events_are_missing(stage: &StageRecord) -> bool {
    stage.syscalls.value().is_some_and(|s| s.missed > 0)
        || stage.sched.value().is_some_and(|s| s.missed > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyze::builder::{a_run, a_stage};
    use crate::observe::SyscallsExplained;

    #[test]
    fn missed_events_spoil_their_own_counts_only() {
        let run = a_run().target("a").done();
        let mut stage = a_stage(100);
        stage.syscalls = stage.syscalls.map(|mut c| {
            c.missed = 3;
            c
        });
        let fit = |metric| Judge::of(&run.plan, &run.targets[0]).is_fit(&stage, metric);
        assert!(fit("syscalls.by_name.read.count").unwrap_err().contains("lower bound"));
        assert!(!fit("syscalls.total").unwrap_err().contains('('), "no cause is in the record");
        assert_eq!(fit("sched.per_sec"), Ok(()));
        assert_eq!(fit("load.achieved_rps"), Ok(()));
        assert_eq!(fit("explain.syscalls.by_name.read.count"), Ok(()));
    }

    #[test]
    fn an_explanation_that_lost_something_carries_no_claim() {
        let run = a_run().target("a").done();
        let mut stage = a_stage(100);
        let lost = [("calls_full".to_owned(), 2)].into();
        let calls = SyscallsExplained { lost, ..SyscallsExplained::default() };
        stage.explain.syscalls = Some(Measured::Value(calls));
        let fit = |metric| Judge::of(&run.plan, &run.targets[0]).is_fit(&stage, metric);
        assert!(fit("explain.syscalls.by_name.read.sum_ns").unwrap_err().contains("2 events"));
        assert_eq!(fit("explain.io_uring.submitted.count"), Ok(()));
        assert_eq!(fit("syscalls.per_sec"), Ok(()));
    }

    #[test]
    fn the_cause_of_a_loss_stands_with_what_it_spoils() {
        let run = a_run().target("a").done();
        let mut stage = a_stage(100);
        stage.observer_cost.lost =
            [("sched_threads_full".to_owned(), 4), ("syscalls_missed".to_owned(), 9)].into();
        stage.sched = stage.sched.map(|mut block| {
            block.missed = 4;
            block
        });
        let fit = |metric| Judge::of(&run.plan, &run.targets[0]).is_fit(&stage, metric);
        let why = fit("sched.per_request").unwrap_err();
        assert!(why.contains("missed (sched_threads_full 4), so"), "{why}");
        assert_eq!(fit("syscalls.per_request"), Ok(()), "the block itself decides");
    }
}
