//! A server that is saturated by nothing that is looked at: more connections get no more answers out
//! of it, and its threads wait, but not for a CPU. Threads that wait for each other's lock, a pool of
//! connections to a database or a timer look alike from here.
//!
//! One stage cannot show it: a server with little to do looks the same. So the stages of its climb
//! are asked, from its knee on: the first whose rate is within 5 % of the highest. Where the climb
//! goes on from there to at least a quarter more connections, the rate did not rise with them, and
//! "not saturated" would be wrong; unless a stage from there on has a limit that is known, which
//! the others come close to. Closed loop only, where connections are what asks for more.

use crate::analyze::saturation::KNEE;
use crate::analyze::validity::Judge;
use crate::record::{Bottleneck, Loop, StageRecord, TargetRecord};
use crate::units::{show_count, show_ns};

use super::percent;

/// So many times the connections at the knee must be reached: a rate that rises with them is
/// then 20 % below, four times the 5 %.
const WIDER: f64 = 1.25;

/// The evidence that a stage was saturated although nothing shows by what; `None` where its climb
/// does not say so.
pub(super) fn evidence(
    judge: Judge<'_>,
    target: &TargetRecord,
    stage: &StageRecord,
) -> Option<Vec<String>> {
    let is_asked = |s: &&StageRecord| {
        s.repetition == stage.repetition
            && s.observed == stage.observed
            && s.kind == Loop::Closed
            && !s.load.is_held()
            && judge.is_fit(s, "load.achieved_rps").is_ok()
    };
    if stage.kind != Loop::Closed || stage.load.is_held() {
        return None;
    }
    let mut climb: Vec<&StageRecord> = target.stages.iter().filter(is_asked).collect();
    climb.sort_by_key(|s| s.connections);
    let highest = climb.iter().map(|s| s.load.achieved_rps).max_by(f64::total_cmp)?;
    let knee = climb.iter().find(|s| s.load.achieved_rps >= KNEE * highest)?;
    // Where a stage past the knee names a limit, that is what the others come close to.
    let is_named = |s: &&&StageRecord| {
        let limit = s.verdict.bottleneck;
        s.connections >= knee.connections
            && !matches!(limit, Bottleneck::None | Bottleneck::Unknown)
    };
    if climb.iter().any(|s| is_named(&s)) {
        return None;
    }
    let last = climb.last()?;
    let is_flat = f64::from(last.connections) >= WIDER * f64::from(knee.connections);
    (is_flat && stage.connections >= knee.connections).then(|| {
        let says = format!(
            "saturated by something that is not looked at, such as a lock, a pool or another \
             service: from {} to {} connections the rate went from {} to {} req/s{}",
            knee.connections,
            last.connections,
            show_count(knee.load.achieved_rps),
            show_count(last.load.achieved_rps),
            times(knee, last).unwrap_or_default()
        );
        std::iter::once(says).chain(blocked(stage)).collect()
    })
}

fn times(knee: &StageRecord, last: &StageRecord) -> Option<String> {
    let (from, to) = (knee.load.response_ns.mean?, last.load.response_ns.mean?);
    Some(format!(", the mean response time from {} to {}", show_ns(from), show_ns(to)))
}

