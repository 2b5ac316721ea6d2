//! Stacks of a stored run: folded text and flame graphs against stored text, and read back.

#![expect(clippy::unwrap_used, reason = "what cannot be had fails its test")]

use std::io::{self, Write};

use bench_user::measured::Measured;
use bench_user::record::{RunRecord, StageRecord};
use bench_user::report::{self, StackChoice, StackKind};

use super::golden::check;
use super::runs;

fn written(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> String {
    let mut out = Vec::new();
    write(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn refused(run: &RunRecord, choice: &StackChoice) -> String {
    let error = report::folded(run, choice, &mut Vec::new()).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    error.to_string()
}

/// What the picture says of each frame, in its order.
fn titles(svg: &str) -> String {
    let titles = svg.split("<title>").skip(1).map(|rest| rest.split("</title>").next().unwrap());
    titles.fold(String::new(), |all, title| all + title + "\n")
}

fn samples(stage: &StageRecord) -> u64 {
    let stacks = stage.explain.stacks.as_ref().and_then(Measured::value);
    stacks.map_or(0, |stacks| stacks.oncpu.value().unwrap().samples)
}

#[test]
fn both_kinds_are_written_as_stored() {
    let run = runs::two_targets();
    for (kind, name) in [(StackKind::OnCpu, "oncpu"), (StackKind::OffCpu, "offcpu")] {
        let choice = StackChoice { kind, ..StackChoice::default() };
        let folded = written(|out| report::folded(&run, &choice, out));
        check("golden", &format!("two-targets-{name}.folded"), &folded);
        let svg = written(|out| report::flamegraph(&run, &choice, out));
        check("golden", &format!("two-targets-{name}.titles"), &titles(&svg));
    }
}

/// Neither what the record sums as others nor a stage is left out, and none is there twice.
#[test]
fn folded_text_holds_every_sample_of_the_chosen_stages() {
    let mut run = runs::two_targets();
    run.plan.discard = 1;
    for connections in [None, Some(20)] {
        let choice =
            StackChoice { target: Some("lean".into()), connections, ..StackChoice::default() };
        let text = written(|out| report::folded(&run, &choice, out));
        let weight = |line: &str| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap();
        let is_chosen = |stage: &&StageRecord| {
            stage.repetition >= 1 && connections.is_none_or(|n| n == stage.connections)
        };
        let lean = run.targets.iter().find(|target| target.name == "lean").unwrap();
        let all: u64 = lean.stages.iter().filter(is_chosen).map(samples).sum();
        assert!(all > 0);
        assert_eq!(text.lines().map(weight).sum::<u64>(), all, "{connections:?}");
        assert!(text.lines().all(|line| line.starts_with("node;") || line.starts_with("[other")));
    }
}

#[test]
fn the_picture_holds_as_many_samples_as_the_text() {
    let run = runs::two_targets();
    let choice = StackChoice { target: Some("lean".into()), ..StackChoice::default() };
    let text = written(|out| report::folded(&run, &choice, out));
    let all: u64 =
        text.lines().map(|line| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap()).sum();
    let svg = written(|out| report::flamegraph(&run, &choice, out));
    let titles = titles(&svg);
    let shown: String = all.to_string();
    let whole = titles.lines().find(|title| title.starts_with("all (")).unwrap();
    assert_eq!(whole.replace(',', ""), format!("all ({shown} samples 100%)"));
    // Its colour tells that it was compiled at run time.
    assert!(titles.contains("\nrender &lt;a &amp; b&gt; ("), "{titles}");
}

#[test]
fn a_choice_of_nothing_says_what_there_is() {
    let run = runs::two_targets();
    let none = StackChoice { target: Some("leen".into()), ..StackChoice::default() };
    assert_eq!(refused(&run, &none), "the run has no target `leen`; it has lean, chatty");
    let none = StackChoice { connections: Some(7), ..StackChoice::default() };
    let said = refused(&run, &none);
    assert!(said.contains("it has --stage 0 (--connections 10), --stage 1"), "{said}");
    let said = refused(&runs::unavailable(), &StackChoice::default());
    assert!(said.contains("--explain=stacks"), "{said}");
}

#[test]
fn why_there_are_none_is_the_reason_of_the_record() {
    let mut run = runs::two_targets();
    for stage in run.targets.iter_mut().flat_map(|target| &mut target.stages) {
        stage.explain.stacks = Some(Measured::unavailable("no perf here"));
    }
    assert_eq!(refused(&run, &StackChoice::default()), "no perf here");
}
