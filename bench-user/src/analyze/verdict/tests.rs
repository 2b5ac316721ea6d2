use super::*;
use crate::analyze::builder::{a_run, a_stage, a_thread};
use crate::observe::{Listener, Net, Thread};
use crate::target::Exit;

/// Judges a healthy stage after `change`.
fn judge(change: impl FnOnce(&mut StageRecord)) -> Verdict {
    let run = a_run().target("a").stage(0, a_stage(50)).done();
    let mut stage = run.targets[0].stages[0].clone();
    change(&mut stage);
    verdict(&run.targets[0], &stage)
}

/// A stage whose threads had these shares, on a machine that allows `allowed` CPUs.
fn threads(allowed: u32, shares: &[(f64, f64)]) -> impl Fn(&mut StageRecord) {
    let threads: Vec<Thread> = shares.iter().map(|&(on, waited)| a_thread(on, waited)).collect();
    move |stage| {
        stage.cgroup.cpus_allowed = Measured::Value(allowed);
        let used: f64 = threads.iter().map(|t| t.oncpu_ratio).sum();
        stage.cgroup.cpu_ratio = Measured::Value(used);
        let waited = threads.iter().map(|t| t.runq_ns).sum();
        stage.sched = stage.sched.clone().map(|mut sched| {
            sched.runqlat_sum_ns = waited;
            sched
        });
        stage.threads = Measured::Value(threads.clone());
    }
}

fn quota(stage: &mut StageRecord, limit: f64, throttled: u64) {
    stage.cgroup.cpu_limit = Measured::Value(limit);
    stage.cgroup.nr_periods = Measured::Value(100);
    stage.cgroup.nr_throttled = Measured::Value(throttled);
}

#[test]
fn an_idle_server_is_limited_by_nothing_and_the_stop_rule_stays() {
    let got = judge(|s| s.verdict.stopped_by = Some("p99 reached 1 s".into()));
    assert_eq!(got.bottleneck, Bottleneck::None);
    assert_eq!(got.stopped_by.as_deref(), Some("p99 reached 1 s"));
    assert!(got.evidence.iter().any(|e| e.contains("0.60 of 8 allowed")), "{:?}", got.evidence);
}

#[test]
fn one_busy_thread_several_on_one_cpu_and_a_quota_of_one_are_three_answers() {
    let one = judge(threads(8, &[(0.97, 0.0), (0.04, 0.0)]));
    assert_eq!(one.bottleneck, Bottleneck::SingleThread, "{:?}", one.evidence);
    let several = judge(threads(1, &[(0.4, 0.5), (0.3, 0.6), (0.29, 0.6)]));
    assert_eq!(several.bottleneck, Bottleneck::Cpu, "{:?}", several.evidence);
    let held = judge(|s| {
        threads(8, &[(0.6, 0.3), (0.4, 0.3)])(s);
        quota(s, 1.0, 80);
    });
    assert_eq!(held.bottleneck, Bottleneck::CpuQuota, "{:?}", held.evidence);
    assert!(held.evidence[0].contains("80 of 100 periods"), "{:?}", held.evidence);
}

#[test]
fn a_lone_thread_stays_the_limit_on_one_cpu_and_under_a_quota() {
    assert_eq!(judge(threads(1, &[(0.98, 0.01)])).bottleneck, Bottleneck::SingleThread);
    let under_quota = judge(|s| {
        threads(8, &[(0.96, 0.0), (0.08, 0.0)])(s);
        quota(s, 1.0, 60);
    });
    assert_eq!(under_quota.bottleneck, Bottleneck::SingleThread);
    assert!(under_quota.evidence.iter().any(|e| e.contains("60 of 100")), "{under_quota:?}");
}

