//! Which target of one side is compared with which of the other.

use super::Side;
use crate::record::{RunRecord, TargetRecord};

/// Pairs of targets, never empty; the error is one sentence.
pub(super) fn pairs<'a>(
    a: &Side<'a>,
    b: &Side<'a>,
) -> Result<Vec<(&'a TargetRecord, &'a TargetRecord)>, String> {
    match (a.target, b.target) {
        (Some(name_a), Some(name_b)) => Ok(vec![(named(a, name_a)?, named(b, name_b)?)]),
        (Some(name), None) => Ok(vec![(named(a, name)?, named_or_only(b, name)?)]),
        (None, Some(name)) => Ok(vec![(named_or_only(a, name)?, named(b, name)?)]),
        (None, None) => in_common(a, b),
    }
}

fn in_common<'a>(
    a: &Side<'a>,
    b: &Side<'a>,
) -> Result<Vec<(&'a TargetRecord, &'a TargetRecord)>, String> {
    let common: Vec<_> = a
        .run
        .targets
        .iter()
        .filter_map(|target| Some((target, find(b.run, &target.name)?)))
        .collect();
    match (common.is_empty(), &a.run.targets[..], &b.run.targets[..]) {
        (false, ..) => Ok(common),
        (true, [only_a], [only_b]) => Ok(vec![(only_a, only_b)]),
        _ => Err(format!(
            "the two runs have no target in common ({} has {}; {} has {}): name one of each",
            a.label,
            names(a.run),
            b.label,
            names(b.run)
        )),
    }
}

fn named<'a>(side: &Side<'a>, name: &str) -> Result<&'a TargetRecord, String> {
    find(side.run, name)
        .ok_or_else(|| format!("{} has no target `{name}`: it has {}", side.label, names(side.run)))
}

fn named_or_only<'a>(side: &Side<'a>, name: &str) -> Result<&'a TargetRecord, String> {
    match &side.run.targets[..] {
        [only] => Ok(only),
        _ => named(side, name),
    }
}

fn find<'a>(run: &'a RunRecord, name: &str) -> Option<&'a TargetRecord> {
    run.targets.iter().find(|target| target.name == name)
}

fn names(run: &RunRecord) -> String {
    let names: Vec<&str> = run.targets.iter().map(|target| target.name.as_str()).collect();
    if names.is_empty() { "none".into() } else { names.join(", ") }
}
