//! Each rule at its limit, what it says, and which metrics survive it.

use super::*;
use crate::analyze::builder::{a_run, a_stage};
use crate::load::Offered;
use crate::plan::ShareLimit;

/// The rules that a healthy stage of 10,000 requests over 100 connections breaks after a change.
fn broken(change: impl FnOnce(&mut Plan, &mut TargetRecord, &mut StageRecord)) -> Vec<Reason> {
    let mut run = a_run().target("a").done();
    let mut stage = a_stage(100);
    stage.load.outcomes.ok = stage.load.requests;
    change(&mut run.plan, &mut run.targets[0], &mut stage);
    Judge::of(&run.plan, &run.targets[0]).reasons(&stage)
}

#[track_caller]
fn check(
    rule: Rule,
    says: &str,
    change: impl FnOnce(&mut Plan, &mut TargetRecord, &mut StageRecord),
) {
    let reasons = broken(change);
    let [reason] = &reasons[..] else { panic!("{reasons:?}") };
    assert!(reason.rule == rule && reason.says.contains(says), "{reason:?}");
}

#[track_caller]
fn holds(change: impl FnOnce(&mut Plan, &mut TargetRecord, &mut StageRecord)) {
    assert_eq!(broken(change), []);
}

#[test]
fn live_connections_may_fall_short_by_the_plans_share() {
    holds(|_, _, s| s.load.connections.live_median = 95);
    check(Rule::Live, "asked 100, median live 94: fewer than 95 %", |_, _, s| {
        s.load.connections.live_median = 94;
    });
    holds(|plan, _, s| {
        plan.valid.live = 0.0;
        s.load.connections.live_median = 0;
    });
}

#[test]
fn connections_that_wait_for_an_answer_for_good_are_as_few_as_closed_ones() {
    let waits = |stage: &mut StageRecord, requests, age_ns| {
        stage.load.account.in_flight_at_end = requests;
        stage.load.account.in_flight_age_ns_max = Some(age_ns);
    };
    let five = 5_000_000_000;
    holds(|_, _, s| waits(s, 5, five));
    check(Rule::Live, "6 requests over 100 connections were still without", |_, _, s| {
        waits(s, 6, five);
    });
    // A signal gave them up, or they are streams that stay open.
    holds(|_, _, s| waits(s, 100, five - 1));
    holds(|plan, _, s| {
        plan.load.protocol = Protocol::Idle;
        s.load.protocol = Protocol::Idle;
        waits(s, 100, five);
    });
}

fn offer(stage: &mut StageRecord, scheduled: u64, ok: u64) {
    stage.offered_rps = Some(1.0);
    stage.load.offered = Some(Offered { scheduled, ..Offered::default() });
    (stage.load.outcomes.ok, stage.load.requests) = (ok, ok);
}

#[test]
fn what_is_offered_is_achieved_to_the_plans_share_and_one_request() {
    holds(|_, _, s| offer(s, 10_000, 9_900));
    check(Rule::Achieved, "9899 requests were answered well of 10000", |_, _, s| {
        offer(s, 10_000, 9_899);
    });
    holds(|_, _, s| offer(s, 21, 20));
    check(Rule::Achieved, "less than 99 %", |_, _, s| offer(s, 21, 19));
    holds(|plan, _, s| {
        plan.valid.achieved = 0.9;
        offer(s, 10_000, 9_000);
    });
}

#[test]
fn reconnects_have_a_limit_that_can_be_taken_away() {
    holds(|_, _, s| s.load.outcomes.reconnects = 100);
    let often = |s: &mut StageRecord| s.load.outcomes.reconnects = 101;
    check(Rule::Reconnects, "`reconnects = false`", |_, _, s| often(s));
    holds(|plan, _, s| {
        plan.valid.reconnects = ShareLimit::Switch(false);
        s.load.outcomes.reconnects = 10_000;
    });
}

#[test]
fn errors_and_other_statuses_count_together() {
    let bad = |s: &mut StageRecord, statuses, resets| {
        s.load.outcomes.other_status.insert(503, statuses);
        s.load.outcomes.reset = resets;
        s.load.requests -= resets;
    };
    holds(|_, _, s| bad(s, 50, 50));
    check(Rule::NotServed, "101 of 10000 requests failed", |_, _, s| bad(s, 50, 51));
    holds(|plan, _, s| {
        plan.valid.non_2xx = ShareLimit::Switch(false);
        bad(s, 9_000, 1_000);
    });
}

#[test]
fn a_busy_or_late_generator_and_a_proxy_are_named() {
    check(Rule::Generator, "was the limit", |_, _, s| s.load.generator.limited = true);
    check(Rule::Late, "late", |_, _, s| s.load.generator.lag_ns_p99 = Some(11_000_000));
    check(Rule::Proxy, "pass docker-proxy", |_, target, _| {
        target.proxy = Some("requests pass docker-proxy".into());
    });
}

