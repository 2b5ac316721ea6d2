//! The value of a metric in one stage, by its dotted name.
//!
//! A name is the path of a number in the stage as it stands in the record, or one of a few
//! computed figures. What was not measured is an error that passes the record's reason on; it
//! is never zero. A name that no stage can have is told apart from that by [`check_name`], so
//! that a typing error cannot look like a thing that was not measured.

use serde_json::Value;

use crate::distribution::Percentile;
use crate::record::StageRecord;

use super::{catalogue, climbs};

mod computed;
pub(super) mod explained;
mod job;

pub use super::catalogue::standard as names;

/// The value of a metric in a stage.
///
/// # Errors
/// Why it has none, in one sentence: not measured (with the record's reason), or no such name.
pub fn value(stage: &StageRecord, name: &str) -> Result<f64, String> {
    let found = lookup(stage, name);
    // A typing error stays one, whatever the stage is.
    if let Err(Miss::NoSuchName(why)) = found {
        return Err(why);
    }
    // A number can stand there and say nothing, as those of a failed run do.
    if let Some(why) = job::says_nothing(stage, name) {
        return Err(why);
    }
    found.map_err(|miss| match miss {
        Miss::NoSuchName(why) | Miss::NotMeasured(why) => why,
    })
}

/// Whether a stage can have a metric of this name at all.
///
/// # Errors
/// One sentence that names the nearest known one.
pub fn check_name(name: &str) -> Result<(), String> {
    match lookup(&catalogue::template(), name) {
        Err(Miss::NoSuchName(why)) => Err(why),
        Ok(_) | Err(Miss::NotMeasured(_)) => Ok(()),
    }
}

enum Miss {
    NoSuchName(String),
    NotMeasured(String),
}

fn lookup(stage: &StageRecord, name: &str) -> Result<f64, Miss> {
    if let Some(computed) = computed::figure(stage, name) {
        return computed.map_err(|why| Miss::NotMeasured(format!("`{name}`: {why}")));
    }
    let (block, rest) = name.split_once('.').ok_or_else(|| unknown(name))?;
    let json = match block {
        "start" => serde_json::to_value(&stage.start),
        "after" => serde_json::to_value(&stage.after),
        "climb" => serde_json::to_value(&stage.climb),
        "load" => serde_json::to_value(&stage.load),
        "job" => serde_json::to_value(&stage.job),
        "syscalls" => serde_json::to_value(&stage.syscalls),
        "sched" => serde_json::to_value(&stage.sched),
        "perf" => serde_json::to_value(&stage.perf),
        "cgroup" => serde_json::to_value(&stage.cgroup),
        "net" => serde_json::to_value(stage.net.clone()),
        "machine" => serde_json::to_value(&stage.machine),
        "observer_cost" => serde_json::to_value(&stage.observer_cost),
        "explain" => serde_json::to_value(&stage.explain),
        _ => return Err(unknown(name)),
    };
    let json = json.map_err(|e| Miss::NotMeasured(format!("`{name}`: {e}")))?;
    match walk(&json, rest) {
        Found::Number(n) => Ok(n),
        Found::Reason(why) => Err(Miss::NotMeasured(format!("`{name}` was not measured: {why}"))),
        Found::Null => {
            Err(Miss::NotMeasured(format!("`{name}` has no value: {}", null(stage, name))))
        }
        Found::OtherKind => Err(Miss::NoSuchName(format!(
            "`{name}` is not a number; the nearest that is one: `{}`",
            catalogue::nearest(name)
        ))),
        Found::Nothing => absent(stage, name),
    }
}

enum Found {
    Number(f64),
    Reason(String),
    Null,
    OtherKind,
    Nothing,
}

/// Follows a path. Keys may hold dots themselves (`psi` has `cpu.some`), so the longest key
/// that fits is taken first.
fn walk(json: &Value, path: &str) -> Found {
    match json {
        Value::Object(map) => {
            if let (1, Some(Value::String(why))) = (map.len(), map.get("unavailable")) {
                return Found::Reason(why.clone());
            }
            if path.is_empty() {
                return Found::OtherKind;
            }
            if let Some(inner) = map.get(path) {
                return walk(inner, "");
            }
            let splits = path.rmatch_indices('.').map(|(at, _)| (&path[..at], &path[at + 1..]));
            splits
                .filter_map(|(key, rest)| map.get(key).map(|inner| walk(inner, rest)))
                .next()
                .unwrap_or(Found::Nothing)
        }
        // A whole block can be absent.
        Value::Null => Found::Null,
        _ if !path.is_empty() => Found::Nothing,
        Value::Number(n) => n.as_f64().map_or(Found::OtherKind, Found::Number),
        Value::Bool(_) | Value::String(_) | Value::Array(_) => Found::OtherKind,
    }
}

/// Of v2, and `failcnt` of v1.
const MEMORY_EVENTS: [&str; 7] =
    ["low", "high", "max", "oom", "oom_kill", "oom_group_kill", "failcnt"];

