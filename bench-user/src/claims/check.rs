//! Checks claims against a record, stage by stage, and sums the stages up.

use crate::analyze::estimate;
use crate::analyze::levels::Step;
use crate::plan::{ClaimSpec, Level, Order};
use crate::record::{Bottleneck, ClaimResult, ClaimVerdict, Estimate, RunRecord, StageClaim};

use super::bottleneck;
use super::meaning::{Meaning, understand};
use super::neighbours::lopsided;
use super::parse::Bound;
use super::sentence;
use super::sides::{self, Chosen};

/// What another run may differ by where only the samples inside a stage are known. A change
/// between targets must clear its bound by this factor on both sides of its interval. A bound
/// without `against` is about this run and needs no allowance.
const RUN_TO_RUN: f64 = 1.10;

/// Checks every claim; one result for each, in order. A claim that cannot be understood is
/// inconclusive with the reason; [`super::validate`] refuses it before a run.
#[must_use]
pub fn check(run: &RunRecord, claims: &[ClaimSpec]) -> Vec<ClaimResult> {
    claims.iter().map(|claim| check_one(run, claim)).collect()
}

fn check_one(run: &RunRecord, claim: &ClaimSpec) -> ClaimResult {
    let names: Vec<&str> = run.targets.iter().map(|target| target.name.as_str()).collect();
    let result =
        |verdict, because, stages| ClaimResult { claim: claim.clone(), verdict, because, stages };
    let meaning = match understand(claim, &names) {
        Ok(meaning) => meaning,
        Err(why) => return result(ClaimVerdict::Inconclusive, why, Vec::new()),
    };
    let involved = meaning.involved();
    let named: Vec<&str> = involved.iter().map(|&target| names[target]).collect();
    let chosen = match sides::select(run, &claim.stages, &involved) {
        Ok(chosen) => chosen,
        Err(why) => return result(ClaimVerdict::Inconclusive, why, Vec::new()),
    };
    let stages: Vec<StageClaim> = chosen
        .into_iter()
        .map(|Chosen { level, steps }| {
            let stage = steps.map(|steps| {
                let answer = match &meaning {
                    Meaning::Metric { metric, bound, .. } => {
                        let asked = Asked { metric, bound: *bound, claim, order: run.plan.order };
                        asked.answer(&steps, &named)
                    }
                    Meaning::Bottleneck { same, which, .. } => {
                        bottleneck::answer(&steps[0], named[0], *same, *which)
                    }
                    Meaning::Expression(e) => e.answer(&steps, &named, run.plan.order),
                };
                with_other_peak(answer, &steps, &named)
            });
            stage.unwrap_or_else(Answer::inconclusive).at(level)
        })
        .collect();
    let (verdict, because) = sum_up(&stages, &named);
    result(verdict, because, stages)
}

/// The answer in one stage.
pub(super) struct Answer {
    pub(super) verdict: ClaimVerdict,
    pub(super) figure: Option<Estimate>,
    pub(super) of: Option<f64>,
    pub(super) against: Option<f64>,
    pub(super) because: String,
}

impl Answer {
    pub(super) fn new(verdict: ClaimVerdict, because: impl Into<String>) -> Self {
        Self { verdict, figure: None, of: None, against: None, because: because.into() }
    }

    pub(super) fn inconclusive(because: impl Into<String>) -> Self {
        Self::new(ClaimVerdict::Inconclusive, because)
    }

    pub(super) fn unavailable(because: impl Into<String>) -> Self {
        Self::new(ClaimVerdict::Unavailable, because)
    }

    fn at(self, level: Level) -> StageClaim {
        let Self { verdict, figure, of, against, because } = self;
        let Level { connections, offered_rps } = level;
        StageClaim { connections, offered_rps, verdict, figure, of, against, because }
    }
}

/// A bound for a metric or its change.
struct Asked<'c> {
    metric: &'c str,
    bound: Bound,
    claim: &'c ClaimSpec,
    order: Order,
}

