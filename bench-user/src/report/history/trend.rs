//! One metric over the runs of a folder: each run's figure with its interval, and whether the last
//! differs from the one before, by the rule of `compare` and with its conditions.
//!
//! All figures are of one target and one level, those of the newest run (its peak, where nothing
//! else is asked for): a figure of another load is no point of the same trend. So runs are taken
//! in newest first.

use serde::Serialize;

use super::Skipped;
use crate::measured::Measured;
use crate::plan::Level;
use crate::record::{Estimate, RunRecord, TargetRecord};
use crate::report::compare::{Condition, Difference, conditions_between, difference};
use crate::report::levels;

/// What is asked of every run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// The metric, by its name in claims.
    pub metric: String,
    /// The target; `None`: the only one of the newest run.
    pub target: Option<String>,
    /// The level by its connections; `None`: the peak of the newest run.
    pub connections: Option<u32>,
}

/// A metric over runs.
#[derive(Debug, Serialize)]
pub struct Trend {
    /// The metric.
    pub(super) metric: String,
    /// The target that every figure is of.
    pub(super) target: String,
    /// The level that every figure is of.
    #[serde(flatten)]
    pub(super) at: Level,
    /// Oldest first.
    pub(super) points: Vec<Point>,
    /// Whether the last differs from the one before; `null` where there are no two.
    pub(super) last: Option<Last>,
    /// What was no run, and why.
    pub(super) skipped: Vec<Skipped>,
    /// Kept until the run before it comes.
    #[serde(skip)]
    newest: Option<Box<RunRecord>>,
}

/// A run of the trend.
#[derive(Debug, Serialize)]
pub(super) struct Point {
    /// Name of its folder, or of its file.
    pub(super) run: String,
    /// UTC, RFC 3339.
    pub(super) started_at: String,
    /// The median with its interval, or why there is none.
    pub(super) figure: Measured<Estimate>,
    /// Why no conclusion may rest on it; `null` when one may.
    pub(super) unfit: Option<String>,
}

/// The last run against the one before.
#[derive(Debug, Serialize)]
pub(super) struct Last {
    /// The run before that has a figure.
    pub(super) against: String,
    /// The change, and what may be said of it.
    #[serde(flatten)]
    pub(super) difference: Difference,
    /// Conditions that differ between the two.
    pub(super) conditions: Vec<Condition>,
}

impl Trend {
    /// Begins with the newest run.
    ///
    /// # Errors
    /// One sentence: it has no such target or level, or names several targets and none was chosen.
    pub fn from_newest(asked: &Asked, name: &str, run: RunRecord) -> Result<Self, String> {
        let target = chosen(asked, name, &run)?;
        let at = level(asked, name, &run, target)?;
        let mut trend = Self {
            metric: asked.metric.clone(),
            target: target.name.clone(),
            at,
            points: Vec::new(),
            last: None,
            skipped: Vec::new(),
            newest: None,
        };
        trend.points.push(trend.point(name, &run));
        trend.newest = Some(Box::new(run));
        Ok(trend)
    }

    /// The next older run.
    pub fn take_in(&mut self, name: &str, run: &RunRecord) {
        let point = self.point(name, run);
        let newest = self.points.last().and_then(|newest| Some((newest.figure.value()?, newest)));
        if let (Some(before), Some((now, last))) = (point.figure.value(), newest)
            && let Some(newest) = self.newest.take()
        {
            let unfit = last.unfit.clone().or_else(|| point.unfit.clone());
            self.last = Some(Last {
                against: name.to_owned(),
                difference: difference(&self.metric, before, now, unfit),
                conditions: conditions_between(run, &newest, &self.target),
            });
        }
        // Runs come newest first and stand oldest first.
        self.points.insert(0, point);
    }

    /// The target that every figure is of.
    #[must_use]
    pub fn target(&self) -> &str {
        &self.target
    }

    /// What was left out.
    pub fn skip(&mut self, skipped: Vec<Skipped>) {
        self.skipped = skipped;
    }

    fn point(&self, name: &str, run: &RunRecord) -> Point {
        let found = levels::figure(run, &self.target, self.at, &self.metric);
        let (figure, unfit) = match found {
            Ok((figure, unfit)) => (Measured::Value(figure), unfit),
            Err(why) => (Measured::unavailable(why), None),
        };
        Point { run: name.to_owned(), started_at: run.started_at.clone(), figure, unfit }
    }
}

fn chosen<'a>(asked: &Asked, name: &str, run: &'a RunRecord) -> Result<&'a TargetRecord, String> {
    let names: Vec<&str> = run.targets.iter().map(|target| target.name.as_str()).collect();
    match (&asked.target, &run.targets[..]) {
        (None, [only]) => Ok(only),
        (None, _) => Err(format!(
            "{name} has several targets: choose one of {} with --target",
            names.join(", ")
        )),
        (Some(wanted), targets) => targets
            .iter()
            .find(|target| target.name == *wanted)
            .ok_or_else(|| format!("{name} has no target `{wanted}`: it has {}", names.join(", "))),
    }
}

fn level(asked: &Asked, name: &str, run: &RunRecord, of: &TargetRecord) -> Result<Level, String> {
    let analysis = levels::analysis(run);
    let ladder = levels::ladder(run, &analysis, of);
    let nothing = || format!("{name} has no counted stage of {}", of.name);
    match asked.connections {
        None => ladder.shown().map(|row| row.at).ok_or_else(nothing),
        Some(connections) => {
            let found = ladder.rows.iter().find(|row| row.at.connections == connections);
            found.map(|row| row.at).ok_or_else(|| {
                let all: Vec<Level> = ladder.rows.iter().map(|row| row.at).collect();
                if all.is_empty() {
                    return nothing();
                }
                format!(
                    "{name} has no stage of {connections} connections: it has {}",
                    Level::list(&all)
                )
            })
        }
    }
}
