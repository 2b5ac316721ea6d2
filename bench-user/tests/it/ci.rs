//! Claims for CI systems: JUnit XML, and what a step of GitHub Actions shows.

#![expect(clippy::unwrap_used, reason = "what cannot be had fails its test")]

use std::fs;
use std::path::Path;
use std::process::Output;

use assert_cmd::Command;
use bench_user::record::{ClaimVerdict, RunRecord};
use bench_user::report;

use super::golden::{below, check};
use super::runs;

fn written(write: impl FnOnce(&mut dyn std::io::Write) -> std::io::Result<()>) -> String {
    let mut out = Vec::new();
    write(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn junit(run: &RunRecord) -> String {
    written(|out| report::junit(run, out))
}

/// A run with a claim of every verdict, in words that XML must escape.
fn every_verdict() -> RunRecord {
    let mut run = runs::two_targets();
    let mut unavailable = run.claims[2].clone();
    unavailable.claim.id = "a<b&\"c\"".into();
    unavailable.claim.says = "ends]]> here\u{1b}[31m, and 5 < 6".into();
    unavailable.verdict = ClaimVerdict::Unavailable;
    unavailable.because = "`syscalls.total` was not measured: no <probes>".into();
    unavailable.stages.clear();
    run.claims.push(unavailable);
    run
}

#[test]
fn both_are_written_as_stored() {
    let run = every_verdict();
    check("golden", "claims.junit.xml", &junit(&run));
    check("golden", "claims.github.md", &written(|out| report::github_summary(&run, 1 << 20, out)));
    let commands = written(|out| report::github_annotations(&run.claims, out));
    check("golden", "claims.annotations", &commands);
}

/// What CI systems read: the counts, and in each case which of the three answers it has.
#[test]
fn a_case_has_passed_failed_or_was_skipped_as_its_claim_says() {
    let run = every_verdict();
    let text = junit(&run);
    let document = roxmltree::Document::parse(&text).unwrap();
    let suites = document.root_element();
    assert!(suites.has_tag_name("testsuites"));
    let suite = suites.first_element_child().unwrap();
    assert_eq!(suite.attribute("name"), Some(run.plan.name.as_str()));
    assert_eq!(suite.attribute("timestamp"), Some("2026-11-30T10:15:00.000+00:00"));
    for node in [suites, suite] {
        let counts = ["tests", "failures", "errors", "skipped"].map(|n| node.attribute(n).unwrap());
        assert_eq!(counts, ["4", "1", "0", "2"]);
    }
    let cases: Vec<_> = suite.children().filter(|node| node.has_tag_name("testcase")).collect();
    assert_eq!(cases.len(), run.claims.len());
    for (case, result) in cases.iter().zip(&run.claims) {
        assert_eq!(case.attribute("name"), Some(result.claim.id.as_str()));
        assert_eq!(case.attribute("classname"), Some(run.plan.name.as_str()));
        assert_eq!(case.attribute("time"), Some("0.000"));
        let answer =
            case.children().find(|n| n.has_tag_name("failure") || n.has_tag_name("skipped"));
        let said = answer.map(|n| (n.tag_name().name(), n.attribute("message").unwrap()));
        let expect = match result.verdict {
            ClaimVerdict::Holds => None,
            ClaimVerdict::Fails => Some(("failure", result.because.clone())),
            other => {
                let word = serde_json::to_value(other).unwrap();
                Some(("skipped", format!("{}: {}", word.as_str().unwrap(), result.because)))
            }
        };
        assert_eq!(said, expect.as_ref().map(|(tag, text)| (*tag, text.as_str())));
    }
    let failed = cases[1].first_element_child().unwrap().text().unwrap();
    assert!(failed.contains("\nfails at 20 connections: -0.40 in the middle"), "{failed}");
}

/// What a parser of the same format makes of it is what was written.
#[test]
fn another_reader_of_the_format_sees_the_same_cases() {
    let text = junit(&every_verdict());
    let read = quick_junit::Report::deserialize_from_str(&text).unwrap();
    assert_eq!((read.tests, read.failures, read.skipped, read.errors), (4, 1, 2, 0));
    assert_eq!(read.to_string().unwrap(), text);
}

#[test]
fn a_run_without_claims_makes_no_empty_suite() {
    let mut run = runs::two_targets();
    run.claims.clear();
    let error = report::junit(&run, &mut Vec::new()).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput);
    assert!(error.to_string().starts_with("the run has no claims"), "{error}");
}

#[test]
fn a_summary_has_the_failures_first_and_leaves_out_what_has_no_room() {
    let run = every_verdict();
    let summary = |room| written(|out| report::github_summary(&run, room, out));
    let whole = summary(report::SUMMARY_MAX);
    let place = |what: &str| whole.find(what).unwrap_or_else(|| panic!("no {what} in {whole}"));
    assert!(place("❌ fails") < place("⚠️ unavailable"));
    assert!(place("⚠️ unavailable") < place("⚠️ inconclusive"));
    assert!(place("⚠️ inconclusive") < place("✅ holds"));
    assert!(place("<details open><summary>Stage by stage") < place("<details><summary>The whole"));
    assert_eq!(whole.matches("<details").count(), whole.matches("</details>").count());
    let short = summary(whole.len() - 1);
    assert!(short.len() < whole.len() && short.contains("The whole report had no room"), "{short}");
}

/// Of the stored run they hold, fail, and lie on both sides of the interval.
const CLAIMS: &str = r#"
[[claim]]
id = "more"
metric = "syscalls.per_request"
of = "chatty"
against = "lean"
expect = ">= 50%"

[[claim]]
id = "as-many"
says = "chatty makes as many, within 1 %"
metric = "syscalls.per_request"
of = "chatty"
against = "lean"
expect = "0% +- 1%"

[[claim]]
id = "fast"
metric = "load.achieved_rps"
of = "lean"
expect = ">= 31000"
stages = [20]
"#;

fn bench_user(args: &[&str], summary: Option<&Path>) -> Output {
    let mut program = Command::cargo_bin("bench-user").unwrap();
    match summary {
        Some(file) => program.env("GITHUB_STEP_SUMMARY", file),
        None => program.env_remove("GITHUB_STEP_SUMMARY"),
    };
    program.args(args).output().unwrap()
}

#[test]
fn a_step_of_github_gets_a_summary_behind_what_is_there_and_annotations() {
    let folder = tempfile::tempdir().unwrap();
    let (file, xml) = (folder.path().join("summary.md"), folder.path().join("claims.xml"));
    fs::write(&file, "Before.\n\n").unwrap();
    let (run, claims) = (below("fixtures", "run-two-targets.json"), folder.path().join("c.toml"));
    fs::write(&claims, CLAIMS).unwrap();
    let (run, claims) = (run.to_str().unwrap(), claims.to_str().unwrap());
    let args = ["check", run, claims, "--github", "--format", "junit"];
    let output = bench_user(&[&args[..], &["--out", xml.to_str().unwrap()]].concat(), Some(&file));
    let said = String::from_utf8(output.stdout).unwrap();
    let summary = fs::read_to_string(&file).unwrap();
    assert!(summary.starts_with("Before.\n\n## "), "{summary}");
    assert!(!said.is_empty() && said.lines().all(|line| line.starts_with("::")), "{said}");
    let read =
        quick_junit::Report::deserialize_from_str(&fs::read_to_string(xml).unwrap()).unwrap();
    assert_eq!((read.tests, read.failures, read.skipped), (3, 1, 1));
    assert_eq!(output.status.code(), Some(1));
    let starts: Vec<&str> = said.lines().filter_map(|line| line.split("::").nth(1)).collect();
    assert_eq!(starts, ["error title=as-many fails", "warning title=fast inconclusive"]);

    // On standard output stand the data alone.
    let output = bench_user(&args, Some(&file));
    let alone = String::from_utf8(output.stdout).unwrap();
    assert!(alone.starts_with("<?xml") && !alone.contains("::error title"), "{alone}");
    assert_eq!(String::from_utf8(output.stderr).unwrap(), said);

    // No room is left.
    fs::write(&file, vec![b' '; report::SUMMARY_MAX]).unwrap();
    assert_eq!(bench_user(&args, Some(&file)).status.code(), Some(1));
    assert_eq!(fs::metadata(&file).unwrap().len(), report::SUMMARY_MAX as u64);
}

#[test]
fn outside_of_github_the_flag_has_a_remedy() {
    let run = below("fixtures", "run-two-targets.json");
    let folder = tempfile::tempdir().unwrap();
    let claims = folder.path().join("c.toml");
    fs::write(&claims, CLAIMS).unwrap();
    let args = ["check", run.to_str().unwrap(), claims.to_str().unwrap(), "--github"];
    let output = bench_user(&args, None);
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.starts_with("error: GITHUB_STEP_SUMMARY is not set"), "{said}");
    assert!(output.stdout.is_empty());
}