impl Asked<'_> {
    fn answer(&self, steps: &[Step], names: &[&str]) -> Answer {
        let mut medians = Vec::new();
        for (step, name) in steps.iter().zip(names) {
            match estimate::of_level(&step.stages, self.metric) {
                Ok(estimate) => medians.push(estimate),
                Err(why) => return Answer::unavailable(format!("`{name}`: {why}")),
            }
        }
        let figure = match steps {
            [of, against] => estimate::change(&of.stages, &against.stages, self.metric, self.order),
            _ => Ok(medians[0]),
        };
        let mut answer = match figure {
            Ok(figure) => {
                let mut answer = self.judge(&figure, names, medians.len() > 1);
                answer.figure = Some(figure);
                answer
            }
            Err(why) => Answer::inconclusive(format!("there is no relative change: {why}")),
        };
        let is_once = figure_is_within(&answer) && medians.len() > 1;
        if let (true, Some(name)) = (is_once, disturbed(steps, names)) {
            answer.verdict = ClaimVerdict::Inconclusive;
            answer.because = format!(
                "others held the CPUs that `{name}` waited for, and one repetition cannot tell them \
                 from a difference of the targets; measure with at least 5 repetitions"
            );
        }
        let crowded = || if steps.len() > 1 { lopsided(steps, names, self.metric) } else { None };
        if let Some(why) = fit(steps, names, self.metric).err().or_else(crowded) {
            answer.verdict = ClaimVerdict::Inconclusive;
            answer.because = why;
        }
        answer.of = medians.first().map(|estimate| estimate.value);
        answer.against = medians.get(1).map(|estimate| estimate.value);
        answer
    }

    fn judge(&self, figure: &Estimate, names: &[&str], is_change: bool) -> Answer {
        let metric = self.metric;
        let what = if is_change {
            let text = sentence::figure(figure, sentence::change);
            format!("the change of `{metric}` from `{}` to `{}` is {text}", names[1], names[0])
        } else {
            let text = sentence::figure(figure, |value| sentence::metric(metric, value));
            format!("`{metric}` of `{}` is {text}", names[0])
        };
        let expect = self.claim.expect.as_deref().unwrap_or_default();
        let (Some(low), Some(high)) = (figure.low, figure.high) else {
            return Answer::inconclusive(format!(
                "{what}: without an interval nothing can be said of `{expect}`; measure with \
                 `repeat` so that at least 3 repetitions count, better 5"
            ));
        };
        let verdict = self.bound.judge(low, high);
        let allowed = if is_change && figure.within_stage {
            self.bound.judge((1.0 + low) / RUN_TO_RUN - 1.0, (1.0 + high) * RUN_TO_RUN - 1.0)
        } else {
            verdict
        };
        match (verdict, allowed) {
            (_, Some(true)) => {
                Answer::new(ClaimVerdict::Holds, format!("{what}, which meets `{expect}`"))
            }
            (_, Some(false)) => {
                Answer::new(ClaimVerdict::Fails, format!("{what}, which misses `{expect}`"))
            }
            (Some(_), None) => Answer::inconclusive(format!(
                "{what}, which is too close to `{expect}` to tell from the noise between runs; \
                 measure with at least 5 repetitions"
            )),
            (None, None) => {
                Answer::inconclusive(format!("{what}, which lies on both sides of `{expect}`"))
            }
        }
    }
}

fn figure_is_within(answer: &Answer) -> bool {
    answer.figure.is_some_and(|figure| figure.within_stage)
}

/// A target that did not get the CPUs that it wanted.
fn disturbed<'n>(steps: &[Step], names: &[&'n str]) -> Option<&'n str> {
    let waited = |step: &Step| {
        step.stages.iter().any(|stage| stage.verdict.bottleneck == Bottleneck::RunQueue)
    };
    steps.iter().zip(names).find(|(step, _)| waited(step)).map(|(_, name)| *name)
}

/// Whether every repetition may carry a claim on this metric.
///
/// # Errors
/// The first that may not, and why.
pub(super) fn fit(steps: &[Step], names: &[&str], metric: &str) -> Result<(), String> {
    for (step, name) in steps.iter().zip(names) {
        for stage in &step.stages {
            step.judge.is_fit(stage, metric).map_err(|why| {
                let noun = step.level.repetition_noun();
                format!("{noun} {} of `{name}` carries no claim: {why}", stage.repetition + 1)
            })?;
        }
    }
    Ok(())
}

/// Peaks of two targets may be at different levels; the reader must know.
fn with_other_peak(mut answer: Answer, steps: &[Step], names: &[&str]) -> Answer {
    if let [of, against] = steps
        && of.level != against.level
    {
        answer.because += &format!("; `{}` is taken at {}", names[1], against.level);
    }
    answer
}

/// Fails if one stage fails, else the least certain answer; never true of nothing.
fn sum_up(stages: &[StageClaim], names: &[&str]) -> (ClaimVerdict, String) {
    let order = [
        ClaimVerdict::Fails,
        ClaimVerdict::Unavailable,
        ClaimVerdict::Inconclusive,
        ClaimVerdict::Holds,
    ];
    for verdict in order {
        let mut such = stages.iter().filter(|stage| stage.verdict == verdict);
        // The most loaded stage speaks for those that hold, the first for the others.
        let speaker = if verdict == ClaimVerdict::Holds { such.next_back() } else { such.next() };
        if let Some(stage) = speaker {
            let count = stages.iter().filter(|stage| stage.verdict == verdict).count();
            let share = match stages.len() {
                1 => String::new(),
                all => format!("in {count} of {all} stages; "),
            };
            let at = match stage.level() {
                job if job.is_job() => String::new(),
                level => format!("at {level} "),
            };
            return (verdict, format!("{share}{at}{}", stage.because));
        }
    }
    let names = names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" and ");
    let because =
        format!("no stage that it is about was reached by {names} in a counted repetition");
    (ClaimVerdict::Inconclusive, because)
}
