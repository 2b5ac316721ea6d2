//! The rules of one target (or service): how it is found, where its requests go, what it may be limited to.

mod container;

use url::Url;

use super::{cpu_list, ensure, refuse, usable_name};
use crate::plan::{PlanError, TargetSpec, UrlSource};
use crate::units::Bytes;

/// Smaller limits are a forgotten unit: no process starts in them.
const MEMORY_MIN: Bytes = Bytes(1 << 20);

/// What a target is described for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Requests are sent to it, so it needs an address.
    Load,
    /// It is only watched, so it needs a cgroup.
    Watch,
    /// It is a service, which runs beside the targets.
    Serve,
    /// It runs to its end.
    Job,
}

impl Purpose {
    const fn noun(self) -> &'static str {
        match self {
            Self::Load | Self::Watch | Self::Job => "target",
            Self::Serve => "service",
        }
    }
}

/// Checks one target, or what starts a service.
///
/// # Errors
/// The first rule that is broken, as one sentence.
pub fn target(spec: &TargetSpec, purpose: Purpose) -> Result<(), PlanError> {
    let noun = purpose.noun();
    usable_name(&format!("the name of a {noun}"), &spec.name)?;
    let what = &format!("{noun} \"{}\"", spec.name);
    let way = one_way(spec, what, purpose)?;
    addresses(spec, what, way, purpose)?;
    switches(spec, what, way)?;
    limits(spec, what, way)?;
    container::check(spec, what)?;
    match &spec.command {
        Some(command) => ensure(names_program(command), || {
            format!("{what} has an empty `command`: give the program to start")
        }),
        None => Ok(()),
    }?;
    ensure(spec.before.as_deref().is_none_or(names_program), || {
        format!("{what} has an empty `before`: give the program to run, or take it out")
    })
}

fn names_program(command: &[String]) -> bool {
    command.first().is_some_and(|program| !program.is_empty())
}

/// The one key by which the target is found.
fn one_way(spec: &TargetSpec, what: &str, purpose: Purpose) -> Result<&'static str, PlanError> {
    let ways = [
        ("command", spec.command.is_some() && spec.image.is_none()),
        ("image", spec.image.is_some()),
        ("builtin", spec.builtin.is_some()),
        ("container", spec.container.is_some()),
        ("cgroup", spec.cgroup.is_some()),
        ("pid", spec.pid.is_some()),
        ("unit", spec.unit.is_some()),
    ];
    let set: Vec<_> = ways.iter().filter(|(_, set)| *set).map(|(way, _)| *way).collect();
    match (&set[..], purpose) {
        (["command"], Purpose::Job) => Ok("command"),
        (["image"], Purpose::Job) => refuse(format!(
            "{what} cannot be run to its end: a job is a program of this machine: take `image` out \
             and give it a `command`"
        )),
        ([] | [_], Purpose::Job) => refuse(format!(
            "{what} cannot be run to its end: a job is a program: give it a `command`"
        )),
        ([way], _) => Ok(way),
        ([], Purpose::Load) if spec.url.is_some() => Ok("url"),
        ([], Purpose::Load | Purpose::Serve) => refuse(format!(
            "{what} cannot be found: give one of `command`, `image`, `builtin`, `container`, \
             `cgroup`, `pid`, `unit`, or `url` alone"
        )),
        ([], Purpose::Watch) => refuse(
            "nothing to watch: give one of --pid, --cgroup, --container or --unit".to_owned(),
        ),
        (several, _) => refuse(format!(
            "{what} is given in {} ways (`{}`): keep one of them",
            several.len(),
            several.join("`, `")
        )),
    }
}

