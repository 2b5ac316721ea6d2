//! Every answer a claim can have: bounds, changes and stages here, other forms in `forms.rs`.

mod forms;
mod neighbours;

use super::*;
use crate::analyze::builder::{a_run, a_stage, samples};
use crate::ladder::StageSample;
use crate::measured::Measured;
use crate::plan::{NamedStages, StageSelector};
use crate::record::{RunRecord, StageRecord};

/// A stage whose server made this many syscalls a request, with even samples inside.
fn stage(connections: u32, per_request: f64) -> StageRecord {
    let mut stage = a_stage(connections);
    stage.syscalls = stage.syscalls.map(|mut s| {
        s.per_request = Some(per_request);
        s
    });
    stage.samples = samples(|i| StageSample {
        achieved_rps: 1000.0,
        syscalls_per_sec: Some(1000.0 * per_request * (1.0 + 0.01 * f64::from(i % 3))),
        ..StageSample::default()
    });
    stage
}

/// Targets `node` and `bun` with these syscalls a request, one for each repetition.
fn pair(node: &[f64], bun: &[f64]) -> RunRecord {
    let at = |values: &[f64], i: u32| vec![stage(10, values[i as usize])];
    let count = |values: &[f64]| u32::try_from(values.len()).unwrap();
    a_run()
        .target("node")
        .repetitions(count(node), |i| at(node, i))
        .target("bun")
        .repetitions(count(bun), |i| at(bun, i))
        .done()
}

fn claim(expect: &str, of: &str, against: Option<&str>) -> ClaimSpec {
    ClaimSpec {
        id: "c".into(),
        metric: Some("syscalls.per_request".into()),
        of: Some(of.into()),
        against: against.map(str::to_owned),
        expect: Some(expect.into()),
        ..ClaimSpec::default()
    }
}

fn cel(source: &str) -> ClaimSpec {
    ClaimSpec {
        id: "c".into(),
        of: Some("bun".into()),
        against: Some("node".into()),
        cel: Some(source.into()),
        ..ClaimSpec::default()
    }
}

fn answer(run: &RunRecord, claim: &ClaimSpec) -> (ClaimVerdict, String) {
    let result = check(run, std::slice::from_ref(claim)).remove(0);
    (result.verdict, result.because)
}

#[track_caller]
fn expect(run: &RunRecord, claim: &ClaimSpec, verdict: ClaimVerdict, said: &str) {
    let (got, because) = answer(run, claim);
    assert!(got == verdict && because.contains(said), "{got:?}: {because}");
}

const NODE: [f64; 5] = [10.0, 10.1, 9.9, 10.2, 9.8];
const BUN: [f64; 5] = [4.0, 4.1, 3.9, 4.2, 3.8];

#[test]
fn a_change_holds_fails_or_is_open() {
    let run = pair(&NODE, &BUN);
    let about = |text: &str| claim(text, "bun", Some("node"));
    expect(&run, &about("<= -40%"), ClaimVerdict::Holds, "-60.0 %");
    expect(&run, &about("-60% +- 5%"), ClaimVerdict::Holds, "over 5 repetitions");
    expect(&run, &about("<= -80%"), ClaimVerdict::Fails, "misses `<= -80%`");
    expect(&run, &about("<= -60%"), ClaimVerdict::Inconclusive, "both sides");
    let result = check(&run, &[about("<= -40%")]).remove(0);
    assert_eq!((result.stages[0].of, result.stages[0].against), (Some(4.0), Some(10.0)));
    assert!(result.stages[0].figure.is_some_and(|f| f.low < Some(-0.6) && f.high > Some(-0.6)));
}

#[test]
fn a_bound_without_against_is_about_the_metric_itself() {
    let run = pair(&NODE, &BUN);
    expect(&run, &claim("< 5", "bun", None), ClaimVerdict::Holds, "meets `< 5`");
    expect(&run, &claim("< 5", "node", None), ClaimVerdict::Fails, "misses");
    expect(&run, &claim(">= 4", "bun", None), ClaimVerdict::Inconclusive, "both sides");
}

#[test]
fn one_repetition_answers_by_its_samples_where_the_bound_is_far() {
    let run = pair(&[10.0], &[4.0]);
    let about = |text: &str| claim(text, "bun", Some("node"));
    expect(&run, &about("<= -40%"), ClaimVerdict::Holds, "samples inside the stage");
    expect(&run, &about("<= -80%"), ClaimVerdict::Fails, "noise between runs is not in it");
    expect(&run, &about("<= -58%"), ClaimVerdict::Inconclusive, "at least 5 repetitions");
    expect(&run, &about("<= -60%"), ClaimVerdict::Inconclusive, "both sides");
    expect(&run, &claim("< 4.5", "bun", None), ClaimVerdict::Holds, "meets");
}

