//! The runs of a folder as the program lists them, and the trend of a metric.

#![expect(clippy::unwrap_used, reason = "what cannot be had fails its test")]

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::process::Output;

use assert_cmd::Command;
use bench_user::record::RunRecord;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;
use tempfile::TempDir;

use super::runs;

/// A run begun on this day, with rates of so many times the usual.
fn a_run(day: u32, rate: f64) -> RunRecord {
    let mut run = runs::two_targets();
    run.id = format!("202611{day:02}-101500-00c0ffee");
    run.started_at = format!("2026-11-{day:02}T10:15:00Z");
    run.analysis = None;
    for stage in run.targets.iter_mut().flat_map(|target| &mut target.stages) {
        stage.load.achieved_rps *= rate;
    }
    run
}

fn keep(folder: &Path, name: &str, run: &RunRecord) {
    fs::create_dir(folder.join(name)).unwrap();
    let text = serde_json::to_string(run).unwrap();
    if name.ends_with("gz") {
        let file = File::create(folder.join(name).join("run.json.gz")).unwrap();
        let mut file = GzEncoder::new(file, Compression::fast());
        file.write_all(text.as_bytes()).unwrap();
        file.finish().unwrap();
    } else {
        fs::write(folder.join(name).join("run.json"), text).unwrap();
    }
}

/// Four runs, one of them compressed and one of other targets, and three things that are none.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    keep(at, "c-newest", &a_run(23, 1.5));
    keep(at, "a-second.gz", &a_run(21, 1.02));
    keep(at, "b-oldest", &a_run(20, 1.0));
    let mut other = a_run(22, 1.0);
    other.targets.iter_mut().for_each(|target| target.name += "-other");
    other.interrupted = Some("SIGINT".into());
    keep(at, "d-other", &other);
    fs::create_dir(at.join("empty")).unwrap();
    fs::write(at.join("notes.txt"), "no run").unwrap();
    fs::create_dir(at.join("cut-off")).unwrap();
    fs::write(at.join("cut-off/run.json"), "{\"schema\": \"bench-user/run/1\", ").unwrap();
    folder
}

fn history(args: &[&str]) -> Output {
    Command::cargo_bin("bench-user").unwrap().arg("history").args(args).output().unwrap()
}

