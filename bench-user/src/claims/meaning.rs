//! What a claim asks, with its names looked up: read once, before anything is measured, and
//! again when it is checked.

use crate::analyze::metrics;
use crate::plan::ClaimSpec;
use crate::record::Bottleneck;

use super::expression::Expression;
use super::parse::{self, Bound, Expectation, Kind};
use super::sides::{self, Sides};

/// A claim with its names resolved.
pub(super) enum Meaning {
    Metric { metric: String, of: usize, against: Option<usize>, bound: Bound },
    Bottleneck { of: usize, same: bool, which: Bottleneck },
    Expression(Expression),
}

impl Meaning {
    /// The targets that it is about, the main one first.
    pub(super) fn involved(&self) -> Vec<usize> {
        match self {
            Self::Metric { of, against, .. } => std::iter::once(*of).chain(*against).collect(),
            Self::Bottleneck { of, .. } => vec![*of],
            Self::Expression(expression) => expression.involved().to_vec(),
        }
    }
}

/// Reads a claim about these targets.
///
/// # Errors
/// What is wrong with it, in one sentence.
pub(super) fn understand(claim: &ClaimSpec, targets: &[&str]) -> Result<Meaning, String> {
    let sides = Sides::named(claim, targets)?;
    let (metric, expect) = match (&claim.metric, &claim.cel, &claim.expect) {
        (None, Some(cel), None) => {
            return Expression::new(cel, sides, targets).map(Meaning::Expression);
        }
        (Some(metric), None, Some(expect)) => (metric.as_str(), expect.as_str()),
        (Some(_), None, None) => return Err("say with `expect` what its metric should be".into()),
        (None, Some(_), Some(_)) => {
            return Err("`expect` goes with `metric`, not with `cel`".into());
        }
        _ => return Err("give it either a `metric` or a `cel` expression".into()),
    };
    let other = sides.against.and_then(|against| sides::other(against, targets));
    let only = (targets.len() == 1).then_some(0);
    let of = sides.of.or(other).or(only).ok_or_else(|| {
        format!("say with `of` which target it is about; there are: {}", targets.join(", "))
    })?;
    if matches!(metric, "bottleneck" | "verdict.bottleneck") {
        if sides.against.is_some() {
            return Err("a bottleneck has no change; leave `against` out".into());
        }
        return match parse::parse(expect, Kind::Bottleneck)? {
            Expectation::Bottleneck { same, which } => Ok(Meaning::Bottleneck { of, same, which }),
            Expectation::Number(_) => Err(format!("`{expect}` is no bottleneck")),
        };
    }
    metrics::check_name(metric)?;
    let kind = if sides.against.is_some() { Kind::Change } else { Kind::of_metric(metric) };
    match parse::parse(expect, kind)? {
        Expectation::Number(bound) => {
            Ok(Meaning::Metric { metric: metric.to_owned(), of, against: sides.against, bound })
        }
        Expectation::Bottleneck { .. } => Err(format!("`{metric}` is a number")),
    }
}
