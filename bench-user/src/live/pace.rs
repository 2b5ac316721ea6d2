//! What things really took: the correction of the plan's own estimate.
//!
//! A *unit* is what time is reckoned in: a stage from the end of the one before it, so its pause
//! and its cool-down are in it, or the way from one climb to the next, on which a target is stopped
//! and the next one started. A stage costs what the plan says and the mean of what the stages so
//! far took beyond that. The way between two climbs costs the mean of those so far; the first is
//! also the start of the run, and counts only until there is another. A run of a job costs the mean
//! of the runs of that job so far, or else of all jobs.

/// A mean of durations.
#[derive(Debug, Clone, Copy, Default)]
struct Mean {
    sum_ns: i128,
    count: i128,
}

impl Mean {
    fn add(&mut self, ns: i128) {
        self.sum_ns += ns;
        self.count += 1;
    }

    fn ns(self) -> Option<i128> {
        (self.count > 0).then(|| self.sum_ns / self.count)
    }
}

/// What the units so far took.
#[derive(Debug, Clone, Default)]
pub(super) struct Pace {
    beyond: Mean,
    first_way_ns: Option<u64>,
    ways: Mean,
    runs: Vec<Mean>,
}

impl Pace {
    pub(super) fn new(targets: usize) -> Self {
        Self { runs: vec![Mean::default(); targets], ..Self::default() }
    }

    /// A whole stage took so long, and should have taken so long by the plan.
    pub(super) fn stage_took(&mut self, took_ns: u64, planned_ns: u64) {
        self.beyond.add(i128::from(took_ns) - i128::from(planned_ns));
    }

    /// The way to a climb took so long.
    pub(super) fn way_took(&mut self, took_ns: u64) {
        match self.first_way_ns {
            None => self.first_way_ns = Some(took_ns),
            Some(_) => self.ways.add(i128::from(took_ns)),
        }
    }

    /// A run of a job took so long, from the end of the one before.
    pub(super) fn run_took(&mut self, target: usize, took_ns: u64) {
        self.runs[target].add(i128::from(took_ns));
    }

    /// What a stage will take that the plan gives so long, ns.
    pub(super) fn stage_ns(&self, planned_ns: u64) -> u64 {
        let beyond_ns = self.beyond.ns().unwrap_or(0);
        u64::try_from(i128::from(planned_ns) + beyond_ns).unwrap_or(0)
    }

    /// What the way to a climb will take, ns.
    pub(super) fn way_ns(&self) -> u64 {
        let known = self.ways.ns().and_then(|ns| u64::try_from(ns).ok());
        known.or(self.first_way_ns).unwrap_or(0)
    }

    /// What a run of a job will take, ns; `None` before any ended.
    pub(super) fn run_ns(&self, target: usize) -> Option<u64> {
        let all = || {
            let ended = self.runs.iter().filter(|runs| runs.count > 0);
            let sum = ended.fold(Mean::default(), |sum, runs| Mean {
                sum_ns: sum.sum_ns + runs.sum_ns,
                count: sum.count + runs.count,
            });
            sum.ns()
        };
        self.runs[target].ns().or_else(all).and_then(|ns| u64::try_from(ns).ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stage_costs_the_plan_and_the_mean_of_what_came_on_top() {
        let mut pace = Pace::new(1);
        assert_eq!(pace.stage_ns(6_000), 6_000);
        pace.stage_took(6_500, 6_000);
        pace.stage_took(5_300, 5_000);
        assert_eq!((pace.stage_ns(6_000), pace.stage_ns(5_000)), (6_400, 5_400));
    }

    #[test]
    fn the_first_way_counts_until_there_is_another() {
        let mut pace = Pace::new(1);
        assert_eq!(pace.way_ns(), 0);
        pace.way_took(9_000);
        assert_eq!(pace.way_ns(), 9_000);
        pace.way_took(1_000);
        pace.way_took(3_000);
        assert_eq!(pace.way_ns(), 2_000);
    }

    #[test]
    fn a_job_that_has_not_run_is_reckoned_as_the_others() {
        let mut pace = Pace::new(2);
        assert_eq!(pace.run_ns(0), None);
        pace.run_took(0, 100);
        pace.run_took(0, 300);
        assert_eq!((pace.run_ns(0), pace.run_ns(1)), (Some(200), Some(200)));
        pace.run_took(1, 50);
        assert_eq!((pace.run_ns(0), pace.run_ns(1)), (Some(200), Some(50)));
    }
}
