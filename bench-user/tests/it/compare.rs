//! Comparisons of repetitions, verdicts in words, and what a comparison fails on.

#![expect(clippy::unwrap_used, reason = "what cannot be had fails its test")]

use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::OnceLock;

use assert_cmd::Command;
use bench_user::analyze::bootstrap;
use bench_user::analyze::{levels, metrics};
use bench_user::record::{self, RunRecord};
use bench_user::report::{self, Format, Repetitions, Side};
use serde_json::Value;

use super::golden::check;
use super::runs;

/// Every record of the studies that are kept.
fn records() -> &'static [RunRecord] {
    static READ: OnceLock<Vec<RunRecord>> = OnceLock::new();
    READ.get_or_init(|| {
        let mut found = Vec::new();
        let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("studies/records")];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path: PathBuf = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.to_str().is_some_and(|name| name.ends_with("run.json.gz")) {
                    found.push(record::read(&path).unwrap());
                }
            }
        }
        assert!(found.len() > 20, "{}", found.len());
        found
    })
}

/// The JSON of a comparison, and the exit code that it would fail with.
fn compared(a: &Side<'_>, b: &Side<'_>) -> (Value, u8) {
    let mut out = Vec::new();
    let code = report::compare(a, b, Format::Json, 0.0, &mut out).unwrap();
    (serde_json::from_slice(&out).unwrap(), code)
}

fn metrics_of(comparison: &Value) -> impl Iterator<Item = &Value> {
    let pairs = comparison["pairs"].as_array().unwrap().iter();
    let stages = pairs.flat_map(|pair| pair["stages"].as_array().unwrap());
    stages.flat_map(|stage| stage["metrics"].as_array().unwrap())
}

/// The same targets on the same machine, one half of the repetitions against the other: with so
/// few no conclusion is possible, and none may be drawn.
#[test]
fn halves_of_the_kept_runs_show_no_difference() {
    let mut seen = 0;
    for run in records().iter().filter(|run| run.plan.repeat >= 2) {
        let half = run.plan.repeat / 2;
        let first: Repetitions = format!("1-{half}").parse().unwrap();
        let second: Repetitions = format!("{}-{}", half + 1, run.plan.repeat).parse().unwrap();
        let side = |repetitions| Side { label: "x", run, target: None, repetitions };
        let (comparison, _) = compared(&side(Some(&first)), &side(Some(&second)));
        for metric in metrics_of(&comparison) {
            let verdict = metric["verdict"].as_str().unwrap_or("none");
            assert!(matches!(verdict, "none" | "no-difference-shown"), "{}: {metric}", run.id);
            seen += 1;
        }
    }
    assert!(seen > 300, "{seen}");
}

/// What the repetitions of the kept runs vary by, drawn again as two sides of five repetitions that
/// are alike: the share that is told apart must not be above the level of the intervals.
#[test]
fn two_alike_are_told_apart_no_more_often_than_the_level_allows() {
    for metric in ["load.achieved_rps", "load.response_ns.p99", "syscalls.per_request"] {
        let pool = deviations(metric);
        assert!(pool.len() > 40, "{metric}: {}", pool.len());
        let mut random = fastrand::Rng::with_seed(7);
        let mut draw = || [(); 5].map(|()| pool[random.usize(..pool.len())]);
        let told_apart = (0..300)
            .filter(|_| {
                let (a, b) = (draw(), draw());
                let interval = bootstrap::change_interval(&a, &b, false);
                interval.is_some_and(|(low, high)| low > 0.0 || high < 0.0)
            })
            .count();
        // 5 % of 300 are 15; 28 or more happen once in a thousand times.
        assert!(told_apart < 28, "{metric}: {told_apart} of 300");
    }
}

/// Each figure of a repetition over the median of its level, of all kept runs.
fn deviations(metric: &str) -> Vec<f64> {
    let mut found = Vec::new();
    for run in records() {
        for target in &run.targets {
            for step in levels::steps(run, target) {
                let values: Vec<f64> = step
                    .stages
                    .iter()
                    .filter_map(|stage| metrics::value(stage, metric).ok())
                    .collect();
                let median = bootstrap::median(&values).unwrap_or(0.0);
                if values.len() >= 3 && median > 0.0 {
                    found.extend(values.iter().map(|value| value / median));
                }
            }
        }
    }
    found
}

