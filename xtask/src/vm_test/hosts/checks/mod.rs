//! What must be true of each check: the calls of the lean server, and where it was watched.

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::told::Told;
use crate::vm_test::emulator::Ended;
use crate::vm_test::results::{Check, Outcome};

/// Where the machine has its tree.
const TREE: &str = "/sys/fs/cgroup";

/// Fewer prove little; an emulator that shares its CPUs may not make many more.
const ENOUGH_REQUESTS: f64 = 100.0;

/// What the lean server does for a request: it reads it and writes the response.
const CALLS_PER_REQUEST: f64 = 2.0;

/// What two decimals do not tell.
const ROUNDED: f64 = 0.005;

type Judge = fn(&Told<'_>) -> Result<()>;

/// The script's name for it, ours, and whether it came out as it must.
const CHECKS: [(&str, &str, Judge); 8] = [
    ("unit", "--unit: a service of systemd", unit),
    ("quota", "--pid: a scope of systemd with half a CPU", quota),
    ("podman_container", "--container: Podman with crun, below its scope", podman),
    ("docker_container", "--container: Docker with systemd, a cgroup namespace of its own", docker),
    ("nested", "--pid: a container in a container, from the host", nested),
    ("inside", "--builtin: from inside of a privileged container", inside),
    ("adopted", "--adopt: a process of the root cgroup, there and back", adopted),
    ("doctor", "doctor: v2, and the claims can be checked", doctor),
];

/// Each check with its outcome.
pub(super) fn outcomes(said: &str, ended: &Ended) -> Vec<Check> {
    let outcome = |key, judge: Judge| match Told::of(key, said) {
        None => Outcome::Failed(format!("it was not begun; {ended}")),
        Some(told) if !told.is_whole() => Outcome::Failed(format!("it did not end; {ended}")),
        Some(told) => match judge(&told) {
            Ok(()) => Outcome::Ok,
            Err(error) => Outcome::Failed(format!("{error:#}")),
        },
    };
    CHECKS
        .map(|(key, name, judge)| Check { name: name.to_owned(), outcome: outcome(key, judge) })
        .into()
}

fn unit(told: &Told<'_>) -> Result<()> {
    ensure!(told.fact("cgroup")? == "/system.slice/lean.service", "{}", told.fact("cgroup")?);
    watched(&two_calls(told)?, told.fact("cgroup")?)
}

fn quota(told: &Told<'_>) -> Result<()> {
    ensure!(told.fact("cgroup")? == "/system.slice/quota.scope", "{}", told.fact("cgroup")?);
    let record = two_calls(told)?;
    watched(&record, told.fact("cgroup")?)?;
    let books = &stage(&record)["cgroup"];
    ensure!(books["cpu_limit"].as_f64() == Some(0.5), "a quota of {}", books["cpu_limit"]);
    let throttled = books["nr_throttled"].as_u64().with_context(|| books.to_string())?;
    ensure!(throttled > 0, "it was never throttled: {books}");
    Ok(())
}

/// The process sits in a child of the scope that the engine names.
fn podman(told: &Told<'_>) -> Result<()> {
    let scope = format!("/machine.slice/libpod-{}.scope", told.fact("id")?);
    let cgroup = told.fact("cgroup")?;
    ensure!(cgroup == format!("{scope}/container"), "the process is in {cgroup}");
    watched(&two_calls(told)?, &scope)
}

fn docker(told: &Told<'_>) -> Result<()> {
    for (key, value) in [("driver", "systemd"), ("cgroupns", "private")] {
        ensure!(told.fact(key)? == value, "Docker's {key} is {}", told.fact(key)?);
    }
    let scope = format!("/system.slice/docker-{}.scope", told.fact("id")?);
    ensure!(told.fact("cgroup")? == scope, "the process is in {}", told.fact("cgroup")?);
    watched(&two_calls(told)?, &scope)
}

fn nested(told: &Told<'_>) -> Result<()> {
    let (outer, cgroup) = (told.fact("outer")?, told.fact("cgroup")?);
    let below =
        cgroup.strip_prefix(outer).with_context(|| format!("{cgroup} is not in {outer}"))?;
    ensure!(below.contains("/libpod-"), "{cgroup} is no container's in {outer}");
    watched(&two_calls(told)?, cgroup)
}

/// Seen from there, the container's own cgroup is the root.
fn inside(told: &Told<'_>) -> Result<()> {
    let record = two_calls(told)?;
    let cgroup = cgroup_of(&record)?;
    ensure!(cgroup.starts_with(&format!("{TREE}/bench-user/")), "it watched {cgroup}");
    Ok(())
}

fn adopted(told: &Told<'_>) -> Result<()> {
    for key in ["cgroup", "after"] {
        ensure!(told.fact(key)? == "/", "{key}: the process is in {}", told.fact(key)?);
    }
    let record = two_calls(told)?;
    let cgroup = cgroup_of(&record)?;
    ensure!(cgroup.ends_with("+adopted"), "it watched {cgroup}");
    Ok(())
}

fn doctor(told: &Told<'_>) -> Result<()> {
    let tries = told.record()?;
    let tries = tries.as_array().context("what it printed is no list")?;
    let missing = tries.iter().find(|one| one["needed"] == true && one["works"] != true);
    ensure!(missing.is_none(), "it has to do without {}", missing.unwrap_or(&Value::Null));
    let tree = tries.iter().find(|one| one["name"] == "cgroup v2").context("no try of cgroups")?;
    ensure!(tree["why"].as_str().is_some_and(|why| why.contains("(v2 mode)")), "{tree}");
    Ok(())
}

/// The record, if the server made the calls that it is written to make and no others: 2.00, but
/// for the calls of requests that are under way when the window begins or ends.
fn two_calls(told: &Told<'_>) -> Result<Value> {
    let record = told.record()?;
    let stage = stage(&record);
    let number = |value: &Value, what| value.as_f64().with_context(|| format!("{what}: {value}"));
    let requests = number(&stage["observed_requests"], "requests")?;
    ensure!(requests >= ENOUGH_REQUESTS, "{requests} requests: is the machine free?");
    let calls = number(&stage["syscalls"]["total"], "calls")?;
    let edges = CALLS_PER_REQUEST * number(&stage["connections"], "connections")?;
    ensure!(
        (calls - CALLS_PER_REQUEST * requests).abs() <= edges + ROUNDED * requests,
        "{calls} calls in {requests} requests: {}",
        stage["syscalls"]["by_name"]
    );
    Ok(record)
}

fn stage(record: &Value) -> &Value {
    &record["targets"][0]["stages"][0]
}

fn cgroup_of(record: &Value) -> Result<&str> {
    let cgroup = &record["targets"][0]["cgroup"];
    cgroup.as_str().with_context(|| format!("it watched no cgroup: {cgroup}"))
}

fn watched(record: &Value, cgroup: &str) -> Result<()> {
    let found = cgroup_of(record)?;
    ensure!(found == format!("{TREE}{cgroup}"), "it watched {found} and not {cgroup}");
    Ok(())
}

#[cfg(test)]
mod tests;
