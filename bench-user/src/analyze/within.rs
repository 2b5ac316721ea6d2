//! What the samples inside a stage say of its figures: a moving-block bootstrap (Künsch 1989).
//!
//! Used where fewer than three repetitions leave nothing else. Neighbouring samples resemble
//! each other, so blocks of ceil(n^(1/3)) are drawn, not single samples. Such an interval says
//! how steady the stage was. It knows nothing of the noise between two runs, which is often
//! larger, and with few blocks it is somewhat too narrow. So it alone never makes a difference
//! between targets (`estimate.rs`), and a claim about a change must clear its bound by an
//! allowance for what a second run might have shown (`claims`).

use crate::ladder::StageSample;
use crate::record::StageRecord;

use super::bootstrap::{self, RESAMPLES};

/// Fewest samples with the figure; fewer have too few blocks to draw from.
pub const SAMPLES_FROM: usize = 8;

/// The 95 % interval of a metric inside one stage, around the stage's own `value`; `None` where
/// the samples do not carry the metric or are too few.
#[must_use]
pub fn interval(stage: &StageRecord, metric: &str, value: f64) -> Option<(f64, f64)> {
    let (low, high) = bootstrap::percentiles(factors(stage, metric, 0)?)?;
    Some((value * low, value * high))
}

/// The interval of the relative change between two stages, each drawn on its own.
#[must_use]
pub fn change_interval(
    of: (&StageRecord, f64),
    against: (&StageRecord, f64),
    metric: &str,
) -> Option<(f64, f64)> {
    let ratio = bootstrap::relative(of.1, against.1)? + 1.0;
    let ours = factors(of.0, metric, 1)?;
    let theirs = factors(against.0, metric, 2)?;
    let changes = ours.iter().zip(&theirs).filter(|(_, theirs)| **theirs > 0.0);
    bootstrap::percentiles(changes.map(|(o, t)| ratio * o / t - 1.0).collect())
}

/// How the metric of a redrawn stage relates to that of the stage as it was.
fn factors(stage: &StageRecord, metric: &str, stream: u64) -> Option<Vec<f64>> {
    let parts = parts(stage, metric)?;
    let whole = quotient(parts.iter().copied())?;
    if parts.len() < SAMPLES_FROM || whole <= 0.0 {
        return None;
    }
    let block = block_length(parts.len());
    let mut random = bootstrap::seeded();
    // Two stages that are compared must not be drawn in step.
    for _ in 0..stream {
        random = random.fork();
    }
    let mut factors = Vec::with_capacity(RESAMPLES);
    for _ in 0..RESAMPLES {
        let mut drawn = Vec::with_capacity(parts.len() + block);
        while drawn.len() < parts.len() {
            let start = random.usize(..=parts.len() - block);
            drawn.extend_from_slice(&parts[start..start + block]);
        }
        drawn.truncate(parts.len());
        factors.push(quotient(drawn.into_iter())? / whole);
    }
    Some(factors)
}

/// n^(1/3), rounded up.
fn block_length(samples: usize) -> usize {
    (1..=samples).find(|l| l * l * l >= samples).unwrap_or(1)
}

fn quotient(parts: impl Iterator<Item = (f64, f64)>) -> Option<f64> {
    let (above, below) = parts.fold((0.0, 0.0), |(a, b), (x, y)| (a + x, b + y));
    (below > 0.0).then(|| above / below)
}

type Rate = fn(&StageSample) -> Option<f64>;

/// The metric as a quotient of two sums over the samples: what happened, by time or by
/// responses. `None` where samples do not carry it.
fn parts(stage: &StageRecord, metric: &str) -> Option<Vec<(f64, f64)>> {
    let requests: Rate = |s| Some(s.achieved_rps);
    let time: Rate = |_| Some(1.0);
    let (above, below): (Rate, Rate) = match metric {
        "load.achieved_rps" | "load.requests" => (requests, time),
        "syscalls.per_sec" | "syscalls.total" => (|s| s.syscalls_per_sec, time),
        "syscalls.per_request" => (|s| s.syscalls_per_sec, requests),
        "sched.per_sec" | "sched.switches" => (|s| s.switches_per_sec, time),
        "sched.per_request" => (|s| s.switches_per_sec, requests),
        "cgroup.cpu_ratio" => (|s| s.cpu_ratio, time),
        "cpu_ns_per_request" => (|s| s.cpu_ratio, requests),
        "threads.busiest.oncpu_ratio" => (|s| s.busiest_thread_ratio, time),
        _ => return None,
    };
    let mut since = 0.0;
    let mut parts = Vec::with_capacity(stage.samples.len());
    for sample in &stage.samples {
        let length = sample.t_ms - since;
        since = sample.t_ms;
        // A sample without the figure is left out, not taken as zero.
        if let (Some(above), Some(below)) = (above(sample), below(sample)) {
            parts.push((above * length, below * length));
        }
    }
    Some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyze::builder::{a_stage, samples};

    fn wavy(connections: u32) -> StageRecord {
        let mut stage = a_stage(connections);
        stage.samples = samples(|i| StageSample {
            achieved_rps: if i % 4 < 2 { 900.0 } else { 1100.0 },
            syscalls_per_sec: Some(if i % 4 < 2 { 3600.0 } else { 4400.0 }),
            ..StageSample::default()
        });
        stage
    }

    #[test]
    fn blocks_are_the_cube_root_rounded_up() {
        let lengths = [8, 9, 20, 27, 60, 64, 65].map(block_length);
        assert_eq!(lengths, [2, 3, 3, 3, 4, 4, 5]);
    }

    #[test]
    fn an_uneven_rate_has_an_interval_and_an_even_quotient_has_none_to_speak_of() {
        let stage = wavy(10);
        let (low, high) = interval(&stage, "load.achieved_rps", 1000.0).unwrap();
        assert!(low > 900.0 && low < 995.0 && high > 1005.0 && high < 1100.0, "{low} {high}");
        let (low, high) = interval(&stage, "syscalls.per_request", 4.0).unwrap();
        assert!((low - 4.0).abs() < 1e-9 && (high - 4.0).abs() < 1e-9, "{low} {high}");
    }

    #[test]
    fn too_few_samples_or_a_figure_they_lack_give_no_interval() {
        let mut stage = wavy(10);
        assert_eq!(interval(&stage, "load.response_ns.p99", 1.0), None);
        assert_eq!(interval(&stage, "sched.per_sec", 1.0), None);
        stage.samples.truncate(SAMPLES_FROM - 1);
        assert_eq!(interval(&stage, "load.achieved_rps", 1000.0), None);
    }

    #[test]
    fn two_stages_are_not_drawn_in_step() {
        let stage = wavy(10);
        let (low, high) =
            change_interval((&stage, 1000.0), (&stage, 1000.0), "load.achieved_rps").unwrap();
        assert!(low < -0.01 && high > 0.01, "{low} {high}");
    }
}