#[test]
fn every_allowed_cpu_busy_is_cpu_and_some_busy_threads_are_threads() {
    assert_eq!(judge(threads(2, &[(0.97, 0.0), (0.96, 0.0)])).bottleneck, Bottleneck::Cpu);
    let two_of_eight = judge(threads(8, &[(0.97, 0.0), (0.96, 0.0)]));
    assert_eq!(two_of_eight.bottleneck, Bottleneck::SingleThread);
    assert!(two_of_eight.evidence[1].contains("2 threads"), "{:?}", two_of_eight.evidence);
}

#[test]
fn a_quota_used_up_is_the_limit_also_where_periods_are_not_counted() {
    let used_up = judge(|s| {
        threads(8, &[(0.7, 0.0), (0.7, 0.0), (0.58, 0.0)])(s);
        s.cgroup.cpu_limit = Measured::Value(2.0);
    });
    assert_eq!(used_up.bottleneck, Bottleneck::CpuQuota, "{:?}", used_up.evidence);
    let room_left = judge(|s| {
        threads(8, &[(0.5, 0.0)])(s);
        quota(s, 2.0, 9);
    });
    assert_eq!(room_left.bottleneck, Bottleneck::None, "{:?}", room_left.evidence);
}

#[test]
fn threads_that_wait_for_the_cpus_of_others_wait_on_the_run_queue() {
    let shared = judge(threads(2, &[(0.85, 0.13)]));
    assert_eq!(shared.bottleneck, Bottleneck::RunQueue);
    assert!(shared.evidence[0].contains("85 %") && shared.evidence[0].contains("13 %"));
    let crowd = judge(threads(2, &[(0.2, 0.4); 6]));
    assert_eq!(crowd.bottleneck, Bottleneck::RunQueue, "{:?}", crowd.evidence);
    let wakeups = judge(threads(2, &[(0.05, 0.03); 4]));
    assert_eq!(wakeups.bottleneck, Bottleneck::None, "{:?}", wakeups.evidence);
}

#[test]
fn memory_is_the_limit_when_tasks_stall_for_it_or_are_killed() {
    let stalled = judge(|s| {
        s.cgroup.psi.insert("memory.some".into(), Measured::Value(2_000_000_000));
    });
    assert_eq!(stalled.bottleneck, Bottleneck::Memory);
    assert!(stalled.evidence[0].contains("20 %"), "{:?}", stalled.evidence);
    assert_eq!(judge(|s| s.cgroup.oom_kills = Measured::Value(1)).bottleneck, Bottleneck::Memory);
    let little = judge(|s| {
        s.cgroup.psi.insert("memory.full".into(), Measured::Value(900_000_000));
    });
    assert_eq!(little.bottleneck, Bottleneck::None);
}

#[test]
fn a_full_accept_queue_is_the_limit_and_a_busy_thread_is_mentioned() {
    let got = judge(|s| {
        threads(8, &[(0.99, 0.0)])(s);
        s.net = Measured::Value(Net { listen_overflows: 7, ..Net::default() });
        s.load.connect_ns.max = Some(1_001_000_000);
    });
    assert_eq!(got.bottleneck, Bottleneck::AcceptQueue);
    assert!(got.evidence.iter().any(|e| e.contains("99 %")), "{:?}", got.evidence);
}

/// The counter is that of the network namespace, which the target may share with other servers.
#[test]
fn a_full_accept_queue_that_the_load_did_not_meet_is_that_of_another_server() {
    let judge_with = |change: fn(&mut StageRecord)| {
        let got = judge(|s| {
            threads(8, &[(0.99, 0.0)])(s);
            s.net = Measured::Value(Net { listen_overflows: 90, ..Net::default() });
            s.load.connect_ns.max = Some(2_000_000);
            s.load.response_ns.max = Some(60_000_000);
            change(s);
        });
        got.bottleneck
    };
    assert_eq!(judge_with(|_| {}), Bottleneck::SingleThread);
    assert_eq!(judge_with(|s| s.load.connections.live_min -= 1), Bottleneck::AcceptQueue);
    let slow = |s: &mut StageRecord| s.load.response_ns.max = Some(207_000_000);
    assert_eq!(judge_with(slow), Bottleneck::AcceptQueue);
}

