//! What a study is made of: `study.toml`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// A study's `study.toml`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// What it is about, in a line.
    pub title: String,
    /// Which article said so.
    pub article: String,
    /// The runtimes that it needs, as names of programs: `node`, `bun`, `deno`.
    #[serde(default)]
    pub runtimes: Vec<String>,
    /// What is run once in its folder before the first part.
    #[serde(default, rename = "step")]
    pub steps: Vec<Step>,
    /// What is measured, in this order.
    #[serde(rename = "part")]
    pub parts: Vec<Part>,
    /// The article's sentences.
    #[serde(default, rename = "sentence")]
    pub sentences: Vec<Sentence>,
}

/// A command of setting a study up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// What it does, as a verb and its object: `build the blog`.
    pub does: String,
    /// Program and arguments.
    pub command: Vec<String>,
    /// Environment, added to ours.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
}

/// One plan of a study.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// Name in the table and of the folder of its run.
    pub name: String,
    /// What it measures, in a few words.
    pub about: String,
    /// The plan's file.
    pub plan: String,
    /// Rates that are shares of a peak which an earlier part found.
    #[serde(default)]
    pub rates: Option<RatesOfPeak>,
    /// Keys of the plan that this part changes at every size.
    #[serde(default)]
    pub with: toml::Table,
    /// Keys of the plan that `--quick` changes; a table such as `target` changes each `[[target]]`.
    #[serde(default)]
    pub quick: toml::Table,
    /// Keys of the plan that `--smoke` changes, on top of those of `--quick`.
    #[serde(default)]
    pub smoke: toml::Table,
    /// It is left out with `--smoke`.
    #[serde(default)]
    pub not_in_smoke: bool,
    /// Folders that targets and services share, relative to the study's or absolute: mounted at the
    /// same place where the targets are containers.
    #[serde(default)]
    pub shared: Vec<PathBuf>,
}

/// Rates of an open loop as shares of the lowest peak of another part's targets, so that every
/// target can serve them on the machine at hand.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RatesOfPeak {
    /// The part, an earlier one.
    pub part: String,
    /// Shares of the peak, above 0 and at most 1.
    pub shares: Vec<f64>,
}

/// A sentence of the article and how it is checked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sentence {
    /// The sentence, shortened to what it claims.
    pub says: String,
    /// The figure that the article gave.
    pub figure: String,
    /// The claim that checks it, as `part/id`.
    #[serde(default)]
    pub claim: Option<String>,
    /// Why no claim checks it here.
    #[serde(default)]
    pub unavailable: Option<String>,
    /// Metrics that explain the answer, shown for the targets of the claim; `part/metric` for one of
    /// another part.
    #[serde(default)]
    pub evidence: Vec<String>,
}

/// How long a study takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Size {
    /// As the article's author would want it.
    Full,
    /// Minutes: fewer repetitions and shorter stages.
    Quick,
    /// Seconds: whether everything works; the figures say nothing.
    Smoke,
}

impl Size {
    /// As the command line has it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Full => "full size",
            Self::Quick => "--quick",
            Self::Smoke => "--smoke",
        }
    }
}

impl Manifest {
    /// Reads a manifest.
    ///
    /// # Errors
    /// What is wrong with it, with the line.
    pub fn parse(text: &str) -> Result<Self, String> {
        let manifest: Self = toml::from_str(text).map_err(|error| error.to_string())?;
        manifest.check()?;
        Ok(manifest)
    }

    /// The part of this name.
    #[must_use]
    pub fn part(&self, name: &str) -> Option<&Part> {
        self.parts.iter().find(|part| part.name == name)
    }

    /// What no type can say.
    fn check(&self) -> Result<(), String> {
        for (place, part) in self.parts.iter().enumerate() {
            if self.parts[..place].iter().any(|other| other.name == part.name) {
                return Err(format!("two parts are called `{}`", part.name));
            }
            let earlier = |name: &str| self.parts[..place].iter().any(|p| p.name == name);
            if let Some(rates) = &part.rates
                && !earlier(&rates.part)
            {
                let (part, of) = (&part.name, &rates.part);
                return Err(format!("part `{part}` takes its rates of `{of}`, no earlier part"));
            }
        }
        for sentence in &self.sentences {
            match (&sentence.claim, &sentence.unavailable) {
                (Some(claim), None) => {
                    let part = claim.split_once('/').and_then(|(part, _)| self.part(part));
                    if part.is_none() {
                        return Err(format!("`{claim}` names no part"));
                    }
                    self.check_evidence(sentence)?;
                }
                (None, Some(_)) => {}
                _ => {
                    let says = &sentence.says;
                    return Err(format!("`{says}` needs either `claim` or `unavailable`"));
                }
            }
        }
        Ok(())
    }

    fn check_evidence(&self, sentence: &Sentence) -> Result<(), String> {
        let parts = sentence.evidence.iter().filter_map(|metric| metric.split_once('/'));
        for (part, metric) in parts {
            if self.part(part).is_none() {
                return Err(format!("`{part}/{metric}` names no part"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str =
        "title = 't'\narticle = 'a'\n[[part]]\nname = 'p'\nabout = 'x'\nplan = 'p.toml'\n";

    fn refused(more: &str, why: &str) {
        assert_eq!(Manifest::parse(&format!("{ONE}{more}")).unwrap_err(), why);
    }

    #[test]
    fn a_sentence_is_checked_by_a_claim_of_a_part_or_says_why_not() {
        let sentence = "[[sentence]]\nsays = 's'\nfigure = '1'\n";
        assert!(Manifest::parse(&format!("{ONE}{sentence}claim = 'p/x'\n")).is_ok());
        assert!(Manifest::parse(&format!("{ONE}{sentence}unavailable = 'no PMU'\n")).is_ok());
        refused(sentence, "`s` needs either `claim` or `unavailable`");
        refused(&format!("{sentence}claim = 'q/x'\n"), "`q/x` names no part");
        let claim = format!("{sentence}claim = 'p/x'\n");
        refused(&format!("{claim}evidence = ['q/error_ratio']\n"), "`q/error_ratio` names no part");
    }

    #[test]
    fn rates_are_of_an_earlier_part() {
        refused(
            "[part.rates]\npart = 'p'\nshares = [0.5]\n",
            "part `p` takes its rates of `p`, no earlier part",
        );
        refused("[[part]]\nname = 'p'\nabout = 'x'\nplan = 'x'\n", "two parts are called `p`");
    }
}
