//! Whether a figure may carry a claim: what spoils a stage, and what spoils one count.
//!
//! A stage that is not fit is not a failure of the target. Its figures stay in the record and
//! in the reports; only conclusions are refused.

use crate::plan::Protocol;
use crate::record::StageRecord;

/// Fewest connections that must be open, as a share of those asked for, %.
const LIVE_PERCENT: u64 = 95;

/// Most requests of a stage that tripped a stop rule that may have failed or not got a 2xx, %.
const BAD_PERCENT: u64 = 1;

/// Whether a claim may rest on this metric of this stage.
///
/// # Errors
/// Why not, in one sentence.
pub fn is_fit(stage: &StageRecord, metric: &str) -> Result<(), String> {
    was_loaded(stage)?;
    if !is_about_errors(metric) {
        was_served(stage)?;
    }
    if !is_of_one_request(metric) {
        generator_kept_up(stage)?;
    }
    let block = metric.split_once('.').map_or(metric, |(block, _)| block);
    let missed = match block {
        "syscalls" => stage.syscalls.value().map_or(0, |s| s.missed),
        "sched" | "threads" => stage.sched.value().map_or(0, |s| s.missed),
        _ => 0,
    };
    if missed > 0 {
        return Err(format!(
            "the kernel skipped {missed} events that `{metric}` counts, so it is a lower bound"
        ));
    }
    Ok(())
}

/// The work of one request is what it is at the load that was made, however much more the
/// target could have taken; rates, times and shares of a CPU say how much it was given.
fn is_of_one_request(metric: &str) -> bool {
    metric.ends_with("per_request")
}

fn is_about_errors(metric: &str) -> bool {
    matches!(metric, "error_ratio" | "non_2xx_ratio" | "bottleneck")
        || ["load.outcomes.", "load.account."].iter().any(|block| metric.starts_with(block))
}

/// A server that refuses is often faster than one that serves. A plan that turns the stop rule
/// off asks for such figures, and its stages trip none.
fn was_served(stage: &StageRecord) -> Result<(), String> {
    let outcomes = &stage.load.outcomes;
    let bad = outcomes.failed() + outcomes.non_2xx();
    let all = stage.load.requests + outcomes.failed();
    if stage.verdict.stopped_by.is_none() || bad * 100 <= all * BAD_PERCENT {
        return Ok(());
    }
    Err(format!("{bad} of {all} requests failed or were not answered 2xx"))
}

fn was_loaded(stage: &StageRecord) -> Result<(), String> {
    let load = &stage.load;
    match &load.events {
        // An open connection is all that there is to an idle one.
        None if load.requests == 0 && load.protocol != Protocol::Idle => {
            return Err("no request was completed".to_owned());
        }
        Some(events) if events.count == 0 => return Err("no event came".to_owned()),
        _ => {}
    }
    if connections_are_missing(stage) {
        let open = &stage.load.connections;
        let (asked, live) = (open.asked, open.live_median);
        return Err(format!("only {live} of {asked} connections were open"));
    }
    Ok(())
}

fn generator_kept_up(stage: &StageRecord) -> Result<(), String> {
    let generator = &stage.load.generator;
    if !generator.limited {
        return Ok(());
    }
    let waited = generator.runq_ratio.unwrap_or(0.0) * 100.0;
    Err(format!(
        "the load generator was the limit (its busiest worker was {:.0} % of the time on a CPU \
         and waited {waited:.0} % for one); give it more workers or CPUs",
        generator.cpu_ratio * 100.0
    ))
}

/// Whether clearly fewer connections were open than the stage asked for.
#[must_use]
pub fn connections_are_missing(stage: &StageRecord) -> bool {
    let open = &stage.load.connections;
    u64::from(open.live_median) * 100 < u64::from(open.asked) * LIVE_PERCENT
}