const CLOSED_LOOP: &str =
    "in the closed loop the service time is the response time; use `load.response_ns`";

const CUT_SHORT: &str = "its climb was cut short, or the record is older than this figure";

/// Why a number of a measured block can be `null`.
fn null(stage: &StageRecord, name: &str) -> String {
    if let Some(why) = absent_block(stage, name) {
        return why.to_owned();
    }
    let (block, field) = name.rsplit_once('.').unwrap_or_default();
    match Percentile::named(field)
        .filter(|_| block.ends_with("_ns") || block.ends_with("_per_call"))
    {
        Some(percentile) => format!("too few samples: {}", percentile.rule()),
        None if name.ends_with("per_request") => "no request was completed in this stage".into(),
        None if name.contains("_ns.") => "this stage has too few samples for it".into(),
        None => "it was not measured in this stage".into(),
    }
}

/// Why a whole block is `null`, if it is.
fn absent_block(stage: &StageRecord, name: &str) -> Option<&'static str> {
    if name.starts_with("explain.") {
        return Some(explained::NOT_ASKED).filter(|_| is_kind_missing(stage, name));
    }
    let load = &stage.load;
    let block = name.split('.').nth(1)?;
    match block {
        _ if name.starts_with("job.") => Some(job::NO_JOB).filter(|_| stage.job.is_none()),
        _ if name.starts_with("after.") => Some(CUT_SHORT).filter(|_| stage.after.is_none()),
        _ if name.starts_with("climb.") => Some(climbs::absent(stage, block)),
        "startup_ms" => Some("the target ran already"),
        "image_bytes" => Some("it is no container, or its engine does not say"),
        "service_ns" if load.service_ns.is_none() => Some(CLOSED_LOOP),
        "offered" if load.offered.is_none() => Some("the closed loop has no schedule"),
        "off_cpu" | "run_queue" | "softirq" if name.starts_with("explain.") => {
            Some("it was not asked for; see `--explain`")
        }
        "events" if load.events.is_none() => Some("connections held no stream open in this stage"),
        _ => None,
    }
}

/// Whether the explanation that a name is of is `null` as a whole.
fn is_kind_missing(stage: &StageRecord, name: &str) -> bool {
    let kind = name.split('.').nth(1).unwrap_or_default();
    let json = serde_json::to_value(&stage.explain).unwrap_or_default();
    json.get(kind).is_some_and(Value::is_null)
}

/// A name that is not in the record: zero where a map lists only what happened, else a miss.
fn absent(stage: &StageRecord, name: &str) -> Result<f64, Miss> {
    let parts: Vec<&str> = name.split('.').collect();
    match parts.as_slice() {
        ["syscalls", "by_name", call, field @ ("count" | "per_sec" | "per_request")] => {
            if !is_syscall(call) {
                return Err(Miss::NoSuchName(format!("`{name}`: no syscall is named `{call}`")));
            }
            if *field == "per_request" && !has_load(stage) {
                return Err(Miss::NotMeasured(format!(
                    "`{name}` has no value: {}",
                    null(stage, name)
                )));
            }
            Ok(0.0)
        }
        ["explain", parts @ ..] => explained::absent(name, parts, has_load(stage)),
        ["load", "outcomes", "other_status", code]
            if code.parse().is_ok_and(|c: u16| (100..1000).contains(&c)) =>
        {
            Ok(0.0)
        }
        ["perf", counter, "value"] => {
            let known: Vec<&str> = stage.perf.keys().map(String::as_str).collect();
            Err(Miss::NotMeasured(format!(
                "`{name}`: no perf counter `{counter}` was read; there are: {}",
                list(&known)
            )))
        }
        ["cgroup", "memory_events", event] if MEMORY_EVENTS.contains(event) => {
            Err(Miss::NotMeasured(format!(
                "`{name}`: this cgroup keeps no such event; it depends on the cgroup version"
            )))
        }
        ["cgroup", "psi", "cpu" | "memory" | "io", "some" | "full"] => {
            Err(Miss::NotMeasured(format!("`{name}`: this pressure was not read")))
        }
        _ => Err(unknown(name)),
    }
}

/// Whether syscalls were set against requests.
fn has_load(stage: &StageRecord) -> bool {
    stage.syscalls.value().is_some_and(|s| s.per_request.is_some())
}

/// The tables that the observer counts by, so that a mistyped syscall cannot pass as one that
/// was never made.
fn is_syscall(name: &str) -> bool {
    name.parse::<syscalls::Sysno>().is_ok() || matches!(name, "compat32" | "unknown")
}

fn list(names: &[&str]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

fn unknown(name: &str) -> Miss {
    Miss::NoSuchName(format!(
        "there is no metric `{name}`; the nearest is `{}`",
        catalogue::nearest(name)
    ))
}

#[cfg(test)]
mod tests;
