//! The command line of the real program, and the README's words about it.

use std::path::Path;
use std::process::Output;

use assert_cmd::Command;
use bench_user::cli::Cli;
use bench_user::plan::{self, Plan, Protocol};
use clap::CommandFactory as _;
use serde_json::Value;

fn bench_user(args: &[&str]) -> Output {
    let mut program = Command::cargo_bin("bench-user").expect("cargo builds it for this test");
    program.args(args).output().expect("it starts")
}

/// The exit code and standard error of the program.
fn check(args: &[&str], code: i32, sentence: &str) {
    let output = bench_user(args);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(stderr, format!("error: {sentence}\n"), "{args:?}");
    assert_eq!(output.status.code(), Some(code), "{args:?}");
}

fn readme() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../README.md");
    std::fs::read_to_string(path).expect("the README stands beside the workspace")
}

/// The first fence of this kind below a heading of the README.
fn fence<'a>(readme: &'a str, heading: &str, kind: &str) -> &'a str {
    let section = section(readme, heading);
    let (_, from) = section.split_once(&format!("```{kind}\n")).expect("a fence in the section");
    from.split_once("```").expect("the end of the fence").0
}

fn section<'a>(readme: &'a str, heading: &str) -> &'a str {
    let (_, from) = readme.split_once(&format!("## {heading}\n")).expect("the heading");
    from.split_once("\n## ").map_or(from, |(section, _)| section)
}

#[test]
fn every_command_has_help_with_its_options() {
    for command in Cli::command().get_subcommands() {
        let output = bench_user(&[command.get_name(), "--help"]);
        assert!(output.status.success(), "{}", command.get_name());
        let help = String::from_utf8(output.stdout).unwrap();
        for option in command.get_arguments().filter_map(|option| option.get_long()) {
            assert!(help.contains(&format!("--{option}")), "{} --{option}", command.get_name());
        }
    }
}

#[test]
fn the_readme_shows_the_help_as_it_is() {
    let output = bench_user(&["-h"]);
    let help = String::from_utf8(output.stdout).unwrap();
    assert_eq!(fence(&readme(), "Commands", "text"), help);
}

#[test]
fn completions_are_scripts_for_the_three_common_shells() {
    for (shell, sign) in [
        ("bash", "-F _clap_complete_bench_user bench-user"),
        ("zsh", "#compdef bench-user"),
        ("fish", "--command bench-user"),
    ] {
        let output = bench_user(&["completions", shell]);
        assert!(output.status.success(), "{shell}");
        let script = String::from_utf8(output.stdout).unwrap();
        assert!(script.contains(sign), "{shell}: {script}");
    }
}

/// What the script for bash asks, when the third word is to be completed.
#[test]
fn a_shell_that_asks_is_told_what_there_is() {
    let tool = env!("CARGO_BIN_EXE_bench-user");
    let mut command = Command::new(tool);
    command.args(["--", "bench-user", "study", "run", "pl"]);
    command.env("COMPLETE", "bash").env("_CLAP_COMPLETE_INDEX", "3").env("_CLAP_IFS", "\n");
    let told = command.output().unwrap();
    assert_eq!(String::from_utf8(told.stdout).unwrap(), "plaintext");
}

#[test]
fn a_typo_in_a_plan_cannot_run_and_names_the_nearest_key() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("plan.toml");
    std::fs::write(&file, "name = \"x\"\n\n[laddr]\nconnections = [1]\n").unwrap();
    let file = file.to_str().unwrap();
    check(
        &["run", file],
        2,
        &format!("unknown key \"laddr\" in {file}, line 3: did you mean \"ladder\"?"),
    );
}

#[test]
fn what_contradicts_itself_cannot_run() {
    check(
        &["run", "plan.toml", "--pid", "7"],
        2,
        "--pid describes a target and so does the plan plan.toml: leave one of the two out",
    );
    check(
        &["run", "--url", "wss://127.0.0.1/"],
        2,
        "target \"127.0.0.1:443\" is at wss://127.0.0.1/, and HTTP/1.1 is spoken: set `protocol` \
         to \"websocket\"",
    );
    check(
        &["run", "--pid", "7", "--unit", "x", "--url", "http://127.0.0.1/"],
        2,
        "target \"x\" is given in 2 ways (`pid`, `unit`): keep one of them",
    );
    check(&["observe"], 2, "nothing to watch: give one of --pid, --cgroup, --container or --unit");
}