/// Whether counts of the stage are lower bounds, because the kernel skipped events.
#[must_use]
pub fn events_are_missing(stage: &StageRecord) -> bool {
    stage.syscalls.value().is_some_and(|s| s.missed > 0)
        || stage.sched.value().is_some_and(|s| s.missed > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyze::builder::a_stage;
    use crate::load::Events;

    fn spoiled(by: impl FnOnce(&mut StageRecord), metric: &str) -> String {
        let mut stage = a_stage(100);
        by(&mut stage);
        is_fit(&stage, metric).err().unwrap_or_default()
    }

    #[test]
    fn a_healthy_stage_carries_every_metric() {
        assert_eq!(spoiled(|_| {}, "syscalls.per_request"), "");
        assert_eq!(spoiled(|s| s.load.connections.live_median = 95, "load.achieved_rps"), "");
    }

    #[test]
    fn a_spoiled_stage_carries_none_but_the_work_of_one_request() {
        let per_request = spoiled(|s| s.load.generator.limited = true, "syscalls.per_request");
        assert_eq!(per_request, "");
        let none = spoiled(|s| s.load.requests = 0, "syscalls.per_request");
        assert!(none.contains("no request"), "{none}");
        let limited = spoiled(|s| s.load.generator.limited = true, "cgroup.cpu_ratio");
        assert!(limited.contains("generator"), "{limited}");
        assert!(spoiled(|s| s.load.requests = 0, "sched.per_sec").contains("no request"));
        let few = spoiled(|s| s.load.connections.live_median = 94, "load.achieved_rps");
        assert!(few.contains("94 of 100"), "{few}");
    }

    #[test]
    fn held_connections_are_load_without_a_complete_request() {
        let held = |events: Option<u64>, protocol: Protocol| {
            spoiled(
                |s| {
                    s.load.requests = 0;
                    s.load.protocol = protocol;
                    s.load.events = events.map(|count| Events { count, ..Events::default() });
                },
                "cgroup.cpu_ratio",
            )
        };
        assert_eq!(held(Some(1), Protocol::Sse), "");
        assert_eq!(held(Some(0), Protocol::Websocket), "no event came");
        assert_eq!(held(None, Protocol::Idle), "");
        assert_eq!(held(None, Protocol::Http1), "no request was completed");
        let few = |s: &mut StageRecord| {
            s.load.protocol = Protocol::Idle;
            s.load.connections.live_median = 0;
        };
        assert!(spoiled(few, "cgroup.cpu_ratio").contains("0 of 100"));
    }

    #[test]
    fn a_stage_that_stopped_for_its_errors_carries_claims_about_them_only() {
        let refused = |s: &mut StageRecord| {
            s.load.outcomes.ok = 0;
            s.load.outcomes.other_status.insert(404, s.load.requests);
            s.verdict.stopped_by = Some("10000 responses were not 2xx".into());
        };
        let why = spoiled(refused, "syscalls.per_request");
        assert!(why.contains("10000 of 10000 requests"), "{why}");
        assert!(spoiled(refused, "load.response_ns.p50").contains("not answered 2xx"));
        assert_eq!(spoiled(refused, "non_2xx_ratio"), "");
        let allowed = |s: &mut StageRecord| {
            refused(s);
            s.verdict.stopped_by = None;
        };
        assert_eq!(spoiled(allowed, "load.response_ns.p50"), "");
        let few = |s: &mut StageRecord| {
            s.load.outcomes.other_status.insert(503, 100);
            s.verdict.stopped_by = Some("100 responses were not 2xx".into());
        };
        assert_eq!(spoiled(few, "load.response_ns.p50"), "");
    }

    #[test]
    fn missed_events_spoil_their_own_counts_only() {
        let miss = |s: &mut StageRecord| {
            s.syscalls = s.syscalls.clone().map(|mut c| {
                c.missed = 3;
                c
            });
        };
        assert!(spoiled(miss, "syscalls.by_name.read.count").contains("lower bound"));
        assert_eq!(spoiled(miss, "sched.per_sec"), "");
        assert_eq!(spoiled(miss, "load.achieved_rps"), "");
    }
}
