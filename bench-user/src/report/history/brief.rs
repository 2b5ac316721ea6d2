//! What a list of runs says of one: little enough to be read of hundreds.

use serde::{Deserialize, Serialize};

use crate::record::{ClaimVerdict, SCHEMA};

/// A run in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Brief {
    /// Name of its folder, or of its file.
    pub name: String,
    /// Names the run.
    pub id: String,
    /// UTC, RFC 3339.
    pub started_at: String,
    /// Name of its plan.
    pub plan: String,
    /// Names of its targets.
    pub targets: Vec<String>,
    /// Stages of all targets.
    pub stages: usize,
    /// Claims by their answer.
    pub claims: Answers,
    /// Why it ended before its plan was done; `null` when it was done.
    pub interrupted: Option<String>,
}

/// Claims by their answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Answers {
    /// Hold.
    pub holds: usize,
    /// Fail.
    pub fails: usize,
    /// Neither.
    pub inconclusive: usize,
    /// About what was not measured.
    pub unavailable: usize,
}

/// The parts of a record that are read; the others are passed over without being kept.
#[derive(Deserialize)]
struct Parts {
    schema: String,
    id: String,
    started_at: String,
    plan: PlanPart,
    targets: Vec<TargetPart>,
    claims: Vec<ClaimPart>,
    interrupted: Option<String>,
}

#[derive(Deserialize)]
struct PlanPart {
    name: String,
}

#[derive(Deserialize)]
struct TargetPart {
    name: String,
    stages: Vec<serde::de::IgnoredAny>,
}

#[derive(Deserialize)]
struct ClaimPart {
    verdict: ClaimVerdict,
}

impl Brief {
    /// Of the text of a record.
    ///
    /// # Errors
    /// One sentence: it is no record, or one of another version of the format.
    pub fn read(name: &str, text: &[u8]) -> Result<Self, String> {
        let Parts { schema, id, started_at, plan, targets, claims, interrupted } =
            serde_json::from_slice(text).map_err(|e| format!("not a whole run record ({e})"))?;
        if schema != SCHEMA {
            return Err(format!("its schema is `{schema}` and this version reads `{SCHEMA}`"));
        }
        let of = |verdict| claims.iter().filter(|claim| claim.verdict == verdict).count();
        Ok(Self {
            name: name.to_owned(),
            id,
            started_at,
            plan: plan.name,
            stages: targets.iter().map(|target| target.stages.len()).sum(),
            targets: targets.into_iter().map(|target| target.name).collect(),
            claims: Answers {
                holds: of(ClaimVerdict::Holds),
                fails: of(ClaimVerdict::Fails),
                inconclusive: of(ClaimVerdict::Inconclusive),
                unavailable: of(ClaimVerdict::Unavailable),
            },
            interrupted,
        })
    }
}
