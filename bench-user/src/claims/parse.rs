//! The `expect` of a claim: a bound for a number, or a bottleneck.
//!
//! ```text
//!   with `against`:  "<= -40%"  "> 0%"  "-40% +- 5%"     a change, always in per cent
//!   without:         ">= 0.95"  "< 5"  "5 +- 0.5"  "5 +- 10%"   the metric itself, in its unit
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
    Metric,
    Change,
    Bottleneck,
}

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
    if text.starts_with("==") || text.starts_with("!=") {
        return Err(format!(
            "`{text}`: a measured number is never exactly another; write a bound or a range \
             such as \"{}\"",
            example(kind)
        ));
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

fn within(text: &str, middle: &str, spread: &str, kind: Kind) -> Result<Bound, String> {
    let middle = number(text, middle, kind)?;
    let spread = match (kind, spread.strip_suffix('%')) {
        (Kind::Metric, Some(percent)) => finite(percent).map(|p| p / 100.0 * middle.abs()),
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
        (_, None) => finite(part).ok_or_else(|| not_understood(text, kind)),
    }
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
        Kind::Change => "<= -40%\" or \"-40% +- 5%",
        Kind::Bottleneck => "== single-thread",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bound(text: &str, kind: Kind) -> Bound {
        match parse(text, kind) {
            Ok(Expectation::Number(bound)) => bound,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn bounds_of_metrics_and_changes() {
        assert_eq!(bound("< 5", Kind::Metric), Bound::Below(5.0));
        assert_eq!(bound(">=0.95", Kind::Metric), Bound::AtLeast(0.95));
        assert_eq!(bound("5 +- 10%", Kind::Metric), Bound::Within(4.5, 5.5));
        assert_eq!(bound("5 ± 1", Kind::Metric), Bound::Within(4.0, 6.0));
        assert_eq!(bound("<= -40%", Kind::Change), Bound::AtMost(-0.4));
        assert_eq!(bound("> +1e1 %", Kind::Change), Bound::Above(0.1));
        let Bound::Within(low, high) = bound("-40% +- 5%", Kind::Change) else { panic!() };
        assert!((low + 0.45).abs() < 1e-12 && (high + 0.35).abs() < 1e-12, "{low} {high}");
    }

    #[test]
    fn bottlenecks_are_equal_or_not() {
        for (i, name) in BOTTLENECKS.iter().enumerate() {
            let got = parse(&format!("== {name}"), Kind::Bottleneck);
            let Ok(Expectation::Bottleneck { same: true, which }) = got else {
                panic!("{name}: {got:?}")
            };
            assert_eq!(which == Bottleneck::SingleThread, i == 0, "{name}");
        }
        assert_eq!(
            parse("!=client", Kind::Bottleneck),
            Ok(Expectation::Bottleneck { same: false, which: Bottleneck::Client })
        );
    }

    #[test]
    fn what_is_wrong_is_said_with_the_remedy() {
        for (text, kind, said) in [
            ("<= -40%", Kind::Metric, "needs `against`"),
            ("<= -0.4", Kind::Change, "in per cent"),
            ("== 5", Kind::Metric, "range such as"),
            ("about 5", Kind::Metric, "not understood"),
            ("< inf", Kind::Metric, "not understood"),
            ("<= x%", Kind::Change, "not understood"),
            ("5 +- -1", Kind::Metric, "not understood"),
            ("", Kind::Metric, "not understood"),
            ("single-thread", Kind::Bottleneck, "== single-thread"),
            ("== single", Kind::Bottleneck, "there are: single-thread, cpu,"),
        ] {
            let error = parse(text, kind).unwrap_err();
            assert!(error.contains(said), "{text}: {error}");
        }
    }

    #[test]
    fn a_bound_is_met_by_all_of_an_interval_by_none_or_by_a_part() {
        let cases = [
            (Bound::AtMost(5.0), 4.0, 5.0, Some(true)),
            (Bound::Below(5.0), 4.0, 5.0, None),
            (Bound::Below(5.0), 5.0, 6.0, Some(false)),
            (Bound::AtLeast(5.0), 5.0, 6.0, Some(true)),
            (Bound::Above(5.0), 4.0, 6.0, None),
            (Bound::Within(4.0, 6.0), 4.0, 6.0, Some(true)),
            (Bound::Within(4.0, 6.0), 5.0, 7.0, None),
            (Bound::Within(4.0, 6.0), 3.0, 7.0, None),
            (Bound::Within(4.0, 6.0), 7.0, 8.0, Some(false)),
        ];
        for (bound, low, high, expected) in cases {
            assert_eq!(bound.judge(low, high), expected, "{bound:?} {low} {high}");
        }
    }
}
