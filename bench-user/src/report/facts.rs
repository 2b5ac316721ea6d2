//! Facts beside the ladder: what each target is, the machine, and what was asked for.

use super::page::Item;
use super::{figures, job};
use crate::measured::Measured;
use crate::plan::Ladder;
use crate::record::{RunRecord, TargetRecord};
use crate::target::{Exit, TargetKind};
use crate::units::show_count;

/// What is known of one target besides its stages.
pub(super) fn target(target: &TargetRecord) -> Item {
    let mut facts = vec![figures::word(target.kind)];
    if let Some(ms) = target.startup_ms {
        facts.push(format!("ready after {}", figures::show("startup_ns", ms * 1e6)));
    }
    let is_address = target.kind == TargetKind::Url;
    facts.extend(idle(target).filter(|_| !is_address));
    if let Some(image) = &target.image {
        let size = image.size_bytes.map_or(String::new(), |n| format!(" ({})", bytes(n)));
        facts.push(format!("image {}{size}", image.id));
    }
    facts.extend(after(target));
    match target.final_health {
        Some(true) => facts.push("answered after its last stage".into()),
        Some(false) => facts.push("did NOT answer after its last stage".into()),
        None => {}
    }
    facts.extend(target.exit.as_ref().map(exit));
    let mut lines = vec![facts.join("; ")];
    let addresses = (!target.urls.is_none()).then(|| {
        let many = figures::plural(target.urls.count as u64, "address", "addresses");
        format!("{many} from {}", target.urls.first)
    });
    let cgroup = (!is_address)
        .then(|| format!("cgroup {}", target.cgroup.value().map_or(figures::NONE, String::as_str)));
    lines.push(addresses.into_iter().chain(cgroup).collect::<Vec<_>>().join("; "));
    Item { lead: target.name.clone(), lines }
}

fn idle(target: &TargetRecord) -> Option<String> {
    let idle = target.idle.as_ref()?;
    let figure = |m: &Measured<u64>, show: &dyn Fn(u64) -> String| {
        m.value().map_or(figures::NONE.into(), |n| show(*n))
    };
    Some(format!(
        "idle {} resident in {}, {}",
        figure(&idle.rss_bytes, &bytes),
        figure(&idle.processes, &|n| figures::plural(n, "process", "processes")),
        figure(&idle.threads, &|n| figures::plural(n, "thread", "threads")),
    ))
}

/// What the last climb left, to be set beside what was there before the first.
fn after(target: &TargetRecord) -> Option<String> {
    let after = target.stages.last()?.after.as_ref()?;
    let rss = after.rss_bytes.value().copied()?;
    Some(format!("{} resident after its last climb", bytes(rss)))
}

fn exit(exit: &Exit) -> String {
    let how = match (exit.code, &exit.signal) {
        (Some(code), Some(signal)) => format!("with code {code}, as of {signal}"),
        (Some(code), None) => format!("with code {code}"),
        (None, Some(signal)) => format!("by {signal}"),
        (None, None) => "in an unknown way".into(),
    };
    if exit.by_us {
        let killed = exit.oom_killed.value() == Some(&true);
        let one = if killed { "; the kernel's OOM killer had ended a process of it" } else { "" };
        return format!("ended by us after the measurement{one}");
    }
    let again = match exit.restarts {
        Some(0) | None => "",
        Some(_) => ", and its engine started it again",
    };
    match exit.oom_killed.value() {
        Some(true) => format!("ended by itself {how}: the kernel's OOM killer did it{again}"),
        _ => format!("ended by itself {how}{again}"),
    }
}

/// The machine and the plan, a line each.
pub(super) fn conditions(run: &RunRecord) -> Vec<Item> {
    vec![Item::new("host", host(run)), Item::new("plan", plan(run)), Item::new("tool", tool(run))]
}

