//! Which targets and which stages a claim is about.
//!
//! * `all`: the stages that every involved target reached in a counted repetition.
//! * `saturated`: those from the knee of the target that the claim is about.
//! * `peak`: of each target its own peak, because "the peak of B against the peak of A" is what
//!   people compare; the two may be at different levels, and the answer says so.
//! * a list: those connections, or in a ladder of rates those rates; one that a target did not
//!   reach has no answer.

use crate::analyze::levels::{Step, steps};
use crate::analyze::saturation;
use crate::plan::{ClaimSpec, Level, NamedStages, StageSelector};
use crate::record::RunRecord;

/// A claim that cannot be understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("claim `{id}`: {why}")]
pub struct ClaimError {
    /// Which claim.
    pub id: String,
    /// What is wrong and what would be right.
    pub why: String,
}

/// The targets that `of` and `against` name, as places in the plan; what is left out is the
/// only other one, where there are no more than two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sides {
    pub(super) of: Option<usize>,
    pub(super) against: Option<usize>,
}

impl Sides {
    /// # Errors
    /// A name that no target has, or the same name twice.
    pub(super) fn named(claim: &ClaimSpec, targets: &[&str]) -> Result<Self, String> {
        let of = claim.of.as_deref().map(|name| place(name, targets)).transpose()?;
        let against = claim.against.as_deref().map(|name| place(name, targets)).transpose()?;
        if of.is_some() && of == against {
            return Err(format!("`of` and `against` are both `{}`", targets[of.unwrap_or(0)]));
        }
        Ok(Self { of, against })
    }
}

/// The other one of two targets.
pub(super) fn other(of: usize, targets: &[&str]) -> Option<usize> {
    (targets.len() == 2).then(|| 1 - of)
}

fn place(name: &str, targets: &[&str]) -> Result<usize, String> {
    targets
        .iter()
        .position(|target| *target == name)
        .ok_or_else(|| format!("there is no target `{name}`; there are: {}", targets.join(", ")))
}

/// One stage of a claim.
#[derive(Debug)]
pub(super) struct Chosen<'r> {
    /// What it held in the target that the claim is about.
    pub(super) level: Level,
    /// For every involved target its repetitions, or why there are none.
    pub(super) steps: Result<Vec<Step<'r>>, String>,
}

/// The stages that a claim about these targets selects; the first is the one it is about.
///
/// # Errors
/// Why a target has no such stage, in one sentence.
pub(super) fn select<'r>(
    run: &'r RunRecord,
    selector: &StageSelector,
    involved: &[usize],
) -> Result<Vec<Chosen<'r>>, String> {
    let ladders: Vec<Vec<Step>> =
        involved.iter().map(|&target| steps(run, &run.targets[target])).collect();
    let Some(first) = ladders.first() else { return Ok(Vec::new()) };
    let names: Vec<&str> =
        involved.iter().map(|&target| run.targets[target].name.as_str()).collect();
    Ok(match selector {
        StageSelector::All => reached_by_all(&ladders, 0),
        StageSelector::Named(NamedStages::Saturated) => {
            let knee = saturation::knee(&saturation::rates(first))
                .map_err(|why| format!("`{}` has no knee: {why}", names[0]))?;
            reached_by_all(&ladders, knee)
        }
        StageSelector::Named(NamedStages::Peak) => vec![peaks(&ladders, &names)?],
        StageSelector::Connections(list) => {
            list.iter().map(|&number| listed(number, &ladders, &names)).collect()
        }
    })
}

/// Those from this place in the first ladder on.
fn reached_by_all<'r>(ladders: &[Vec<Step<'r>>], from: usize) -> Vec<Chosen<'r>> {
    let at = |level| -> Option<Vec<Step<'r>>> {
        ladders.iter().map(|steps| steps.iter().find(|s| s.level == level).cloned()).collect()
    };
    let chosen = |step: &Step<'r>| Some(Chosen { level: step.level, steps: Ok(at(step.level)?) });
    ladders[0].iter().skip(from).filter_map(chosen).collect()
}

fn peaks<'r>(ladders: &[Vec<Step<'r>>], names: &[&str]) -> Result<Chosen<'r>, String> {
    let peak = |(steps, name): (&Vec<Step<'r>>, &&str)| {
        let peak = saturation::peak(&saturation::rates(steps));
        let step = peak.and_then(|place| steps.get(place)).cloned();
        step.ok_or_else(|| format!("`{name}` has no peak: no stage is valid"))
    };
    let steps: Vec<Step> = ladders.iter().zip(names).map(peak).collect::<Result<_, _>>()?;
    Ok(Chosen { level: steps[0].level, steps: Ok(steps) })
}

fn listed<'r>(number: u32, ladders: &[Vec<Step<'r>>], names: &[&str]) -> Chosen<'r> {
    let is_it = |step: &&Step<'r>| step.level.number().total_cmp(&f64::from(number)).is_eq();
    let all = || ladders.iter().flatten();
    // Where nobody reached it, the other stages tell whether it is a rate.
    let is_rate = all().any(|step| step.level.offered_rps.is_some());
    let offered_rps = is_rate.then(|| f64::from(number));
    let unmet = Level { connections: number, offered_rps };
    let level = all().find(is_it).map_or(unmet, |step| step.level);
    let at = |(steps, name): (&Vec<Step<'r>>, &&str)| {
        let found = steps.iter().find(is_it).cloned();
        found.ok_or_else(|| format!("`{name}` did not reach {level} in a counted repetition"))
    };
    Chosen { level, steps: ladders.iter().zip(names).map(at).collect() }
}
