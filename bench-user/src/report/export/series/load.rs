//! What the client saw of a stage, as series.

use super::names::{count, gauge, m};
use super::{Kind, Metric, Number, Series, Unit, seconds};
use crate::load::LoadSample;
use crate::record::{JobRun, StageRecord};
use crate::report::figures::word;

const STAGE: Metric =
    m("bench.stage", Unit::None, Kind::Info, "The stage that the series of the target are of");
const INVALID: Metric = gauge(
    "bench.stage.invalid",
    Unit::None,
    "For how many reasons no conclusion may rest on the stage; 0: it is valid",
);
const ACHIEVED: Metric =
    gauge("bench.load.achieved.rps", Unit::None, "Complete 2xx responses per second");
const OFFERED: Metric =
    gauge("bench.load.offered.rps", Unit::None, "Requests per second that the schedule wanted");
const CONNECTIONS: Metric =
    gauge("bench.load.connections", Unit::None, "Connections of the load, asked for and open");
const OUTCOMES: Metric = count("bench.load.requests", "Requests that ended, by how they ended");
const RESPONSE: Metric = m(
    "bench.load.response",
    Unit::Seconds,
    Kind::Histogram,
    "Response times, from when a request was due to its last byte",
);
const SERVICE: Metric = m(
    "bench.load.service",
    Unit::Seconds,
    Kind::Histogram,
    "Service times, from when a request was sent to its last byte",
);
const PER_REQUEST_SYSCALLS: Metric =
    gauge("bench.syscalls.per.request", Unit::None, "Syscalls per complete response");
const PER_REQUEST_SWITCHES: Metric =
    gauge("bench.context.switches.per.request", Unit::None, "Switches per complete response");
const BYTES: Metric = m(
    "bench.load",
    Unit::Bytes,
    Kind::Counter,
    "Bytes of response bodies (in) and of whole requests (out)",
);
const EVENTS: Metric = count("bench.load.events", "Events on streams that stay open");
const JOB: Metric = gauge("bench.job.wall", Unit::Seconds, "How long the program ran");
const WORK: Metric = gauge("bench.job.work", Unit::None, "The plan's `work` of one run");

/// Adds what the stage is and what was seen of it.
pub(super) fn add(series: &mut Series, run: &str, plan: &str, stage: &StageRecord) {
    let number = |n: u32| n.to_string();
    let (index, repetition) = (number(stage.index), number(stage.repetition));
    let (kind, bottleneck) = (word(stage.kind), word(stage.verdict.bottleneck));
    let labels = [
        ("plan", plan),
        ("run", run),
        ("repetition", &repetition),
        ("index", &index),
        ("loop", &kind),
        ("bottleneck", &bottleneck),
    ];
    series.add(STAGE, &labels, Number::Whole(1));
    series.add(INVALID, &[], Number::Whole(stage.verdict.invalid.len() as u64));
    match &stage.job {
        Some(job) => of_job(series, job),
        None => of_load(series, stage),
    }
}

fn of_job(series: &mut Series, job: &JobRun) {
    series.add(JOB, &[], seconds(job.wall_ns));
    if let Some(work) = job.work {
        series.add(WORK, &[], Number::Real(work));
    }
}

fn of_load(series: &mut Series, stage: &StageRecord) {
    let load = &stage.load;
    series.add(ACHIEVED, &[], Number::Real(load.achieved_rps));
    if let Some(rps) = stage.offered_rps {
        series.add(OFFERED, &[], Number::Real(rps));
    }
    series.add(CONNECTIONS, &[("state", "asked")], Number::Whole(stage.connections.into()));
    let live = Number::Whole(load.connections.live_median.into());
    series.add(CONNECTIONS, &[("state", "open")], live);
    outcomes(series, load);
    series.add(BYTES, &[("direction", "in")], Number::Whole(load.bytes_in));
    series.add(BYTES, &[("direction", "out")], Number::Whole(load.bytes_out));
    if let Some(events) = &load.events {
        series.add(EVENTS, &[], Number::Whole(events.count));
    } else {
        series.histogram(RESPONSE, &[], &load.response_ns);
    }
    if let Some(service) = &load.service_ns {
        series.histogram(SERVICE, &[], service);
    }
    let syscalls = stage.syscalls.value().and_then(|block| block.per_request);
    let switches = stage.sched.value().and_then(|block| block.per_request);
    for (is, per_request) in [(PER_REQUEST_SYSCALLS, syscalls), (PER_REQUEST_SWITCHES, switches)] {
        if let Some(value) = per_request {
            series.add(is, &[], Number::Real(value));
        }
    }
}

fn outcomes(series: &mut Series, load: &LoadSample) {
    let outcomes = &load.outcomes;
    let mut one = |outcome: &str, n: u64| {
        series.add(OUTCOMES, &[("outcome", outcome)], Number::Whole(n));
    };
    one("ok", outcomes.ok);
    for (status, n) in &outcomes.other_status {
        one(&format!("status_{status}"), *n);
    }
    for (status, n) in &outcomes.grpc_status {
        one(&format!("grpc_status_{status}"), *n);
    }
    for (kind, n) in outcomes.kinds() {
        one(&kind.replace(' ', "_"), n);
    }
}
