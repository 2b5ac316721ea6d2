//! Records made by hand, with figures that are easy to check by hand: in every level the three
//! repetitions are 99 %, 100 % and 101 % of a round number.

#![expect(clippy::unwrap_used, reason = "a record that cannot be made fails its test")]

mod analysis;
mod explained;
mod jobs;
mod large;
mod observed;
mod stage;
mod surroundings;

use std::collections::BTreeMap;

use bench_user::distribution::Distribution;
use bench_user::host::HostInfo;
use bench_user::measured::Measured::{self, Value};
use bench_user::observe::{Added, ProbeEstimate};
use bench_user::plan::{Builtin, Ladder, Plan, TargetSpec};
use bench_user::record::{
    Bottleneck, Loop, RunRecord, SCHEMA, StageRecord, TargetRecord, Tool, Urls, Verdict,
};
use bench_user::target::{Exit, Idle, Image, TargetKind};
use bench_user::units::Span;
use hdrhistogram::Histogram;

use analysis::{analysis, claims};
pub(crate) use jobs::jobs;
pub(crate) use large::large;
pub(crate) use observed::{everything_observed, nothing_observed};
use stage::{Around, LEAN, chatty, stage};

/// A run of two targets, three levels and three repetitions, with its analysis and claims.
pub(crate) fn two_targets() -> RunRecord {
    let mut run = unfinished();
    run.targets = vec![climbed("lean", &LEAN), climbed("chatty", &chatty())];
    run.analysis = Some(analysis(&run.targets));
    run.claims = claims();
    run
}

/// Four stages with the histograms of what they timed: a discarded and a counted one of a closed
/// loop, an open one, and its control stage.
pub(crate) fn with_histograms() -> RunRecord {
    let mut run = unfinished();
    run.plan.discard = 1;
    let mut lean = climbed("lean", &LEAN[..1]);
    lean.stages.truncate(2);
    let mut open = climbed("four writes, open", &chatty()[..1]);
    open.stages.drain(..1);
    open.stages.truncate(1);
    open.stages[0].kind = Loop::Open;
    open.stages[0].offered_rps = Some(12_000.5);
    open.stages[0].load.service_ns = Some(timed(200, 11_000));
    let mut control = StageRecord { observed: false, ..open.stages[0].clone() };
    control.load.service_ns = None;
    control.sched = Measured::unavailable("the probes are detached in the control stage");
    open.stages.push(control);
    run.targets = vec![lean, open];
    let stages = run.targets.iter_mut().flat_map(|target| &mut target.stages);
    for (place, stage) in (1..).zip(stages) {
        stage.load.window_start_ns = 1_000_000_000 + place * 6_500_000_123;
        stage.load.response_ns = timed(1_000 * place, 500 * place);
        if let Value(sched) = &mut stage.sched {
            sched.runqlat_ns = timed(10 * place, 90 * place);
        }
    }
    run
}

/// So many samples from `base` microseconds on, each a little longer than the one before.
fn timed(base: u64, samples: u64) -> Distribution {
    let mut histogram = Histogram::new(3).unwrap();
    let longest = base * 1000 + (samples - 1) * 997;
    (0..samples).for_each(|i| histogram.record(base * 1000 + i * 997).unwrap());
    Distribution::from_histogram(&histogram, Some((base * 1000, longest)))
}

/// A run that a signal ended in its second level; never analysed.
pub(crate) fn interrupted() -> RunRecord {
    let mut run = unfinished();
    let mut lean = climbed("lean", &LEAN);
    lean.stages.retain(|s| s.observed && s.repetition == 0 && s.connections < 50);
    lean.final_health = None;
    lean.exit = Some(Exit {
        code: None,
        signal: Some("SIGKILL".into()),
        oom_killed: Value(true),
        restarts: None,
        by_us: false,
    });
    let last = lean.stages.last_mut().unwrap();
    last.verdict = Verdict {
        bottleneck: Bottleneck::TargetDied,
        evidence: vec!["the main process ended by SIGKILL 3.2 s into the window".into()],
        stopped_by: Some("512 requests failed and the rule allows 0".into()),
        invalid: vec!["the load generator was the limit".into(), "512 requests failed".into()],
    };
    last.load.generator.limited = true;
    last.load.connections.live_median = 17;
    last.load.outcomes.reset = 500;
    last.load.outcomes.connect = 12;
    last.load.outcomes.other_status.insert(503, 7);
    last.load
        .outcomes
        .examples
        .insert("reset_before_bytes".into(), "Connection reset by peer".into());
    if let Value(syscalls) = &mut last.syscalls {
        syscalls.missed = 3;
    }
    run.targets = vec![lean];
    run.interrupted = Some("the target `lean` ended by itself".into());
    run
}