/// With the drops of each listener known, the load need not be asked whose queue it was.
#[test]
fn the_drops_of_its_own_listeners_decide_whose_queue_was_full() {
    let judge_with = |drops: u64, longest: u64, slow: bool| {
        judge(|s| {
            threads(8, &[(0.99, 0.0)])(s);
            let listener = Listener {
                address: "0.0.0.0:80".into(),
                accept_queue_max: longest,
                accept_queue_limit: Measured::Value(1),
                drops: Measured::Value(drops),
                ..Listener::default()
            };
            s.net = Measured::Value(Net {
                listen_overflows: 90,
                listener_drops: Measured::Value(drops),
                listeners: vec![listener],
                ..Net::default()
            });
            s.load.connect_ns.max = slow.then_some(1_001_000_000);
        })
    };
    let own = judge_with(5, 2, false);
    assert_eq!(own.bottleneck, Bottleneck::AcceptQueue);
    assert!(own.evidence[0].contains("5 connections") && own.evidence[0].contains("2 of 2"));
    assert_eq!(judge_with(5, 1, true).bottleneck, Bottleneck::AcceptQueue);
    // Dropped for another reason: the queue was not full, and nobody waited.
    assert_eq!(judge_with(5, 1, false).bottleneck, Bottleneck::SingleThread);
    // Another server's, whatever the load felt.
    assert_eq!(judge_with(0, 2, true).bottleneck, Bottleneck::SingleThread);
}

#[test]
fn a_limited_generator_explains_everything_after_it() {
    let got = judge(|s| {
        threads(8, &[(0.99, 0.0)])(s);
        s.load.generator.limited = true;
        s.load.generator.cpu_ratio = 0.99;
        s.load.generator.lag_ns_p99 = Some(12_000_000);
    });
    assert_eq!(got.bottleneck, Bottleneck::Client);
    assert!(got.evidence.iter().any(|e| e.contains("12.00 ms")), "{:?}", got.evidence);
}

#[test]
fn without_the_figures_the_answer_is_unknown_with_the_reason() {
    let blind = judge(|s| {
        s.threads = Measured::unavailable("not root");
        s.sched = Measured::unavailable("not root");
    });
    assert_eq!(blind.bottleneck, Bottleneck::Unknown);
    assert!(blind.evidence.iter().any(|e| e == "threads not measured: not root"));
    assert_eq!(judge(|s| s.load.requests = 0).bottleneck, Bottleneck::Unknown);
}

#[test]
fn a_target_that_ended_died_in_its_last_stage_only() {
    let mut run = a_run().target("a").stage(0, a_stage(10)).stage(0, a_stage(20)).done();
    let target = &mut run.targets[0];
    for stage in &mut target.stages {
        stage.load.account.failed = 3;
    }
    target.exit = Some(Exit {
        code: None,
        signal: Some("SIGKILL".into()),
        oom_killed: Measured::Value(true),
        restarts: None,
        by_us: false,
    });
    let last = verdict(target, &target.stages[1]);
    assert_eq!(last.bottleneck, Bottleneck::TargetDied);
    assert!(last.evidence[0].contains("SIGKILL") && last.evidence[1].contains("OOM"), "{last:?}");
    assert_eq!(verdict(target, &target.stages[0]).bottleneck, Bottleneck::None);
    let contained = target.exit.take().map(|exit| Exit { code: Some(137), ..exit });
    target.exit = contained;
    let said = verdict(target, &target.stages[1]).evidence;
    assert_eq!(said[0], "the target ended with exit code 137, as of SIGKILL");
    let by_us = target.exit.take().map(|exit| Exit { by_us: true, ..exit });
    target.exit = by_us;
    assert_eq!(verdict(target, &target.stages[1]).bottleneck, Bottleneck::None);
}