/// The machine.
pub(super) fn host(run: &RunRecord) -> String {
    let host = &run.host;
    let known = |m: &Measured<String>| m.value().map_or(figures::NONE, String::as_str).to_owned();
    let mitigated: Vec<&str> = host
        .mitigations
        .iter()
        .filter(|(_, state)| state.starts_with("Mitigation"))
        .map(|(name, _)| name.as_str())
        .collect();
    let mitigated = if mitigated.is_empty() { "none".into() } else { mitigated.join(", ") };
    [
        format!("Linux {} {}", host.kernel, host.arch),
        format!("{} CPUs ({})", host.cpus, known(&host.cpu_model)),
        host.memory_bytes.value().map_or("memory n/a".into(), |n| bytes(*n)),
        format!("virtualization {}", known(&host.virtualization)),
        format!("governor {}", known(&host.governor)),
        format!("clock {}", known(&host.clocksource)),
        format!("preemption {}", known(&host.preemption)),
        format!("cgroups {}", host.cgroup_mode),
        format!("BTF {}", if host.btf { "yes" } else { "no" }),
        format!("PMU {}", if host.pmu.value() == Some(&true) { "yes" } else { "no" }),
        format!("mitigations {mitigated}"),
    ]
    .join("; ")
}

/// What was asked for.
pub(super) fn plan(run: &RunRecord) -> String {
    let plan = &run.plan;
    let mut parts = match (&plan.job, &plan.ladder.find_rate) {
        (Some(job), _) => vec![job::plan(run, job)],
        (None, Some(objective)) => {
            vec![format!("search for the highest rate that holds {objective}"), windows(run)]
        }
        (None, None) => vec![ladder(&plan.ladder), windows(run)],
    };
    parts.push(figures::plural(plan.repeat.into(), "repetition", "repetitions"));
    if plan.discard > 0 {
        parts.push(format!("the first {} not counted", plan.discard));
    }
    if plan.repeat > 1 && plan.targets.len() > 1 {
        parts.push(figures::word(plan.order));
    }
    if !plan.observe.enabled {
        parts.push("the kernel side not observed".into());
    }
    let stages = run.targets.iter().flat_map(|t| &t.stages).filter(|s| !s.load.is_none());
    let generator = stages.map(|s| &s.load.generator).next();
    if let Some(generator) = generator {
        let workers = figures::plural(generator.workers.into(), "load worker", "load workers");
        let cpus = figures::joined(&generator.cpus);
        parts.push(if cpus.is_empty() {
            format!("{workers}, not pinned")
        } else {
            format!("{workers} on CPUs {cpus}")
        });
    }
    parts.join("; ")
}

fn windows(run: &RunRecord) -> String {
    let ladder = &run.plan.ladder;
    format!("{} each after {} of warm-up", ladder.duration, ladder.warmup)
}

fn ladder(ladder: &Ladder) -> String {
    let connections = figures::joined(&ladder.connections);
    if ladder.rates.is_empty() {
        return format!("ladder {connections} connections");
    }
    let rates = figures::joined(ladder.rates.iter().map(|rps| show_count(*rps)));
    format!("ladder {rates} req/s over {connections} connections (open loop)")
}

/// What made the record.
pub(super) fn tool(run: &RunRecord) -> String {
    format!("bench-user {}; {}", run.tool.version, run.schema)
}

#[expect(clippy::cast_precision_loss, reason = "for people, three digits")]
fn bytes(n: u64) -> String {
    figures::bytes(n as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_container_is_told_by_code_signal_killer_and_restart() {
        let end = |code, signal: Option<&str>, killed, restarts| {
            let signal = signal.map(str::to_owned);
            let oom_killed = Measured::Value(killed);
            exit(&Exit { code: Some(code), signal, oom_killed, restarts, by_us: false })
        };
        assert_eq!(end(1, None, false, Some(0)), "ended by itself with code 1");
        let term = "ended by itself with code 143, as of SIGTERM";
        assert_eq!(end(143, Some("SIGTERM"), false, None), term);
        assert_eq!(
            end(137, Some("SIGKILL"), true, Some(1)),
            "ended by itself with code 137, as of SIGKILL: the kernel's OOM killer did it, and its \
             engine started it again"
        );
    }

    #[test]
    fn a_ladder_of_rates_is_named_by_them() {
        let closed = Ladder { connections: vec![1, 20], ..Ladder::default() };
        assert_eq!(ladder(&closed), "ladder 1, 20 connections");
        let open = Ladder { connections: vec![50], rates: vec![0.5, 2000.0], ..closed };
        assert_eq!(ladder(&open), "ladder 0.50, 2,000 req/s over 50 connections (open loop)");
    }
}
