//! The command line as a plan: flags for a single target, and flags that override a plan's keys.

mod load;

use std::path::Path;

use clap::ValueEnum as _;

use super::validate::{self, Purpose};
use super::{
    Builtin, Explain, Limit, Order, Plan, PlanError, SpanLimit, TargetSpec, UrlSource, default,
    explain, file,
};
use crate::cli::{
    BuiltinName, CommandArgs, ExecArgs, ExplainArgs, ExplainName, FindArgs, FlameArgs, LoadArgs,
    ObserveArgs, OrOff, OrderName, RunArgs, TargetArgs,
};

/// `--explain all` instead of `--explain=all`: without `=` the list would be the plan, because the
/// flag may stand alone.
fn is_list_of_explain(path: &Path, explain: &ExplainArgs) -> bool {
    let is_kind = |word| ExplainName::from_str(word, false).is_ok();
    !explain.explain.is_empty()
        && !path.exists()
        && path.to_str().is_some_and(|list| list.split(',').all(is_kind))
}

/// The plan of `bench-user run`: of the file, of the target flags, or the embedded one; with the
/// other flags applied; validated.
///
/// # Errors
/// When a file cannot be read, or the plan breaks a rule: one sentence with the remedy.
pub fn plan(args: &RunArgs) -> Result<Plan, PlanError> {
    let mut plan = match (&args.plan, first_given(&args.target)) {
        (Some(path), flag) if path.to_string_lossy().contains("://") => {
            let url = path.display();
            return Err(PlanError::Invalid(match flag {
                Some("--url") => format!("{url} is one address more than --url: leave it out"),
                _ => format!("{url} is no plan file: give an address with --url {url}"),
            }));
        }
        (Some(path), _) if is_list_of_explain(path, &args.load.explain) => {
            let list = path.display();
            return Err(PlanError::Invalid(format!(
                "{list} is no plan file: the list of --explain stands behind `=`, as in \
                 --explain={list}"
            )));
        }
        (Some(path), Some(flag)) => {
            let path = path.display();
            return Err(PlanError::Invalid(match flag {
                "--adopt" => format!(
                    "--adopt is about a target, and the plan {path} describes it: set \
                     `adopt = true` under its [[target]]"
                ),
                _ => format!(
                    "{flag} describes a target and so does the plan {path}: leave one of the two out"
                ),
            }));
        }
        (Some(path), None) => file::read(path)?,
        (None, Some(flag @ ("--urls" | "--ready" | "--ready-within"))) => {
            return Err(PlanError::Invalid(format!(
                "{flag} needs --url: say where requests go, such as --url http://127.0.0.1:3000/"
            )));
        }
        (None, Some(_)) => Plan { targets: vec![single(args)], ..Plan::default() },
        (None, None) => default::embedded(),
    };
    set(&mut plan.name, args.name.clone());
    if let Some(path) = &args.claims {
        plan.claims.extend(file::read_claims(path)?);
    }
    override_keys(&mut plan, &args.load)?;
    validate::plan(&plan)?;
    Ok(plan)
}

/// The target of `bench-user observe`, validated.
///
/// # Errors
/// When it is not found in exactly one way: one sentence with the remedy.
pub fn observed_target(args: &ObserveArgs) -> Result<TargetSpec, PlanError> {
    let spec = found(&args.find);
    validate::target(&spec, Purpose::Watch)?;
    Ok(spec)
}

/// The command of `bench-user exec` as a target without an address, validated.
///
/// # Errors
/// When a limit makes no sense: one sentence with the remedy.
pub fn executed_target(args: &ExecArgs) -> Result<TargetSpec, PlanError> {
    let spec = started(&args.command, &args.limits);
    validate::target(&spec, Purpose::Watch)?;
    Ok(spec)
}

/// The first flag that describes a target, as it is typed.
fn first_given(args: &TargetArgs) -> Option<&'static str> {
    let TargetArgs {
        find,
        builtin,
        image,
        volumes,
        url,
        urls,
        ready,
        ready_within,
        limits,
        command,
    } = args;
    [
        ("--pid", find.pid.is_some()),
        ("--cgroup", find.cgroup.is_some()),
        ("--container", find.container.is_some()),
        ("--engine", find.engine.is_some()),
        ("--unit", find.unit.is_some()),
        ("--adopt", find.adopt),
        ("--builtin", builtin.is_some()),
        ("--image", image.is_some()),
        ("--volume", !volumes.is_empty()),
        ("--url", url.is_some()),
        ("--urls", urls.is_some()),
        ("--ready", ready.is_some()),
        ("--ready-within", ready_within.is_some()),
        ("--cpus", limits.cpus.is_some()),
        ("--cpuset", limits.cpuset.is_some()),
        ("--memory", limits.memory.is_some()),
        ("--env", !limits.env.is_empty()),
        ("--dir", limits.dir.is_some()),
        ("the command after `--`", !command.is_empty()),
    ]
    .into_iter()
    .find_map(|(flag, given)| given.then_some(flag))
}

