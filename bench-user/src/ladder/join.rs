//! Puts the two sides of a stage together: what the kernel counted, per request that the client
//! saw answered.

use crate::load::{IntervalLoad, Progress};
use crate::measured::Measured;
use crate::observe::{Look, Sample};

use super::StageSample;

/// Fills every `per_request` of a kernel sample. `requests` are the complete responses between
/// the two readings themselves, so that neither a late reading nor a rate that drifts inside the
/// window distorts the quotient; what is left is the work in flight at the two edges, at most
/// one request for every connection.
#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
pub(super) fn per_request(kernel: &mut Sample, requests: u64) {
    let over = |count: u64| (requests > 0).then(|| count as f64 / requests as f64);
    if let Measured::Value(syscalls) = &mut kernel.syscalls {
        syscalls.per_request = over(syscalls.total);
        for count in syscalls.by_name.values_mut() {
            count.per_request = over(count.count);
        }
    }
    if let Measured::Value(sched) = &mut kernel.sched {
        sched.per_request = over(sched.switches_voluntary + sched.switches_involuntary);
    }
    if let Some(Measured::Value(calls)) = &mut kernel.explain.syscalls {
        for call in calls.by_name.values_mut() {
            call.per_request = over(call.count);
        }
    }
    if let Some(Measured::Value(uring)) = &mut kernel.explain.io_uring {
        for count in uring.by_opcode.values_mut().chain([&mut uring.submitted]) {
            count.per_request = over(count.count);
        }
    }
}

/// Whether these intervals, not yet all of the window, have the one that is a look's own.
pub(super) fn has_own(look: &Look, intervals: &[IntervalLoad], interval_ns: u64) -> bool {
    let apart_ns = |interval: &IntervalLoad| interval.end_ns.abs_diff(look.at_ns);
    nearest(look, intervals).is_some_and(|interval| 2 * apart_ns(interval) <= interval_ns)
}

fn nearest<'i>(look: &Look, intervals: &'i [IntervalLoad]) -> Option<&'i IntervalLoad> {
    intervals.iter().min_by_key(|interval| (interval.end_ns.abs_diff(look.at_ns), interval.end_ns))
}

/// One look inside a window, both sides. The client's percentile is of the interval of its own
/// that ends nearest to the look.
#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
pub(super) fn sample(
    window_start_ns: u64,
    look: &Look,
    (before, now): (Progress, Progress),
    intervals: &[IntervalLoad],
) -> StageSample {
    let seconds = look.interval_ns as f64 / 1e9;
    let rate = |n: u64| if seconds > 0.0 { n as f64 / seconds } else { 0.0 };
    let own = nearest(look, intervals);
    StageSample {
        t_ms: look.at_ns.saturating_sub(window_start_ns) as f64 / 1e6,
        achieved_rps: rate(now.completed - before.completed),
        response_ns_p50: own.and_then(|interval| interval.response_ns_p50),
        response_ns_p99: own.and_then(|interval| interval.response_ns_p99),
        syscalls_per_sec: look.syscalls.map(rate),
        switches_per_sec: look.switches.map(rate),
        cpu_ratio: look.cpu_ratio,
        busiest_thread_ratio: look.busiest_thread_ratio(),
        memory_bytes: look.memory_bytes,
        pids: look.pids,
        throttled_ns: look.throttled_ns,
        accept_queue: look.accept_queue,
    }
}
