//! What should keep a reader from trusting the figures of a ladder, as sentences.

use std::collections::BTreeMap;

use crate::plan::Level;
use crate::record::{RunRecord, StageRecord, TargetRecord};
use crate::target::TargetKind;

use super::bootstrap::{BOOTSTRAP_FROM, INTERVAL_FROM};
use super::fitness;
use super::hidden_work;
use super::levels::{self, Step};
use super::own_cost;
use super::validity;

/// The warnings about one target's ladder; `steps` are its counted stages.
pub(super) fn of(run: &RunRecord, target: &TargetRecord, steps: &[Step]) -> Vec<String> {
    let mut warnings = target.notes.clone();
    warnings.extend(validity::ending(target).map(|how| format!("the target {how}")));
    if steps.is_empty() {
        warnings.push("no stage of a counted repetition was finished".to_owned());
        return warnings;
    }
    warnings.extend(target.proxy.clone());
    let invalid = "the stage is invalid, and its figures say so";
    warnings.extend(stages_where(steps, invalid, |s| !s.verdict.invalid.is_empty()));
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
    let fewest = steps.iter().map(|step| step.stages.len()).min()?;
    let what = if fewest < INTERVAL_FROM {
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

/// More than this many CPUs used by neither target nor load is worth a warning.
const STRANGERS_CPUS: f64 = 0.25;

/// CPUs that neither the target nor its services nor the load used: other programs, and the
/// kernel's own work.
/// Each worker is taken to be as busy as the busiest, so this is rather too low.
fn strangers_cpus(stage: &StageRecord) -> Option<f64> {
    let machine = stage.machine.value()?;
    let target = stage.cgroup.cpu_ratio.value()?;
    let generator = &stage.load.generator;
    let load = generator.cpu_ratio * f64::from(generator.workers);
    let services: f64 = stage.services.iter().filter_map(|s| s.cpu_ratio.value()).sum();
    Some(machine.busy_cpus + machine.stolen_cpus - target - load - services)
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
pub(super) mod tests {
    use super::*;
    use crate::analyze::builder::{a_run, a_stage};
    use crate::measured::Measured;
    use crate::record::ServiceUse;

    type Fault = fn(&mut StageRecord);

    pub(in crate::analyze) fn warned(
        repetitions: u32,
        change: impl Fn(&mut StageRecord),
    ) -> Vec<String> {
        let ladder = |_| {
            let mut stage = a_stage(20);
            change(&mut stage);
            vec![a_stage(10), stage]
        };
        let run = a_run().target("a").repetitions(repetitions, ladder).done();
        of(&run, &run.targets[0], &levels::steps(&run, &run.targets[0]))
    }

    #[test]
    fn five_clean_repetitions_need_no_warning() {
        assert_eq!(warned(5, |_| {}), Vec::<String>::new());
        assert!(warned(1, |_| {})[0].starts_with("with 1 counted repetition,"));
        assert!(warned(4, |_| {})[0].contains("not 95 % intervals"));
    }

    #[test]
    fn a_target_that_was_gone_is_warned_of() {
        let mut run = a_run().target("a").repetitions(5, |_| vec![a_stage(10)]).done();
        run.targets[0].final_health = Some(false);
        let warnings = of(&run, &run.targets[0], &levels::steps(&run, &run.targets[0]));
        assert_eq!(
            warnings[0],
            "the target did not answer after its last stage (at 10 connections)"
        );
    }

    #[test]
    fn an_address_of_this_machine_shares_its_cpus() {
        let warned = |address: &str, cpus: &[usize]| {
            let mut stage = a_stage(10);
            stage.load.generator.cpus = cpus.to_vec();
            let mut run = a_run().target("a").repetitions(5, |_| vec![stage.clone()]).done();
            run.targets[0].kind = TargetKind::Url;
            run.targets[0].urls.first = address.into();
            of(&run, &run.targets[0], &levels::steps(&run, &run.targets[0])).join("\n")
        };
        for here in ["http://127.0.0.1:80/", "https://localhost/x", "http://[::1]:8080/?a=:b"] {
            assert!(warned(here, &[]).contains("not pinned and shares 16 CPUs"), "{here}");
            assert!(warned(here, &[7]).contains("may share those of the load"), "{here}");
        }
        for elsewhere in
            ["http://192.0.2.7:80/", "http://[2001:db8::1]/", "http://localhost.example/"]
        {
            assert_eq!(warned(elsewhere, &[]), "", "{elsewhere}");
        }
    }

    #[test]
    fn each_fault_is_named_with_its_stages() {
        let cases: [(Fault, &str); 4] = [
            (
                |s| s.verdict.invalid.push("x".into()),
                "is invalid, and its figures say so (at 20 con",
            ),
            (|s| s.load.outcomes.reset = 1, "requests failed"),
            (
                |s| {
                    s.machine = s.machine.clone().map(|mut m| {
                        m.busy_cpus = 9.0;
                        m
                    })
                },
                "others on this machine used up to",
            ),
            (
                |s| {
                    s.syscalls = s.syscalls.clone().map(|mut c| {
                        c.missed = 1;
                        c
                    })
                },
                "lower bounds (at 20 connections)",
            ),
        ];
        for (fault, said) in cases {
            let warnings = warned(5, fault).join("\n");
            assert!(warnings.contains(said), "{said}: {warnings}");
        }
    }

    #[test]
    fn services_are_no_strangers() {
        let busy = |cpus: &[(&str, f64)]| {
            let used = |(name, cpus): &(&str, f64)| ServiceUse {
                name: (*name).into(),
                cpu_ratio: Measured::Value(*cpus),
                exit: None,
            };
            warned(5, |s| {
                s.services = cpus.iter().map(used).collect();
                let others: f64 = cpus.iter().map(|(_, cpus)| cpus).sum();
                s.machine = s.machine.clone().map(|mut m| {
                    m.busy_cpus += others;
                    m
                });
            })
            .join("\n")
        };
        assert_eq!(busy(&[]), "");
        let warnings = busy(&[("model", 1.25), ("store", 0.5)]);
        let said = "the services used, besides the target: `model` up to 1.25 CPUs, `store` up to \
                    0.50 CPUs";
        assert!(warnings.contains(said), "{warnings}");
        assert!(!warnings.contains("others on this machine"), "{warnings}");
    }

    #[test]
    fn shared_cpus_and_different_ladders_are_named() {
        let mut run = a_run()
            .target("a")
            .repetitions(5, |_| vec![a_stage(10), a_stage(20)])
            .target("b")
            .repetitions(5, |_| vec![a_stage(10)])
            .done();
        run.host.cpus = 8;
        let warnings = of(&run, &run.targets[1], &levels::steps(&run, &run.targets[1])).join("\n");
        assert!(warnings.contains("8 of 8 CPUs"), "{warnings}");
        run.targets[0].stages[0].load.generator.cpus.clear();
        let unpinned = of(&run, &run.targets[0], &levels::steps(&run, &run.targets[0])).join("\n");
        assert!(unpinned.contains("not pinned"), "{unpinned}");
        assert!(warnings.contains("20 connections are not compared"), "{warnings}");
        run.targets[1].stages.clear();
        let none = of(&run, &run.targets[1], &levels::steps(&run, &run.targets[1])).join("\n");
        assert!(none.contains("no stage"), "{none}");
    }
}
