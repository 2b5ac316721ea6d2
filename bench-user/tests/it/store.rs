//! Records on disk: written whole or not at all, read back as they were, refused in one sentence.

#![expect(clippy::unwrap_used, reason = "what cannot be had fails its test")]

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use bench_user::distribution::Distribution;
use bench_user::measured::Measured;
use bench_user::record::{self, Loop, RunDir, RunRecord, StoreError};
use flate2::Compression;
use flate2::write::GzEncoder;
use hdrhistogram::Histogram;
use serde_json::Value;

use super::runs;

/// Saves into a folder of its own and reads it back.
fn there_and_back(run: &RunRecord) -> RunRecord {
    let folder = tempfile::tempdir().unwrap();
    let dir = RunDir::create(Some(&folder.path().join("a/b")), "x", "y").unwrap();
    dir.save(run).unwrap();
    record::read(dir.path()).unwrap()
}

/// With a real histogram, a number that decimal fractions cannot hold, and every status.
fn with_everything() -> RunRecord {
    let mut run = runs::two_targets();
    let mut histogram = Histogram::new(3).unwrap();
    (1..=2_000).for_each(|ns| histogram.record(ns * 997).unwrap());
    let load = &mut run.targets[0].stages[0].load;
    load.response_ns = Distribution::from_histogram(&histogram, None);
    load.service_ns = Some(load.response_ns.clone());
    load.achieved_rps = 31_234.567_890_123_45;
    load.outcomes.other_status.insert(404, u64::MAX);
    let exit = bench_user::target::Exit {
        code: None,
        signal: Some("SIGTERM".into()),
        oom_killed: Measured::Value(false),
        restarts: Some(1),
        by_us: true,
    };
    run.services = vec![record::ServiceRecord { name: "model".into(), exit: Some(exit) }];
    run.targets[0].stages[0].services = vec![record::ServiceUse {
        name: "model".into(),
        cpu_ratio: Measured::Value(0.1),
        exit: None,
    }];
    run.plan.stop.errors = bench_user::plan::Limit::Switch(false);
    run
}

#[test]
fn a_record_comes_back_as_it_was() {
    for run in [with_everything(), runs::interrupted(), runs::unavailable()] {
        assert_eq!(there_and_back(&run), run);
    }
}

#[test]
fn a_compressed_record_is_read_as_it_is_where_there_is_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let run = with_everything();
    let file = folder.path().join("run.json.gz");
    let mut gzip = GzEncoder::new(std::fs::File::create(&file).unwrap(), Compression::fast());
    serde_json::to_writer(&mut gzip, &run).unwrap();
    gzip.finish().unwrap();
    assert_eq!(record::read(folder.path()).unwrap(), run);
    assert_eq!(record::read(&file).unwrap(), run);

    let whole = std::fs::read(&file).unwrap();
    std::fs::write(&file, &whole[..whole.len() / 2]).unwrap();
    let cut = record::read(&file).unwrap_err();
    assert!(matches!(cut, StoreError::NotARecord { .. }), "{cut}");
    std::fs::write(&file, "{}").unwrap();
    let no_gzip = record::read(&file).unwrap_err();
    assert!(matches!(no_gzip, StoreError::NotARecord { .. }), "{no_gzip}");
}

#[test]
fn a_folder_of_nothing_goes_with_the_folders_that_were_made_for_it() {
    let folder = tempfile::tempdir().unwrap();
    let (made, log) = (folder.path().join("a/b"), "logs/web.log");
    let dir = RunDir::create(Some(&made), "x", "y").unwrap();
    dir.save(&runs::two_targets()).unwrap();
    std::fs::write(made.join(log), "it could not start").unwrap();
    assert!(!dir.discard().unwrap(), "a target wrote something");
    assert!(record::read(&made).is_ok());
    std::fs::write(made.join(log), "").unwrap();
    assert!(dir.discard().unwrap());
    assert!(!folder.path().join("a").exists());

    let others = folder.path().join("others");
    std::fs::create_dir(&others).unwrap();
    let dir = RunDir::create(Some(&others), "x", "y").unwrap();
    dir.save(&runs::two_targets()).unwrap();
    assert!(dir.discard().unwrap());
    assert_eq!(std::fs::read_dir(&others).unwrap().count(), 0, "a folder of the user stays");
}

#[test]
fn records_follow_the_published_schema() {
    let schema = record::schema();
    assert_eq!(
        (&schema["$id"], &schema["title"]),
        (&record::SCHEMA.into(), &record::SCHEMA.into())
    );
    let validator = jsonschema::validator_for(&schema).unwrap();
    for run in [with_everything(), runs::interrupted(), runs::unavailable()] {
        let json = serde_json::to_value(&run).unwrap();
        let errors: Vec<String> =
            validator.iter_errors(&json).map(|e| format!("{}: {e}", e.instance_path())).collect();
        assert!(errors.is_empty(), "{errors:#?}");
        for (field, value) in [("schema", "bench-user/run/0".into()), ("targets", 7.into())] {
            let mut wrong = json.clone();
            wrong[field] = value;
            assert!(!validator.is_valid(&wrong), "{field}");
        }
    }
}