/// A run in which only the client's side could be measured, and not all of that.
pub(crate) fn unavailable() -> RunRecord {
    let mut run = unfinished();
    let no = |what: &str| format!("no {what} on this machine");
    run.host.governor = Measured::unavailable("no cpufreq driver in this virtual machine");
    run.host.pmu = Measured::unavailable("no hardware counters: the PMU is hidden");
    run.host.memory_bytes = Measured::unavailable(no("/proc/meminfo"));
    run.host.cpu_model = Measured::unavailable(no("/proc/cpuinfo"));
    run.host.clocksource = Measured::unavailable(no("/sys"));
    run.host.virtualization = Measured::unavailable(no("/sys"));
    run.host.preemption = Measured::unavailable(no("/sys"));
    let mut target = climbed("remote", &LEAN[..1]);
    target.kind = TargetKind::Url;
    target.cgroup = Measured::unavailable("an address alone has no cgroup: name the target's pid");
    target.startup_ms = None;
    target.idle = Some(Idle {
        rss_bytes: Measured::unavailable("its processes are not known"),
        processes: Measured::unavailable("its processes are not known"),
        threads: Measured::unavailable("its processes are not known"),
    });
    target.exit = None;
    target.stages.retain(|s| s.observed && s.repetition == 0);
    for stage in &mut target.stages {
        let nothing = nothing_observed("only the client's side is watched: run as root");
        stage.observed = false;
        stage.syscalls = nothing.syscalls;
        stage.sched = nothing.sched;
        stage.threads = nothing.threads;
        stage.perf = nothing.perf;
        stage.cgroup = nothing.cgroup;
        stage.net = nothing.net;
        stage.explain = nothing.explain;
        stage.observer_cost = nothing.observer_cost;
        stage.load.response_ns = Distribution {
            p99: None,
            p999: None,
            p9999: None,
            count: 64,
            ..stage.load.response_ns.clone()
        };
        stage.samples.clear();
        stage.verdict = Verdict::default();
    }
    run.targets = vec![target];
    run
}

fn unfinished() -> RunRecord {
    let target = |name: &str, builtin| TargetSpec {
        builtin: Some(builtin),
        cpus: Some(1.0),
        ..TargetSpec::named(name)
    };
    let mut plan: Plan =
        serde_json::from_value(serde_json::json!({ "name": "plaintext" })).unwrap();
    plan.repeat = 3;
    plan.ladder = Ladder {
        connections: vec![10, 20, 50],
        duration: Span::from_secs(5),
        warmup: Span::from_secs(1),
        ..Ladder::default()
    };
    plan.targets = vec![target("lean", Builtin::Lean), target("chatty", Builtin::Chatty)];
    plan.claims = claims().into_iter().map(|result| result.claim).collect();
    RunRecord {
        schema: SCHEMA.into(),
        id: "20261130-101500-00c0ffee".into(),
        started_at: "2026-11-30T10:15:00Z".into(),
        tool: Tool { version: "0.1.0".into() },
        plan,
        host: HostInfo {
            kernel: "6.18.0".into(),
            arch: "x86_64".into(),
            cpus: 2,
            cpu_model: Value("Example CPU @ 2.50GHz".into()),
            governor: Value("performance".into()),
            clocksource: Value("tsc".into()),
            virtualization: Value("kvm".into()),
            mitigations: BTreeMap::from([
                ("meltdown".into(), "Not affected".into()),
                ("spectre_v2".into(), "Mitigation: IBRS".into()),
            ]),
            cgroup_mode: "hybrid".into(),
            btf: true,
            pmu: Measured::unavailable("no hardware counters: the PMU is hidden"),
            preemption: Value("voluntary".into()),
            memory_bytes: Value(8 << 30),
        },
        probe_estimate: Value(ProbeEstimate {
            syscall_bare_ns: 80.0,
            syscall_inside_ns: Added { median: 29.4, low: 28.8, high: 30.1 },
            syscall_outside_ns: Added { median: 24.9, low: 24.1, high: 25.5 },
            switch_bare_ns: 900.0,
            switch_inside_ns: Added { median: 55.0, low: 46.0, high: 62.0 },
            switch_outside_ns: Added { median: 31.0, low: 21.0, high: 41.0 },
            run_bias_ns: 38.0,
            cpu_ratio_of_100k_syscalls_per_sec: 0.00294,
        }),
        targets: Vec::new(),
        services: Vec::new(),
        analysis: None,
        claims: Vec::new(),
        interrupted: None,
    }
}

/// A target that climbed its ladder three times, and its control stage.
fn climbed(name: &str, levels: &[Around]) -> TargetRecord {
    let mut stages = Vec::new();
    for repetition in 0..3 {
        for (index, around) in (0..).zip(levels) {
            stages.push(stage(around, index, repetition, true));
        }
    }
    stages.push(stage(levels.last().unwrap(), 2, 0, false));
    TargetRecord {
        name: name.into(),
        kind: TargetKind::Builtin,
        cgroup: Value(format!("/sys/fs/cgroup/bench-{name}")),
        urls: Urls { count: 1, first: "http://127.0.0.1:8080/".into() },
        image: (name == "chatty")
            .then(|| Image { id: "sha256:4bf3".into(), size_bytes: Some(180 << 20) }),
        startup_ms: Some(312.0),
        idle: Some(Idle { rss_bytes: Value(3 << 19), processes: Value(1), threads: Value(2) }),
        final_health: Some(true),
        exit: Some(Exit {
            code: None,
            signal: Some("SIGTERM".into()),
            oom_killed: Value(false),
            restarts: None,
            by_us: true,
        }),
        notes: Vec::new(),
        proxy: None,
        stages,
    }
}
