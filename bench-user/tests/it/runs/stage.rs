//! Stages and observed windows, with figures around round numbers.

use std::collections::BTreeMap;

use bench_user::distribution::Distribution;
use bench_user::load::{Account, Connections, GeneratorUse, LoadSample, Outcomes};
use bench_user::measured::Measured::{self, Value};
use bench_user::observe::{Count, Explained, ObserverCost, PerfCount, Sched, Syscalls, Thread};
use bench_user::record::{Bottleneck, Loop, StageRecord, StageSample, Verdict};

use super::surroundings::{cgroup, machine, net};

use super::explained::explained;

/// Length of every window, ns.
pub(super) const WINDOW: u64 = 5_000_000_000;

/// What a level of a target is built around.
#[derive(Clone, Copy)]
pub(super) struct Around {
    pub(super) connections: u32,
    pub(super) rps: u64,
    pub(super) p50: u64,
    pub(super) p99: u64,
    /// Reads, writes and waits per 100 requests.
    pub(super) syscalls: [u64; 3],
    /// Switches per 1,000 requests.
    pub(super) switches: u64,
    pub(super) runq_p99: u64,
    pub(super) busiest: f64,
    pub(super) limit: Bottleneck,
}

pub(super) const LEAN: [Around; 3] = [
    Around {
        connections: 10,
        rps: 20_000,
        p50: 400_000,
        p99: 900_000,
        syscalls: [100, 100, 80],
        switches: 500,
        runq_p99: 40_000,
        busiest: 0.70,
        limit: Bottleneck::None,
    },
    Around {
        connections: 20,
        rps: 31_000,
        p50: 620_000,
        p99: 1_500_000,
        syscalls: [100, 100, 50],
        switches: 200,
        runq_p99: 60_000,
        busiest: 0.98,
        limit: Bottleneck::SingleThread,
    },
    Around {
        connections: 50,
        rps: 30_000,
        p50: 1_600_000,
        p99: 4_000_000,
        syscalls: [100, 100, 20],
        switches: 100,
        runq_p99: 80_000,
        busiest: 0.99,
        limit: Bottleneck::SingleThread,
    },
];

/// The same server with four writes a response, at 60 % of the rate.
pub(super) fn chatty() -> [Around; 3] {
    LEAN.map(|lean| Around {
        rps: lean.rps * 6 / 10,
        p50: lean.p50 * 2,
        p99: lean.p99 * 2,
        syscalls: [100, 400, lean.syscalls[2]],
        ..lean
    })
}

/// 99 %, 100 % or 101 % of a number that 100 divides.
fn of_three(number: u64, repetition: u32) -> u64 {
    number / 100 * (99 + u64::from(repetition))
}

/// A stage of one repetition; an unobserved one is a control stage.
pub(super) fn stage(around: &Around, index: u32, repetition: u32, observed: bool) -> StageRecord {
    let load = load(around, repetition);
    let requests = load.requests;
    let why = "the probes are detached in the control stage";
    let kernel = |yes: bool| if yes { Ok(()) } else { Err(why) };
    StageRecord {
        index,
        repetition,
        observed,
        kind: Loop::Closed,
        connections: around.connections,
        offered_rps: None,
        duration_s: 5.0,
        start: None,
        after: None,
        climb: None,
        syscalls: kernel(observed).map(|()| syscalls(around, requests)).into(),
        sched: kernel(observed).map(|()| sched(around, requests, repetition)).into(),
        threads: Value(threads(around, repetition)),
        ended: Value(Vec::new()),
        perf: BTreeMap::from([
            ("context-switches".into(), Value(PerfCount { value: 31_000, scaled: false })),
            ("cycles".into(), Measured::unavailable("no hardware counters: the PMU is hidden")),
            ("task-clock".into(), Value(PerfCount { value: 4_900_000_000, scaled: false })),
        ]),
        cgroup: cgroup(around),
        net: Value(net()),
        machine: Value(machine()),
        explain: if observed { explained(around.busiest) } else { Explained::default() },
        observer_cost: ObserverCost {
            bpf_ns: Some(9_000_000),
            bpf_runs: Some(90_000),
            bpf_window_ns: Some(1_000_000_000),
            probe_cpu_ratio: Some(0.009),
            probe_overhead_ratio: Some(0.0078),
            probe_ns_by_part: BTreeMap::from([
                ("sched".into(), 3_000_000),
                ("syscalls".into(), 6_000_000),
            ]),
            user_cpu_ns: 100_000_000,
            read_ns: 800_000,
            lost: BTreeMap::from([("thread-table-full".into(), 0)]),
        },
        samples: vec![StageSample {
            t_ms: 500.0,
            achieved_rps: 0.1 + 0.2,
            ..StageSample::default()
        }],
        verdict: Verdict {
            bottleneck: around.limit,
            evidence: vec![format!(
                "the busiest thread was on a CPU for {:.0} % of the window",
                around.busiest * 100.0
            )],
            stopped_by: None,
            invalid: Vec::new(),
        },
        before: None,
        services: Vec::new(),
        observed_requests: 0,
        load,
        job: None,
    }
}