fn single(RunArgs { target: args, name: given, .. }: &RunArgs) -> TargetSpec {
    let found = found(&args.find);
    let started = started(&args.command, &args.limits);
    let builtin = args.builtin.map(builtin);
    // The name of what is given; that only one is given is for validation to say.
    let name = match (given, builtin, &args.url) {
        (Some(name), _, _) => name.clone(),
        (None, None, _) if args.image.is_some() => {
            args.image.as_deref().map(Path::new).and_then(last_part).unwrap_or(found.name.clone())
        }
        (None, Some(builtin), _) => builtin.name().into(),
        (None, None, _) if started.command.is_some() => started.name,
        (None, None, Some(url)) if found.name == NAMELESS => crate::fetch::authority(url),
        (None, None, _) => found.name.clone(),
    };
    TargetSpec {
        name,
        builtin,
        image: args.image.clone(),
        volumes: args.volumes.clone(),
        command: started.command,
        env: started.env,
        dir: started.dir,
        cpus: started.cpus,
        cpuset: started.cpuset,
        memory: started.memory,
        url: args.url.clone(),
        urls: args.urls.clone().map(UrlSource::Named),
        ready: args.ready.clone(),
        ready_within: args.ready_within.unwrap_or(found.ready_within),
        ..found
    }
}

/// The built-in server of this name.
#[must_use]
pub fn builtin(name: BuiltinName) -> Builtin {
    match name {
        BuiltinName::Lean => Builtin::Lean,
        BuiltinName::Chatty => Builtin::Chatty,
    }
}

/// Name of a target that nothing names.
const NAMELESS: &str = "target";

fn found(args: &FindArgs) -> TargetSpec {
    let FindArgs { pid, cgroup, container, engine, unit, adopt } = args;
    let name = container
        .clone()
        .or_else(|| unit.clone())
        .or_else(|| cgroup.as_deref().and_then(last_part))
        .or_else(|| pid.map(|pid| format!("pid-{pid}")));
    TargetSpec {
        pid: *pid,
        cgroup: cgroup.clone(),
        container: container.clone(),
        engine: engine.clone(),
        unit: unit.clone(),
        adopt: *adopt,
        ..TargetSpec::named(name.unwrap_or_else(|| NAMELESS.into()))
    }
}

fn started(command: &[String], limits: &CommandArgs) -> TargetSpec {
    let name = command.first().and_then(|program| last_part(Path::new(program)));
    TargetSpec {
        command: (!command.is_empty()).then(|| command.to_vec()),
        env: limits.env.iter().cloned().collect(),
        dir: limits.dir.clone(),
        cpus: limits.cpus,
        cpuset: limits.cpuset.clone(),
        memory: limits.memory,
        ..TargetSpec::named(name.unwrap_or_else(|| NAMELESS.into()))
    }
}

fn last_part(path: &Path) -> Option<String> {
    path.file_name().map(|name| name.to_string_lossy().into_owned())
}

fn override_keys(plan: &mut Plan, args: &LoadArgs) -> Result<(), PlanError> {
    load::override_ladder(&mut plan.ladder, args)?;
    load::override_load(&mut plan.load, args);
    set(&mut plan.repeat, args.repeat);
    set(&mut plan.discard, args.discard);
    set(
        &mut plan.order,
        args.order.map(|order| match order {
            OrderName::Interleaved => Order::Interleaved,
            OrderName::Serial => Order::Serial,
        }),
    );
    set(&mut plan.stop.errors, args.stop_errors.map(count_limit));
    set(&mut plan.stop.non_2xx, args.stop_non_2xx.map(count_limit));
    set(
        &mut plan.stop.p99,
        args.stop_p99.map(|limit| match limit {
            OrOff::At(span) => SpanLimit::AtLeast(span),
            OrOff::Off => SpanLimit::Switch(false),
        }),
    );
    plan.observe.enabled &= !args.no_observe;
    plan.observe.control &= !args.no_control;
    plan.observe.probe_log |= args.probe_log;
    set(&mut plan.observe.interval, args.interval);
    plan.observe.max_overhead = args.max_overhead.or(plan.observe.max_overhead);
    if !args.explain.explain.is_empty() {
        plan.observe.explain = explained(&args.explain);
    }
    Ok(())
}

/// The kinds of explanation that flags ask for, each once; a flame graph asks for stacks.
#[must_use]
pub fn explained_or_drawn(args: &ExplainArgs, flame: &FlameArgs) -> Vec<Explain> {
    let mut kinds = explained(args);
    if flame.flamegraph.is_some() {
        kinds.push(Explain::Stacks);
    }
    explain::in_order(&kinds)
}

/// The kinds of explanation that flags ask for, each once.
#[must_use]
pub fn explained(args: &ExplainArgs) -> Vec<Explain> {
    let kinds = args.explain.iter().flat_map(|name| match name {
        ExplainName::All => Explain::ALL.to_vec(),
        ExplainName::Syscalls => vec![Explain::Syscalls],
        ExplainName::IoUring => vec![Explain::IoUring],
        ExplainName::OffCpu => vec![Explain::OffCpu],
        ExplainName::RunQueue => vec![Explain::RunQueue],
        ExplainName::Softirq => vec![Explain::Softirq],
        ExplainName::Stacks => vec![Explain::Stacks],
    });
    explain::in_order(&kinds.collect::<Vec<_>>())
}

fn set<T>(key: &mut T, flag: Option<T>) {
    if let Some(value) = flag {
        *key = value;
    }
}

fn count_limit(limit: OrOff<u64>) -> Limit {
    match limit {
        OrOff::At(count) => Limit::MoreThan(count),
        OrOff::Off => Limit::Switch(false),
    }
}

#[cfg(test)]
mod tests;
