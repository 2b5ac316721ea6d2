//! The runs of a folder in the order in which they were made, and the trend of a metric over them.
//!
//! Knows no folder: whoever reads one hands over a [`Brief`] of each run, or, for a trend, one run
//! after the other ([`Trend::take_in`]), so that no two of many need be held in memory.

mod brief;
mod list;
mod trend;
mod trend_page;

pub use brief::Brief;
pub(super) use list::{csv, page};
pub use trend::{Asked, Trend};
pub(super) use trend_page::{csv as trend_csv, page as trend_page};

use serde::Serialize;

/// The runs of a folder.
#[derive(Debug, Serialize)]
pub struct History {
    /// Oldest first.
    pub runs: Vec<Brief>,
    /// What was no run, and why.
    pub skipped: Vec<Skipped>,
}

/// What was in the folder and is no run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Skipped {
    /// Its name in the folder.
    pub name: String,
    /// Why, as a sentence.
    pub why: String,
}

impl History {
    /// In the order of their starts.
    #[must_use]
    pub fn of(mut runs: Vec<Brief>, skipped: Vec<Skipped>) -> Self {
        // RFC 3339 in UTC sorts as text.
        runs.sort_by(|a, b| (&a.started_at, &a.id).cmp(&(&b.started_at, &b.id)));
        Self { runs, skipped }
    }
}

/// How many were skipped, and why the first was, as a sentence; `None` where none was.
fn skipped(skipped: &[Skipped]) -> Option<String> {
    let first = skipped.first()?;
    let what = super::figures::plural(skipped.len() as u64, "entry is", "entries are");
    let such = if skipped.len() == 1 { "it is" } else { "the first is" };
    Some(format!("{what} left out; {such} {}: {}.", first.name, first.why))
}
