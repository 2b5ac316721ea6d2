//! A record rendered for people and programs.
//!
//! Content and format are apart: `run`, `claims`, `compare` and `sample` each build a page of
//! plain blocks, and `text` and `markdown` draw any page, so both show the same figures; `html`
//! draws the same blocks and pictures beside them; `json` is the data itself and `export` hands it
//! to other tools. Pure: no clock, no environment, no
//! terminal. A figure becomes percent here and in the sentences of the record, never in its numbers.

mod claims;
mod columns;
mod compare;
mod explain;
mod export;
mod facts;
mod figures;
mod findings;
mod history;
mod html;
mod job;
mod json;
mod levels;
mod markdown;
mod own_cost;
mod page;
mod reasons;
mod run;
mod sample;
mod stages;
mod studies;
mod study;
mod surroundings;
#[cfg(test)]
mod tests;
mod text;
mod threads;
mod times;
mod warnings;

use std::io::{self, Write};

use serde::Serialize;

pub use compare::{Repetitions, Side};
pub use export::github::SUMMARY_MAX;
pub use export::otlp::Window;
pub use export::series::live::{Exposition, Observation};
pub use export::stacks::{StackChoice, StackKind};
pub(crate) use figures::word;
pub use history::{Asked, Brief, History, Skipped, Trend};
pub use studies::StudyResults;
pub use study::{Checked, Evidence, EvidenceSide, Known};

use crate::host::HostInfo;
use crate::measured::Measured;
use crate::observe::{ProbeEstimate, Sample};
use crate::record::{ClaimResult, RunRecord};
use export::stacks::Folded;
use page::Page;

/// How a report is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    /// Plain tables for a terminal of 120 columns.
    #[default]
    Text,
    /// GitHub's Markdown, for a pull request.
    Markdown,
    /// The data.
    Json,
}

/// What the probes will cost, as a line for whoever waits for the run.
#[must_use]
pub fn probe_estimate(found: &Measured<ProbeEstimate>) -> String {
    own_cost::estimate(found)
}

/// Writes the report of a run; as JSON, the record itself.
///
/// # Errors
/// What the writer says.
pub fn render(run: &RunRecord, format: Format, out: &mut dyn Write) -> io::Result<()> {
    draw(run, || run::page(run), format, out)
}