#[test]
fn one_repetition_says_nothing_of_a_change_where_others_held_the_cpus() {
    let mut run = pair(&[10.0], &[4.0]);
    run.targets[1].stages[0].verdict.bottleneck = crate::record::Bottleneck::RunQueue;
    let about = claim("<= -40%", "bun", Some("node"));
    expect(&run, &about, ClaimVerdict::Inconclusive, "others held the CPUs that `bun` waited");
    expect(&run, &claim("< 4.5", "bun", None), ClaimVerdict::Holds, "meets");
}

#[test]
fn one_repetition_without_samples_is_open() {
    let mut run = pair(&[10.0], &[4.0]);
    run.targets[1].stages[0].samples.clear();
    let about = claim("<= -40%", "bun", Some("node"));
    expect(&run, &about, ClaimVerdict::Inconclusive, "without an interval");
}

#[test]
fn what_was_not_measured_is_unavailable_with_the_reason() {
    let mut run = pair(&NODE, &BUN);
    run.targets[0].stages[2].syscalls = Measured::unavailable("built without probes");
    let about = claim("<= -40%", "bun", Some("node"));
    expect(&run, &about, ClaimVerdict::Unavailable, "built without probes");
    let free = cel("b.syscalls.per_request < a.syscalls.per_request");
    expect(&run, &free, ClaimVerdict::Unavailable, "built without probes");
}

#[test]
fn a_stage_that_is_not_fit_carries_no_claim() {
    let mut run = pair(&NODE, &BUN);
    run.targets[1].stages[3].load.generator.limited = true;
    let about = claim("<= -40%", "bun", Some("node"));
    let about_rate = ClaimSpec { metric: Some("load.achieved_rps".into()), ..about.clone() };
    expect(&run, &about_rate, ClaimVerdict::Inconclusive, "climb 4 of `bun`");
    expect(&run, &about, ClaimVerdict::Holds, "meets");
    expect(&run, &cel("b.error_ratio < 0.1"), ClaimVerdict::Inconclusive, "load generator");
}

#[test]
fn a_change_from_zero_is_open() {
    let run = pair(&[0.0; 5], &BUN);
    let about = claim("<= -40%", "bun", Some("node"));
    expect(&run, &about, ClaimVerdict::Inconclusive, "no relative change");
}

#[test]
fn a_claim_about_no_stage_is_open_and_never_true() {
    let run = a_run().target("node").target("bun").discard(1).stage(0, stage(10, 1.0)).done();
    let about = claim("<= 900%", "bun", Some("node"));
    expect(&run, &about, ClaimVerdict::Inconclusive, "no stage");
    let listed = ClaimSpec { stages: StageSelector::Connections(vec![]), ..about };
    expect(&run, &listed, ClaimVerdict::Inconclusive, "no stage");
}

/// A ladder of three stages in which `bun` stops one stage early.
fn ladders() -> RunRecord {
    let climb = |values: [(u32, f64, f64); 3], upto: usize| {
        move |_| {
            let made = values[..upto].iter().map(|&(connections, rps, calls)| {
                let mut stage = stage(connections, calls);
                stage.load.achieved_rps = rps;
                stage
            });
            made.collect()
        }
    };
    a_run()
        .target("node")
        .repetitions(5, climb([(10, 100.0, 10.0), (20, 990.0, 10.0), (50, 1000.0, 10.0)], 3))
        .target("bun")
        .repetitions(5, climb([(10, 100.0, 9.0), (20, 2000.0, 4.0), (50, 0.0, 0.0)], 2))
        .done()
}

#[test]
fn selectors_choose_their_stages() {
    let run = ladders();
    let chosen = |stages: StageSelector| -> Vec<u32> {
        let about = ClaimSpec { stages, ..claim("<= 0%", "bun", Some("node")) };
        check(&run, &[about])[0].stages.iter().map(|stage| stage.connections).collect()
    };
    assert_eq!(chosen(StageSelector::All), [10, 20]);
    assert_eq!(chosen(StageSelector::Named(NamedStages::Saturated)), [20]);
    assert_eq!(chosen(StageSelector::Named(NamedStages::Peak)), [20]);
    assert_eq!(chosen(StageSelector::Connections(vec![20, 50])), [20, 50]);
}

#[test]
fn a_listed_stage_that_was_not_reached_is_open_and_peaks_are_each_targets_own() {
    let run = ladders();
    let mut about = claim("<= -40%", "bun", Some("node"));
    about.stages = StageSelector::Connections(vec![20, 50]);
    expect(&run, &about, ClaimVerdict::Inconclusive, "`bun` did not reach 50 connections");
    about.stages = StageSelector::Named(NamedStages::Peak);
    expect(&run, &about, ClaimVerdict::Holds, "`node` is taken at 50 connections");
}

