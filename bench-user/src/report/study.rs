//! An article's sentence beside what was measured: a row to read first, then the sentence with the
//! figures behind its answer. `studies.rs` makes pages of them.

use serde::Serialize;

use super::figures::{self, NONE};
use super::page::Item;
use crate::plan::Level;
use crate::record::{ClaimResult, ClaimVerdict, Estimate, StageClaim};

/// A sentence of an article and what became of it.
#[derive(Debug, Clone, Serialize)]
pub struct Checked {
    /// The sentence.
    pub says: String,
    /// The figure that the article gave.
    pub figure: String,
    /// The answer of the claim that checks it, or why there is none.
    #[serde(serialize_with = "answered")]
    pub answer: Result<ClaimResult, String>,
    /// What explains the answer.
    pub evidence: Vec<Evidence>,
}

/// A metric of the targets that a sentence is about.
#[derive(Debug, Clone, Serialize)]
pub struct Evidence {
    /// Its dotted name.
    pub metric: String,
    /// Of each target.
    pub sides: Vec<EvidenceSide>,
}

/// A metric of one target.
#[derive(Debug, Clone, Serialize)]
pub struct EvidenceSide {
    /// The target.
    pub target: String,
    /// Where it was measured; `null` where there was nothing to measure it in.
    pub level: Option<Level>,
    /// The reason where it was not measured.
    pub value: Result<Known, String>,
}

/// What is known of a metric, or what stands in its place.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Known {
    /// A figure with its interval.
    Figure(Estimate),
    /// Names with their figures.
    Words(String),
}

fn answered<S: serde::Serializer>(
    answer: &Result<ClaimResult, String>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Missing<'a> {
        unavailable: &'a str,
    }
    match answer {
        Ok(result) => result.serialize(serializer),
        Err(why) => Missing { unavailable: why }.serialize(serializer),
    }
}

impl Checked {
    /// What became of it; unavailable where no claim checks it.
    pub(super) fn verdict(&self) -> ClaimVerdict {
        self.answer.as_ref().map_or(ClaimVerdict::Unavailable, |result| result.verdict)
    }
}

/// Cells of the table: the sentence, the article's figure, that of this machine, the verdict.
pub(super) fn row(row: &Checked) -> Vec<String> {
    vec![row.says.clone(), row.figure.clone(), here(row), figures::word(row.verdict())]
}

/// The figure that decided it, with its interval.
fn here(row: &Checked) -> String {
    let Ok(result) = &row.answer else { return NONE.into() };
    let claim = &result.claim;
    let gave = |stage: &&StageClaim| stage.verdict == result.verdict;
    let figure = result.stages.iter().rfind(gave).and_then(|stage| stage.figure.as_ref());
    // What limited it, or an expression over several figures.
    let Some(figure) = figure else { return "see below".into() };
    let metric = claim.metric.as_deref().unwrap_or_default();
    let is_change = claim.against.is_some();
    let show = |value: f64| {
        if is_change { figures::change(value) } else { figures::show(metric, value) }
    };
    match (figure.low, figure.high) {
        (Some(low), Some(high)) => {
            format!("{} ({} to {})", show(figure.value), show(low), show(high))
        }
        _ => show(figure.value),
    }
}

/// The sentence with why it is answered so, and with what explains it.
pub(super) fn item(row: &Checked) -> Item {
    let because = match &row.answer {
        Ok(result) => result.because.clone(),
        Err(why) => why.clone(),
    };
    let mut lines = vec![row.says.clone(), because];
    lines.extend(row.evidence.iter().map(shown));
    Item { lead: figures::word(row.verdict()), lines }
}

fn shown(evidence: &Evidence) -> String {
    let sides: Vec<_> =
        evidence.sides.iter().map(|side| shown_side(&evidence.metric, side)).collect();
    format!("`{}`: {}", evidence.metric, sides.join("; "))
}

fn shown_side(metric: &str, side: &EvidenceSide) -> String {
    let EvidenceSide { target, level, value } = side;
    let at = level.filter(|level| !level.is_job()).map_or_else(String::new, |l| format!(" at {l}"));
    match value {
        Ok(Known::Figure(value)) => {
            format!("{target} {}{at}", figures::show_estimate(metric, value))
        }
        Ok(Known::Words(words)) => format!("{target}{at}: {words}"),
        Err(why) => format!("{target} {NONE}{at} ({why})"),
    }
}
