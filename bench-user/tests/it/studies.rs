//! The studies as they come with the tool: what their manifests name must be there.

use assert_cmd::Command;
use bench_user::analyze::metrics;
use bench_user::plan::Plan;
use bench_user::study::{Part, Size, Study, Work, words};

/// Every part of every study with its plan at full size.
fn parts() -> Vec<(Study, Part, Plan)> {
    let root = tempfile::tempdir().expect("a folder");
    let mut parts = Vec::new();
    for study in Study::all().expect("every manifest can be read") {
        let work = Work::unpack(&study, root.path()).expect("a place to unpack it");
        for part in &study.manifest.parts {
            let rates = part.rates.as_ref().map(|_| vec![1000.0]);
            let plan = work.plan(part, Size::Full, rates).expect("a plan");
            parts.push((study.clone(), part.clone(), plan));
        }
    }
    assert!(!parts.is_empty());
    parts
}

#[test]
fn every_sentence_names_a_claim_of_a_plan_and_metrics_that_a_stage_can_have() {
    let parts = parts();
    for study in Study::all().expect("every manifest can be read") {
        for sentence in &study.manifest.sentences {
            for metric in &sentence.evidence {
                let metric = metric.split_once('/').map_or(&**metric, |(_part, metric)| metric);
                if words::is_known(metric) {
                    continue;
                }
                metrics::check_name(metric).unwrap_or_else(|why| panic!("{}: {why}", study.name));
            }
            let Some((part, id)) = sentence.claim.as_deref().and_then(|c| c.split_once('/')) else {
                continue;
            };
            let is_of = |(of, p, _): &&(Study, Part, Plan)| of.name == study.name && p.name == part;
            let (.., plan) = parts.iter().find(is_of).expect("the manifest was checked");
            assert!(plan.claims.iter().any(|claim| claim.id == id), "{}: {part}/{id}", study.name);
        }
    }
}

#[test]
fn every_claim_of_a_study_checks_a_sentence() {
    for (study, part, plan) in parts() {
        for claim in &plan.claims {
            let name = format!("{}/{}", part.name, claim.id);
            let checks = |claim: &Option<String>| claim.as_deref() == Some(&*name);
            assert!(
                study.manifest.sentences.iter().any(|sentence| checks(&sentence.claim)),
                "{}: {name}",
                study.name
            );
        }
    }
}

#[test]
fn cleaning_a_study_keeps_its_results_and_touches_nothing_else() {
    let root = tempfile::tempdir().expect("a folder");
    let made = ["plaintext/node_modules/a/b.js", "plaintext/set-up.log", "runtimes/bin/node"];
    let kept = ["plaintext/results/20261201-quick/peak/run.json", "mine/notes", "llm-proxy.txt"];
    for file in made.iter().chain(&kept) {
        let path = root.path().join(file);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        std::fs::write(path, "x").expect("written");
    }
    let clean = || {
        let mut command = Command::cargo_bin("bench-user").expect("cargo builds it for this test");
        command.args(["study", "clean", "--dir"]).arg(root.path());
        command
    };
    clean().assert().success();
    assert!(made.iter().all(|file| !root.path().join(file).exists()));
    assert!(kept.iter().all(|file| root.path().join(file).exists()));
    assert!(!root.path().join("runtimes").exists());
    clean().arg("mine").assert().failure();
}

#[test]
fn the_page_of_results_is_made_of_the_records_that_are_kept() {
    let studies = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("studies");
    let page = std::fs::read_to_string(studies.join("RESULTS.md")).expect("the page");
    let mut command = Command::cargo_bin("bench-user").expect("cargo builds it for this test");
    command.args(["study", "results", "--format", "markdown", "--dir"]);
    let output = command.arg(studies.join("records")).output().expect("it starts");
    let now = String::from_utf8(output.stdout).expect("text");
    assert!(now.trim() == page.trim(), "make the page anew: cargo xtask study-results");
    for study in Study::all().expect("every manifest can be read") {
        assert!(page.contains(&format!("## {}: ", study.name)), "{} was not run", study.name);
    }
}

#[test]
fn every_study_has_a_readme() {
    for study in Study::all().expect("every manifest can be read") {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("studies");
        assert!(folder.join(&study.name).join("README.md").is_file(), "{}", study.name);
    }
}
