//! The rules of a plan: what a later module relies on is checked here, before anything is
//! started. Each broken rule is one sentence with the remedy. Looks at nothing but the plan:
//! whether a process, a file or a CPU exists is found out by who uses it.

mod claims;
mod target;

use std::collections::BTreeSet;
use std::time::Duration;

use hyper::header::{HeaderName, HeaderValue};

pub use claims::claims;
pub use target::{Purpose, target};

use super::{Ladder, Limit, LoadSpec, Plan, PlanError, SpanLimit, StopRules};
use crate::units::Span;

/// More connections than the local ports of one address could serve.
const CONNECTIONS_MAX: u32 = 100_000;
/// Far above any use; a larger number is a slip that would run for weeks.
const REPEAT_MAX: u32 = 1000;
/// More load threads than any machine has CPUs for.
const WORKERS_MAX: u32 = 1024;
/// Looking more often would measure the looking.
const INTERVAL_MIN: Duration = Duration::from_millis(10);

/// Checks a whole plan.
///
/// # Errors
/// The first rule that is broken, as one sentence.
pub fn plan(plan: &Plan) -> Result<(), PlanError> {
    usable_name("the name of the plan", &plan.name)?;
    spans(plan)?;
    repetitions(plan)?;
    ladder(&plan.ladder)?;
    stop_rules(&plan.stop)?;
    load(&plan.load)?;
    ensure(plan.observe.interval.0 >= INTERVAL_MIN, || {
        format!("`interval` is {}: raise it to 10ms or more", plan.observe.interval)
    })?;
    ensure(!plan.targets.is_empty(), || {
        "the plan has no target: add a [[target]] table with a `name` and a `url`".into()
    })?;
    let mut names = BTreeSet::new();
    for spec in &plan.targets {
        target(spec, Purpose::Load)?;
        ensure(names.insert(&spec.name), || {
            format!("two targets are named \"{}\": rename one", spec.name)
        })?;
    }
    let names: Vec<_> = plan.targets.iter().map(|spec| spec.name.as_str()).collect();
    claims(&plan.claims, &names, &plan.ladder.connections)
}

fn refuse<T>(sentence: String) -> Result<T, PlanError> {
    Err(PlanError::Invalid(sentence))
}

fn ensure(holds: bool, sentence: impl FnOnce() -> String) -> Result<(), PlanError> {
    if holds { Ok(()) } else { refuse(sentence()) }
}

/// Names become folder and file names.
fn usable_name(what: &str, name: &str) -> Result<(), PlanError> {
    ensure(!name.trim().is_empty(), || format!("{what} is empty: give it one"))?;
    ensure(
        !name.contains('/') && !name.contains(char::is_control) && name != "." && name != "..",
        || format!("{what} is {name:?}, which cannot be part of a file name: leave out `/`"),
    )
}

fn repetitions(plan: &Plan) -> Result<(), PlanError> {
    ensure((1..=REPEAT_MAX).contains(&plan.repeat), || {
        format!("`repeat` is {}: it must be from 1 to {REPEAT_MAX}", plan.repeat)
    })?;
    ensure(plan.discard < plan.repeat, || {
        format!(
            "`discard` is {} of {} repetitions, which leaves none: raise `repeat` or lower `discard`",
            plan.discard, plan.repeat
        )
    })
}

fn ladder(ladder: &Ladder) -> Result<(), PlanError> {
    ensure(!ladder.connections.is_empty(), || {
        "the ladder has no stage: give `connections` at least one number".into()
    })?;
    let mut levels = BTreeSet::new();
    for level in &ladder.connections {
        ensure((1..=CONNECTIONS_MAX).contains(level), || {
            format!("a stage has {level} connections: it must be from 1 to {CONNECTIONS_MAX}")
        })?;
        // Findings and claims name a stage by its connections.
        ensure(levels.insert(level), || {
            format!("the ladder has {level} connections twice: take one out and use `repeat`")
        })?;
    }
    ensure(!ladder.duration.0.is_zero(), || {
        "`duration` is 0s: a stage needs a measured window, such as \"30s\"".into()
    })
}

fn stop_rules(stop: &StopRules) -> Result<(), PlanError> {
    let switched_on = [
        ("errors", stop.errors == Limit::Switch(true)),
        ("non_2xx", stop.non_2xx == Limit::Switch(true)),
        ("p99", stop.p99 == SpanLimit::Switch(true)),
    ];
    match switched_on.iter().find(|(_, on)| *on) {
        Some((rule, _)) => refuse(format!(
            "the stop rule `{rule}` is true, which sets no limit: give the limit, or false to turn \
             it off"
        )),
        None => match stop.p99 {
            SpanLimit::AtLeast(limit) => ensure(!limit.0.is_zero(), || {
                "the stop rule `p99` is 0s, which every stage reaches: raise it".into()
            }),
            SpanLimit::Switch(_) => Ok(()),
        },
    }
}

/// Nothing is measured for longer than this, and sums of a few such times stay far below 2^64 ns.
const SPAN_MAX: Span = Span::from_secs(86_400);

/// No time of a plan is beyond a day.
fn spans(plan: &Plan) -> Result<(), PlanError> {
    let ladder = &plan.ladder;
    let targets = plan.targets.iter().map(|target| ("ready_within", target.ready_within));
    [
        ("duration", ladder.duration),
        ("warmup", ladder.warmup),
        ("pause", ladder.pause),
        ("timeout", plan.load.timeout),
        ("interval", plan.observe.interval),
    ]
    .into_iter()
    .chain(targets)
    .try_for_each(|(key, span)| {
        ensure(span <= SPAN_MAX, || {
            format!("`{key}` is {span}: nothing here may take longer than a day")
        })
    })
}

/// A list of at least one CPU; whether the machine has them is not asked here.
fn cpu_list(list: &str) -> Result<(), PlanError> {
    match crate::cpu_list::parse(list) {
        Ok(cpus) if cpus.is_empty() => refuse("a list of CPUs is empty: leave it out".into()),
        Ok(_) => Ok(()),
        Err(why) => refuse(why),
    }
}

fn load(load: &LoadSpec) -> Result<(), PlanError> {
    ensure(load.workers.is_none_or(|n| (1..=WORKERS_MAX).contains(&n)), || {
        format!("`workers` must be from 1 to {WORKERS_MAX}: leave it out for half of the CPUs")
    })?;
    ensure(!load.timeout.0.is_zero(), || {
        "`timeout` is 0s, in which no request can be answered: raise it".into()
    })?;
    if let Some(list) = &load.cpus {
        cpu_list(list)?;
    }
    for (name, value) in &load.headers {
        ensure(HeaderName::from_bytes(name.as_bytes()).is_ok(), || {
            format!("\"{name}\" is not the name of a header: use letters, digits and `-`")
        })?;
        ensure(HeaderValue::from_str(value).is_ok(), || {
            format!("the header \"{name}\" has a value with control characters: take them out")
        })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
