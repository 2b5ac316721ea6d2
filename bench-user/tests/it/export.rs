//! Runs handed to other tools: CSV and the HdrHistogram interval log, read back and against stored
//! text.

#![expect(clippy::unwrap_used, reason = "what cannot be had fails its test")]

use std::collections::BTreeMap;
use std::io::{self, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bench_user::analyze::{catalogue, metrics};
use bench_user::distribution::Percentile;
use bench_user::measured::Measured;
use bench_user::record::{RunRecord, StageRecord};
use bench_user::report;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};

use super::golden::check;
use super::runs;

fn written(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> String {
    let mut out = Vec::new();
    write(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// The rows of a run's CSV, each by the names of its columns.
fn rows(run: &RunRecord) -> (Vec<String>, Vec<BTreeMap<String, String>>) {
    let text = written(|out| report::csv(run, out));
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let names: Vec<String> = reader.headers().unwrap().iter().map(str::to_owned).collect();
    let rows = reader.deserialize().map(Result::unwrap).collect();
    (names, rows)
}

fn stages(run: &RunRecord) -> impl Iterator<Item = &StageRecord> {
    run.targets.iter().flat_map(|target| &target.stages)
}

#[test]
fn both_are_written_as_stored() {
    check("golden", "two-targets.csv", &written(|out| report::csv(&runs::two_targets(), out)));
    check("golden", "interrupted.csv", &written(|out| report::csv(&runs::interrupted(), out)));
    let run = runs::with_histograms();
    check("golden", "with-histograms.hlog", &written(|out| report::hlog(&run, out)));
}

#[test]
fn a_row_stands_for_each_stage_and_says_what_it_is() {
    let mut run = runs::two_targets();
    run.plan.discard = 1;
    let (names, rows) = rows(&run);
    let identity = [
        "target",
        "repetition",
        "index",
        "role",
        "observed",
        "loop",
        "connections",
        "offered_rps",
        "duration_s",
        "observed_requests",
        "generator_limited",
        "bottleneck",
        "invalid",
        "stopped_by",
    ];
    assert_eq!(names[..14], identity);
    let roles = |role| rows.iter().filter(|row| row["role"] == role).count();
    assert_eq!((rows.len(), roles("discarded"), roles("counted")), (20, 6, 12));
    let control: Vec<_> = rows.iter().filter(|row| row["role"] == "control").collect();
    assert!(control.iter().all(|row| row["observed"] == "false" && row["connections"] == "50"));
    // 99 % of 20,000 a second, for 5 s.
    let first = ["lean", "19800.0", "99000", "99000", "0", "closed", ""];
    let columns = [
        "target",
        "load.achieved_rps",
        "load.requests",
        "load.outcomes.ok",
        "load.outcomes.timeout",
        "loop",
        "offered_rps",
    ];
    assert_eq!(columns.map(|name| rows[0][name].as_str()), first);
}

/// Every cell is the figure that a claim of this name would be about, and empty where that has
/// none.
#[test]
fn cells_are_the_figures_of_claims_and_empty_where_there_is_none() {
    for run in [runs::two_targets(), runs::interrupted(), runs::unavailable()] {
        let (names, rows) = rows(&run);
        for (stage, row) in stages(&run).zip(&rows) {
            for name in &names[14..] {
                let figure = metrics::value(stage, name).ok();
                let cell = Some(row[name].as_str()).filter(|cell| !cell.is_empty());
                let cell: Option<f64> = cell.map(|cell| cell.parse().unwrap());
                let is_cause = name.starts_with("observer_cost.lost.");
                assert!(cell == figure || is_cause && cell == Some(0.0), "{name}: {row:?}");
            }
        }
    }
}

#[test]
fn every_name_of_a_claim_is_a_column_of_every_file() {
    for run in [runs::interrupted(), runs::unavailable()] {
        let (names, _) = rows(&run);
        for name in catalogue::all() {
            assert!(names.contains(name), "{name}");
        }
    }
}

#[test]
fn what_happened_in_one_stage_only_is_zero_in_those_that_looked() {
    let (_, rows) = rows(&runs::interrupted());
    let status = "load.outcomes.other_status.503";
    assert_eq!([rows[0][status].as_str(), rows[1][status].as_str()], ["0", "7"]);
}

#[test]
fn unsupported_percentiles_are_empty_and_never_zero() {
    let (_, rows) = rows(&runs::unavailable());
    let cells = ["count", "p50", "p99", "p999", "p9999"]
        .map(|field| rows[0][&format!("load.response_ns.{field}")].as_str());
    assert_eq!(cells, ["64", "396000", "", "", ""]);
    assert_eq!(rows[0]["syscalls.total"], "");
}

/// The intervals of a log: tag, start and length in ns, largest value in ms, histogram.
fn intervals(log: &str) -> Vec<(String, u128, u128, f64, Histogram<u64>)> {
    let mut found = Vec::new();
    for entry in IntervalLogIterator::new(log.as_bytes()) {
        if let LogEntry::Interval(i) = entry.unwrap() {
            let bytes = STANDARD.decode(i.encoded_histogram()).unwrap();
            let histogram = Deserializer::new().deserialize(&mut bytes.as_slice()).unwrap();
            let tag = i.tag().unwrap().as_str().to_owned();
            let (start, length) = (i.start_timestamp().as_nanos(), i.duration().as_nanos());
            found.push((tag, start, length, i.max(), histogram));
        }
    }
    found
}

#[test]
fn an_interval_holds_the_histogram_of_the_record() {
    let run = runs::with_histograms();
    let log = written(|out| report::hlog(&run, out));
    let found = intervals(&log);
    let first_ns = stages(&run).map(|stage| stage.load.window_start_ns).min().unwrap();
    let mut compared = 0;
    for stage in stages(&run) {
        // The log has milliseconds.
        let start = u128::from(stage.load.window_start_ns - first_ns + 500_000) / 1_000_000;
        let mut times = vec![("response_ns", &stage.load.response_ns)];
        times.extend(stage.load.service_ns.as_ref().map(|d| ("service_ns", d)));
        times.extend(stage.sched.value().map(|sched| ("runqlat_ns", &sched.runqlat_ns)));
        for (measure, d) in times {
            let is =
                |i: &&(String, u128, _, _, _)| i.1 / 1_000_000 == start && i.0.ends_with(measure);
            let (_, _, length, max_ms, h) = found.iter().find(is).unwrap();
            assert_eq!(*length, u128::from(stage.load.window_ns));
            assert_eq!((h.len(), Some(h)), (d.count, d.histogram().as_ref()));
            let max = d.max.unwrap();
            #[expect(clippy::cast_precision_loss, reason = "small numbers")]
            let max = max as f64 / 1e6;
            assert!((max_ms - max).abs() <= max / 1000.0 + 0.000_5, "{max_ms} {max}");
            for percentile in Percentile::ALL {
                let value = d.percentile(percentile).ok();
                assert_eq!(percentile.of(h).map(|ns| ns.min(d.max.unwrap())), value);
            }
            compared += 1;
        }
    }
    assert_eq!((compared, found.len()), (8, 8), "{log}");
}

#[test]
fn tags_are_target_stage_and_measure_in_order_of_time() {
    let log = written(|out| report::hlog(&runs::with_histograms(), out));
    let found = intervals(&log);
    let tags: Vec<&str> = found.iter().map(|(tag, ..)| tag.as_str()).collect();
    let expect = [
        "lean/c10/discarded/response_ns",
        "lean/c10/discarded/runqlat_ns",
        "lean/c10/response_ns",
        "lean/c10/runqlat_ns",
        "four%20writes%2C%20open/c10@12000.5/response_ns",
        "four%20writes%2C%20open/c10@12000.5/service_ns",
        "four%20writes%2C%20open/c10@12000.5/runqlat_ns",
        "four%20writes%2C%20open/c10@12000.5/control/response_ns",
    ];
    assert_eq!(tags, expect);
    assert!(found.is_sorted_by_key(|(_, start, ..)| *start));
}

#[test]
fn a_log_without_a_histogram_of_its_samples_is_refused() {
    let mut run = runs::with_histograms();
    run.targets[0].stages[0].load.response_ns.hdr = "not base64".into();
    let error = report::hlog(&run, &mut io::sink()).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    assert_eq!(
        error.to_string(),
        "the record holds no readable histogram of `lean/c10/discarded/response_ns`"
    );
    let mut run = runs::with_histograms();
    run.started_at = "yesterday".into();
    let error = report::hlog(&run, &mut io::sink()).unwrap_err().to_string();
    assert!(error.starts_with("`started_at` of the record is no date and time: "), "{error}");
}

#[test]
fn a_run_without_a_sample_is_a_log_without_an_interval() {
    let mut run = runs::with_histograms();
    for stage in run.targets.iter_mut().flat_map(|target| &mut target.stages) {
        stage.load.response_ns = Default::default();
        stage.load.service_ns = None;
        stage.sched = Measured::unavailable("not root");
    }
    let log = written(|out| report::hlog(&run, out));
    assert!(intervals(&log).is_empty() && log.contains("\"StartTimestamp\""), "{log}");
}
