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
    assert_eq!(warnings[0], "the target did not answer after its last stage (at 10 connections)");
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
    for elsewhere in ["http://192.0.2.7:80/", "http://[2001:db8::1]/", "http://localhost.example/"]
    {
        assert_eq!(warned(elsewhere, &[]), "", "{elsewhere}");
    }
}

#[test]
fn each_fault_is_named_with_its_stages() {
    let cases: [(Fault, &str); 4] = [
        (|s| s.verdict.invalid.push("x".into()), "is invalid, and its figures say so (at 20 con"),
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
