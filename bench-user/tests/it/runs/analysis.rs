//! Findings and claims that go with the stages.

use bench_user::plan::ClaimSpec;
use bench_user::record::{
    Analysis, Bottleneck, ClaimResult, ClaimVerdict, Estimate, LadderFindings, Level, PairFinding,
    StageClaim, StageRecord, TargetRecord, UslFit,
};

/// Findings about the two targets: a good fit and a poor one, a warning, and their differences.
pub(super) fn analysis(targets: &[TargetRecord]) -> Analysis {
    let peak = Estimate { value: 20.0, low: None, high: None, repetitions: 3, within_stage: false };
    let usl = Some(UslFit { lambda: 2_100.0, sigma: 0.0123, kappa: 0.000_05, residual: 0.021 });
    let ladder = |target: &TargetRecord, usl, warnings| LadderFindings {
        target: target.name.clone(),
        levels: levels(target),
        peak_connections: Some(20),
        peak_offered_rps: None,
        peak_rps: Some(median(target, 20, |s| s.load.achieved_rps).value),
        knee_connections: Some(20),
        knee_offered_rps: None,
        knee_absent: None,
        plateau_rps: Some(if target.name == "lean" { 30_500.0 } else { 18_300.0 }),
        plateau_bottleneck: Some(Bottleneck::SingleThread),
        usl,
        little_violations: Vec::new(),
        control_ratio: Some(1.02),
        observed_ratio: Some(Estimate {
            value: 0.98,
            low: Some(0.965),
            high: Some(0.993),
            repetitions: 5,
            within_stage: false,
        }),
        warnings,
        found_rate: None,
    };
    let poor = usl.map(|fit| UslFit { residual: 0.3, ..fit });
    let warning = vec!["load and target share CPUs 0-1: each may take time from the other".into()];
    Analysis {
        ladders: vec![ladder(&targets[0], usl, Vec::new()), ladder(&targets[1], poor, warning)],
        pairs: [("load.achieved_rps", -0.4, 0.02), ("syscalls.per_request", 1.2, 0.05)]
            .into_iter()
            .flat_map(|(metric, change, half)| {
                [10, 20, 50].map(|connections| PairFinding {
                    of: "chatty".into(),
                    against: "lean".into(),
                    connections,
                    offered_rps: None,
                    metric: metric.into(),
                    change: Estimate {
                        value: change,
                        low: Some(change - half),
                        high: Some(change + half),
                        ..peak
                    },
                    differs: true,
                })
            })
            .collect(),
    }
}

fn median(target: &TargetRecord, connections: u32, of: impl Fn(&StageRecord) -> f64) -> Estimate {
    let at = |s: &&StageRecord| s.observed && s.connections == connections;
    let mut values: Vec<f64> = target.stages.iter().filter(at).map(of).collect();
    values.sort_by(f64::total_cmp);
    Estimate {
        value: values[1],
        low: Some(values[0]),
        high: Some(values[2]),
        repetitions: 3,
        within_stage: false,
    }
}

/// Medians with the extremes as interval, for the metrics that a report shows.
#[expect(clippy::cast_precision_loss, reason = "small numbers")]
fn levels(target: &TargetRecord) -> Vec<Level> {
    type Of = fn(&StageRecord) -> f64;
    let metrics: [(&str, Of); 8] = [
        ("load.achieved_rps", |s| s.load.achieved_rps),
        ("load.response_ns.p50", |s| s.load.response_ns.p50.unwrap() as f64),
        ("load.response_ns.p99", |s| s.load.response_ns.p99.unwrap() as f64),
        ("syscalls.per_request", |s| s.syscalls.value().unwrap().per_request.unwrap()),
        ("sched.per_request", |s| s.sched.value().unwrap().per_request.unwrap()),
        ("sched.runqlat_ns.p99", |s| s.sched.value().unwrap().runqlat_ns.p99.unwrap() as f64),
        ("cgroup.cpu_ratio", |s| *s.cgroup.cpu_ratio.value().unwrap()),
        ("threads.busiest.oncpu_ratio", |s| s.threads.value().unwrap()[0].oncpu_ratio),
    ];
    let level = |connections| Level {
        connections,
        offered_rps: None,
        metrics: metrics
            .iter()
            .map(|(name, of)| ((*name).to_owned(), median(target, connections, of)))
            .collect(),
        bottleneck: target
            .stages
            .iter()
            .find(|s| s.connections == connections)
            .unwrap()
            .verdict
            .bottleneck,
    };
    [10, 20, 50].map(level).to_vec()
}

/// One that holds in two stages, one that fails, and a free one that is not decided.
pub(super) fn claims() -> Vec<ClaimResult> {
    let claim = |id: &str, says: &str, metric: &str, expect: &str| ClaimSpec {
        id: id.into(),
        says: says.into(),
        metric: Some(metric.into()),
        of: Some("chatty".into()),
        against: Some("lean".into()),
        expect: Some(expect.into()),
        ..ClaimSpec::default()
    };
    let stage = |connections, verdict, change: f64, of, against| StageClaim {
        connections,
        offered_rps: None,
        verdict,
        figure: Some(Estimate {
            value: change,
            low: Some(change - 0.05),
            high: Some(change + 0.05),
            repetitions: 3,
            within_stage: false,
        }),
        of: Some(of),
        against: Some(against),
        because: format!("{change:+.2} in the middle of the interval"),
    };
    vec![
        ClaimResult {
            claim: claim(
                "more-syscalls",
                "chatty makes more syscalls per request",
                "syscalls.per_request",
                ">= 50%",
            ),
            verdict: ClaimVerdict::Holds,
            because: "+100% at least, in each of 2 stages".into(),
            stages: vec![
                stage(10, ClaimVerdict::Holds, 1.07, 5.8, 2.8),
                stage(20, ClaimVerdict::Holds, 1.2, 5.5, 2.5),
            ],
        },
        ClaimResult {
            claim: claim("same-rate", "chatty is as fast as lean", "load.achieved_rps", "+- 5%"),
            verdict: ClaimVerdict::Fails,
            because: "-40% at 20 connections is outside of ±5%".into(),
            stages: vec![stage(20, ClaimVerdict::Fails, -0.4, 18_600.0, 31_000.0)],
        },
        ClaimResult {
            claim: ClaimSpec {
                id: "one-thread".into(),
                cel: Some("a.verdict.bottleneck == 'single-thread'".into()),
                ..ClaimSpec::default()
            },
            verdict: ClaimVerdict::Inconclusive,
            because: "true in 2 of 3 repetitions at 50 connections".into(),
            stages: vec![StageClaim {
                connections: 50,
                offered_rps: None,
                verdict: ClaimVerdict::Inconclusive,
                figure: None,
                of: None,
                against: None,
                because: "true in 2 of 3 repetitions at 50 connections".into(),
            }],
        },
    ]
}