/// How much of their time its threads were blocked, and in what where that was asked for.
fn blocked(stage: &StageRecord) -> Option<String> {
    if let Some(off_cpu) = stage.explain.off_cpu.as_ref().and_then(|block| block.value()) {
        let most = off_cpu.by_reason.iter().max_by_key(|(_, blocked)| blocked.ns);
        let most = most.map_or(String::new(), |(reason, blocked)| {
            format!(", in {reason} for {}", percent(blocked.ratio))
        });
        return Some(format!(
            "its threads were blocked for {} of their time{most}",
            percent(off_cpu.split.blocked.ratio)
        ));
    }
    let (mut blocked, mut all) = (0.0, 0.0);
    for thread in stage.threads.value()? {
        let share = *thread.blocked_ratio.value()?;
        blocked += share;
        all += share + thread.oncpu_ratio + thread.runq_ratio;
    }
    (all > 0.0).then(|| {
        format!(
            "its threads were blocked for {} of their time (`--explain=off-cpu` says in what)",
            percent(blocked / all)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyze::builder::{a_run, a_stage};
    use crate::analyze::settle_verdicts;
    use crate::measured::Measured;
    use crate::observe::{OffCpu, Share};
    use crate::record::{Bottleneck, RunRecord};

    /// A climb of healthy stages with these rates, judged.
    fn judged(ladder: &[(u32, f64)], change: impl Fn(&mut StageRecord)) -> RunRecord {
        let stage = |(i, &(connections, rps)): (u32, &(u32, f64))| {
            let mut stage = a_stage(connections);
            stage.index = i;
            stage.load.achieved_rps = rps;
            change(&mut stage);
            stage
        };
        let climb = |_| (0..).zip(ladder).map(stage).collect();
        let mut run = a_run().target("a").repetitions(1, climb).done();
        settle_verdicts(&mut run);
        run
    }

    fn limits(run: &RunRecord) -> Vec<Bottleneck> {
        run.targets[0].stages.iter().map(|stage| stage.verdict.bottleneck).collect()
    }

    const FLATTENS: [(u32, f64); 4] = [(1, 400.0), (4, 1000.0), (16, 1010.0), (64, 990.0)];

    #[test]
    fn a_rate_that_no_longer_rises_is_not_limited_by_none() {
        use Bottleneck::{None, Unknown};
        let run = judged(&FLATTENS, |_| {});
        assert_eq!(limits(&run), [None, Unknown, Unknown, Unknown]);
        let evidence = &run.targets[0].stages[2].verdict.evidence;
        let said = "from 4 to 64 connections the rate went from 1,000 to 990 req/s, the mean \
                    response time from 4.00 ms to 64.00 ms";
        assert!(evidence[0].contains(said), "{evidence:?}");
        assert!(evidence.iter().all(|e| !e.contains("no limit")), "{evidence:?}");
        assert!(evidence.iter().any(|e| e.starts_with("CPUs used: 0.60")), "{evidence:?}");
    }

    #[test]
    fn a_rate_that_rises_or_that_nobody_tried_to_raise_is_not_flat() {
        let rises = judged(&[(1, 400.0), (4, 1000.0), (16, 1900.0)], |_| {});
        assert_eq!(limits(&rises), [Bottleneck::None; 3]);
        let near = judged(&[(100, 1000.0), (110, 1000.0)], |_| {});
        assert_eq!(limits(&near), [Bottleneck::None; 2]);
        let open = judged(&FLATTENS, |stage| stage.kind = Loop::Open);
        assert_eq!(limits(&open), [Bottleneck::None; 4]);
    }

    #[test]
    fn a_limit_that_is_known_stays_and_invalid_rates_say_nothing() {
        let quota = judged(&FLATTENS, |stage| {
            stage.cgroup.cpu_limit = Measured::Value(0.6);
        });
        assert_eq!(limits(&quota), [Bottleneck::CpuQuota; 4]);
        let refused = judged(&FLATTENS, |stage| {
            if stage.connections > 4 {
                stage.load.connections.live_median = 1;
            }
        });
        assert_eq!(limits(&refused), [Bottleneck::None; 4]);
    }

    #[test]
    fn the_limit_of_a_later_stage_is_what_the_others_come_close_to() {
        let run = judged(&FLATTENS, |stage| {
            if stage.connections == 64 {
                stage.cgroup.cpu_limit = Measured::Value(0.6);
            }
        });
        use Bottleneck::{CpuQuota, None};
        assert_eq!(limits(&run), [None, None, None, CpuQuota]);
    }

    #[test]
    fn what_its_threads_were_blocked_in_is_told_where_it_was_asked_for() {
        let run = judged(&FLATTENS, |stage| {
            let mut off_cpu = OffCpu::default();
            off_cpu.split.blocked = Share::of(930, 1000);
            off_cpu.by_reason.entry("futex".into()).or_default().ratio = 0.88;
            stage.explain.off_cpu = Some(Measured::Value(off_cpu));
        });
        let evidence = &run.targets[0].stages[3].verdict.evidence;
        let said = "its threads were blocked for 93 % of their time, in futex for 88 %";
        assert_eq!(evidence[1], said);
    }
}