/// Ten repetitions of which the later five are a tenth slower and otherwise alike.
fn slowed() -> RunRecord {
    let mut run = runs::two_targets();
    run.analysis = None;
    run.plan.repeat = 10;
    for target in &mut run.targets {
        let climb: Vec<_> =
            target.stages.iter().filter(|s| s.repetition == 1 && s.observed).cloned().collect();
        target.stages.clear();
        for repetition in 0..10 {
            let noise = 1.0 + f64::from(repetition % 5) / 1000.0;
            for mut stage in climb.clone() {
                stage.repetition = repetition;
                stage.load.achieved_rps *= if repetition < 5 { noise } else { 0.9 * noise };
                target.stages.push(stage);
            }
        }
    }
    run
}

#[test]
fn the_later_repetitions_are_worse_where_they_are_slower_and_the_earlier_better() {
    let run = slowed();
    let (first, second): (Repetitions, Repetitions) =
        ("1-5".parse().unwrap(), "6-10".parse().unwrap());
    let side = |repetitions| Side { label: "run", run: &run, target: None, repetitions };
    let verdicts = |a, b| {
        let (comparison, code) = compared(&side(Some(a)), &side(Some(b)));
        let rates = metrics_of(&comparison).filter(|m| m["metric"] == "load.achieved_rps");
        let rates: Vec<String> = rates.map(|m| m["verdict"].as_str().unwrap().to_owned()).collect();
        let mut others = metrics_of(&comparison).filter(|m| m["metric"] != "load.achieved_rps");
        assert!(others.all(|m| m["verdict"] == "no-difference-shown"), "{comparison}");
        (rates, code)
    };
    assert_eq!(verdicts(&first, &second), (vec!["worse".to_owned(); 6], 1));
    assert_eq!(verdicts(&second, &first), (vec!["better".to_owned(); 6], 0));
}

#[test]
fn repetitions_that_are_not_there_or_do_not_count_are_said() {
    let mut run = slowed();
    run.plan.discard = 1;
    let whole = Side { label: "run", run: &run, target: None, repetitions: None };
    for (text, expect) in [
        ("1", "repetition 1 of run does not count: its plan discards the first 1 repetition"),
        ("2,11", "run has no repetition 11: it was to be repeated 10 times"),
    ] {
        let some: Repetitions = text.parse().unwrap();
        let side = Side { repetitions: Some(&some), ..whole };
        let error = report::compare(&whole, &side, Format::Text, 0.0, &mut Vec::new()).unwrap_err();
        assert_eq!(error.to_string(), expect);
    }
}

#[test]
fn a_long_comparison_shows_in_a_pull_request_what_changed_and_folds_the_rest() {
    let run = slowed();
    let (first, second): (Repetitions, Repetitions) =
        ("1-5".parse().unwrap(), "6-10".parse().unwrap());
    let side = |label, repetitions| Side { label, run: &run, target: None, repetitions };
    let mut out = Vec::new();
    let (a, b) = (side("run#1-5", Some(&first)), side("run#6-10", Some(&second)));
    report::compare(&a, &b, Format::Markdown, 0.0, &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    check("golden", "compare-repetitions.md", &text);
    let (shown, folded) = text.split_once("<details><summary>All figures</summary>").unwrap();
    assert_eq!(shown.matches("| worse |").count(), 6, "{shown}");
    assert!(!shown.contains("no difference shown |"), "{shown}");
    assert!(folded.contains("no difference shown |") && folded.ends_with("</details>\n"));
}

fn bench_user(args: &[&str]) -> Output {
    Command::cargo_bin("bench-user").unwrap().args(args).output().unwrap()
}

#[test]
fn the_program_fails_on_worse_only_where_it_is_asked_to() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run.json");
    std::fs::write(&run, serde_json::to_string(&slowed()).unwrap()).unwrap();
    let run = run.to_str().unwrap();
    let (first, second) = (format!("{run}#1-5"), format!("{run}#6-10"));
    let code = |more: &[&str]| {
        let output = bench_user(&[&["compare", &first, &second], more].concat());
        assert!(!output.stdout.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
        output.status.code()
    };
    assert_eq!(code(&[]), Some(0));
    assert_eq!(code(&["--fail-on", "worse"]), Some(1));
    assert_eq!(code(&["--fail-on", "worse", "--tolerance", "9%"]), Some(1));
    assert_eq!(code(&["--fail-on", "worse", "--tolerance", "15%"]), Some(0));
    let missing = bench_user(&["compare", &format!("{run}#11"), run, "--fail-on", "worse"]);
    assert_eq!(missing.status.code(), Some(2));
    let said = String::from_utf8(missing.stderr).unwrap();
    assert!(said.contains("has no repetition 11"), "{said}");
}