fn load(around: &Around, repetition: u32) -> LoadSample {
    let rate = of_three(around.rps, repetition);
    let requests = rate * 5;
    LoadSample {
        window_start_ns: 1_000_000_000,
        window_ns: WINDOW,
        requests,
        achieved_rps: f64::from(u32::try_from(rate).unwrap()),
        outcomes: Outcomes { ok: requests, ..Outcomes::default() },
        account: Account {
            started: requests,
            completed: requests,
            ok: requests,
            ..Account::default()
        },
        bytes_in: requests * 13,
        bytes_out: requests * 60,
        response_ns: Distribution {
            count: requests,
            min: Some(of_three(around.p50 / 4, repetition)),
            p50: Some(of_three(around.p50, repetition)),
            p90: Some(of_three(around.p50 * 3 / 2, repetition)),
            p99: Some(of_three(around.p99, repetition)),
            p999: Some(of_three(around.p99 * 2, repetition)),
            p9999: Some(of_three(around.p99 * 4, repetition)),
            max: Some(of_three(around.p99 * 5, repetition)),
            ..Distribution::default()
        },
        service_ns: None,
        connect_ns: Distribution::default(),
        connections: Connections {
            asked: around.connections,
            live_median: around.connections,
            live_min: around.connections,
        },
        generator: GeneratorUse {
            workers: 1,
            cpus: vec![1],
            cpu_ratio: 0.6,
            runq_ratio: Some(0.01),
            lag_ns_p99: Some(90_000),
            limited: false,
        },
        ..LoadSample::default()
    }
}

#[expect(clippy::cast_precision_loss, reason = "small numbers")]
fn count(n: u64, requests: u64) -> Count {
    Count { per_request: Some(n as f64 / requests as f64), ..Count::over(n, WINDOW) }
}

fn syscalls(around: &Around, requests: u64) -> Syscalls {
    let names = ["read", "write", "epoll_wait"];
    let each = around.syscalls.map(|per_100| requests * per_100 / 100);
    let total = count(each.iter().sum(), requests);
    Syscalls {
        total: total.count,
        per_sec: total.per_sec,
        per_request: total.per_request,
        by_name: names
            .map(String::from)
            .into_iter()
            .zip(each.map(|n| count(n, requests)))
            .collect(),
        missed: 0,
        hook: "tracepoint".into(),
    }
}

fn sched(around: &Around, requests: u64, repetition: u32) -> Sched {
    let switches = count(requests * around.switches / 1000, requests);
    Sched {
        switches_voluntary: switches.count - 5,
        switches_involuntary: 5,
        per_sec: switches.per_sec,
        per_request: switches.per_request,
        migrations: Value(7),
        runqlat_ns: Distribution {
            count: switches.count,
            min: Some(500),
            p50: Some(4_000),
            p90: Some(20_000),
            p99: Some(of_three(around.runq_p99, repetition)),
            p999: Some(300_000),
            p9999: (switches.count >= 10_000).then_some(600_000),
            max: Some(900_000),
            ..Distribution::default()
        },
        runqlat_sum_ns: 250_000_000,
        oncpu_ns: 4_900_000_000,
        switches_seen: switches.count,
        missed: 0,
    }
}

fn threads(around: &Around, repetition: u32) -> Vec<Thread> {
    let thread = |tid, comm: &str, ratio: f64| Thread {
        tid,
        pid: 4000,
        comm: comm.into(),
        process: "server".into(),
        kind: None,
        lived_ns: Value(5_000_000_000),
        blocked_ns: Value(if tid == 4001 { 940_000_000 } else { 4_940_000_000 }),
        blocked_ratio: Value(0.988 - ratio),
        oncpu_ratio: ratio,
        runq_ratio: 0.012,
        oncpu_ns: if tid == 4001 { 4_000_000_000 } else { 0 },
        runq_ns: 60_000_000,
        switches_voluntary: 1_234,
        switches_involuntary: 5,
        exited: tid == 4002,
    };
    let ratio = around.busiest + (f64::from(repetition) - 1.0) / 1000.0;
    vec![thread(4001, "worker|0", ratio), thread(4002, "timer", 0.0)]
}
