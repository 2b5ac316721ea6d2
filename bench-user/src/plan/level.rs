//! What one stage of a ladder holds: its connections, and in the open loop its rate. Stages are
//! told apart by it everywhere: findings, claims, comparisons and tables. A job has one, without
//! connections.
//!
//! Whether something is of a job has a mark at every place that is looked at alone, and all of them
//! always agree: a plan is of jobs if it has [job] (`plan.job`), and then it has the one level
//! [`Level::JOB`] (`is_job`: no connections, which no ladder may ask for). Each of its stages has
//! `job`, the loop `job`, and no load (`LoadSample::is_none`); each of its targets has no addresses
//! (`Urls::is_none`). A stage of load has the opposite of each. `validate` sees to it in a plan,
//! `From<StageDone>` in a stage, and reading a record refuses a stage in which they differ.

use std::fmt;

use serde::Serialize;

use super::Plan;
use crate::units::show_rate;

/// What one stage holds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Level {
    /// Connections kept open; 0 for a job.
    #[serde(skip_serializing_if = "is_zero")]
    pub connections: u32,
    /// Requests per second of an open loop; `None`: closed loop.
    pub offered_rps: Option<f64>,
}

/// Whether a number of connections is that of a job.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes it so")]
pub(crate) const fn is_zero(connections: &u32) -> bool {
    *connections == 0
}

impl Plan {
    /// The stages of each target in order, as claims name them: those of its ladder, or its job.
    #[must_use]
    pub fn levels(&self) -> Vec<Level> {
        if self.job.is_some() { vec![Level::JOB] } else { self.ladder.levels() }
    }
}

impl Level {
    /// The one stage of a program that runs to its end: no connections.
    pub const JOB: Self = Self { connections: 0, offered_rps: None };

    /// Whether it is that of a program that runs to its end.
    #[must_use]
    pub const fn is_job(&self) -> bool {
        self.connections == 0
    }

    /// What one of its repetitions is called: a climb of the ladder, or a run of the job.
    #[must_use]
    pub const fn repetition_noun(&self) -> &'static str {
        if self.is_job() { "run" } else { "climb" }
    }

    /// The number that tells it from the other levels of its ladder, without its unit: the rate
    /// in the open loop, else the connections.
    #[must_use]
    pub fn number(&self) -> f64 {
        self.offered_rps.unwrap_or_else(|| f64::from(self.connections))
    }

    /// That number as text.
    #[must_use]
    pub fn short(&self) -> String {
        match self.offered_rps {
            Some(rps) => show_rate(rps),
            None if self.is_job() => JOB.to_owned(),
            None => self.connections.to_string(),
        }
    }

    /// Several levels in one phrase: `10, 20 connections`.
    #[must_use]
    pub fn list(levels: &[Self]) -> String {
        if levels.iter().any(Self::is_job) {
            return format!("the {JOB}");
        }
        let (open, closed): (Vec<&Self>, Vec<&Self>) =
            levels.iter().partition(|level| level.offered_rps.is_some());
        let phrase = |levels: &[&Self], unit| {
            let numbers: Vec<String> = levels.iter().map(|level| level.short()).collect();
            (!numbers.is_empty()).then(|| format!("{} {unit}", numbers.join(", ")))
        };
        let phrases = [phrase(&closed, CONNECTIONS), phrase(&open, OFFERED)];
        phrases.into_iter().flatten().collect::<Vec<_>>().join(" and ")
    }
}

const JOB: &str = "job";
const CONNECTIONS: &str = "connections";
const OFFERED: &str = "req/s offered";

impl fmt::Display for Level {
    /// As it stands after "at".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_job() {
            return write!(f, "the {JOB}");
        }
        let unit = match (self.offered_rps, self.connections) {
            (Some(_), _) => OFFERED,
            (None, 1) => "connection",
            (None, _) => CONNECTIONS,
        };
        write!(f, "{} {unit}", self.short())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_is_named_by_what_tells_it_from_the_others() {
        let closed = |connections| Level { connections, offered_rps: None };
        let open = |rps| Level { connections: 7, offered_rps: Some(rps) };
        assert_eq!(closed(50).to_string(), "50 connections");
        assert_eq!(closed(1).to_string(), "1 connection");
        assert_eq!(
            (open(1200.0).short(), open(0.5).to_string()),
            ("1200".into(), "0.5 req/s offered".into())
        );
        assert_eq!(Level::list(&[closed(10), closed(20)]), "10, 20 connections");
        assert_eq!(Level::list(&[open(3.0), closed(1)]), "1 connections and 3 req/s offered");
        let job = (Level::JOB.to_string(), Level::JOB.short(), Level::list(&[Level::JOB]));
        assert_eq!(job, ("the job".into(), "job".into(), "the job".into()));
        assert_eq!((closed(50).number(), open(0.5).number()), (50.0, 0.5));
        assert_eq!((closed(1).repetition_noun(), Level::JOB.repetition_noun()), ("climb", "run"));
    }
}
