//! Reports against stored text: every figure stands where it should, in both formats.
//!
//! `BLESS=1 cargo test -p bench-user --test it report::` rewrites `tests/golden` and the stored
//! runs in `tests/fixtures`; the change is then reviewed as a diff.

#![expect(clippy::unwrap_used, reason = "what cannot be had fails its test")]

use bench_user::measured::Measured;
use bench_user::record::{self, Estimate, RunRecord};
use bench_user::report::{self, Format, Side};

use super::golden::{below, check};
use super::runs;

fn written(write: impl FnOnce(&mut dyn std::io::Write) -> std::io::Result<()>) -> String {
    let mut out = Vec::new();
    write(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn check_both(name: &str, write: impl Fn(Format, &mut dyn std::io::Write) -> std::io::Result<()>) {
    check("golden", &format!("{name}.txt"), &written(|out| write(Format::Text, out)));
    check("golden", &format!("{name}.md"), &written(|out| write(Format::Markdown, out)));
}

fn text(run: &RunRecord) -> String {
    written(|out| report::render(run, Format::Text, out))
}

fn all_runs() -> [(&'static str, RunRecord); 4] {
    [
        ("two-targets", runs::two_targets()),
        ("interrupted", runs::interrupted()),
        ("unavailable", runs::unavailable()),
        ("jobs", runs::jobs()),
    ]
}

#[test]
fn a_run_is_reported_as_stored() {
    for (name, run) in all_runs() {
        check_both(name, |format, out| report::render(&run, format, out));
    }
}

#[test]
fn stored_runs_still_read_as_the_records_they_were() {
    for (name, run) in all_runs() {
        let name = format!("run-{name}.json");
        check("fixtures", &name, &(serde_json::to_string(&run).unwrap() + "\n"));
        assert_eq!(record::read(&below("fixtures", &name)).unwrap(), run, "{name}");
    }
}

#[test]
fn claims_are_reported_stage_by_stage() {
    let claims = runs::two_targets().claims;
    check_both("claims", |format, out| report::claims(&claims, format, out));
}

#[test]
fn two_targets_of_a_run_are_compared() {
    let run = repeated_five_times();
    let side = |name| Side { label: "plaintext", run: &run, target: Some(name), repetitions: None };
    check_both("compare-targets", |format, out| {
        report::compare(&side("lean"), &side("chatty"), format, 0.0, out).map(|_code| ())
    });
}

#[test]
fn two_jobs_of_a_run_are_compared() {
    let run = runs::jobs();
    let side = |name| Side { label: "transform", run: &run, target: Some(name), repetitions: None };
    check_both("compare-jobs", |format, out| {
        report::compare(&side("node"), &side("bun"), format, 0.0, out).map(|_code| ())
    });
}

/// The run as if its figures came from enough repetitions for a conclusion.
fn repeated_five_times() -> RunRecord {
    let mut run = runs::two_targets();
    let analysis = run.analysis.as_mut().unwrap();
    let levels = analysis.ladders.iter_mut().flat_map(|ladder| &mut ladder.levels);
    levels.flat_map(|level| level.metrics.values_mut()).for_each(|e| e.repetitions = 5);
    analysis.pairs.iter_mut().for_each(|pair| pair.change.repetitions = 5);
    run
}

/// The same run on another kernel and with shorter stages, 10 % slower at 20 connections.
fn other_run() -> RunRecord {
    let mut run = repeated_five_times();
    run.id = "20261201-090000-0000beef".into();
    run.host.kernel = "7.3.0".into();
    run.plan.ladder.duration = bench_user::units::Span::from_secs(2);
    let analysis = run.analysis.as_mut().unwrap();
    let lean = &mut analysis.ladders[0].levels;
    let rate = |e: &Estimate, by: f64| Estimate {
        value: e.value * by,
        low: e.low.map(|n| n * by),
        high: e.high.map(|n| n * by),
        ..*e
    };
    let slower = lean[1].metrics.get_mut("load.achieved_rps").unwrap();
    *slower = rate(slower, 0.9);
    let within = lean[0].metrics.get_mut("load.response_ns.p99").unwrap();
    *within = Estimate { within_stage: true, ..rate(within, 1.5) };
    run.targets[0].stages.retain(|s| s.connections != 50);
    run.targets.truncate(1);
    run
}

#[test]
fn two_runs_are_compared_with_their_conditions_first() {
    let (before, after) = (repeated_five_times(), other_run());
    let a = Side { label: "before", run: &before, target: None, repetitions: None };
    let b = Side { label: "after", run: &after, target: None, repetitions: None };
    check_both("compare-runs", |format, out| {
        report::compare(&a, &b, format, 0.0, out).map(|_code| ())
    });
    let text = written(|out| report::compare(&a, &b, Format::Text, 0.0, out).map(|_code| ()));
    let place = |what: &str| text.find(what).unwrap_or_else(|| panic!("no {what} in\n{text}"));
    assert!(place("kernel") < place("req/s") && place("7.3.0") < place("req/s"));
}

#[test]
fn a_run_compared_with_itself_shows_no_difference() {
    let run = runs::two_targets();
    let side = Side { label: "same", run: &run, target: Some("lean"), repetitions: None };
    let json = written(|out| report::compare(&side, &side, Format::Json, 0.0, out).map(|_code| ()));
    assert!(!json.contains("higher") && !json.contains("lower"), "{json}");
    assert!(json.contains("no-difference-shown") && json.contains("\"conditions\": []"), "{json}");
}

#[test]
fn a_count_with_missed_events_carries_no_difference() {
    let run = repeated_five_times();
    let mut missed = other_run();
    if let Measured::Value(syscalls) = &mut missed.targets[0].stages[0].syscalls {
        syscalls.missed = 3;
    }
    let level = missed.analysis.as_mut().unwrap().ladders[0].levels.first_mut().unwrap();
    level.metrics.get_mut("syscalls.per_request").unwrap().value *= 9.0;
    let side = |label, run| Side { label, run, target: Some("lean"), repetitions: None };
    let text = written(|out| {
        report::compare(&side("before", &run), &side("after", &missed), Format::Text, 0.0, out)
            .map(|_code| ())
    });
    let line = text.lines().find(|line| line.contains("syscalls/req")).unwrap();
    assert!(line.contains("+800%") && line.ends_with("no conclusion: see below"), "{text}");
    assert!(text.contains("no conclusion  syscalls.per_request: 3 events"), "{text}");
}

#[test]
fn a_target_that_is_not_there_is_said_with_those_that_are() {
    let run = runs::two_targets();
    let side = |target| Side { label: "run", run: &run, target: Some(target), repetitions: None };
    let error = report::compare(&side("lean"), &side("node"), Format::Text, 0.0, &mut Vec::new());
    let error = error.unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput);
    assert_eq!(error.to_string(), "run has no target `node`: it has lean, chatty");
}

#[test]
fn an_observed_window_is_reported_as_stored() {
    let sample = runs::everything_observed();
    check_both("sample", |format, out| report::sample(&sample, format, out));
    let nothing =
        runs::nothing_observed("the kernel has no BTF: boot one with CONFIG_DEBUG_INFO_BTF");
    check_both("sample-unavailable", |format, out| report::sample(&nothing, format, out));
}

/// The line of a level in the table of a target.
fn level<'a>(text: &'a str, target: &str, connections: u32) -> Vec<&'a str> {
    let rows = text.lines().skip_while(|line| *line != target).skip(1);
    let start = connections.to_string();
    let row = rows.map(str::trim).find(|line| line.split_whitespace().next() == Some(&start));
    row.unwrap().split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect()
}

