//! Claims about what limited a target.

use crate::analyze::levels::Step;
use crate::record::{Bottleneck, ClaimVerdict};

use super::check::{Answer, fit};
use super::neighbours::crowded_out;
use super::sentence;

/// A bottleneck is not a number and has no interval: all repetitions must agree.
pub(super) fn answer(step: &Step, name: &str, same: bool, which: Bottleneck) -> Answer {
    let all = step.stages.len();
    let as_said = step.stages.iter().filter(|s| (s.verdict.bottleneck == which) == same).count();
    let mut seen: Vec<String> =
        step.stages.iter().map(|s| sentence::bottleneck(s.verdict.bottleneck)).collect();
    seen.sort_unstable();
    seen.dedup();
    let what = format!("`{name}` was limited by {} in {all} of {all} repetitions", seen.join(", "));
    if which != Bottleneck::Unknown
        && let Some(open) = step.stages.iter().find(|s| s.verdict.bottleneck == Bottleneck::Unknown)
    {
        let why = open.verdict.evidence.join("; ");
        return Answer::unavailable(format!("what limited `{name}` is unknown: {why}"));
    }
    // These two are verdicts about the very thing that makes a stage unfit.
    let explains = same && matches!(which, Bottleneck::Client | Bottleneck::TargetDied);
    let unfit = fit(std::slice::from_ref(step), &[name], "bottleneck").err().filter(|_| !explains);
    let unfit = unfit.or_else(|| crowded_out(step, name).filter(|_| which != Bottleneck::RunQueue));
    match unfit {
        Some(why) => Answer::inconclusive(why),
        None if as_said == all => Answer::new(ClaimVerdict::Holds, what),
        None if as_said == 0 => Answer::new(ClaimVerdict::Fails, what),
        None => Answer::inconclusive(format!(
            "the repetitions disagree: `{name}` was limited by {}",
            seen.join(", ")
        )),
    }
}
