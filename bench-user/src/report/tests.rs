//! What the report of a run says of failures, of ends, of open loops and of held connections.

use super::*;
use crate::analyze::analyze;
use crate::analyze::builder::{a_run, a_stage};
use crate::distribution::Distribution;
use crate::load::{Events, Offered};
use crate::measured::Measured;
use crate::observe::{OnCpuStack, OnCpuStacks, Stacks, SyscallsExplained};
use crate::plan::ClaimSpec;
use crate::record::{ClaimVerdict, Estimate, Loop, StageClaim, StageRecord};
use crate::target::TargetKind;

/// The report of these stages of one target in one climb, as one line.
fn said(stages: Vec<StageRecord>, change: impl FnOnce(&mut RunRecord)) -> String {
    let mut run = a_run().target("a").repetitions(1, |_| stages.clone()).done();
    change(&mut run);
    crate::analyze::settle_verdicts(&mut run);
    run.analysis = Some(analyze(&run));
    let mut out = Vec::new();
    render(&run, Format::Text, &mut out).unwrap();
    String::from_utf8(out).unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The report of one target and one stage, climbed several times.
fn said_of_climbs(climbs: u32, change: impl Fn(u32, &mut StageRecord)) -> String {
    let climb = |i| {
        let mut stage = a_stage(20);
        change(i, &mut stage);
        vec![stage]
    };
    let mut run = a_run().target("a").repetitions(climbs, climb).done();
    crate::analyze::settle_verdicts(&mut run);
    run.analysis = Some(analyze(&run));
    let mut out = Vec::new();
    render(&run, Format::Text, &mut out).unwrap();
    String::from_utf8(out).unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
}

#[track_caller]
fn has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part}: {text}");
    }
}

fn of(count: u64) -> Distribution {
    let some = (count > 0).then_some(1_000_000);
    Distribution { count, min: some, p50: some, max: some, ..Distribution::default() }
}

/// 20 requests, of which none was answered.
fn failed() -> StageRecord {
    let mut stage = a_stage(10);
    (stage.load.requests, stage.load.achieved_rps) = (0, 0.0);
    stage.load.response_ns = Distribution::default();
    let outcomes = &mut stage.load.outcomes;
    (outcomes.reset, outcomes.connect) = (18, 2);
    outcomes.examples.insert("reset_before_bytes".into(), "reset by peer".into());
    outcomes.examples.insert("connect_refused".into(), "nobody listens".into());
    stage
}

#[test]
fn failures_have_their_causes_where_no_stage_is_valid() {
    let text = said(vec![failed()], |_| {});
    has(
        &text,
        &[
            "Peak: a no valid stage.",
            "no valid stage, and nothing was achieved in any",
            "at 10 connections requests failed: 2 connect, 18 reset",
            "(the first: connect refused: nobody listens; reset before bytes: reset by peer)",
        ],
    );
    let mut grpc = a_stage(20);
    grpc.load.outcomes.grpc_status.insert(14, 3);
    has(&said(vec![grpc], |_| {}), &["requests failed: 3 grpc-status 14"]);
}

#[test]
fn the_rate_of_an_invalid_stage_is_no_peak() {
    let mut limited = a_stage(20);
    limited.load.generator.limited = true;
    limited.load.achieved_rps = 4667.0;
    let text = said(vec![limited.clone()], |_| {});
    let found =
        "no valid stage; the highest rate of an invalid one is 4,667 req/s at 20 connections";
    has(&text, &["Peak: a no valid stage.", found]);
    assert!(!text.contains("knee"), "{text}");
    let text = said(vec![a_stage(10), limited], |_| {});
    has(
        &text,
        &[
            "Peak: a 1,000 req/s at 10 connections (limited by: none).",
            "peak 1,000 req/s at 10",
            "no plateau: no stage after it is valid",
        ],
    );
}

#[test]
fn a_peak_says_what_of_it_is_invalid() {
    let mut late = a_stage(20);
    late.load.generator.lag_ns_p99 = Some(900_000_000);
    let text = said(vec![late], |_| {});
    has(&text, &["Peak: a 1,000 req/s at 20 connections (limited by: none; other figures of it"]);
    let text = said_of_climbs(3, |climb, stage| stage.load.generator.limited = climb == 1);
    has(&text, &["(limited by: none; its rate is invalid in 1 of 3 climbs)"]);
}

#[test]
fn what_is_of_one_climb_is_of_the_middle_one_by_rate_and_says_so() {
    let text = said_of_climbs(5, |climb, stage| {
        stage.load.achieved_rps = [900.0, 1000.0, 970.0, 990.0, 400.0][climb as usize];
        stage.load.generator.limited = climb == 4;
        stage.explain.syscalls = Some(Measured::Value(SyscallsExplained::default()));
        let folded = vec![OnCpuStack { stack: "a;b".into(), count: 7 }];
        let oncpu = Measured::Value(OnCpuStacks { samples: 7, folded, ..OnCpuStacks::default() });
        let offcpu = Measured::unavailable("x");
        stage.explain.stacks = Some(Measured::Value(Stacks { oncpu, offcpu, notes: Vec::new() }));
    });
    // Of the valid ones 900, 970, 990 and 1,000 it is the lower of the two in the middle.
    has(
        &text,
        &[
            "Threads of a at 20, climb 3",
            "Syscalls explained at 20, a, climb 3",
            "On the CPU at 20, a, 5 climbs together",
            "none (climb 3): no limit was reached",
            "explanations are of one climb, the middle one by its rate",
        ],
    );
}

