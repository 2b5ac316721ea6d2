//! The rules of claims: what each says, about which targets and stages. What a metric or an
//! expression means is the business of `claims`.

use std::collections::BTreeSet;

use super::{ensure, refuse};
use crate::plan::error::suggest;
use crate::plan::{ClaimSpec, Level, PlanError, StageSelector};

/// Checks claims against the names of the targets and the levels of the stages that they can be
/// about; no levels: they are not known before.
///
/// # Errors
/// The first rule that is broken, as one sentence.
pub fn claims(claims: &[ClaimSpec], targets: &[&str], levels: &[Level]) -> Result<(), PlanError> {
    let mut ids = BTreeSet::new();
    for claim in claims {
        ensure(!claim.id.trim().is_empty(), || {
            "a claim has an empty `id`: give it a name to be reported by".into()
        })?;
        ensure(ids.insert(&claim.id), || {
            format!("two claims have the id \"{}\": rename one", claim.id)
        })?;
        form(claim, targets)?;
        for (key, name) in [("of", &claim.of), ("against", &claim.against)] {
            known_target(claim, key, name.as_deref(), targets)?;
        }
        stages(claim, levels)?;
    }
    Ok(())
}

fn form(claim: &ClaimSpec, targets: &[&str]) -> Result<(), PlanError> {
    let id = &claim.id;
    match (&claim.metric, &claim.cel) {
        (None, None) => refuse(format!(
            "claim \"{id}\" claims nothing: give it `metric` and `expect`, or `cel`"
        )),
        (Some(_), Some(_)) => {
            refuse(format!("claim \"{id}\" has both `metric` and `cel`: make it two claims"))
        }
        (None, Some(_)) => ensure(claim.expect.is_none(), || {
            format!(
                "claim \"{id}\" has `expect` beside `cel`: put the bound into the expression and \
                 take `expect` out"
            )
        }),
        (Some(_), None) => {
            ensure(claim.expect.is_some(), || {
                format!("claim \"{id}\" lacks `expect`: give it a bound such as \"<= -40%\"")
            })?;
            ensure(claim.of.is_some() || targets.len() < 2, || {
                format!(
                    "claim \"{id}\" does not say which target it is about: add `of` with one of {}",
                    targets.join(", ")
                )
            })?;
            ensure(claim.against.is_none() || claim.against != claim.of, || {
                format!("claim \"{id}\" compares a target with itself: change `of` or `against`")
            })
        }
    }
}

fn known_target(
    claim: &ClaimSpec,
    key: &str,
    name: Option<&str>,
    targets: &[&str],
) -> Result<(), PlanError> {
    match name {
        Some(name) if !targets.contains(&name) => refuse(format!(
            "claim \"{}\" names an unknown target \"{name}\" in `{key}`: {}",
            claim.id,
            suggest(name, targets)
        )),
        _ => Ok(()),
    }
}

