//! Statements checked against a record: pure, repeatable from the stored run.
//!
//! A claim holds only where the whole interval of its figure meets the bound, and fails only
//! where the whole interval misses it. Everything else is `inconclusive`, or `unavailable`
//! where the figure was not measured; a claim about no stage at all is inconclusive, never
//! true. Each stage is checked at a level of its own: of many stages that lie close to the
//! bound, one may fail by chance.

mod bottleneck;
mod check;
mod expression;
mod meaning;
mod neighbours;
mod parse;
mod sentence;
mod sides;

pub use check::check;
pub use parse::{Bound, Expectation};
pub use sides::ClaimError;

use crate::plan::ClaimSpec;
use crate::record::{ClaimResult, ClaimVerdict};

/// Checks that claims can be understood, before anything is measured.
///
/// # Errors
/// The first claim that cannot: an unknown target or metric, a bound or an expression that is
/// none, an id that is missing or used twice.
pub fn validate(claims: &[ClaimSpec], targets: &[&str]) -> Result<(), ClaimError> {
    for (i, claim) in claims.iter().enumerate() {
        let fault = |why: String| ClaimError { id: claim.id.clone(), why };
        if claim.id.is_empty() {
            return Err(fault("give it an `id`".to_owned()));
        }
        if claims[..i].iter().any(|other| other.id == claim.id) {
            return Err(fault("its `id` is used twice".to_owned()));
        }
        meaning::understand(claim, targets).map_err(fault)?;
    }
    Ok(())
}

/// The exit code of `check` and `run`: 0 all claims hold (or there are none), 1 one fails,
/// 3 one is inconclusive or unavailable and none fails.
#[must_use]
pub fn exit_code(results: &[ClaimResult]) -> u8 {
    let has = |verdict| results.iter().any(|result| result.verdict == verdict);
    if has(ClaimVerdict::Fails) {
        1
    } else if has(ClaimVerdict::Inconclusive) || has(ClaimVerdict::Unavailable) {
        3
    } else {
        0
    }
}

#[cfg(test)]
mod tests;