#[test]
fn a_target_that_was_gone_is_said_first() {
    let text = said(vec![a_stage(10), a_stage(20)], |run| {
        run.targets[0].final_health = Some(false);
    });
    let gone = "did not answer after its last stage (at 20 connections)";
    has(
        &text,
        &[
            &format!("NO ANSWER: a {gone}. Peak: a 1,000 req/s at 10 connections"),
            "invalid at 20 connections: the target did not answer after this stage",
            &format!("Warnings a the target {gone}"),
        ],
    );
    assert!(!said(vec![a_stage(10)], |_| {}).contains("NO ANSWER"));
}

#[test]
fn an_open_loop_shows_its_lateness_and_what_never_left() {
    let open = |skipped, unsent| {
        let mut stage = a_stage(10);
        (stage.kind, stage.offered_rps) = (Loop::Open, Some(1000.0));
        stage.load.outcomes.ok = 10_000;
        stage.load.offered = Some(Offered {
            scheduled: 10_000,
            skipped,
            unsent,
            lateness_ns: of(10_000),
            ..Offered::default()
        });
        said(vec![stage], |_| {})
    };
    let text = open(5, 7);
    has(&text, &[" lateness 10.0 k 1.00 ms 1.00 ms", "due 5 were skipped and 7 still waited"]);
    assert!(!open(0, 0).contains("were skipped"));
}

#[test]
fn held_streams_show_their_own_times_and_no_row_is_without_samples() {
    let mut held = a_stage(10);
    held.load.response_ns = Distribution::default();
    held.load.connect_ns = of(10);
    held.load.events = Some(Events {
        count: 50,
        per_sec: 5.0,
        first_event_ns: of(10),
        gap_ns: of(40),
        ..Events::default()
    });
    let text = said(vec![held], |_| {});
    has(&text, &["first event 10 1.00 ms", "gap 40 1.00 ms", "connect 10 1.00 ms"]);
    assert!(!text.contains("a 10 response") && !text.contains("connect p99"), "{text}");
}

#[test]
fn an_address_alone_says_once_what_it_lacks() {
    let why = "an address alone: its pid is not known";
    let mut stage = a_stage(10);
    stage.syscalls = Measured::unavailable(why);
    stage.sched = Measured::unavailable(why);
    stage.threads = Measured::unavailable(why);
    stage.cgroup.cpu_ratio = Measured::unavailable(why);
    let text = said(vec![stage], |run| {
        run.targets[0].kind = TargetKind::Url;
        run.targets[0].cgroup = Measured::unavailable(why);
    });
    assert_eq!(text.matches(why).count(), 1, "{text}");
    has(&text, &["conns req/s p50 p99 limited by 10", "Not measured a the kernel side ("]);
    assert!(!text.contains("cgroup n/a") && !text.contains("unknown:"), "{text}");
}

#[test]
fn a_claim_is_told_by_its_worst_stage() {
    let claim = |expect: &str, verdict, figures: &[(u32, f64)]| {
        let stage = |&(connections, value): &(u32, f64)| StageClaim {
            connections,
            offered_rps: None,
            verdict,
            figure: Some(Estimate {
                value,
                low: Some(value - 1.0),
                high: Some(value + 1.0),
                repetitions: 5,
                within_stage: false,
            }),
            of: None,
            against: None,
            because: format!("is {value}"),
        };
        let claim = ClaimSpec { expect: Some(expect.into()), ..ClaimSpec::default() };
        let stages = figures.iter().map(stage).collect();
        let result = ClaimResult { claim, verdict, because: "of the record".into(), stages };
        let mut out = Vec::new();
        claims(&[result], Format::Text, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    };
    let (holds, fails) = (ClaimVerdict::Holds, ClaimVerdict::Fails);
    let ladder = [(10, 3.0), (20, 5.0), (50, 4.0)];
    let told = "in 3 of 3 stages; worst at";
    has(&claim("<= 9", holds, &ladder), &[&format!("{told} 20 connections: is 5")]);
    has(&claim("> 1", holds, &ladder), &[&format!("{told} 10 connections: is 3")]);
    has(&claim("< 1", fails, &ladder), &[&format!("{told} 20 connections: is 5")]);
    has(&claim("4 +- 3", holds, &ladder), &["of the record"]);
    has(&claim("<= 9", holds, &ladder[..1]), &["of the record"]);
}
