//! Conditions that differ between two sides and so may be the cause of any difference.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Value;

use crate::measured::Measured;
use crate::plan::{JobSpec, TargetSpec};
use crate::record::{RunRecord, TargetRecord};

/// A condition that is not the same on both sides.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(in super::super) struct Condition {
    /// Which one.
    pub(in super::super) what: String,
    /// On the first side.
    pub(in super::super) a: String,
    /// On the second side.
    pub(in super::super) b: String,
}

/// Everything about machine, plan and limits that differs, in that order.
pub(super) fn differences(
    a: &RunRecord,
    b: &RunRecord,
    targets: &[(&TargetRecord, &TargetRecord)],
) -> Vec<Condition> {
    let mut all: Vec<(String, String, String)> = Vec::new();
    let mut add = |what: &str, a: String, b: String| all.push((what.to_owned(), a, b));
    for ((what, of_a), (_, of_b)) in host(a).into_iter().zip(host(b)) {
        add(what, of_a, of_b);
    }
    let mitigations: BTreeSet<&String> =
        a.host.mitigations.keys().chain(b.host.mitigations.keys()).collect();
    for name in mitigations {
        let of = |run: &RunRecord| run.host.mitigations.get(name).cloned().unwrap_or("n/a".into());
        add(&format!("mitigation {name}"), of(a), of(b));
    }
    for ((what, of_a), (_, of_b)) in plan(a).into_iter().zip(plan(b)) {
        add(what, of_a, of_b);
    }
    let (rest_a, rest_b) = (rest(a), rest(b));
    for name in rest_a.keys().chain(rest_b.keys()).collect::<BTreeSet<_>>() {
        let of = |rest: &BTreeMap<String, String>| rest.get(name).cloned();
        let default = || "the default".to_owned();
        add(name, of(&rest_a).unwrap_or_else(default), of(&rest_b).unwrap_or_else(default));
    }
    for (target_a, target_b) in targets {
        let of = |run: &RunRecord, target: &TargetRecord| limits(run, target);
        for ((what, of_a), (_, of_b)) in of(a, target_a).into_iter().zip(of(b, target_b)) {
            add(&format!("{} {what}", target_b.name), of_a, of_b);
        }
    }
    let differs = all.into_iter().filter(|(_, a, b)| a != b);
    differs.map(|(what, a, b)| Condition { what, a, b }).collect()
}

fn known<T: ToString>(m: &Measured<T>) -> String {
    m.value().map_or("n/a".into(), T::to_string)
}

fn host(run: &RunRecord) -> [(&'static str, String); 10] {
    let host = &run.host;
    [
        ("kernel", host.kernel.clone()),
        ("architecture", host.arch.clone()),
        ("CPUs", host.cpus.to_string()),
        ("CPU model", known(&host.cpu_model)),
        ("governor", known(&host.governor)),
        ("clock source", known(&host.clocksource)),
        ("virtualization", known(&host.virtualization)),
        ("preemption", known(&host.preemption)),
        ("memory", known(&host.memory_bytes)),
        ("cgroups", host.cgroup_mode.clone()),
    ]
}

fn plan(run: &RunRecord) -> [(&'static str, String); 10] {
    let plan = &run.plan;
    let stages = run.targets.iter().flat_map(|t| &t.stages);
    let workers = stages.map(|s| s.load.generator.workers.to_string()).next();
    // What a plan says of a load is the default where it has none, and no condition of anything.
    let of_load = |text: String| plan.job.as_ref().map_or(text, |_| "no load".to_owned());
    [
        ("bench-user", run.tool.version.clone()),
        ("duration", of_load(plan.ladder.duration.to_string())),
        ("warm-up", of_load(plan.ladder.warmup.to_string())),
        ("work of the job", plan.job.as_ref().map_or("no job".into(), work)),
        ("repetitions", plan.repeat.to_string()),
        ("not counted", plan.discard.to_string()),
        ("timeout", plan.job.as_ref().map_or(plan.load.timeout, |job| job.timeout).to_string()),
        ("request headers", of_load(format!("{:?}", plan.load.headers))),
        ("load workers", of_load(workers.unwrap_or("n/a".into()))),
        ("kernel side observed", plan.observe.enabled.to_string()),
    ]
}

/// Tables of a plan whose keys are conditions as they stand.
const TABLES: [&str; 5] = ["order", "load", "stop", "valid", "observe"];

/// What is compared in words of its own.
const TOLD: [&str; 5] =
    ["load.headers", "load.timeout", "load.workers", "observe.enabled", "observe.interval"];

/// Every other key of the plan that says what was measured and how, as it is written in one; a job
/// has no load.
fn rest(run: &RunRecord) -> BTreeMap<String, String> {
    let plan = serde_json::to_value(&run.plan).unwrap_or_default();
    let mut keys = BTreeMap::new();
    let is_job = run.plan.job.is_some();
    for table in TABLES.into_iter().filter(|table| !is_job || *table == "observe") {
        match plan.get(table) {
            Some(Value::Object(map)) => {
                keys.extend(
                    map.iter().map(|(key, value)| (format!("{table}.{key}"), value.to_string())),
                );
            }
            Some(value) => drop(keys.insert(table.to_owned(), value.to_string())),
            None => {}
        }
    }
    keys.retain(|name, _| !TOLD.contains(&name.as_str()));
    keys
}

/// How much one run of a job does.
fn work(job: &JobSpec) -> String {
    let unit = job.unit.as_deref().unwrap_or_default();
    job.work.map_or("not said".into(), |work| format!("{work} {unit}"))
}

fn limits(run: &RunRecord, target: &TargetRecord) -> [(&'static str, String); 4] {
    let spec: Option<&TargetSpec> = run.plan.targets.iter().find(|t| t.name == target.name);
    let limit = |text: Option<String>| text.unwrap_or("none".into());
    [
        ("CPU quota", limit(spec.and_then(|s| s.cpus).map(|n| n.to_string()))),
        ("CPU set", limit(spec.and_then(|s| s.cpuset.clone()))),
        ("memory limit", limit(spec.and_then(|s| s.memory).map(|n| n.to_string()))),
        ("addresses", target.urls.count.to_string()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyze::builder::a_run;
    use crate::plan::Explain;

    #[test]
    fn every_key_of_the_load_and_the_observation_is_a_condition() {
        let a = a_run().done();
        assert_eq!(differences(&a, &a, &[]), []);
        let mut b = a.clone();
        b.plan.load.pipeline = 16;
        b.plan.observe.explain = vec![Explain::Syscalls];
        let found = differences(&a, &b, &[]);
        let names: Vec<&str> = found.iter().map(|condition| &*condition.what).collect();
        assert_eq!(names, ["load.pipeline", "observe.explain"]);
        assert_eq!(found[0].b, "16");
    }
}