#[test]
fn a_target_without_a_valid_stage_has_no_peak_and_no_knee_to_claim_about() {
    let mut run = ladders();
    for stage in &mut run.targets[0].stages {
        stage.load.generator.limited = true;
    }
    let mut about = claim("<= -40%", "bun", Some("node"));
    about.stages = StageSelector::Named(NamedStages::Peak);
    let why = "`node` has no peak: no stage is valid";
    expect(&run, &about, ClaimVerdict::Inconclusive, why);
    let mut about = claim("<= 1", "node", None);
    about.stages = StageSelector::Named(NamedStages::Saturated);
    let why = "`node` has no knee: no stage is valid";
    expect(&run, &about, ClaimVerdict::Inconclusive, why);
}

#[test]
fn one_failing_stage_fails_the_claim_and_is_the_one_that_is_shown() {
    let about = claim("<= -40%", "bun", Some("node"));
    expect(&ladders(), &about, ClaimVerdict::Fails, "in 1 of 2 stages; at 10 connections");
}

#[test]
fn a_claim_that_cannot_be_understood_is_refused_before_and_open_after() {
    let targets = ["node", "bun", "deno"];
    let base = || claim("<= -40%", "bun", Some("node"));
    let cases = [
        (ClaimSpec { of: Some("bum".into()), ..base() }, "no target `bum`"),
        (ClaimSpec { against: Some("bun".into()), ..base() }, "both `bun`"),
        (ClaimSpec { of: None, against: None, ..base() }, "say with `of`"),
        (ClaimSpec { metric: Some("syscalls.per_requst".into()), ..base() }, "nearest"),
        (ClaimSpec { metric: None, ..base() }, "either a `metric` or a `cel`"),
        (ClaimSpec { expect: None, ..base() }, "`expect`"),
        (ClaimSpec { expect: Some("lots".into()), ..base() }, "not understood"),
        (ClaimSpec { metric: Some("bottleneck".into()), ..base() }, "leave `against` out"),
        (ClaimSpec { expect: Some("< 1".into()), ..cel("true") }, "not with `cel`"),
        (cel("b.error_ratio <"), "no CEL expression"),
        (cel("b.eror_ratio < 1.0"), "nearest is `error_ratio`"),
        (cel("c.error_ratio < 1.0"), "no variable `c`"),
        (cel("true"), "one or two targets"),
        (cel("a.error_ratio + b.error_ratio < deno.error_ratio"), "one or two targets"),
        (ClaimSpec { id: String::new(), ..base() }, "`id`"),
    ];
    for (claim, said) in cases {
        let error = validate(std::slice::from_ref(&claim), &targets).unwrap_err().to_string();
        assert!(error.contains(said), "{said}: {error}");
    }
    let twice = validate(&[base(), base()], &targets).unwrap_err().to_string();
    assert!(twice.contains("twice"), "{twice}");
    assert_eq!(
        validate(&[base(), ClaimSpec { id: "d".into(), ..cel("b.error_ratio < 1.0") }], &targets),
        Ok(())
    );
    let typo = ClaimSpec { metric: Some("syscall".into()), ..base() };
    expect(&pair(&NODE, &BUN), &typo, ClaimVerdict::Inconclusive, "nearest");
}

#[test]
fn exit_codes_name_the_worst() {
    use ClaimVerdict::{Fails, Holds, Inconclusive, Unavailable};
    let code = |verdicts: &[ClaimVerdict]| {
        let results: Vec<ClaimResult> = verdicts
            .iter()
            .map(|&verdict| ClaimResult {
                claim: ClaimSpec::default(),
                verdict,
                because: String::new(),
                stages: Vec::new(),
            })
            .collect();
        exit_code(&results)
    };
    assert_eq!([code(&[]), code(&[Holds]), code(&[Holds, Unavailable])], [0, 0, 3]);
    assert_eq!([code(&[Inconclusive]), code(&[Unavailable, Fails, Holds])], [3, 1]);
}

/// Equal targets, 3 % apart from run to run, measured once: a claim that one is faster must
/// almost never get an answer, although the samples inside each stage are far steadier.
#[test]
fn one_run_of_equal_targets_rarely_answers_a_claim_of_a_difference() {
    let mut random = fastrand::Rng::with_seed(3);
    let mut noise = || 1.0 + 0.06 * (random.f64() + random.f64() + random.f64() - 1.5);
    let mut answered = 0;
    for _ in 0..100 {
        let run = pair(&[10.0 * noise()], &[10.0 * noise()]);
        let about = claim("< 0%", "bun", Some("node"));
        answered += u32::from(answer(&run, &about).0 != ClaimVerdict::Inconclusive);
    }
    assert!(answered <= 5, "{answered} of 100");
}