#[test]
fn saving_again_replaces_the_record_and_leaves_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let dir = RunDir::create(Some(folder.path()), "x", "y").unwrap();
    let mut run = runs::interrupted();
    dir.save(&run).unwrap();
    run.interrupted = None;
    dir.save(&run).unwrap();
    assert_eq!(record::read(&folder.path().join("run.json")).unwrap(), run);
    let names = |path: &Path| {
        let entries = std::fs::read_dir(path).unwrap();
        let mut names: Vec<_> = entries.map(|e| e.unwrap().file_name()).collect();
        names.sort();
        names
    };
    assert_eq!(names(folder.path()), ["logs", "run.json"]);
    let mode = std::fs::metadata(folder.path().join("run.json")).unwrap().permissions().mode();
    assert_eq!(mode & 0o400, 0o400);
}

#[test]
fn a_figure_that_is_not_finite_is_refused_and_the_last_record_stays() {
    let folder = tempfile::tempdir().unwrap();
    let dir = RunDir::create(Some(folder.path()), "x", "y").unwrap();
    let good = runs::two_targets();
    dir.save(&good).unwrap();

    // Where JSON would silently turn it into "not there", and where it could not be read at all.
    let mut quiet = good.clone();
    quiet.analysis.as_mut().unwrap().ladders[0].peak_rps = Some(f64::NAN);
    let mut loud = good.clone();
    loud.targets[1].stages[2].load.achieved_rps = f64::INFINITY;
    let mut in_a_stage = good.clone();
    in_a_stage.targets[1].stages[2].samples[0].cpu_ratio = Some(f64::NAN);
    for (bad, place) in [
        (quiet, "the analysis"),
        (loud, "targets[1].stages[2].load.achieved_rps"),
        (in_a_stage, "the stage of `chatty` at 50 connections"),
    ] {
        let error = dir.save(&bad).unwrap_err().to_string();
        assert!(error.contains(place) && error.contains("not finite"), "{error}");
        assert_eq!(record::read(folder.path()).unwrap(), good);
    }
}

#[test]
fn a_folder_that_holds_a_run_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let dir = RunDir::create(Some(folder.path()), "x", "y").unwrap();
    dir.save(&runs::interrupted()).unwrap();
    let error = RunDir::create(Some(folder.path()), "x", "y").unwrap_err();
    assert!(matches!(error, StoreError::Occupied(_)), "{error}");
    assert!(error.to_string().contains("--out"), "{error}");
}

/// Reads a stored file that is no record of this version and gives back the sentence.
fn refusal(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name);
    let sentence = record::read(&path).unwrap_err().to_string();
    assert!(sentence.contains(name) && !sentence.contains('\n'), "{sentence}");
    sentence
}

#[test]
fn what_is_not_a_record_is_refused_with_the_place_of_the_problem() {
    let unknown = refusal("run-unknown-version.json");
    assert!(unknown.contains("`bench-user/run/9`") && unknown.contains("`bench-user/run/1`"));
    let broken = refusal("run-broken.json");
    assert!(broken.contains("at targets[0].stages[1].load.requests:"), "{broken}");
    let cut_off = refusal("run-cut-off.json");
    assert!(cut_off.contains("line") && cut_off.contains("EOF"), "{cut_off}");
    let missing = refusal("run-that-is-not-there.json");
    assert!(missing.contains("no run at"), "{missing}");
}

#[test]
fn the_name_of_a_run_holds_its_time_and_a_random_part() {
    assert_eq!(record::new_id("2026-11-30T10:15:00Z", 0xc0_ffee), "20261130-101500-00c0ffee");
}

/// What is said of a record after a change of the first stage of its first target.
fn said_of(run: &RunRecord, change: impl Fn(&mut serde_json::Map<String, Value>)) -> String {
    let mut json = serde_json::to_value(run).unwrap();
    change(json["targets"][0]["stages"][0].as_object_mut().unwrap());
    let read = record::parse(&serde_json::to_vec(&json).unwrap(), Path::new("run.json"));
    read.map_or_else(|error| error.to_string(), |_| String::new())
}

#[test]
fn a_stage_that_is_neither_load_nor_job_is_refused() {
    let (load, job) = (runs::two_targets(), runs::jobs());
    for (run, key, sentence) in [
        (&load, "load", "`load` is missing"),
        (&load, "connections", "`connections` is missing or 0"),
        (&job, "job", "and `job` is missing"),
    ] {
        assert_eq!(said_of(run, |_| ()), "");
        let said = said_of(run, |stage| drop(stage.remove(key).unwrap()));
        assert!(said.contains("targets[0].stages[0]") && said.contains(sentence), "{said}");
    }
    let as_closed = said_of(&job, |stage| drop(stage.insert("loop".into(), "closed".into())));
    assert!(as_closed.contains("its `loop` is another"), "{as_closed}");
    let connected = said_of(&job, |stage| drop(stage.insert("connections".into(), 4.into())));
    assert!(connected.contains("a job has `connections`"), "{connected}");
    let part = serde_json::to_value(&load.targets[0].stages[0].load).unwrap();
    let loaded = said_of(&job, |stage| drop(stage.insert("load".into(), part.clone())));
    assert!(loaded.contains("a job has a `load`"), "{loaded}");
}

#[test]
fn all_marks_of_a_job_agree() {
    for (run, is_job) in [(runs::jobs(), true), (runs::two_targets(), false)] {
        assert_eq!(run.plan.job.is_some(), is_job);
        assert!(run.plan.levels().iter().all(|level| level.is_job() == is_job));
        for target in &run.targets {
            assert_eq!(target.urls.is_none(), is_job);
            for stage in &target.stages {
                let marks = [
                    stage.level().is_job(),
                    stage.job.is_some(),
                    stage.kind == Loop::Job,
                    stage.load.is_none(),
                ];
                assert_eq!(marks, [is_job; 4], "{}", target.name);
            }
        }
    }
}
