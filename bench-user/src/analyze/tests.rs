//! Findings of whole records, and the proof that equal targets are rarely called different.

use super::*;
use crate::analyze::builder::{a_run, a_stage, samples};
use crate::ladder::StageSample;
use crate::measured::Measured;

fn rate(connections: u32, rps: f64) -> StageRecord {
    let mut stage = a_stage(connections);
    stage.load.achieved_rps = rps;
    stage
}

#[test]
fn a_ladder_has_its_medians_peak_knee_and_plateau() {
    let climb = |repetition| {
        let up = f64::from(repetition);
        let mut top = rate(40, 1990.0 + up);
        top.verdict.bottleneck = Bottleneck::SingleThread;
        vec![rate(10, 1000.0 + up), rate(20, 1960.0 + up), rate(30, 2000.0 + up), top]
    };
    let run = a_run().target("a").discard(1).repetitions(6, climb).done();
    let found = &analyze(&run).ladders[0];
    assert_eq!((found.peak_connections, found.peak_rps), (Some(30), Some(2003.0)));
    assert_eq!(found.knee_connections, Some(20));
    assert_eq!(found.plateau_rps, Some((1963.0 + 2003.0 + 1993.0) / 3.0));
    let level = &found.levels[0].metrics["load.achieved_rps"];
    assert_eq!((level.value, level.repetitions, level.within_stage), (1003.0, 5, false));
    assert_eq!((level.low, level.high), (Some(1001.0), Some(1005.0)));
    assert_eq!(found.levels[3].bottleneck, Bottleneck::SingleThread);
    assert_eq!(found.plateau_bottleneck, Some(Bottleneck::Unknown));
    assert!(found.usl.is_some() && found.control_ratio.is_none());
    let missing = found.levels[0].metrics.contains_key("perf.instructions.value");
    assert!(!missing, "what was not measured is not in a level");
}

#[test]
fn bottlenecks_that_are_equally_frequent_leave_it_open() {
    let judged = |bottleneck| {
        let mut stage = a_stage(10);
        stage.verdict.bottleneck = bottleneck;
        stage
    };
    let (cpu, memory) = (judged(Bottleneck::Cpu), judged(Bottleneck::Memory));
    assert_eq!(most_frequent([&&cpu, &&memory]), Bottleneck::Unknown);
    assert_eq!(most_frequent([&&cpu, &&memory, &&cpu]), Bottleneck::Cpu);
}

#[test]
fn pairs_compare_the_others_with_the_first_target() {
    let run = a_run()
        .target("a")
        .repetitions(5, |i| vec![rate(10, 1000.0 + f64::from(i))])
        .target("b")
        .repetitions(5, |i| vec![rate(10, 500.0 + f64::from(i)), rate(20, 1.0)])
        .done();
    let analysis = analyze(&run);
    assert!(analysis.pairs.iter().all(|p| p.connections == 10), "20 was reached by b alone");
    let found = analysis.pairs.iter().find(|p| p.metric == "load.achieved_rps").unwrap();
    assert_eq!((found.of.as_str(), found.against.as_str()), ("b", "a"));
    assert!((found.change.value + 0.499).abs() < 1e-3 && found.differs, "{found:?}");
    let same = analysis.pairs.iter().find(|p| p.metric == "syscalls.per_request").unwrap();
    assert!(!same.differs && same.change.value == 0.0, "{same:?}");
    assert!(analysis.pairs.iter().all(|p| p.metric != "error_ratio"), "no change from zero");
}

#[test]
fn a_stage_that_is_not_fit_shows_no_difference() {
    let limited = |_| {
        let mut stage = rate(10, 500.0);
        stage.load.generator.limited = true;
        vec![stage]
    };
    let run = a_run()
        .target("a")
        .repetitions(5, |_| vec![rate(10, 1000.0)])
        .target("b")
        .repetitions(5, limited)
        .done();
    assert!(analyze(&run).pairs.iter().all(|pair| !pair.differs));
}

#[test]
fn settling_judges_every_stage_and_findings_are_plain_data() {
    let mut run = a_run().target("a").stage(0, a_stage(10)).done();
    run.targets[0].stages[0].threads = Measured::unavailable("x");
    settle_verdicts(&mut run);
    assert_eq!(run.targets[0].stages[0].verdict.bottleneck, Bottleneck::Unknown);
    assert!(!run.targets[0].stages[0].verdict.evidence.is_empty());
    let analysis = analyze(&run);
    let text = serde_json::to_string(&analysis).unwrap();
    assert_eq!(serde_json::from_str::<Analysis>(&text).unwrap(), analysis);
}

/// A normal random number (Box and Muller 1958).
fn normal(random: &mut fastrand::Rng) -> f64 {
    let (u, v) = (1.0 - random.f64(), random.f64());
    (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
}

/// A run of a server that makes 1,000 requests a second: 3 % noise between runs, and samples
/// that remember the one before (AR(1), 0.7) inside each. `drift` moves the machine under both.
fn noisy_stage(random: &mut fastrand::Rng, drift: f64) -> StageRecord {
    let level = 1000.0 * (1.0 + drift + 0.03 * normal(random));
    let mut noise = 0.0;
    let mut rates = vec![0.0; 21];
    for rate in &mut rates {
        noise = 0.7 * noise + 0.02 * normal(random);
        *rate = level * (1.0 + noise);
    }
    let mut stage = rate(10, rates[1..].iter().sum::<f64>() / 20.0);
    stage.samples = samples(|i| StageSample {
        achieved_rps: rates[usize::try_from(i).unwrap()],
        ..StageSample::default()
    });
    stage
}

/// Share of equal pairs that are called different, of `PAIRS` pairs of `repetitions` each.
fn called_different(repetitions: u32, drift: f64, order: Order) -> f64 {
    const PAIRS: u32 = 250;
    let mut random = fastrand::Rng::with_seed(7);
    let mut different = 0_u32;
    for _ in 0..PAIRS {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for _ in 0..repetitions {
            let shift = drift * normal(&mut random);
            ours.push(noisy_stage(&mut random, shift));
            theirs.push(noisy_stage(&mut random, shift));
        }
        let (ours, theirs): (Vec<_>, Vec<_>) = (ours.iter().collect(), theirs.iter().collect());
        let change = estimate::change(&ours, &theirs, "load.achieved_rps", order).unwrap();
        different += u32::from(estimate::differs(&change));
    }
    f64::from(different) / f64::from(PAIRS)
}

/// With 250 pairs a true ratio of 5 % shows as more than 8 % in about one of 60 seeds. The
/// seed is fixed, so that the test always or never fails; the bound is what a mistake (such as
/// resampling samples as if they were repetitions) would break by far.
#[test]
fn equal_targets_are_called_different_in_about_one_of_twenty_cases_at_most() {
    for (repetitions, drift, order) in [
        (5, 0.0, Order::Interleaved),
        (7, 0.0, Order::Serial),
        (10, 0.0, Order::Interleaved),
        (12, 0.1, Order::Interleaved),
    ] {
        let ratio = called_different(repetitions, drift, order);
        assert!(ratio <= 0.08, "{repetitions} repetitions, drift {drift}: {ratio}");
    }
    assert!(called_different(1, 0.0, Order::Interleaved) == 0.0, "one repetition never differs");
}