/// Writes the sentences of articles beside what was measured; as JSON, a list of the studies.
///
/// # Errors
/// What the writer says.
pub fn studies(
    studies: &[StudyResults<'_>],
    format: Format,
    out: &mut dyn Write,
) -> io::Result<()> {
    draw(studies, || studies::page(studies), format, out)
}

/// Writes the report of a run as one HTML page that needs no other file and no network.
///
/// # Errors
/// What the writer says.
pub fn html(run: &RunRecord, out: &mut dyn Write) -> io::Result<()> {
    html::write(run, out)
}

/// Writes one row of comma-separated values for every stage; `export/csv.rs` names the columns.
///
/// # Errors
/// What the writer says.
pub fn csv(run: &RunRecord, out: &mut dyn Write) -> io::Result<()> {
    export::csv::write(run, out)
}

/// Writes the histograms of every stage as an HdrHistogram interval log.
///
/// # Errors
/// What the writer says, or one sentence of the kind `InvalidData` when the record holds no
/// histogram where it holds samples, or no date of its start.
pub fn hlog(run: &RunRecord, out: &mut dyn Write) -> io::Result<()> {
    export::hlog::write(run, out)
}

/// Writes the stacks of a run as folded text, a stack and its weight in each line.
///
/// # Errors
/// What the writer says, or one sentence of the kind `InvalidInput` when the run holds none of
/// that choice.
pub fn folded(run: &RunRecord, choice: &StackChoice, out: &mut dyn Write) -> io::Result<()> {
    Folded::of_run(run, choice)?.write(out)
}

/// Draws the stacks of a run as a flame graph (SVG).
///
/// # Errors
/// As [`folded`], and when there is nothing to draw.
pub fn flamegraph(run: &RunRecord, choice: &StackChoice, out: &mut dyn Write) -> io::Result<()> {
    Folded::of_run(run, choice)?.draw(out)
}

/// Draws the stacks of one window without load as a flame graph (SVG).
///
/// # Errors
/// As [`flamegraph`].
pub fn sample_flamegraph(sample: &Sample, kind: StackKind, out: &mut dyn Write) -> io::Result<()> {
    Folded::of_sample(sample, kind)?.draw(out)
}

/// Writes the last stage of each target as series, in the text format of Prometheus.
///
/// # Errors
/// What the writer says.
pub fn prometheus(run: &RunRecord, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(export::prometheus::text(export::series::of_run(run)).as_bytes())
}

/// The last stage of each target as the body of a request by OTLP (OpenTelemetry metrics in
/// protobuf), with what the user says of the resource.
#[must_use]
pub fn otlp(run: &RunRecord, attributes: &[(String, String)]) -> Vec<u8> {
    export::otlp::of_run(run, attributes)
}

/// The attributes of a target on this machine as a resource of OpenTelemetry; `said` stands above
/// what is known of it.
#[must_use]
pub fn otlp_attributes(
    target: &str,
    host: &HostInfo,
    said: &[(String, String)],
) -> Vec<(String, String)> {
    let mut attributes = export::otlp::attributes_of(target, host);
    export::otlp::merge(&mut attributes, said);
    attributes
}

/// Writes the claims of a run as JUnit XML, a test case each.
///
/// # Errors
/// What the writer says, or one sentence of the kind `InvalidInput` when the run has no claims.
pub fn junit(run: &RunRecord, out: &mut dyn Write) -> io::Result<()> {
    export::junit::write(run, out)
}

/// Writes the summary of a step of GitHub Actions: the claims of a run and its report, in at most
/// `room` bytes; what does not fit is left out with a sentence.
///
/// # Errors
/// What the writer says.
pub fn github_summary(run: &RunRecord, room: usize, out: &mut dyn Write) -> io::Result<()> {
    export::github::summary(run, room, out)
}

/// Writes a workflow command of GitHub Actions for every claim that does not hold: an error where
/// it fails, else a warning.
///
/// # Errors
/// What the writer says.
pub fn github_annotations(results: &[ClaimResult], out: &mut dyn Write) -> io::Result<()> {
    export::github::annotations(results, out)
}

/// Writes the claims alone, stage by stage.
///
/// # Errors
/// What the writer says.
pub fn claims(results: &[ClaimResult], format: Format, out: &mut dyn Write) -> io::Result<()> {
    draw(results, || claims::page(results), format, out)
}

/// Writes `b` beside `a`, metric by metric in the stages that both have, and gives the exit code
/// of a comparison that is to fail where something is worse by more than `tolerance` (0.05: 5 %):
/// 1 where it is, 3 where it may be, else 0.
///
/// # Errors
/// What the writer says, or one sentence of the kind `InvalidInput` when a target or a repetition
/// is not in its run or the two sides have no target in common.
pub fn compare(
    a: &Side<'_>,
    b: &Side<'_>,
    format: Format,
    tolerance: f64,
    out: &mut dyn Write,
) -> io::Result<u8> {
    let comparison = compare::compare(a, b)
        .map_err(|sentence| io::Error::new(io::ErrorKind::InvalidInput, sentence))?;
    match format {
        Format::Markdown => compare::markdown(&comparison, out)?,
        _ => draw(&comparison, || compare::page(&comparison), format, out)?,
    }
    Ok(compare::exit_code(&comparison, tolerance))
}

/// Writes the list of a folder's runs.
///
/// # Errors
/// What the writer says.
pub fn history(history: &History, format: Format, out: &mut dyn Write) -> io::Result<()> {
    draw(history, || history::page(history), format, out)
}

/// Writes the list of a folder's runs as comma-separated values, a row each.
///
/// # Errors
/// What the writer says.
pub fn history_csv(history: &History, out: &mut dyn Write) -> io::Result<()> {
    history::csv(history, out)
}

/// Writes the trend of a metric over a folder's runs.
///
/// # Errors
/// What the writer says.
pub fn trend(trend: &Trend, format: Format, out: &mut dyn Write) -> io::Result<()> {
    draw(trend, || history::trend_page(trend), format, out)
}

/// Writes the trend of a metric as comma-separated values, a row for each run.
///
/// # Errors
/// What the writer says.
pub fn trend_csv(trend: &Trend, out: &mut dyn Write) -> io::Result<()> {
    history::trend_csv(trend, out)
}

/// Writes what was observed in one window without load.
///
/// # Errors
/// What the writer says.
pub fn sample(sample: &Sample, format: Format, out: &mut dyn Write) -> io::Result<()> {
    draw(sample, || sample::page(sample), format, out)
}

fn draw<T: Serialize + ?Sized>(
    data: &T,
    page: impl FnOnce() -> Page,
    format: Format,
    out: &mut dyn Write,
) -> io::Result<()> {
    match format {
        Format::Text => text::draw(&page(), out),
        Format::Markdown => markdown::draw(&page(), out),
        Format::Json => json::write(data, out),
    }
}
