//! The rules of a plan: what a later module relies on is checked here, before anything is
//! started. Each broken rule is one sentence with the remedy. Looks at nothing but the plan:
//! whether a process, a file or a CPU exists is found out by who uses it.

mod claims;
mod job;
mod load;
mod target;
mod valid;

use std::collections::BTreeSet;
use std::time::Duration;

pub use claims::claims;
pub use target::{Purpose, target};

use super::{Ladder, Limit, Plan, PlanError, SpanLimit, StopRules};
use crate::units::Span;

/// More connections than the local ports of one address could serve.
const CONNECTIONS_MAX: u32 = 100_000;
/// Far above any use; a larger number is a slip that would run for weeks.
const REPEAT_MAX: u32 = 1000;
/// More requests per second than any client of one machine sends.
const RATE_MAX: f64 = 10_000_000.0;
/// Looking more often would measure the looking.
const INTERVAL_MIN: Duration = Duration::from_millis(10);
/// Shorter warm-ups say nothing of what the probes cost.
const CALIBRATION_MIN: Duration = Duration::from_millis(100);

/// Checks a whole plan.
///
/// # Errors
/// The first rule that is broken, as one sentence.
pub fn plan(plan: &Plan) -> Result<(), PlanError> {
    usable_name("the name of the plan", &plan.name)?;
    spans(plan)?;
    repetitions(plan)?;
    if let Some(spec) = &plan.job {
        job::job(plan, spec)?;
    }
    ladder(&plan.ladder)?;
    stop_rules(&plan.stop)?;
    valid::valid(&plan.valid)?;
    load::keys(&plan.load)?;
    load::protocol(&plan.load, &plan.ladder)?;
    ensure(plan.observe.interval.0 >= INTERVAL_MIN, || {
        format!("`interval` is {}: raise it to 10ms or more", plan.observe.interval)
    })?;
    ensure(plan.observe.max_overhead.is_none() || plan.ladder.warmup.0 >= CALIBRATION_MIN, || {
        format!(
            "`max_overhead` is held against what the probes cost in the warm-up, and `warmup` \
                 is {}: raise it to 100ms or more",
            plan.ladder.warmup
        )
    })?;
    ensure(!plan.targets.is_empty(), || {
        "the plan has no target: add a [[target]] table with a `name` and a `url`".into()
    })?;
    let mut names = BTreeSet::new();
    let purpose = if plan.job.is_some() { Purpose::Job } else { Purpose::Load };
    for spec in &plan.targets {
        target(spec, purpose)?;
        ensure(names.insert(&*spec.name), || {
            format!("two targets are named \"{}\": rename one", spec.name)
        })?;
    }
    for service in &plan.services {
        target(&service.as_target(), Purpose::Serve)?;
        // Their cgroups and their output are found by name.
        ensure(names.insert(&*service.name), || {
            format!(
                "a service is named \"{}\" as another service or a target is: rename one",
                service.name
            )
        })?;
    }
    if plan.job.is_none() {
        plan.targets.iter().try_for_each(job::not_of_a_job)?;
        load::addresses(&plan.load, &plan.targets)?;
    }
    let names: Vec<_> = plan.targets.iter().map(|spec| spec.name.as_str()).collect();
    claims(&plan.claims, &names, &plan.levels())
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
    rates(ladder)?;
    ensure(ladder.find_rate.is_none() || ladder.rates.is_empty(), || {
        "the ladder has both `rates` and `find_rate`, which searches for one: take one of them out"
            .into()
    })?;
    let connections = ladder.connections.len();
    // A plan that says nothing about connections has those of the default, and the first is taken.
    let is_one = connections == 1 || ladder.connections == Ladder::default().connections;
    ensure(ladder.find_rate.is_none() || is_one, || {
        format!(
            "`find_rate` searches over one number of connections, and `connections` has \
             {connections}: give it one number, such as [100]"
        )
    })?;
    ensure(!ladder.duration.0.is_zero(), || {
        "`duration` is 0s: a stage needs a measured window, such as \"30s\"".into()
    })
}

/// Stages of an open loop differ in their rate alone.
fn rates(ladder: &Ladder) -> Result<(), PlanError> {
    let connections = ladder.connections.len();
    ensure(ladder.rates.is_empty() || connections == 1, || {
        format!(
            "`rates` are sent over one number of connections, and `connections` has {connections}: \
             give it one number, such as [100]"
        )
    })?;
    for (n, rate) in ladder.rates.iter().enumerate() {
        ensure(rate.is_finite() && *rate > 0.0 && *rate <= RATE_MAX, || {
            format!("a stage has a rate of {rate}: it must be above 0 and at most {RATE_MAX}")
        })?;
        ensure(!ladder.rates[..n].contains(rate), || {
            format!("the ladder has the rate {rate} twice: take one out and use `repeat`")
        })?;
    }
    Ok(())
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
    let connecting = plan.load.connect_timeout.map(|span| ("connect_timeout", span));
    let targets = plan.targets.iter().map(|target| ("ready_within", target.ready_within));
    let services = plan.services.iter().map(|service| ("ready_within", service.ready_within));
    [
        ("duration", ladder.duration),
        ("warmup", ladder.warmup),
        ("pause", ladder.pause),
        ("timeout", plan.load.timeout),
        ("interval", plan.observe.interval),
        ("timeout", plan.job.as_ref().map_or(Span::from_secs(0), |job| job.timeout)),
    ]
    .into_iter()
    .chain(connecting)
    .chain(targets)
    .chain(services)
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

#[cfg(test)]
mod tests;
