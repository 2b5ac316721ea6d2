//! Claims about a bottleneck, and CEL expressions.

use super::*;
use crate::record::Bottleneck;

pub(super) fn limited_by(bottlenecks: &[Bottleneck]) -> RunRecord {
    let at = |i: u32| {
        let mut stage = a_stage(10);
        stage.verdict.bottleneck = bottlenecks[i as usize];
        stage.verdict.evidence = vec!["evidence".into()];
        vec![stage]
    };
    a_run().target("a").repetitions(u32::try_from(bottlenecks.len()).unwrap(), at).done()
}

#[test]
fn a_bottleneck_needs_all_repetitions_to_agree() {
    use Bottleneck::{Cpu, SingleThread, Unknown};
    let about = |text: &str| ClaimSpec {
        id: "c".into(),
        metric: Some("bottleneck".into()),
        expect: Some(text.into()),
        ..ClaimSpec::default()
    };
    let single = about("== single-thread");
    expect(&limited_by(&[SingleThread; 2]), &single, ClaimVerdict::Holds, "2 of 2 repetitions");
    expect(&limited_by(&[Cpu]), &single, ClaimVerdict::Fails, "limited by cpu");
    expect(&limited_by(&[Cpu, SingleThread]), &single, ClaimVerdict::Inconclusive, "disagree");
    expect(&limited_by(&[Unknown]), &single, ClaimVerdict::Unavailable, "evidence");
    expect(&limited_by(&[Cpu]), &about("!= single-thread"), ClaimVerdict::Holds, "cpu");
}

#[test]
fn a_limited_generator_is_an_answer_only_to_the_claim_that_it_was() {
    let mut run = limited_by(&[Bottleneck::Client]);
    run.targets[0].stages[0].load.generator.limited = true;
    let about = |text: &str| ClaimSpec {
        id: "c".into(),
        metric: Some("verdict.bottleneck".into()),
        expect: Some(text.into()),
        ..ClaimSpec::default()
    };
    expect(&run, &about("== client"), ClaimVerdict::Holds, "client");
    expect(&run, &about("== single-thread"), ClaimVerdict::Inconclusive, "carries no claim");
    expect(&run, &about("!= single-thread"), ClaimVerdict::Inconclusive, "carries no claim");
}

#[test]
fn an_expression_holds_fails_or_is_open() {
    let run = pair(&NODE, &BUN);
    let by = |factor: &str| {
        cel(&format!("bun.syscalls.per_request <= {factor} * a.syscalls.per_request"))
    };
    expect(&run, &by("0.6"), ClaimVerdict::Holds, "bun.syscalls.per_request 4");
    expect(&run, &by("0.2"), ClaimVerdict::Fails, "false of 100.0 %");
    expect(&run, &by("0.4"), ClaimVerdict::Inconclusive, "but true of only");
    expect(&run, &cel("b.syscalls.by_name.futex.count == 0.0"), ClaimVerdict::Holds, "");
    expect(&pair(&[10.0], &[4.0]), &by("0.6"), ClaimVerdict::Inconclusive, "`repeat`");
    expect(&pair(&NODE[..3], &BUN[..3]), &by("0.6"), ClaimVerdict::Holds, "3 repetitions");
    expect(&pair(&NODE[..3], &[4.0, 4.1, 7.0]), &by("0.6"), ClaimVerdict::Inconclusive, "");
}

#[test]
fn an_expression_sees_the_bottleneck_and_reports_what_it_cannot_do() {
    let run = limited_by(&[Bottleneck::Cpu; 3]);
    let single = |source: &str| ClaimSpec { of: None, against: None, ..cel(source) };
    expect(&run, &single("a.bottleneck == 'cpu'"), ClaimVerdict::Holds, "a.bottleneck cpu");
    expect(&run, &single("a.bottleneck == 'memory'"), ClaimVerdict::Fails, "");
    expect(&run, &single("a.error_ratio + 1.0"), ClaimVerdict::Inconclusive, "neither true nor");
    expect(&run, &single("2 * a.error_ratio < 1.0"), ClaimVerdict::Inconclusive, "write 2.0");
    let open = limited_by(&[Bottleneck::Cpu, Bottleneck::Memory, Bottleneck::Cpu]);
    expect(&open, &single("a.bottleneck == 'cpu'"), ClaimVerdict::Inconclusive, "disagree");
}

#[test]
fn a_division_by_zero_is_no_answer() {
    let run = pair(&NODE, &BUN);
    for source in [
        "b.load.achieved_rps / b.error_ratio >= 2.0",
        "!(b.error_ratio / a.error_ratio > 5.0)",
        "b.error_ratio > 0.0 || 1.0 < a.load.achieved_rps / (b.error_ratio * 2.0)",
    ] {
        expect(&run, &cel(source), ClaimVerdict::Inconclusive, "divides by zero");
    }
    for source in [
        "b.error_ratio / b.load.achieved_rps == 0.0",
        "b.error_ratio == 0.0 || 1.0 < a.load.achieved_rps / b.error_ratio",
        "b.error_ratio > 0.0 ? a.load.achieved_rps / b.error_ratio > 2.0 : b.error_ratio < 1.0",
    ] {
        expect(&run, &cel(source), ClaimVerdict::Holds, "");
    }
}