fn addresses(spec: &TargetSpec, what: &str, way: &str, purpose: Purpose) -> Result<(), PlanError> {
    let why_none = match (way, purpose) {
        ("builtin", _) => Some("is built in and picks its own address"),
        (_, Purpose::Job) => Some("is a job and gets no requests"),
        _ => None,
    };
    if let Some(why) = why_none {
        let given = [
            ("url", spec.url.is_some()),
            ("urls", spec.urls.is_some()),
            ("ready", spec.ready.is_some()),
        ];
        return match given.iter().find(|(_, set)| *set) {
            Some((key, _)) => refuse(format!("{what} {why}: take `{key}` out")),
            None => Ok(()),
        };
    }
    let Some(base) = &spec.url else {
        return ensure(purpose == Purpose::Watch, || {
            format!(
                "{what} has no `url`: say where its requests go, such as \
                 http://127.0.0.1:3000/"
            )
        });
    };
    requestable(base, what)?;
    match &spec.urls {
        Some(UrlSource::List(list)) => {
            ensure(!list.is_empty(), || {
                format!("{what} has an empty list of `urls`: take it out or fill it")
            })?;
            for address in list {
                joined(base, address, what)?;
            }
        }
        Some(UrlSource::Named(file)) if file.is_empty() => {
            refuse(format!("{what} has empty `urls`: write \"crawl\" or a file"))?;
        }
        _ => {}
    }
    match &spec.ready {
        Some(ready) => joined(base, ready, what),
        None => Ok(()),
    }
}

fn joined(base: &Url, address: &str, what: &str) -> Result<(), PlanError> {
    match base.join(address) {
        Ok(url) => requestable(&url, what),
        Err(error) => refuse(format!(
            "{what} has an address \"{address}\" that cannot be read ({error}): write \
             it as /path or http://host/path"
        )),
    }
}

/// Which scheme goes with which protocol is said in `load/`.
fn requestable(url: &Url, what: &str) -> Result<(), PlanError> {
    match url.scheme() {
        "http" | "https" | "ws" | "wss" => Ok(()),
        // `localhost:3000` parses as an address of the scheme `localhost`.
        _ => refuse(format!(
            "{what} is at \"{url}\", which is no http:// address: write it in full, \
             such as http://127.0.0.1:3000/"
        )),
    }
}

fn switches(spec: &TargetSpec, what: &str, way: &str) -> Result<(), PlanError> {
    ensure(spec.engine.is_none() || matches!(way, "container" | "image"), || {
        format!("{what} has `engine` without `container` or `image`: take it out")
    })?;
    ensure(!spec.adopt || matches!(way, "container" | "pid" | "unit"), || {
        format!(
            "{what} cannot be adopted: `adopt` is for a running `container`, `pid` or \
             `unit`"
        )
    })?;
    ensure(spec.pid != Some(0), || format!("{what} has pid 0: give that of a process"))?;
    ensure(!spec.ready_within.0.is_zero(), || {
        format!("{what} has no time to get ready: raise `ready_within`")
    })
}

fn limits(spec: &TargetSpec, what: &str, way: &str) -> Result<(), PlanError> {
    // These are started by us; the rest of the ways find what runs already.
    let started = matches!(way, "command" | "builtin" | "image");
    let surrounded = matches!(way, "command" | "image");
    let given = [
        ("cpus", spec.cpus.is_some(), started),
        ("cpuset", spec.cpuset.is_some(), started),
        ("memory", spec.memory.is_some(), started),
        ("env", !spec.env.is_empty(), surrounded),
        ("dir", spec.dir.is_some(), surrounded),
    ];
    if let Some((key, ..)) = given.iter().find(|(_, set, allowed)| *set && !allowed) {
        return refuse(format!(
            "{what} is given by `{way}`, where `{key}` has no meaning: take it out, or \
             start the target by `command`"
        ));
    }
    ensure(spec.cpus.is_none_or(|cpus| cpus.is_finite() && cpus > 0.0), || {
        format!("{what} may use no CPU: `cpus` must be above 0, such as 1.0")
    })?;
    if let Some(list) = &spec.cpuset {
        cpu_list(list)?;
    }
    if let Some(memory) = spec.memory.filter(|memory| *memory < MEMORY_MIN) {
        return refuse(format!(
            "{what} may use {memory} of memory, less than any process needs: write a \
             size with its unit, such as \"512MiB\""
        ));
    }
    match spec.env.keys().find(|key| key.is_empty() || key.contains(['=', '\0'])) {
        Some(key) => refuse(format!(
            "{what} has an environment variable \"{key}\": a name is not empty and has \
             no `=`"
        )),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
