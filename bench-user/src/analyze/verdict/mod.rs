//! What limited a stage, from its figures alone.
//!
//! The answers are asked in an order in which each one explains those after it:
//!
//! 1. `target-died`: after its end every other figure describes a ruin.
//! 2. `client`: a slow generator leaves the target idle; nothing can be said of its limits.
//! 3. `memory`: OOM kills, or threads stalled for memory for a tenth of the window; time that
//!    is spent reclaiming looks like CPU use.
//! 4. `accept-queue`: connections were dropped because a queue was full, and it was the target's:
//!    its own listeners dropped some, or, where the kernel shows no drops of a listener, the load
//!    met it: less of it arrived than was sent (`accept_queue.rs`).
//! 5. `cpu-quota`, `cpu`, `single-thread`: who holds the CPU back (`cpu.rs`).
//! 6. `run-queue`: threads that want a CPU and do not get one, although neither their own quota
//!    nor their own work fills what they may use. Asked last because a throttled group and a
//!    group that fills its own CPUs wait on run queues as well (the wait itself has two causes
//!    that look the same).
//! 7. `none`: nothing of the above, and the figures needed to say so were there.
//! 8. `unknown`: they were not, or the stages around it show that it was saturated all the same
//!    (`flat.rs`), which is known when the climb is over.

mod accept_queue;
mod cpu;
mod flat;

use super::validity::Judge;
use crate::measured::Measured;
use crate::record::{Bottleneck, StageRecord, TargetRecord, Verdict};

/// Share of the window in which tasks stalled for memory that makes memory the limit.
const MEMORY_STALL: f64 = 0.10;

/// What limited a stage of a target, with the figures that decided it. The stop rule that the
/// stage carries is kept; whether it is valid is for others to say.
pub(super) fn verdict(target: &TargetRecord, stage: &StageRecord) -> Verdict {
    let answer = failed(stage)
        .or_else(|| died(target, stage))
        .or_else(|| client(stage))
        .or_else(|| memory(stage))
        .or_else(|| accept_queue::decide(stage))
        .unwrap_or_else(|| cpu::decide(stage));
    let Answer { bottleneck, evidence } = without_requests(stage, answer);
    let stopped_by = stage.verdict.stopped_by.clone();
    Verdict { bottleneck, evidence, stopped_by, invalid: Vec::new() }
}

/// The verdict of a stage that nothing seemed to limit, where the others of its climb show that it
/// was saturated; `None` where they do not.
pub(super) fn seen_in_its_climb(
    judge: Judge<'_>,
    target: &TargetRecord,
    stage: &StageRecord,
) -> Option<Verdict> {
    let verdict = &stage.verdict;
    if verdict.bottleneck != Bottleneck::None {
        return None;
    }
    let mut evidence = flat::evidence(judge, target, stage)?;
    evidence.extend(verdict.evidence.iter().filter(|said| *said != cpu::NO_LIMIT).cloned());
    Some(Verdict { bottleneck: Bottleneck::Unknown, evidence, ..verdict.clone() })
}

/// A bottleneck with its evidence.
struct Answer {
    bottleneck: Bottleneck,
    evidence: Vec<String>,
}

impl Answer {
    fn new(bottleneck: Bottleneck, evidence: impl Into<String>) -> Self {
        Self { bottleneck, evidence: vec![evidence.into()] }
    }

    fn and(mut self, more: impl IntoIterator<Item = String>) -> Self {
        self.evidence.extend(more);
        self
    }
}

/// What limited a job that did not come to its end says nothing of the job.
fn failed(stage: &StageRecord) -> Option<Answer> {
    let failed = stage.job.as_ref()?.failed.as_ref()?;
    Some(Answer::new(Bottleneck::Unknown, format!("the job {failed}")))
}

