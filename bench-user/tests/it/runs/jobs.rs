//! A run of programs that run to their end: `node` took 2 s for 1,000 records and `bun` 1 s, and
//! `broken` failed in its last run.

use bench_user::load::LoadSample;
use bench_user::measured::Measured::Value;
use bench_user::observe::{Explained, ObserverCost};
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

/// 99 %, 100 % or 101 % of the time; what the kernel counted is that of a stage of load.
fn job(wall_ms: u64, repetition: u32, code: i32) -> StageRecord {
    let wall_ns = wall_ms * 10_000 * (99 + u64::from(repetition));
    let mut stage = stage(&LEAN[0], 0, repetition, true);
    if let Value(syscalls) = &mut stage.syscalls {
        syscalls.per_request = None;
        syscalls.by_name.values_mut().for_each(|count| count.per_request = None);
    }
    if let Value(sched) = &mut stage.sched {
        sched.per_request = None;
    }
    let exit = Exit {
        code: Some(code),
        signal: None,
        oom_killed: Value(false),
        restarts: None,
        by_us: false,
    };
    let failed = (code != 0).then(|| format!("failed: {exit}"));
    StageRecord {
        kind: Loop::Job,
        connections: 0,
        duration_s: f64::from(u32::try_from(wall_ns / 1_000_000).unwrap()) / 1e3,
        load: LoadSample::default(),
        job: Some(JobRun { wall_ns, work: Some(1000.0), exit, failed }),
        explain: Explained::default(),
        observer_cost: ObserverCost { user_cpu_ns: 5_000_000, ..ObserverCost::default() },
        samples: Vec::new(),
        verdict: Verdict::default(),
        ..stage
    }
}