/// Worked out by hand from the three repetitions of each level:
/// rates of 30,690, 31,000 and 31,310 have the median 31,000 and half an interval of 310, 1 %;
/// a response makes 1 read, 1 write and 0.5 waits, in every repetition alike, and 0.2 switches.
#[test]
fn the_figures_of_a_level_are_the_medians_of_its_repetitions() {
    let text = text(&runs::two_targets());
    let lean = level(&text, "lean", 20);
    let by_hand = [
        "20",
        "31.0 k ±1%",
        "620.0 µs ±1%",
        "1.50 ms ±1%",
        "2.50 ±0%",
        "0.20 ±0%",
        "60.0 µs ±1%",
        "0.98",
        "98%",
        "single-thread",
    ];
    assert_eq!(lean, by_hand);
    // 60 % of the rate, twice the latency, one read, four writes and 0.8 waits a response.
    let chatty = level(&text, "chatty", 10);
    let by_hand = ["10", "12.0 k ±1%", "800.0 µs ±1%", "1.80 ms ±1%", "5.80 ±0%"];
    assert_eq!(chatty[..5], by_hand);
}

/// Without the first repetition the median of 31,000 and 31,310 is 31,155; of none
/// there is no figure, and the report says so.
#[test]
fn discarded_repetitions_do_not_count() {
    let mut run = runs::two_targets();
    run.analysis = None;
    for (discard, rate) in [(0, "31.0 k"), (1, "31.2 k")] {
        run.plan.discard = discard;
        let text = text(&run);
        assert!(level(&text, "lean", 20)[1].starts_with(rate), "discard {discard}\n{text}");
    }
    run.plan.discard = 3;
    assert!(text(&run).contains("the record holds 10 other stages"), "{}", text(&run));
}

