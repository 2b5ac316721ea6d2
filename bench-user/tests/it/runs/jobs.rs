//! A run of programs that run to their end: `node` took 2 s for 1,000 records and `bun` 1 s, and
//! `broken` failed in its last run.

use bench_user::load::LoadSample;
use bench_user::measured::Measured::Value;
use bench_user::observe::{Count, Explained, ObserverCost};
use bench_user::plan::{ClaimSpec, JobSpec, Plan, TargetSpec};
use bench_user::record::{JobRun, Loop, RunRecord, StageRecord, TargetRecord, Urls, Verdict};
use bench_user::target::{Exit, TargetKind};
use bench_user::{analyze, claims};

use super::stage::{LEAN, stage};

/// Three targets and three runs of each, with the analysis and claims of the program itself.
pub(crate) fn jobs() -> RunRecord {
    let mut run = super::unfinished();
    let claim = |id: &str, of: &str| ClaimSpec {
        id: id.into(),
        metric: Some("job.wall_ns".into()),
        of: Some(of.into()),
        against: Some("node".into()),
        expect: Some("<= -40%".into()),
        ..ClaimSpec::default()
    };
    let named = |name: &str| TargetSpec {
        command: Some(vec![name.into(), "transform.mjs".into()]),
        ..TargetSpec::named(name)
    };
    run.plan = Plan {
        name: "transform".into(),
        repeat: 3,
        job: Some(JobSpec {
            work: Some(1000.0),
            unit: Some("records".into()),
            ..JobSpec::default()
        }),
        targets: ["node", "bun", "broken"].map(named).to_vec(),
        claims: vec![claim("faster", "bun"), claim("broken", "broken")],
        ..Plan::default()
    };
    run.targets = vec![target("node", 2000, 0), target("bun", 1000, 0), target("broken", 500, 3)];
    analyze::settle_verdicts(&mut run);
    run.analysis = Some(analyze::analyze(&run));
    run.claims = claims::check(&run, &run.plan.claims);
    run
}

fn target(name: &str, wall_ms: u64, last_code: i32) -> TargetRecord {
    let code = |repetition| if repetition == 2 { last_code } else { 0 };
    TargetRecord {
        name: name.into(),
        kind: TargetKind::Command,
        cgroup: Value(format!("/sys/fs/cgroup/bench-{name}")),
        urls: Urls::default(),
        image: None,
        startup_ms: None,
        idle: None,
        final_health: None,
        exit: None,
        notes: Vec::new(),
        proxy: None,
        stages: (0..3).map(|n| job(wall_ms, n, code(n))).collect(),
    }
}

/// 99 %, 100 % or 101 % of the time; what the kernel counted is that of a stage of load, and what is
/// a time of it, or a rate, is of the job's own time.
fn job(wall_ms: u64, repetition: u32, code: i32) -> StageRecord {
    let wall_ns = wall_ms * 10_000 * (99 + u64::from(repetition));
    let mut stage = stage(&LEAN[0], 0, repetition, true);
    over_its_own_time(&mut stage, wall_ns);
    let exit = Exit {
        code: Some(code),
        signal: None,
        oom_killed: Value(false),
        restarts: None,
        by_us: false,
    };
    let cost = wall_ns / 200;
    let failed = (code != 0).then(|| format!("failed: {exit}"));
    StageRecord {
        kind: Loop::Job,
        connections: 0,
        duration_s: f64::from(u32::try_from(wall_ns).unwrap()) / 1e9,
        load: LoadSample::default(),
        job: Some(JobRun { wall_ns, work: Some(1000.0), exit, failed }),
        explain: Explained::default(),
        observer_cost: ObserverCost { user_cpu_ns: cost, ..ObserverCost::default() },
        samples: Vec::new(),
        verdict: Verdict::default(),
        ..stage
    }
}

/// Counts stay; times become shares of the job's, and rates are over it.
fn over_its_own_time(stage: &mut StageRecord, wall_ns: u64) {
    let over = |count: &Count| Count::over(count.count, wall_ns);
    if let Value(syscalls) = &mut stage.syscalls {
        syscalls.by_name.values_mut().for_each(|count| *count = over(count));
        let all = Count::over(syscalls.total, wall_ns);
        (syscalls.per_sec, syscalls.per_request) = (all.per_sec, None);
    }
    // Two thirds of seven tenths of a CPU are the kernel's.
    let cpu_ns = wall_ns / 10 * 7;
    if let Value(sched) = &mut stage.sched {
        let switches = sched.switches_voluntary + sched.switches_involuntary;
        (sched.per_sec, sched.per_request) = (Count::over(switches, wall_ns).per_sec, None);
        (sched.oncpu_ns, sched.runqlat_sum_ns) = (cpu_ns, wall_ns / 20);
    }
    stage.cgroup.user_ns = Value(cpu_ns / 3);
    stage.cgroup.system_ns = Value(cpu_ns - cpu_ns / 3);
    stage.cgroup.cpu_ratio = Value(Count::over(cpu_ns, wall_ns).per_sec / 1e9);
    stage.cgroup.throttled_ns = Value(wall_ns / 250);
    let Value(threads) = &mut stage.threads else { return };
    for (thread, oncpu_ns) in threads.iter_mut().zip([cpu_ns, 0]) {
        let runq_ns = wall_ns / 1000 * 12;
        let ratio = |ns: u64| Count::over(ns, wall_ns).per_sec / 1e9;
        let blocked_ns = wall_ns - oncpu_ns - runq_ns;
        (thread.oncpu_ns, thread.oncpu_ratio) = (oncpu_ns, ratio(oncpu_ns));
        (thread.runq_ns, thread.runq_ratio) = (runq_ns, ratio(runq_ns));
        (thread.blocked_ns, thread.blocked_ratio) = (Value(blocked_ns), Value(ratio(blocked_ns)));
        thread.lived_ns = Value(wall_ns);
    }
}
