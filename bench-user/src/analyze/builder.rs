//! Builds records for tests, so that a test states only what it is about.
//!
//! `a_stage` is a healthy stage that nothing limits: 1,000 requests a second, 4 syscalls and 2
//! switches a request, one thread half busy, 8 CPUs allowed, no quota.

use std::collections::BTreeMap;

use super::catalogue;
use crate::distribution::Distribution;
use crate::host::HostInfo;
use crate::ladder::StageSample;
use crate::load::{Connections, GeneratorUse, LoadSample};
use crate::measured::Measured;
use crate::observe::{
    CgroupUse, Explained, MachineUse, Net, ObserverCost, Sched, Syscalls, Thread,
};
use crate::plan::{ClaimSpec, LoadSpec, ObserveSpec, Order, Plan};
use crate::record::{
    JobRun, Loop, RunRecord, SCHEMA, StageRecord, TargetRecord, Tool, Urls, Verdict,
};
use crate::target::TargetKind;

pub(crate) fn a_stage(connections: u32) -> StageRecord {
    let seconds = 10;
    StageRecord {
        index: 0,
        repetition: 0,
        observed: true,
        kind: Loop::Closed,
        connections,
        offered_rps: None,
        duration_s: 10.0,
        before: None,
        start: None,
        after: None,
        climb: None,
        observed_requests: 0,
        load: LoadSample {
            window_ns: seconds * 1_000_000_000,
            requests: seconds * 1000,
            achieved_rps: 1000.0,
            response_ns: Distribution {
                count: seconds * 1000,
                mean: Some(f64::from(connections) * 1e6),
                p50: Some(10_000_000),
                p90: Some(50_000_000),
                p99: Some(90_000_000),
                ..Distribution::default()
            },
            connections: Connections {
                asked: connections,
                live_median: connections,
                live_min: connections,
            },
            generator: GeneratorUse { workers: 1, cpus: vec![7], ..GeneratorUse::default() },
            ..LoadSample::default()
        },
        job: None,
        syscalls: Measured::Value(Syscalls {
            total: seconds * 4000,
            per_sec: 4000.0,
            per_request: Some(4.0),
            ..Syscalls::default()
        }),
        sched: Measured::Value(Sched {
            switches_voluntary: seconds * 1500,
            switches_involuntary: seconds * 500,
            per_sec: 2000.0,
            per_request: Some(2.0),
            oncpu_ns: seconds * 600_000_000,
            ..Sched::default()
        }),
        threads: Measured::Value(vec![a_thread(0.5, 0.01), a_thread(0.1, 0.0)]),
        ended: Measured::Value(Vec::new()),
        perf: BTreeMap::new(),
        cgroup: a_cgroup(0.6),
        net: Measured::Value(Net::default()),
        machine: Measured::Value(MachineUse { busy_cpus: 0.5, ..MachineUse::default() }),
        explain: Explained::default(),
        observer_cost: ObserverCost::default(),
        services: Vec::new(),
        samples: Vec::new(),
        verdict: Verdict::default(),
    }
}

/// A job of 1,000 records that took so long and used a CPU throughout; its counts are those of
/// [`a_stage`], and its rates are over its own time.
pub(crate) fn a_job(seconds: f64) -> StageRecord {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a short time")]
    let wall_ns = (seconds * 1e9) as u64;
    let job = JobRun { wall_ns, work: Some(1000.0), ..catalogue::job_template() };
    #[expect(clippy::cast_precision_loss, reason = "small counts")]
    let rate = |count: u64| count as f64 / seconds;
    let stage = a_stage(0);
    let thread = a_thread(1.0, 0.0);
    let threads = vec![Thread { oncpu_ns: wall_ns, runq_ns: 0, ..thread }];
    let cgroup = CgroupUse { user_ns: Measured::Value(wall_ns), ..a_cgroup(1.0) };
    StageRecord {
        kind: Loop::Job,
        duration_s: seconds,
        load: LoadSample::default(),
        job: Some(job),
        syscalls: stage.syscalls.map(|s| Syscalls {
            per_sec: rate(s.total),
            per_request: None,
            ..s
        }),
        sched: stage.sched.map(|s| Sched {
            per_sec: rate(s.switches_voluntary + s.switches_involuntary),
            per_request: None,
            oncpu_ns: wall_ns,
            ..s
        }),
        threads: Measured::Value(threads),
        cgroup,
        ..stage
    }
}

/// A thread of a 10 s window.
pub(crate) fn a_thread(oncpu_ratio: f64, runq_ratio: f64) -> Thread {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "ratios of 10 s")]
    let ns = |ratio: f64| (ratio * 1e10) as u64;
    Thread {
        comm: "worker".into(),
        oncpu_ratio,
        runq_ratio,
        oncpu_ns: ns(oncpu_ratio),
        runq_ns: ns(runq_ratio),
        ..Thread::default()
    }
}

