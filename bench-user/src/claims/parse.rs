//! The `expect` of a claim: a bound for a number, or a bottleneck.
//!
//! ```text
//!   with `against`:  "<= -40%"  "> 0%"  "-40% +- 5%"     a change, always in per cent
//!   without:         ">= 0.95"  "< 5"  "5 +- 0.5"  "5 +- 10%"   the metric itself, in its unit
//!   of a time:       "< 8ms"  "1.5ms +- 200us"  "<= 8000000"     ns where no unit is written
//!   bottleneck:      "== single-thread"  "!= client"
//! ```
//!
//! A measured number is never equal to another, so `==` is for bottlenecks only.

use crate::record::Bottleneck;

/// What a claim expects.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Expectation {
    /// Of a metric or its change (a ratio: -0.4 is 40 % less).
    Number(Bound),
    /// Of the bottleneck.
    Bottleneck {
        /// `==`; `false` for `!=`.
        same: bool,
        /// Which.
        which: Bottleneck,
    },
}

/// Where a number must lie.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bound {
    /// `<`
    Below(f64),
    /// `<=`
    AtMost(f64),
    /// `>`
    Above(f64),
    /// `>=`
    AtLeast(f64),
    /// `+-`, both ends included.
    Within(f64, f64),
}

impl Bound {
    /// Whether this number meets the bound.
    #[must_use]
    pub fn is_met(self, number: f64) -> bool {
        match self {
            Self::Below(limit) => number < limit,
            Self::AtMost(limit) => number <= limit,
            Self::Above(limit) => number > limit,
            Self::AtLeast(limit) => number >= limit,
            Self::Within(low, high) => (low..=high).contains(&number),
        }
    }

    /// `Some(true)` where every number from `low` to `high` meets the bound, `Some(false)`
    /// where none does.
    #[must_use]
    pub fn judge(self, low: f64, high: f64) -> Option<bool> {
        match (self.is_met(low), self.is_met(high)) {
            (true, true) => Some(true),
            (false, false) => match self {
                Self::Within(from, to) if low < from && high > to => None,
                _ => Some(false),
            },
            _ => None,
        }
    }
}

type MakeBound = fn(f64) -> Bound;

/// What kind of thing an `expect` is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A metric that is a time, in ns.
    Time,
    /// Any other metric.
    Metric,
    Change,
    Bottleneck,
}

impl Kind {
    /// Of a metric without `against`: names of times end in `_ns`, before the statistic.
    pub(super) fn of_metric(name: &str) -> Self {
        if name.contains("_ns") { Self::Time } else { Self::Metric }
    }
}

/// Units of times, ns; those that end in another one first.
const TIME_UNITS: [(&str, f64); 5] =
    [("ns", 1.0), ("us", 1e3), ("µs", 1e3), ("ms", 1e6), ("s", 1e9)];

const BOTTLENECKS: [&str; 10] = [
    "single-thread",
    "cpu",
    "cpu-quota",
    "run-queue",
    "memory",
    "accept-queue",
    "client",
    "target-died",
    "none",
    "unknown",
];

/// Reads an `expect`.
///
/// # Errors
/// What is wrong with it and what would be right, in one sentence.
pub(super) fn parse(expect: &str, kind: Kind) -> Result<Expectation, String> {
    let text = expect.trim();
    if kind == Kind::Bottleneck {
        return bottleneck(text);
    }
    if let Some(other) = text.strip_prefix("==").or_else(|| text.strip_prefix("!=")) {
        return Err(never_equal(text, other, kind));
    }
    let bound = if let Some((middle, spread)) = text.split_once("+-").or(text.split_once('±')) {
        within(text, middle.trim(), spread.trim(), kind)?
    } else {
        // The longer signs first: `<=` starts with `<` too.
        let signs: [(&str, MakeBound); 4] = [
            ("<=", Bound::AtMost),
            (">=", Bound::AtLeast),
            ("<", Bound::Below),
            (">", Bound::Above),
        ];
        let (rest, bound) = signs
            .into_iter()
            .find_map(|(sign, bound)| Some((text.strip_prefix(sign)?, bound)))
            .ok_or_else(|| not_understood(text, kind))?;
        bound(number(text, rest.trim(), kind)?)
    };
    Ok(Expectation::Number(bound))
}

