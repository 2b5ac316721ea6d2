//! A side of a comparison that is some repetitions of a run: what they are, and the run with them
//! alone.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use super::Side;
use crate::record::RunRecord;

/// Which repetitions of a run: `2`, `1-5` or `1,3,5`, counted from 1 as reports do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repetitions {
    /// From 0, as records count them.
    chosen: Vec<u32>,
    /// As it was written.
    text: String,
}

impl fmt::Display for Repetitions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for Repetitions {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let none = || format!("`#{text}` names no repetitions: write #2, #1-5 or #1,3,5");
        let number = |text: &str| text.parse::<u32>().ok().filter(|n| *n > 0).ok_or_else(none);
        let mut chosen = Vec::new();
        for part in text.split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last) = (number(first)?, number(last)?);
            // No run has more; an absurd range must not be listed.
            if first > last || last > 100_000 {
                return Err(none());
            }
            chosen.extend(first - 1..last);
        }
        Ok(Self { chosen, text: text.to_owned() })
    }
}

/// The run of a side with the repetitions that it names, and without findings, which are of all.
pub(super) fn chosen<'a>(side: &Side<'a>) -> Result<Cow<'a, RunRecord>, String> {
    let Some(repetitions) = side.repetitions else { return Ok(Cow::Borrowed(side.run)) };
    let mut run = side.run.clone();
    let discard = run.plan.discard;
    for target in &mut run.targets {
        let last = target.stages.last().map(|stage| stage.repetition);
        target.stages.retain(|stage| repetitions.chosen.contains(&stage.repetition));
        // How it ended is of its last repetition.
        if last.is_some_and(|last| !repetitions.chosen.contains(&last)) {
            target.exit = None;
            target.final_health = None;
        }
    }
    run.analysis = None;
    let has = |n: u32| run.targets.iter().flat_map(|t| &t.stages).any(|s| s.repetition == n);
    for &n in &repetitions.chosen {
        if n < discard {
            let many = if discard == 1 { "repetition" } else { "repetitions" };
            return Err(format!(
                "repetition {} of {} does not count: its plan discards the first {discard} {many}",
                n + 1,
                side.label
            ));
        }
        if !has(n) {
            return Err(format!(
                "{} has no repetition {}: it was to be repeated {} times",
                side.label,
                n + 1,
                run.plan.repeat
            ));
        }
    }
    Ok(Cow::Owned(run))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repetitions_are_counted_from_one() {
        let chosen = |text: &str| text.parse::<Repetitions>().map(|r| r.chosen);
        assert_eq!(chosen("2"), Ok(vec![1]));
        assert_eq!(chosen("1-3"), Ok(vec![0, 1, 2]));
        assert_eq!(chosen("1,3,5-6"), Ok(vec![0, 2, 4, 5]));
        for text in ["", "0", "3-1", "x", "1-", "1,,2", "1-4000000000"] {
            let said = chosen(text).unwrap_err();
            assert!(said.ends_with("write #2, #1-5 or #1,3,5"), "{said}");
        }
    }
}
