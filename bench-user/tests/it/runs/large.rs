//! A run as large as they get: nine levels, three targets, seven repetitions, samples at 10 Hz over
//! 30 s, and histograms of a wide spread.

use bench_user::distribution::Distribution;
use bench_user::measured::Measured::Value;
use bench_user::record::{RunRecord, StageSample};
use hdrhistogram::Histogram;

use super::two_targets;

const LEVELS: [u32; 9] = [10, 20, 30, 50, 100, 200, 400, 800, 1600];

/// The run, without its analysis, so that a report makes it.
pub(crate) fn large() -> RunRecord {
    let mut run = two_targets();
    let model = run.targets[0].clone();
    run.plan.repeat = 7;
    run.plan.discard = 2;
    run.plan.ladder.connections = LEVELS.to_vec();
    (run.analysis, run.claims) = (None, Vec::new());
    run.targets = ["node", "bun", "deno"]
        .map(|name| (*name).to_owned())
        .map(|name| {
            let mut target = model.clone();
            target.name = name;
            target.stages.clear();
            for (index, connections) in (0u32..).zip(LEVELS) {
                let mut stage = model.stages[0].clone();
                (stage.index, stage.connections) = (index, connections);
                stage.load.connections.asked = connections;
                stage.load.connections.live_median = connections;
                stage.load.response_ns = spread(20_000, 40_000 * u64::from(connections));
                if let Value(sched) = &mut stage.sched {
                    sched.runqlat_ns = spread(20_000, 900 * u64::from(connections));
                }
                stage.samples = (1..=300).map(sample).collect();
                for repetition in 0..7 {
                    stage.repetition = repetition;
                    stage.load.achieved_rps = f64::from(20_000 + repetition * 13 + index * 100);
                    target.stages.push(stage.clone());
                }
            }
            target
        })
        .into();
    run
}

/// So many values, from a tenth of the median to a thousandfold of it.
fn spread(samples: u32, median: u64) -> Distribution {
    let mut histogram = Histogram::<u64>::new(3).unwrap();
    for i in 1..samples {
        // Most lie near the median and one in a thousand far above.
        let rank = u64::from(samples) * 10 / u64::from(i);
        histogram.record((median * rank / 20).max(median / 10)).unwrap();
    }
    Distribution::from_histogram(&histogram, None)
}

fn sample(n: u32) -> StageSample {
    let wave = f64::from(n % 17) / 17.0;
    StageSample {
        t_ms: f64::from(n) * 100.0,
        achieved_rps: 20_000.0 + 900.0 * wave,
        response_ns_p50: Some(300_000),
        response_ns_p99: Some(900_000 + u64::from(n % 23) * 31_000),
        syscalls_per_sec: Some(60_000.0 + 70.0 * wave),
        switches_per_sec: Some(9_000.0 + 50.0 * wave),
        cpu_ratio: Some(0.9 + wave / 10.0),
        busiest_thread_ratio: Some(0.8 + wave / 10.0),
        memory_bytes: Some(64 << 20 | u64::from(n) << 12),
        pids: Some(11),
        throttled_ns: Some(u64::from(n % 5) * 1_000_000),
        accept_queue: Some(0),
    }
}
