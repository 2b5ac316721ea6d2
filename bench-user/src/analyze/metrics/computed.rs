//! Figures that the record does not hold as such: quotients, sums and the busiest of several.

use super::job;
use crate::ladder::StageSample;
use crate::measured::Measured;
use crate::observe::{ENDED_KEPT, Syscalls, Thread};
use crate::record::StageRecord;

/// The calls that ask for what a file is, in all their generations.
const STAT_FAMILY: [&str; 5] = ["stat", "lstat", "fstat", "newfstatat", "statx"];

/// Fewest samples of the memory that make a slope.
const SLOPE_FROM: usize = 4;

/// The figure of a name; `None` for names that are not one of these.
#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
pub(super) fn figure(stage: &StageRecord, name: &str) -> Option<Result<f64, String>> {
    let requests = stage.load.requests as f64;
    // What the kernel counted was counted between its own two readings. Records of before this
    // figure was kept have none.
    let observed = match stage.observed_requests {
        0 => requests,
        n => n as f64,
    };
    let failed = stage.load.outcomes.failed() as f64;
    let none = "no request was completed in this stage";
    let per_request = |n: f64| ratio(n, requests, none);
    let per_observed = |n: f64| ratio(n, observed, none);
    let sched =
        |f: fn(&crate::observe::Sched) -> u64| measured(&stage.sched).map(|sched| f(sched) as f64);
    let busiest = || {
        let threads = measured(&stage.threads)?;
        let most = threads.iter().max_by_key(|thread| thread.oncpu_ns);
        most.ok_or_else(|| "no thread was seen in this stage".to_owned())
    };
    Some(match name {
        "threads.busiest.oncpu_ratio" => busiest().map(|thread| thread.oncpu_ratio),
        "threads.busiest.runq_ratio" => busiest().map(|thread| thread.runq_ratio),
        "threads.count" => measured(&stage.threads).and_then(|threads| counted(threads)),
        "sched.switches" => sched(|s| s.switches_voluntary + s.switches_involuntary),
        "sched.voluntary_per_request" => sched(|s| s.switches_voluntary).and_then(per_observed),
        "sched.involuntary_per_request" => sched(|s| s.switches_involuntary).and_then(per_observed),
        "cpu_ns_per_request" => measured(&stage.cgroup.cpu_ratio)
            .and_then(|cpus| per_request(cpus * stage.duration_s * 1e9)),
        "memory_bytes_per_connection" => memory_growth(stage).and_then(|bytes| {
            let live = f64::from(stage.load.connections.live_median);
            ratio(bytes, live, "no connection was open in this stage")
        }),
        "memory_growth_bytes_per_sec" => memory_slope(&stage.samples),
        "syscalls.stat_family" => measured(&stage.syscalls).map(stat_family),
        "job.cpu_ns" => job::cpu_ns(stage),
        "job.work_per_sec" => job::work_per_sec(stage),
        "error_ratio" => ratio(failed, failed + requests, "no request ended in this stage"),
        "non_2xx_ratio" => per_request(stage.load.outcomes.non_2xx() as f64),
        _ => return None,
    })
}

/// What the cgroup used more at the end of the window than before the climb's first connection,
/// bytes; less than 0 where it gave memory back.
#[expect(clippy::cast_precision_loss, reason = "memory stays far below 2^53 bytes")]
fn memory_growth(stage: &StageRecord) -> Result<f64, String> {
    let before = measured(&stage.cgroup.memory_before_bytes)?;
    let now = measured(&stage.cgroup.memory_current_bytes)?;
    Ok(*now as f64 - *before as f64)
}

/// Slope of the line through the memory samples of a stage that is nearest by least squares,
/// bytes per second; less than 0 where memory was given back.
#[expect(clippy::cast_precision_loss, reason = "memory stays far below 2^53 bytes")]
fn memory_slope(samples: &[StageSample]) -> Result<f64, String> {
    let point = |s: &StageSample| Some((s.t_ms / 1000.0, s.memory_bytes? as f64));
    let points: Vec<(f64, f64)> = samples.iter().filter_map(point).collect();
    if points.len() < SLOPE_FROM {
        let n = points.len();
        return Err(format!("a slope takes {SLOPE_FROM} samples of the memory, and there are {n}"));
    }
    let n = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / n;
    let (t, bytes) = (mean(|p| p.0), mean(|p| p.1));
    let both: f64 = points.iter().map(|p| (p.0 - t) * (p.1 - bytes)).sum();
    ratio(both, points.iter().map(|p| (p.0 - t).powi(2)).sum(), "its samples are of one instant")
}

#[expect(clippy::cast_precision_loss, reason = "a list of threads is short")]
fn counted(threads: &[Thread]) -> Result<f64, String> {
    let ended = threads.iter().filter(|thread| thread.exited).count();
    if ended < ENDED_KEPT {
        return Ok(threads.len() as f64);
    }
    Err(format!("not measured: of the threads that ended in it only {ENDED_KEPT} were kept"))
}

pub(super) fn measured<T>(block: &Measured<T>) -> Result<&T, String> {
    block.as_result().map_err(|why| format!("not measured: {why}"))
}

fn ratio(part: f64, whole: f64, none: &str) -> Result<f64, String> {
    if whole > 0.0 { Ok(part / whole) } else { Err(none.to_owned()) }
}

/// Calls of the family together.
#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
fn stat_family(syscalls: &Syscalls) -> f64 {
    let counts = STAT_FAMILY.iter().filter_map(|name| syscalls.by_name.get(*name));
    counts.map(|count| count.count).sum::<u64>() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyze::builder::a_stage;
    use crate::analyze::metrics::value;
    use crate::observe::Count;

    #[test]
    fn memory_that_grows_by_a_megabyte_a_second_has_that_slope() {
        let mut stage = a_stage(10);
        // What swings about the line has no slope of its own.
        let swing = [1000, 0, 0, 1000, 1000, 0, 0, 1000];
        let sample = |(i, swing): (u32, u64)| StageSample {
            t_ms: f64::from(i) * 500.0,
            memory_bytes: Some(8_000_000 + u64::from(i) * 500_000 + swing),
            ..StageSample::default()
        };
        stage.samples = (0..).zip(swing).map(sample).collect();
        assert_eq!(value(&stage, "memory_growth_bytes_per_sec"), Ok(1e6));
        stage.samples.truncate(3);
        let why = value(&stage, "memory_growth_bytes_per_sec").unwrap_err();
        assert!(why.contains("takes 4 samples of the memory, and there are 3"), "{why}");
    }

    #[test]
    fn the_stat_family_is_the_sum_of_its_calls_and_of_no_other() {
        let mut stage = a_stage(10);
        assert_eq!(value(&stage, "syscalls.stat_family"), Ok(0.0));
        stage.syscalls = stage.syscalls.map(|mut block| {
            for (n, name) in (0..).zip(["stat", "lstat", "fstat", "newfstatat", "statx", "statfs"])
            {
                block.by_name.insert(name.into(), Count::over(1 << n, 1));
            }
            block
        });
        assert_eq!(value(&stage, "syscalls.stat_family"), Ok(31.0));
        stage.syscalls = Measured::unavailable("no right");
        let why = value(&stage, "syscalls.stat_family").unwrap_err();
        assert!(why.contains("no right"), "{why}");
    }
}