fn stages(claim: &ClaimSpec, levels: &[Level]) -> Result<(), PlanError> {
    let StageSelector::Connections(wanted) = &claim.stages else { return Ok(()) };
    ensure(!wanted.is_empty(), || {
        format!("claim \"{}\" has an empty list of stages: write \"all\" for every one", claim.id)
    })?;
    let has = |wanted: u32| {
        levels.iter().any(|level| level.number().total_cmp(&f64::from(wanted)).is_eq())
    };
    let Some(first) = levels.first() else { return Ok(()) };
    match wanted.iter().find(|wanted| !has(**wanted)) {
        Some(&wanted) => refuse(format!(
            "claim \"{}\" is about the stage of {}, which the ladder lacks: it has {}",
            claim.id,
            Level {
                connections: wanted,
                offered_rps: first.offered_rps.map(|_| f64::from(wanted))
            },
            levels.iter().map(Level::short).collect::<Vec<_>>().join(", ")
        )),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn levels() -> [Level; 2] {
        [10, 20].map(|connections| Level { connections, offered_rps: None })
    }

    /// The sentence about these claims on targets `node` and `bun` with stages of 10 and 20.
    fn check(toml: &str, sentence: &str) {
        let plan = crate::plan::file::parse(toml, "the plan").unwrap();
        let error = claims(&plan.claims, &["node", "bun"], &levels()).unwrap_err().to_string();
        assert_eq!(error, sentence, "{toml}");
    }

    #[test]
    fn a_claim_that_cannot_be_checked_is_refused_in_one_sentence() {
        check(
            "[[claim]]\nid = \" \"\ncel = \"true\"",
            "a claim has an empty `id`: give it a name to be reported by",
        );
        check(
            "[[claim]]\nid = \"a\"\ncel = \"true\"\n[[claim]]\nid = \"a\"\ncel = \"true\"",
            "two claims have the id \"a\": rename one",
        );
        check(
            "[[claim]]\nid = \"a\"",
            "claim \"a\" claims nothing: give it `metric` and `expect`, or `cel`",
        );
        check(
            "[[claim]]\nid = \"a\"\nmetric = \"m\"\ncel = \"true\"",
            "claim \"a\" has both `metric` and `cel`: make it two claims",
        );
        check(
            "[[claim]]\nid = \"a\"\ncel = \"true\"\nexpect = \"> 1\"",
            "claim \"a\" has `expect` beside `cel`: put the bound into the expression and take \
             `expect` out",
        );
        check(
            "[[claim]]\nid = \"a\"\nmetric = \"m\"\nof = \"bun\"",
            "claim \"a\" lacks `expect`: give it a bound such as \"<= -40%\"",
        );
        check(
            "[[claim]]\nid = \"a\"\nmetric = \"m\"\nexpect = \"> 1\"",
            "claim \"a\" does not say which target it is about: add `of` with one of node, bun",
        );
    }

    #[test]
    fn targets_and_stages_that_are_not_there_are_refused() {
        let claim = "[[claim]]\nid = \"a\"\nmetric = \"m\"\nexpect = \"> 1\"\n";
        check(
            &format!("{claim}of = \"bnu\""),
            "claim \"a\" names an unknown target \"bnu\" in `of`: did you mean \"bun\"?",
        );
        check(
            &format!("{claim}of = \"bun\"\nagainst = \"x\""),
            "claim \"a\" names an unknown target \"x\" in `against`: known here: node, bun",
        );
        check(
            &format!("{claim}of = \"bun\"\nagainst = \"bun\""),
            "claim \"a\" compares a target with itself: change `of` or `against`",
        );
        check(
            &format!("{claim}of = \"bun\"\nstages = [10, 50]"),
            "claim \"a\" is about the stage of 50 connections, which the ladder lacks: it has 10, 20",
        );
        check(
            &format!("{claim}of = \"bun\"\nstages = []"),
            "claim \"a\" has an empty list of stages: write \"all\" for every one",
        );
    }

    #[test]
    fn in_a_ladder_of_rates_a_stage_is_named_by_its_rate() {
        let about = |stage: u32| {
            let text = format!("[[claim]]\nid = \"a\"\ncel = \"true\"\nstages = [{stage}]");
            let plan = crate::plan::file::parse(&text, "the plan").unwrap();
            let level = Level { connections: 10, offered_rps: Some(500.0) };
            claims(&plan.claims, &["node"], &[level]).map_err(|error| error.to_string())
        };
        assert_eq!(about(500), Ok(()));
        let refused = "claim \"a\" is about the stage of 10 req/s offered, which the ladder lacks: \
                       it has 500";
        assert_eq!(about(10), Err(refused.to_owned()));
    }

    #[test]
    fn a_sound_claim_passes_and_a_single_target_needs_no_name() {
        let text = "[[claim]]\nid = \"a\"\nmetric = \"m\"\nexpect = \"> 1\"\nstages = [20]";
        let plan = crate::plan::file::parse(text, "the plan").unwrap();
        claims(&plan.claims, &["node"], &levels()).unwrap();
    }
}