pub(crate) fn a_cgroup(cpu_ratio: f64) -> CgroupUse {
    let no_limit = || Measured::unavailable("no limit is set");
    CgroupUse {
        cpu_ratio: Measured::Value(cpu_ratio),
        user_ns: Measured::Value(0),
        system_ns: Measured::Value(0),
        cpu_limit: Measured::unavailable("no quota is set"),
        cpus_allowed: Measured::Value(8),
        nr_periods: no_limit(),
        nr_throttled: no_limit(),
        throttled_ns: no_limit(),
        memory_peak_bytes: Measured::Value(64 << 20),
        memory_before_bytes: Measured::Value(12 << 20),
        memory_current_bytes: Measured::Value(32 << 20),
        memory_limit_bytes: no_limit(),
        oom_kills: Measured::Value(0),
        memory_events: BTreeMap::new(),
        pids_peak: Measured::Value(2),
        pids_current: Measured::Value(2),
        psi: BTreeMap::new(),
    }
}

/// Equal samples of half a second each, over a window of 10 s, as `shape` says.
pub(crate) fn samples(shape: impl Fn(u32) -> StageSample) -> Vec<StageSample> {
    (1..=20).map(|i| StageSample { t_ms: f64::from(i) * 500.0, ..shape(i) }).collect()
}

pub(crate) struct RunBuilder {
    run: RunRecord,
}

pub(crate) fn a_run() -> RunBuilder {
    let plan = Plan {
        name: "test".into(),
        repeat: 1,
        discard: 0,
        order: Order::Interleaved,
        ladder: crate::plan::Ladder::default(),
        job: None,
        stop: crate::plan::StopRules::default(),
        valid: crate::plan::ValidRules::default(),
        load: LoadSpec::default(),
        observe: ObserveSpec::default(),
        targets: Vec::new(),
        services: Vec::new(),
        claims_file: None,
        claims: Vec::<ClaimSpec>::new(),
    };
    RunBuilder {
        run: RunRecord {
            schema: SCHEMA.into(),
            id: "test".into(),
            started_at: "2026-01-01T00:00:00Z".into(),
            tool: Tool { version: "0".into() },
            plan,
            host: a_host(),
            probe_estimate: Measured::default(),
            targets: Vec::new(),
            services: Vec::new(),
            analysis: None,
            claims: Vec::new(),
            interrupted: None,
        },
    }
}

fn a_host() -> HostInfo {
    HostInfo {
        kernel: "6.18.0".into(),
        arch: "x86_64".into(),
        cpus: 16,
        cpu_model: Measured::default(),
        governor: Measured::default(),
        clocksource: Measured::default(),
        virtualization: Measured::default(),
        mitigations: BTreeMap::new(),
        cgroup_mode: "v2".into(),
        btf: true,
        pmu: Measured::default(),
        preemption: Measured::default(),
        memory_bytes: Measured::default(),
    }
}

impl RunBuilder {
    /// Begins a target; the following calls are about it.
    pub(crate) fn target(mut self, name: &str) -> Self {
        self.run.targets.push(TargetRecord {
            name: name.into(),
            kind: TargetKind::Command,
            cgroup: Measured::Value(format!("/sys/fs/cgroup/{name}")),
            urls: Urls { count: 1, first: "http://127.0.0.1:1/".into() },
            image: None,
            startup_ms: None,
            idle: None,
            final_health: Some(true),
            exit: None,
            notes: Vec::new(),
            proxy: None,
            stages: Vec::new(),
        });
        self
    }

    pub(crate) fn discard(mut self, repetitions: u32) -> Self {
        self.run.plan.discard = repetitions;
        self
    }

    /// Adds a stage to the last target; its place in the ladder is that of its level.
    pub(crate) fn stage(mut self, repetition: u32, mut stage: StageRecord) -> Self {
        let stages = &mut self.run.targets.last_mut().expect("a target was begun").stages;
        stage.repetition = repetition;
        let same = stages.iter().find(|s| s.level() == stage.level());
        let next = stages.iter().map(|s| s.index + 1).max().unwrap_or(0);
        stage.index = same.map_or(next, |s| s.index);
        stages.push(stage);
        self
    }

    /// Climbs the ladder of the last target so many times.
    pub(crate) fn repetitions(
        mut self,
        count: u32,
        ladder: impl Fn(u32) -> Vec<StageRecord>,
    ) -> Self {
        for repetition in 0..count {
            for stage in ladder(repetition) {
                self = self.stage(repetition, stage);
            }
        }
        self
    }

    pub(crate) fn done(self) -> RunRecord {
        self.run
    }
}