#[test]
fn a_stage_that_completes_nothing_is_empty_unless_it_is_to_complete_nothing() {
    let none = |s: &mut StageRecord| (s.load.requests, s.load.outcomes.ok) = (0, 0);
    check(Rule::Empty, "no request was completed", |_, _, s| none(s));
    holds(|plan, _, s| {
        plan.load.protocol = Protocol::Idle;
        none(s);
    });
    check(Rule::Empty, "no event came", |_, _, s| {
        none(s);
        s.load.events = Some(crate::load::Events::default());
    });
    holds(|_, _, s| {
        none(s);
        s.load.events = Some(crate::load::Events { count: 1, ..Default::default() });
    });
}

#[test]
fn what_the_stage_before_left_behind_is_named() {
    use crate::ladder::Before;
    use crate::measured::Measured;
    let before = |accept_queue, local_ports_free| Before {
        accept_queue: Measured::Value(accept_queue),
        local_ports_free: Measured::Value(local_ports_free),
        ..Before::default()
    };
    holds(|_, _, s| s.before = Some(before(0, 100)));
    holds(|_, _, s| s.before = Some(Before::default()));
    check(Rule::Rest, "accept queue", |_, _, s| s.before = Some(before(3, 100)));
    check(Rule::Rest, "99 local ports", |_, _, s| s.before = Some(before(0, 99)));
}

#[test]
fn the_last_stage_before_a_target_was_gone_is_invalid_and_no_other() {
    use crate::target::Exit;
    let gone = |change: &dyn Fn(&mut TargetRecord)| {
        let mut run = a_run().target("a").stage(0, a_stage(10)).stage(0, a_stage(20)).done();
        change(&mut run.targets[0]);
        let target = &run.targets[0];
        let judge = Judge::of(&run.plan, target);
        let says = |stage| judge.reasons(stage).into_iter().map(|r| r.says).collect::<Vec<_>>();
        ([says(&target.stages[0]), says(&target.stages[1])], ending(target))
    };
    let silent = vec!["the target did not answer after this stage".to_owned()];
    let at_last = [Vec::new(), silent];
    let (stages, how) = gone(&|target| target.final_health = Some(false));
    assert_eq!(stages, at_last);
    assert_eq!(how.as_deref(), Some("did not answer after its last stage (at 20 connections)"));
    let died = |by_us| Exit { code: Some(3), by_us, ..Exit::of_stranger(Default::default()) };
    let (stages, how) = gone(&|target| target.exit = Some(died(false)));
    assert_eq!(stages, at_last);
    let how = how.unwrap_or_default();
    assert!(how.starts_with("ended by itself: ") && how.ends_with(" (at 20 connections)"), "{how}");
    assert_eq!(gone(&|target| target.exit = Some(died(true))), (Default::default(), None));
    assert_eq!(gone(&|target| target.final_health = None), (Default::default(), None));
}

#[test]
fn a_stage_without_a_service_that_the_plan_has_is_invalid() {
    use crate::measured::Measured;
    use crate::record::ServiceUse;
    let beside = |exit| ServiceUse { name: "model".into(), cpu_ratio: Measured::Value(0.5), exit };
    holds(|_, _, s| s.services = vec![beside(None)]);
    let exit = crate::target::Exit {
        code: Some(3),
        ..crate::target::Exit::of_stranger(Default::default())
    };
    check(Rule::Service, "the service `model` had ended by itself: exit code 3", |_, _, s| {
        s.services = vec![beside(None), beside(Some(exit))];
    });
}

/// One metric of each kind, and whether a claim about it survives: the work of a request, a
/// time, a rate, an outcome, the bottleneck.
#[test]
fn each_rule_spares_what_it_does_not_touch() {
    let metrics = [
        "syscalls.per_request",
        "load.response_ns.p99",
        "load.achieved_rps",
        "error_ratio",
        "bottleneck",
    ];
    for (rule, spared) in [
        (Rule::Empty, [false, false, false, true, false]),
        (Rule::Live, [false, false, false, true, false]),
        (Rule::Generator, [true, false, false, false, false]),
        (Rule::Late, [true, false, true, true, true]),
        (Rule::Achieved, [true, false, false, true, true]),
        (Rule::Reconnects, [false, false, false, true, true]),
        (Rule::NotServed, [false, false, false, true, true]),
        (Rule::Proxy, [true, false, false, false, false]),
        (Rule::Rest, [false, false, false, true, false]),
        (Rule::Gone, [false, false, false, true, false]),
        (Rule::Service, [false, false, false, false, false]),
    ] {
        assert_eq!(metrics.map(|metric| rule.spares(metric)), spared, "{rule:?}");
    }
    assert!(Rule::NotServed.spares("load.outcomes.reset"));
    assert!(Rule::Late.spares("sched.runqlat_ns.p99"));
}