#[test]
fn an_unknown_flag_is_a_run_that_could_not_be() {
    assert_eq!(bench_user(&["run", "--conections", "1"]).status.code(), Some(2));
    assert_eq!(bench_user(&["exec"]).status.code(), Some(2));
}

#[test]
fn a_reader_that_leaves_early_is_no_failure() {
    use std::process::{Command, Stdio};
    let mut child = Command::new(assert_cmd::cargo::cargo_bin("bench-user"))
        .arg("schema")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn the_plan_of_the_readme_is_valid() {
    let plan = plan::file::parse(fence(&readme(), "The plan file", "toml"), "README.md").unwrap();
    plan::validate::plan(&plan).unwrap();
    assert_eq!((plan.targets.len(), plan.claims.len()), (2, 1));
}

#[test]
fn the_pair_of_the_readme_is_a_valid_plan() {
    let plan = plan::file::parse(fence(&readme(), "First examples", "toml"), "README.md").unwrap();
    plan::validate::plan(&plan).unwrap();
    assert_eq!((plan.targets.len(), plan.claims.len()), (2, 1));
}

#[test]
fn the_jobs_of_the_readme_are_a_valid_plan() {
    let plan = plan::file::parse(fence(&readme(), "Jobs", "toml"), "README.md").unwrap();
    plan::validate::plan(&plan).unwrap();
    assert!(plan.job.is_some() && plan.targets.iter().all(|target| target.before.is_some()));
}

#[test]
fn the_kinds_of_load_of_the_readme_are_valid_plans() {
    let readme = readme();
    let fences = section(&readme, "Kinds of load").split("```toml\n").skip(1);
    let plans: Vec<Plan> = fences
        .map(|from| from.split_once("```").expect("the end of the fence").0)
        .map(|text| plan::file::parse(text, "README.md").unwrap())
        .collect();
    for plan in &plans {
        plan::validate::plan(plan).unwrap();
    }
    let protocols: Vec<_> = plans.iter().map(|plan| plan.load.protocol).collect();
    assert_eq!(
        protocols,
        [
            Protocol::Http1,
            Protocol::Http2,
            Protocol::Grpc,
            Protocol::Sse,
            Protocol::Websocket,
            Protocol::Idle
        ]
    );
}

#[test]
fn the_readme_names_every_key_of_a_plan() {
    let readme = readme();
    let keys = section(&readme, "The plan file");
    let schema = serde_json::to_value(schemars::schema_for!(Plan)).unwrap();
    let mut named = 0;
    let definitions = schema["$defs"].as_object().unwrap().values().chain([&schema]);
    for key in definitions.filter_map(|table| table["properties"].as_object()).flat_map(Map::keys) {
        let cell = format!("| `{key}` |");
        let table = format!("[{key}]");
        assert!(keys.contains(&cell) || keys.contains(&table), "{key}");
        named += 1;
    }
    assert!(named > 40, "{named}");
}

type Map = serde_json::Map<String, Value>;

#[test]
fn the_first_run_of_the_readme_is_of_the_plan_as_it_is() {
    let readme = readme();
    let (_, from) = readme.split_once("$ sudo bench-user run\n").expect("the first run");
    let words: Vec<&str> = from.split("```").next().expect("its end").split_whitespace().collect();
    let shown = words.join(" ");
    for claim in plan::default::embedded().claims {
        let line = format!("{}: {}", claim.id, claim.says);
        assert!(shown.contains(&line), "{line}");
    }
}

#[test]
fn defaults_are_those_of_the_seed_study() {
    let plan = Plan::default();
    assert_eq!(plan.ladder.connections, [10, 20, 30, 50, 100, 200, 400, 800, 1600]);
    let texts = [plan.ladder.duration, plan.ladder.warmup].map(|span| span.to_string());
    assert_eq!(texts, ["30s", "5s"]);
    let stop = serde_json::to_value(plan.stop).unwrap();
    assert_eq!(stop, serde_json::json!({ "errors": 0, "non_2xx": 0, "p99": "1s" }));
    assert_eq!((plan.repeat, plan.discard, plan.order), (1, 0, plan::Order::Interleaved));
}