#[test]
fn the_answer_comes_first() {
    let text = text(&runs::two_targets());
    let head: Vec<&str> = text.lines().take(5).collect();
    assert!(head[2].ends_with("3 claims: 1 holds, 1 fails, 1 is inconclusive."), "{head:?}");
    assert!(head[4].contains("lean 31.0 k req/s at 20 connections"), "{head:?}");
}

/// 2.5 a response: reads 1, writes 1, waits 0.5; the chatty one writes four times.
#[test]
fn syscalls_stand_side_by_side_per_request() {
    let text = text(&runs::two_targets());
    let line = |name: &str| {
        let line = text.lines().find(|l| l.trim_start().starts_with(name)).unwrap();
        line.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(line("write "), ["write", "1.00", "4.00"]);
    assert_eq!(line("epoll_wait "), ["epoll_wait", "0.50", "0.50"]);
}

#[test]
fn a_poor_fit_is_not_shown() {
    let text = text(&runs::two_targets());
    assert_eq!(text.matches("Universal Scalability Law").count(), 1, "{text}");
}

#[test]
fn an_interrupted_run_is_reported_from_its_stages() {
    let text = text(&runs::interrupted());
    assert!(text.contains("INTERRUPTED: the target `lean` ended by itself."), "{text}");
    // One repetition, the first: 99 % of 31,000, without a spread.
    assert_eq!(level(&text, "lean", 20)[..2], ["20 (live 17)", "30.7 k"]);
    for said in [
        "the ladder ended at 20 connections: 512 requests failed and the rule allows 0",
        "12 connect, 500 reset, 7 status 503",
        "at 20 connections: asked 20, median live 17; the load generator was the limit;",
        "target-died (invalid)",
        "the stage is invalid, and its figures say so (at 20 connections)",
        "events were missed, counts are lower bounds (at 20 connections)",
        "OOM killer",
    ] {
        assert!(text.contains(said), "{said}\n{text}");
    }
}

#[test]
fn what_was_not_measured_is_never_a_zero_and_its_reason_stands_once() {
    let text = text(&runs::unavailable());
    let row = level(&text, "remote", 10);
    assert_eq!(row, ["10", "19.8 k", "396.0 µs", "unknown"]);
    let one_line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for reason in
        ["response p99 at 10 connections: p99 needs 100 samples", "an address alone has no cgroup"]
    {
        assert_eq!(one_line.matches(reason).count(), 1, "{reason}\n{text}");
    }
}

#[test]
fn tables_fit_a_terminal_of_120_columns() {
    for (name, run) in all_runs() {
        let text = text(&run);
        let widest = text.lines().map(|l| l.chars().count()).max().unwrap();
        assert!(widest <= 120, "{name}: {widest} columns\n{text}");
    }
}

#[test]
fn json_is_the_record_itself() {
    let run = runs::two_targets();
    let json = written(|out| report::render(&run, Format::Json, out));
    assert_eq!(serde_json::from_str::<RunRecord>(&json).unwrap(), run);
}
