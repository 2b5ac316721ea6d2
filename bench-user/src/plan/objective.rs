//! The objective of a search for a rate: `p99 < 8ms and error_ratio < 0.1%`.
//!
//! ```text
//!   objective = condition { "and" condition }
//!   condition = ("p50" | "p90" | "p99" | "p99.9" | "max") sign time | "error_ratio" sign share
//!   sign      = "<" | "<="
//! ```

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::units::Span;

/// What a rate must hold; at least one condition on the response time.
#[derive(Debug, Clone, PartialEq, JsonSchema)]
#[schemars(with = "String")]
pub struct Objective {
    text: String,
    /// All must be met.
    pub conditions: Vec<Condition>,
}

/// One bound.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Condition {
    /// Of what.
    pub figure: Figure,
    /// The bound: ns of a time, a ratio of 0..=1 of errors.
    pub bound: f64,
    /// `<=`: the bound itself is allowed.
    pub is_inclusive: bool,
}

/// What a condition bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Figure {
    /// Median response time.
    P50,
    /// Its 90th percentile.
    P90,
    /// Its 99th percentile.
    P99,
    /// Its 99.9th percentile.
    P999,
    /// Longest response time.
    Max,
    /// Share of requests that fail or are not answered 2xx.
    ErrorRatio,
}

const FIGURES: [(&str, Figure); 6] = [
    ("p50", Figure::P50),
    ("p90", Figure::P90),
    ("p99", Figure::P99),
    ("p99.9", Figure::P999),
    ("max", Figure::Max),
    ("error_ratio", Figure::ErrorRatio),
];

impl Figure {
    /// As it is written.
    #[must_use]
    pub fn name(self) -> &'static str {
        FIGURES.iter().find(|(_, figure)| *figure == self).map_or("", |(name, _)| name)
    }
}

impl Condition {
    /// Whether this value, ns or a ratio, meets it.
    #[must_use]
    pub fn is_met(&self, value: f64) -> bool {
        value < self.bound || (self.is_inclusive && value <= self.bound)
    }
}

impl FromStr for Objective {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let text = words.join(" ");
        let conditions: Vec<Condition> = text
            .split(" and ")
            .map(|part| condition(part).map_err(|why| format!("`{text}` is no objective: {why}")))
            .collect::<Result<_, _>>()?;
        if conditions.iter().all(|c| c.figure == Figure::ErrorRatio) {
            return Err(format!(
                "`{text}` bounds no response time: write for example \"p99 < 8ms and \
                 error_ratio < 0.1%\""
            ));
        }
        Ok(Self { text, conditions })
    }
}

fn condition(part: &str) -> Result<Condition, String> {
    let example = "write for example \"p99 < 8ms\"";
    let at = part.find('<').ok_or_else(|| format!("`{part}` has no `<`; {example}"))?;
    let (name, rest) = (part[..at].trim(), &part[at + 1..]);
    let (is_inclusive, value) = match rest.strip_prefix('=') {
        Some(value) => (true, value.trim()),
        None => (false, rest.trim()),
    };
    let known = FIGURES.iter().find(|(known, _)| *known == name);
    let (_, figure) = known.ok_or_else(|| {
        let names: Vec<&str> = FIGURES.iter().map(|(known, _)| *known).collect();
        format!("there is no `{name}`; there are: {}", names.join(", "))
    })?;
    let bound = match figure {
        Figure::ErrorRatio => share(value)?,
        _ => time(value)?,
    };
    Ok(Condition { figure: *figure, bound, is_inclusive })
}

#[expect(clippy::cast_precision_loss, reason = "a time of a plan is far below 2^53 ns")]
fn time(value: &str) -> Result<f64, String> {
    let span: Span = value.parse()?;
    if span.0.is_zero() {
        return Err("no response takes no time; raise the bound".into());
    }
    Ok(span.as_ns() as f64)
}

fn share(value: &str) -> Result<f64, String> {
    let (number, scale) = match value.strip_suffix('%') {
        Some(percent) => (percent.trim(), 100.0),
        None => (value, 1.0),
    };
    let share = number.parse::<f64>().map(|n| n / scale);
    share.ok().filter(|share| (0.0..=1.0).contains(share)).ok_or_else(|| {
        format!("`{value}` is no share of requests; write one as \"0.1%\" or \"0.001\"")
    })
}

impl fmt::Display for Objective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Serialize for Objective {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for Objective {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        String::deserialize(d)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Vec<(Figure, f64, bool)> {
        let objective: Objective = text.parse().unwrap();
        objective.conditions.iter().map(|c| (c.figure, c.bound, c.is_inclusive)).collect()
    }

    #[test]
    fn conditions_are_joined_and_carry_their_units() {
        assert_eq!(parsed("p99 < 8ms"), [(Figure::P99, 8e6, false)]);
        assert_eq!(
            parsed("p99.9<=1s  and max < 2s and error_ratio < 0.1%"),
            [
                (Figure::P999, 1e9, true),
                (Figure::Max, 2e9, false),
                (Figure::ErrorRatio, 0.001, false)
            ]
        );
        assert_eq!(parsed("p50 < 1ms and error_ratio <= 0.5")[1], (Figure::ErrorRatio, 0.5, true));
    }

    #[test]
    fn it_is_shown_and_stored_as_it_was_written() {
        let objective: Objective = "p99  <  8ms".parse().unwrap();
        assert_eq!(objective.to_string(), "p99 < 8ms");
        let json = serde_json::to_string(&objective).unwrap();
        assert_eq!(serde_json::from_str::<Objective>(&json).unwrap(), objective);
    }

    #[test]
    fn a_bound_is_met_below_it_and_with_the_equals_sign_at_it() {
        let condition = |text: &str| text.parse::<Objective>().unwrap().conditions[0];
        let (below, upto) = (condition("p99 < 8ms"), condition("p99 <= 8ms"));
        assert_eq!([7.9e6, 8e6, 8.1e6].map(|ns| below.is_met(ns)), [true, false, false]);
        assert_eq!([7.9e6, 8e6, 8.1e6].map(|ns| upto.is_met(ns)), [true, true, false]);
    }

    #[test]
    fn what_is_wrong_is_said_with_what_would_be_right() {
        for (text, said) in [
            ("", "has no `<`; write for example"),
            ("p99 > 8ms", "has no `<`"),
            ("p95 < 8ms", "there is no `p95`; there are: p50, p90, p99, p99.9, max, error_ratio"),
            ("p99 < 8", "is not a duration"),
            ("p99 < 0s", "no response takes no time"),
            ("error_ratio < 0.1%", "bounds no response time"),
            ("p99 < 8ms and error_ratio < 120%", "is no share of requests"),
            ("p99 < 8ms and", "is not a duration"),
        ] {
            let error = text.parse::<Objective>().unwrap_err();
            assert!(error.contains(said), "{text}: {error}");
        }
    }
}
