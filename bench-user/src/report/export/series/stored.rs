//! A stored run as series: those of the last stage of each target. A control stage, which repeats
//! another one with the probes detached, is none of them.

use std::collections::BTreeSet;

use super::kernel::{self, Blocks};
use super::names::TARGET;
use super::{Family, Number, Series, load};
use crate::analyze::levels;
use crate::plan::Level;
use crate::record::{RunRecord, StageRecord, TargetRecord};
use crate::report::figures::word;

/// The series of a run; without a stage in it, none of that target.
pub(in crate::report) fn of_run(run: &RunRecord) -> Vec<Family> {
    let mut series = Series::default();
    for (target, stage) in lasts(run) {
        add(&mut series, run, target, stage);
    }
    series.done()
}

/// The same, target by target with its stage.
pub(in crate::report) fn by_target(
    run: &RunRecord,
) -> Vec<(&TargetRecord, &StageRecord, Vec<Family>)> {
    let of = |(target, stage)| {
        let mut series = Series::default();
        add(&mut series, run, target, stage);
        (target, stage, series.done())
    };
    lasts(run).map(of).collect()
}

fn add(series: &mut Series, run: &RunRecord, target: &TargetRecord, stage: &StageRecord) {
    series.of(base(target, stage.level()));
    let cgroup = target.cgroup.value().map_or("", String::as_str);
    let labels = [("kind", word(target.kind)), ("cgroup", cgroup.to_owned())];
    let labels = labels.each_ref().map(|(key, value)| (*key, value.as_str()));
    series.add(TARGET, &labels, Number::Whole(1));
    load::add(series, &run.id, &run.plan.name, stage);
    kernel::add(series, &Blocks::from(stage), &mut BTreeSet::new());
}

fn lasts(run: &RunRecord) -> impl Iterator<Item = (&TargetRecord, &StageRecord)> {
    run.targets.iter().filter_map(|target| Some((target, last(target)?)))
}

fn last(target: &TargetRecord) -> Option<&StageRecord> {
    target.stages.iter().rfind(|stage| !levels::is_control(target, stage))
}

/// The target, and what its stage held.
fn base(target: &TargetRecord, level: Level) -> super::Labels {
    let mut labels = vec![("target", target.name.clone())];
    if !level.is_job() {
        labels.push(("connections", level.connections.to_string()));
    }
    labels.extend(level.offered_rps.map(|rps| ("offered_rps", rps.to_string())));
    labels
}