/// The target ended by itself, this was its last stage, and requests failed in it.
fn died(target: &TargetRecord, stage: &StageRecord) -> Option<Answer> {
    let exit = target.exit.as_ref().filter(|exit| !exit.by_us)?;
    let key = |s: &StageRecord| (s.repetition, s.index, s.observed);
    let place = target.stages.iter().position(|s| key(s) == key(stage));
    let went_on = place.is_some_and(|place| place + 1 < target.stages.len());
    let hurt = stage.load.account.failed > 0 || stage.load.outcomes.failed() > 0;
    let was_silent = stage.load.requests == 0 && !stage.load.is_held();
    if went_on || !(hurt || was_silent) {
        return None;
    }
    let how = match (&exit.signal, exit.code) {
        // An engine's word, which may stand for both.
        (Some(signal), Some(code)) => {
            format!("the target ended with exit code {code}, as of {signal}")
        }
        (Some(signal), None) => format!("the target was ended by {signal}"),
        (None, Some(code)) => format!("the target ended with exit code {code}"),
        (None, None) => "the target ended".to_owned(),
    };
    let oom = exit.oom_killed.value().filter(|killed| **killed);
    let oom = oom.map(|_| "the kernel's OOM killer ended a process of its cgroup".to_owned());
    Some(Answer::new(Bottleneck::TargetDied, how).and(oom))
}

fn client(stage: &StageRecord) -> Option<Answer> {
    let generator = &stage.load.generator;
    if !generator.limited {
        return None;
    }
    let busy = format!(
        "the load generator's busiest worker was on a CPU for {} of the window",
        percent(generator.cpu_ratio)
    );
    let waited = generator
        .runq_ratio
        .map(|ratio| format!("it waited for a CPU for {} of the window", percent(ratio)));
    let late = generator.lag_ns_p99.map(|ns| {
        #[expect(clippy::cast_precision_loss, reason = "for people")]
        let lag = crate::units::show_ns(ns as f64);
        format!("its event loop woke up to {lag} late (99th percentile)")
    });
    Some(Answer::new(Bottleneck::Client, busy).and(waited).and(late))
}

/// A server that answered nothing and reached no limit that we see was limited by something.
fn without_requests(stage: &StageRecord, answer: Answer) -> Answer {
    if stage.job.is_some()
        || stage.load.requests > 0
        || stage.load.is_held()
        || answer.bottleneck != Bottleneck::None
    {
        return answer;
    }
    Answer::new(Bottleneck::Unknown, "no request was completed in the window").and(answer.evidence)
}

fn memory(stage: &StageRecord) -> Option<Answer> {
    let cgroup = &stage.cgroup;
    let kills = cgroup.oom_kills.value().copied().unwrap_or(0);
    let (kind, stalled) = ["memory.full", "memory.some"]
        .into_iter()
        .filter_map(|kind| Some((kind, share(stage, cgroup.psi.get(kind)?)?)))
        .max_by(|a, b| a.1.total_cmp(&b.1))
        .unwrap_or(("memory.some", 0.0));
    let evidence = if kills > 0 {
        format!("the OOM killer struck {kills} times in its cgroup")
    } else if stalled >= MEMORY_STALL {
        format!("its tasks stalled for memory ({kind}) for {} of the window", percent(stalled))
    } else {
        return None;
    };
    let used = cgroup.memory_current_bytes.value().zip(cgroup.memory_limit_bytes.value());
    let used = used.map(|(used, limit)| format!("it used {used} of {limit} bytes allowed"));
    Some(Answer::new(Bottleneck::Memory, evidence).and(used))
}

/// A measured time as a share of the window.
fn share(stage: &StageRecord, ns: &Measured<u64>) -> Option<f64> {
    #[expect(clippy::cast_precision_loss, reason = "times of a window are below 2^53 ns")]
    let ns = *ns.value()? as f64;
    (stage.duration_s > 0.0).then(|| ns / (stage.duration_s * 1e9))
}

fn percent(ratio: f64) -> String {
    format!("{:.0} %", ratio * 100.0)
}

#[cfg(test)]
mod tests;