/// Nothing measured is below zero, so for zero there is a bound that says the same.
fn never_equal(text: &str, other: &str, kind: Kind) -> String {
    let is_zero = kind != Kind::Change && finite(other) == Some(0.0);
    let instead = match (is_zero, text.starts_with("==")) {
        (true, true) => "<= 0",
        (true, false) => "> 0",
        (false, _) => example(kind),
    };
    format!(
        "`{text}`: a measured number is never exactly another; write a bound or a range such as \
         \"{instead}\""
    )
}

fn within(text: &str, middle: &str, spread: &str, kind: Kind) -> Result<Bound, String> {
    let middle = number(text, middle, kind)?;
    let spread = match (kind, spread.strip_suffix('%')) {
        (Kind::Metric | Kind::Time, Some(percent)) => {
            finite(percent).map(|p| p / 100.0 * middle.abs())
        }
        _ => Some(number(text, spread, kind)?),
    };
    match spread {
        Some(spread) if spread >= 0.0 => Ok(Bound::Within(middle - spread, middle + spread)),
        _ => Err(not_understood(text, kind)),
    }
}

fn number(text: &str, part: &str, kind: Kind) -> Result<f64, String> {
    match (kind, part.strip_suffix('%')) {
        (Kind::Change, Some(percent)) => {
            finite(percent).map(|p| p / 100.0).ok_or_else(|| not_understood(text, kind))
        }
        (Kind::Change, None) => Err(format!(
            "`{text}`: with `against` it is a change, which is written in per cent, such as \
             \"{}\"",
            example(kind)
        )),
        (_, Some(_)) => Err(format!(
            "`{text}`: per cent is a change and needs `against`; a bound of the metric itself \
             is a plain number, such as \"{}\"",
            example(kind)
        )),
        (Kind::Time, None) => {
            time(part).or_else(|| finite(part)).ok_or_else(|| not_understood(text, kind))
        }
        (_, None) if time(part).is_some() => Err(format!(
            "`{text}`: its metric is no time; write a plain number, such as \"{}\"",
            example(kind)
        )),
        (_, None) => finite(part).ok_or_else(|| not_understood(text, kind)),
    }
}

/// A number with the unit of a time, in ns.
fn time(part: &str) -> Option<f64> {
    let (number, unit) =
        TIME_UNITS.iter().find_map(|(name, ns)| Some((part.strip_suffix(name)?, *ns)))?;
    finite(number).map(|number| number * unit)
}

/// Digits, sign, point and exponent; `f64` itself would also read `inf` and `nan`.
fn finite(text: &str) -> Option<f64> {
    text.trim().parse().ok().filter(|n: &f64| n.is_finite())
}

fn bottleneck(text: &str) -> Result<Expectation, String> {
    let (same, name) = match (text.strip_prefix("=="), text.strip_prefix("!=")) {
        (Some(name), _) => (true, name.trim()),
        (_, Some(name)) => (false, name.trim()),
        _ => return Err(not_understood(text, Kind::Bottleneck)),
    };
    let which = serde_json::from_value(serde_json::Value::String(name.to_owned()));
    match which {
        Ok(which) => Ok(Expectation::Bottleneck { same, which }),
        Err(_unknown) => {
            Err(format!("`{name}` is no bottleneck; there are: {}", BOTTLENECKS.join(", ")))
        }
    }
}

fn not_understood(text: &str, kind: Kind) -> String {
    format!("`{text}` is not understood; write for example \"{}\"", example(kind))
}

fn example(kind: Kind) -> &'static str {
    match kind {
        Kind::Metric => ">= 0.95\" or \"5 +- 0.5",
        Kind::Time => "<= 8ms\" or \"5ms +- 10%",
        Kind::Change => "<= -40%\" or \"-40% +- 5%",
        Kind::Bottleneck => "== single-thread",
    }
}

#[cfg(test)]
mod tests;
