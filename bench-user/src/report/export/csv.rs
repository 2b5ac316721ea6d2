//! One row for every stage, as comma-separated values (RFC 4180) with a row of names.
//!
//! Columns stand in this order:
//! 1. what the stage is: [`IDENTITY`];
//! 2. every number of a stage under the name that it has in claims, block by block as in
//!    [`BLOCKS`] and by name inside a block; the same in every file of one version;
//! 3. what only some runs have, such as statuses, syscalls by name, perf counters and causes of
//!    loss, by name.
//!
//! An empty cell was not measured, or is a percentile that the samples of the stage do not support.
//! Figures are those of the record to the last digit; nothing is rounded.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use serde_json::{Number, Value};

use super::Exported;
use crate::analyze::{catalogue, metrics};
use crate::record::{RunRecord, StageRecord};
use crate::report::figures::word;

/// What a stage is: the name of the column and what stands in it.
const IDENTITY: [(&str, Word); 14] = [
    ("target", |e| e.target.name.clone()),
    ("repetition", |e| e.stage.repetition.to_string()),
    ("index", |e| e.stage.index.to_string()),
    ("role", |e| e.role.to_owned()),
    ("observed", |e| e.stage.observed.to_string()),
    ("loop", |e| word(e.stage.kind)),
    ("connections", |e| of_load(e, |stage| stage.connections.to_string())),
    ("offered_rps", |e| e.stage.offered_rps.map_or(String::new(), |rps| rps.to_string())),
    ("duration_s", |e| e.stage.duration_s.to_string()),
    ("observed_requests", |e| of_load(e, |stage| stage.observed_requests.to_string())),
    ("generator_limited", |e| of_load(e, |stage| stage.load.generator.limited.to_string())),
    ("bottleneck", |e| word(e.stage.verdict.bottleneck)),
    ("invalid", |e| e.stage.verdict.invalid.join("; ")),
    ("stopped_by", |e| e.stage.verdict.stopped_by.clone().unwrap_or_default()),
];

/// What only a stage of load has; nothing for a job.
fn of_load(e: &Exported<'_>, word: fn(&StageRecord) -> String) -> String {
    if e.stage.job.is_some() { String::new() } else { word(e.stage) }
}

type Word = fn(&Exported<'_>) -> String;

/// The blocks of a stage in the order of their columns; a name that begins with none of them is
/// computed from several and stands before all.
const BLOCKS: [&str; 10] = [
    "load.",
    "job.",
    "syscalls.",
    "sched.",
    "threads.",
    "perf.",
    "cgroup.",
    "net.",
    "machine.",
    "observer_cost.",
];

/// Writes the row of names and one row for every stage.
pub(in crate::report) fn write(run: &RunRecord, out: &mut dyn Write) -> io::Result<()> {
    let stages: Vec<(Numbers, Exported<'_>)> =
        super::stages(run).into_iter().map(|e| (numbers(e.stage), e)).collect();
    let fixed = fixed();
    let known: BTreeSet<&str> = fixed.iter().copied().collect();
    let own: BTreeSet<&str> = stages
        .iter()
        .flat_map(|(numbers, _)| numbers)
        .filter(|(name, number)| number.is_some() && !known.contains(name.as_str()))
        .map(|(name, _)| name.as_str())
        .collect();
    let names: Vec<&str> = fixed.into_iter().chain(own).collect();

    let mut csv = csv::Writer::from_writer(out);
    csv.write_record(IDENTITY.iter().map(|(name, _)| *name).chain(names.iter().copied()))?;
    for (numbers, exported) in &stages {
        let identity = IDENTITY.iter().map(|(_, of)| of(exported));
        let figures = names.iter().map(|name| cell(exported.stage, numbers, name));
        csv.write_record(identity.chain(figures))?;
    }
    csv.flush()
}

type Numbers = BTreeMap<String, Option<Number>>;

/// The numbers that the record holds of a stage; those that are `null` there as `None`.
fn numbers(stage: &StageRecord) -> Numbers {
    let number = |value| if let Value::Number(number) = value { Some(number) } else { None };
    catalogue::numbers(stage).into_iter().map(|(name, value)| (name, number(value))).collect()
}

/// The names that every file has.
fn fixed() -> Vec<&'static str> {
    let is_number = |name: &&str| !IDENTITY.iter().any(|(identity, _)| identity == name);
    let mut names: Vec<&str> =
        catalogue::all().iter().map(String::as_str).filter(is_number).collect();
    names.sort_by_key(|name| BLOCKS.iter().position(|block| name.starts_with(block)));
    names
}

fn cell(stage: &StageRecord, numbers: &Numbers, name: &str) -> String {
    match numbers.get(name) {
        Some(Some(number)) => number.to_string(),
        Some(None) => String::new(),
        // Only causes that lost something are in the record.
        None if name.starts_with("observer_cost.lost.") => "0".to_owned(),
        // Computed, or zero because a map lists only what happened, or not measured.
        None => metrics::value(stage, name).map_or(String::new(), |value| value.to_string()),
    }
}