fn said(output: Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn runs_are_listed_newest_last_and_what_is_none_is_told() {
    let folder = folder();
    let at = folder.path().to_str().unwrap();
    let text = said(history(&[at]));
    let rows = text.lines().filter(|line| line.contains("2026-11-"));
    let rows: Vec<Vec<&str>> = rows.map(|line| line.split_whitespace().collect()).collect();
    let names: Vec<&str> = rows.iter().map(|row| row[0]).collect();
    assert_eq!(names, ["b-oldest", "a-second.gz", "d-other", "c-newest"]);
    let newest = ["c-newest", "2026-11-23", "10:15:00", "plaintext", "lean,", "chatty", "20"];
    assert_eq!(rows[3][..7], newest);
    assert_eq!(rows[3][7..].join(" "), "1 holds, 1 fails, 1 inconclusive");
    assert!(rows[2].ends_with(&["INTERRUPTED"]), "{text}");
    let one_line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(one_line.starts_with("4 runs "), "{text}");
    let left_out = "3 entries are left out; the first is cut-off: not a whole run record (";
    assert!(one_line.contains(left_out), "{text}");

    let json: Value = serde_json::from_str(&said(history(&[at, "--json"]))).unwrap();
    assert_eq!(json["runs"].as_array().unwrap().len(), 4);
    assert_eq!(json["runs"][3]["claims"]["holds"], 1);
    let why: Vec<&str> =
        json["skipped"].as_array().unwrap().iter().map(|s| s["why"].as_str().unwrap()).collect();
    assert!(why[0].starts_with("not a whole run record"), "{why:?}");
    assert_eq!(
        why[1..],
        ["it holds no run.json", "it is neither the folder of a run nor a run.json"]
    );

    let csv = said(history(&[at, "--format", "csv"]));
    let mut rows = csv::Reader::from_reader(csv.as_bytes());
    let rows: Vec<csv::StringRecord> = rows.records().map(Result::unwrap).collect();
    let cells = rows[3].iter().collect::<Vec<_>>().join("|");
    let expect = "c-newest|20261123-101500-00c0ffee|2026-11-23T10:15:00Z|plaintext|lean; chatty|20|\
                  1|1|1|0|";
    assert_eq!(cells, expect);
    assert_eq!(&rows[2][10], "SIGINT");
}

/// The peak of the newest run is at 20 connections, where lean makes 31,000 a second in the middle
/// of three repetitions; 1.02 and 1.5 times that after it.
#[test]
fn a_trend_has_each_runs_figure_and_says_whether_the_last_differs() {
    let folder = folder();
    let at = folder.path().to_str().unwrap();
    let asked = [at, "--metric", "load.achieved_rps", "--target", "lean"];
    let text = said(history(&asked));
    let one_line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(one_line.starts_with("load.achieved_rps of lean at 20 connections ▁▁█ from"), "{text}");
    for part in [
        "b-oldest 2026-11-20 10:15:00 31.0 k 30.7 k to 31.3 k 3",
        "a-second.gz 2026-11-21 10:15:00 31.6 k 31.3 k to 31.9 k 3",
        "c-newest 2026-11-23 10:15:00 46.5 k 46.0 k to 47.0 k 3",
        "last c-newest against a-second.gz: +47% [+44%, +50%], perhaps better, of too few repetitions; \
         machine and plan are the same",
        "4 entries are left out; the first is cut-off:",
    ] {
        assert!(one_line.contains(part), "{part}\n{one_line}");
    }
    let json: Value =
        serde_json::from_str(&said(history(&[&asked[..], &["--json"]].concat()))).unwrap();
    let values: Vec<f64> = json["points"]
        .as_array()
        .unwrap()
        .iter()
        .map(|point| point["figure"]["value"].as_f64().unwrap())
        .collect();
    for (value, expect) in values.iter().zip([31_000.0, 31_620.0, 46_500.0]) {
        assert!((value - expect).abs() < 1e-6, "{values:?}");
    }
    assert_eq!((values.len(), &json["last"]["reading"]), (3, &Value::from("perhaps-higher")));
    assert_eq!(json["skipped"][3]["why"], "it has no target `lean`");
    let csv = said(history(&[&asked[..], &["--format", "csv"]].concat()));
    assert_eq!(csv.lines().count(), 4);
    assert!(csv.starts_with("run,started_at,target,metric,value,low,high,repetitions,unfit\n"));
}

#[test]
fn another_machine_and_a_level_that_is_missing_are_told() {
    let folder = folder();
    let at = folder.path();
    let mut last = a_run(24, 1.0);
    last.host.kernel = "7.3.0".into();
    for target in &mut last.targets {
        target.stages.retain(|stage| stage.connections != 50);
    }
    keep(at, "e-last", &last);
    let mut short = a_run(25, 1.0);
    for target in &mut short.targets {
        target.stages.retain(|stage| stage.connections == 50);
    }
    keep(at, "f-short", &short);
    let at = at.to_str().unwrap();
    let asked = [
        at,
        "--metric",
        "syscalls.per_request",
        "--target",
        "lean",
        "--connections",
        "50",
        "--json",
    ];
    let json: Value = serde_json::from_str(&said(history(&asked))).unwrap();
    let points = json["points"].as_array().unwrap();
    assert_eq!(points[3]["figure"]["unavailable"], "it has no such stage");
    assert_eq!(
        (&json["last"]["against"], &json["last"]["verdict"]),
        (&Value::from("c-newest"), &Value::from("no-difference-shown"),)
    );
    let text = said(history(&[at, "--metric", "syscalls.per_request", "--target", "chatty"]));
    let one_line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(one_line.contains("chatty at 50 connections"), "{text}");
    fs::remove_dir_all(folder.path().join("f-short")).unwrap();
    let text = said(history(&[at, "--metric", "syscalls.per_request", "--target", "lean"]));
    let one_line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(one_line.contains("NOT THE SAME CONDITIONS"), "{text}");
    assert!(one_line.contains("kernel 6.18.0 7.3.0"), "{text}");
}

#[test]
fn what_cannot_be_shown_is_said_with_the_remedy() {
    let folder = folder();
    let at = folder.path().to_str().unwrap();
    let run = format!("{at}/b-oldest");
    for (args, expect) in [
        (&["no/such"][..], "cannot list no/such: name a folder of runs"),
        (&[&run], "is a run itself: name the folder that holds it"),
        (
            &[at, "--metric", "load.achieved_rps"],
            "c-newest has several targets: choose one of lean",
        ),
        (&[at, "--metric", "load.achieved"], "the nearest is `load.achieved_rps`"),
        (&[at, "--metric", "load.achieved_rps", "--target", "node"], "has a target `node`"),
        (
            &[at, "--metric", "load.achieved_rps", "--target", "lean", "-c", "7"],
            "c-newest has no stage of 7 connections: it has 10, 20, 50 connections",
        ),
    ] {
        let output = history(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.starts_with("error: ") && said.contains(expect), "{expect}: {said}");
    }
}
