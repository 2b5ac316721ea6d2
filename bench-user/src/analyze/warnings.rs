//! What should keep a reader from trusting the figures of a ladder, as sentences.

use std::collections::BTreeMap;

use crate::plan::Level;
use crate::record::{RunRecord, StageRecord, TargetRecord};
use crate::target::{Exit, TargetKind};

use super::bootstrap::{BOOTSTRAP_FROM, INTERVAL_FROM};
use super::fitness;
use super::hidden_work;
use super::levels::{self, Step};
use super::own_cost;
use super::strangers::{STRANGERS_CPUS, strangers_cpus};
use super::validity;

/// The warnings about one target's ladder; `steps` are its counted stages.
pub(super) fn of(run: &RunRecord, target: &TargetRecord, steps: &[Step]) -> Vec<String> {
    let mut warnings = target.notes.clone();
    warnings.extend(validity::ending(target).map(|how| format!("the target {how}")));
    let killed = |exit: &Exit| exit.by_us && exit.oom_killed.value() == Some(&true);
    if target.exit.as_ref().is_some_and(killed) {
        warnings.push("the kernel's OOM killer ended a process of the target".to_owned());
    }
    if steps.is_empty() {
        warnings.push("no stage of a counted repetition was finished".to_owned());
        return warnings;
    }
    warnings.extend(target.proxy.clone());
    let invalid = "the stage is invalid, and its figures say so";
    // Figures of jobs leave out the runs that failed, which the top of a report names.
    let is_said = |s: &StageRecord| s.job.is_none() && !s.verdict.invalid.is_empty();
    warnings.extend(stages_where(steps, invalid, is_said));
    warnings.extend(stages_where(steps, "requests failed or were not answered 2xx", |s| {
        s.load.outcomes.failed() + s.load.outcomes.non_2xx() > 0
    }));
    let skipped = "events were missed, counts are lower bounds";
    warnings.extend(stages_where(steps, skipped, fitness::events_are_missing));
    warnings.extend(hidden_work::warning(run, steps));
    warnings.extend(services(steps));
    warnings.extend(strangers(steps));
    warnings.extend(repetitions(steps));
    warnings.extend(own_cost::passed_limit(run, steps));
    warnings.extend(shared_cpus(run, target, steps));
    warnings.extend(other_stages(run, target, steps));
    warnings
}

/// One sentence with the stages, by what they held, in which something was so.
pub(super) fn stages_where(
    steps: &[Step],
    what: &str,
    is_so: impl Fn(&StageRecord) -> bool,
) -> Option<String> {
    let at: Vec<Level> = steps
        .iter()
        .filter(|step| step.stages.iter().any(|stage| is_so(stage)))
        .map(|step| step.level)
        .collect();
    (!at.is_empty()).then(|| format!("{what} (at {})", Level::list(&at)))
}

fn repetitions(steps: &[Step]) -> Option<String> {
    let has_figures = |s: &&&StageRecord| s.job.as_ref().is_none_or(|job| job.failed.is_none());
    let counted = |step: &Step| step.stages.iter().filter(has_figures).count();
    let fewest = steps.iter().map(counted).min().filter(|fewest| *fewest > 0)?;
    let is_job = steps.iter().any(|step| step.level.is_job());
    let what = if fewest < INTERVAL_FROM && is_job {
        "there are no intervals"
    } else if fewest < INTERVAL_FROM {
        "intervals come from the samples inside a stage and know nothing of the noise between runs"
    } else if fewest < BOOTSTRAP_FROM {
        "intervals are the range of what was seen, not 95 % intervals"
    } else {
        return None;
    };
    let noun = if fewest == 1 { "repetition" } else { "repetitions" };
    Some(format!("with {fewest} counted {noun}, {what}"))
}

/// Services are load on the machine that no figure of the target has.
fn services(steps: &[Step]) -> Option<String> {
    let mut most = BTreeMap::<&str, f64>::new();
    for service in steps.iter().flat_map(|step| &step.stages).flat_map(|stage| &stage.services) {
        if let Some(cpus) = service.cpu_ratio.value() {
            let most = most.entry(&service.name).or_default();
            *most = most.max(*cpus);
        }
    }
    let each = most.iter().map(|(name, cpus)| format!("`{name}` up to {cpus:.2} CPUs"));
    let each: Vec<String> = each.collect();
    (!each.is_empty())
        .then(|| format!("the services used, besides the target: {}", each.join(", ")))
}

fn strangers(steps: &[Step]) -> Option<String> {
    let stages = || steps.iter().flat_map(|step| &step.stages);
    let most = stages().filter_map(|stage| strangers_cpus(stage)).fold(0.0, f64::max);
    let what = format!("others on this machine used up to {most:.1} CPUs");
    stages_where(steps, &what, |stage| {
        strangers_cpus(stage).is_some_and(|cpus| cpus > STRANGERS_CPUS)
    })
}

/// Load and target compete where the CPUs left by the load are fewer than the target may use.
fn shared_cpus(run: &RunRecord, target: &TargetRecord, steps: &[Step]) -> Option<String> {
    let is_address = target.kind == TargetKind::Url;
    if is_address && !is_on_this_machine(run, target) {
        return None;
    }
    let stage = steps.first()?.stages.first()?;
    if stage.job.is_some() {
        return None;
    }
    let generator = &stage.load.generator;
    let cpus = run.host.cpus;
    if generator.cpus.is_empty() {
        return Some(format!(
            "the load generator is not pinned and shares {cpus} CPUs with the target"
        ));
    }
    if is_address {
        return Some(format!(
            "the target is on this machine, and on which of its {cpus} CPUs it runs is not known: \
             it may share those of the load generator"
        ));
    }
    let left = usize::try_from(cpus).unwrap_or(0).saturating_sub(generator.cpus.len());
    let allowed = *stage.cgroup.cpus_allowed.value()?;
    (usize::try_from(allowed).unwrap_or(0) > left).then(|| {
        format!(
            "the target may run on {allowed} of {cpus} CPUs, some of which the load generator \
             uses too"
        )
    })
}

/// Whether an address says of itself that it is of this machine.
fn is_on_this_machine(run: &RunRecord, target: &TargetRecord) -> bool {
    let url = url::Url::parse(&target.urls.first).ok();
    let is_here = match url.as_ref().and_then(url::Url::host) {
        Some(url::Host::Domain(name)) => name == "localhost",
        Some(url::Host::Ipv4(ip)) => ip.is_loopback(),
        Some(url::Host::Ipv6(ip)) => ip.is_loopback(),
        None => false,
    };
    run.plan.load.unix_socket.is_some() || is_here
}

/// A ladder that ended elsewhere than the first target's is compared in part only.
fn other_stages(run: &RunRecord, target: &TargetRecord, steps: &[Step]) -> Option<String> {
    let first = run.targets.first().filter(|first| first.name != target.name)?;
    let theirs = levels::steps(run, first);
    let missing = |from: &[Step], of: &[Step]| -> Vec<Level> {
        let lacks = |step: &&Step| !of.iter().any(|other| other.level == step.level);
        from.iter().filter(lacks).map(|step| step.level).collect()
    };
    let alone = [missing(steps, &theirs), missing(&theirs, steps)].concat();
    (!alone.is_empty()).then(|| {
        format!(
            "`{}` and `{}` did not reach the same stages: {} are not compared",
            first.name,
            target.name,
            Level::list(&alone)
        )
    })
}

#[cfg(test)]
pub(super) mod tests;
