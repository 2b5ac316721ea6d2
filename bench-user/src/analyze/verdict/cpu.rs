//! Who holds the CPU back: the quota, the CPUs themselves, one thread, or others.
//!
//! One busy thread, several threads that share one allowed CPU, and a quota of one CPU all use
//! 1.0 CPUs; they are told apart by looking at the threads, the allowed CPUs and the throttling
//! together:
//!
//! ```text
//!                     busiest thread   CPUs used       throttled periods
//!   single-thread     >= 95 %          less than may   any: a quota can give it 5 % more at most
//!   cpu               any              95 % of allowed few
//!   cpu-quota         < 95 %           up to the limit many
//! ```
//!
//! A single thread on the only CPU that it may use is `single-thread`: a second CPU would not
//! help it.

use crate::observe::Thread;
use crate::record::{Bottleneck, StageRecord};

use super::{Answer, percent, share};

/// Share of the window, or of the CPUs allowed, that counts as all of it.
const BUSY: f64 = 0.95;

/// Share of enforcement periods with throttling that makes the quota the limit.
const THROTTLED_PERIODS: f64 = 0.10;

/// Least share of all runnable time spent waiting, to call it waiting for others' CPUs.
const WAITING: f64 = 0.20;

/// Least number of threads waiting at any time, on average; below it, waits are the short ones
/// of every wake-up.
const WAITERS: f64 = 0.25;

/// The evidence of a stage that nothing limited.
pub(super) const NO_LIMIT: &str = "no limit was reached";

/// What the CPU figures say.
pub(super) fn decide(stage: &StageRecord) -> Answer {
    let seen = Seen::of(stage);
    let answer = seen.quota().or_else(|| seen.cpus()).or_else(|| seen.thread());
    let answer = answer.or_else(|| seen.run_queue()).unwrap_or_else(|| seen.neither());
    answer.and(seen.figures()).and(seen.gaps())
}

struct Seen<'s> {
    stage: &'s StageRecord,
    /// CPUs used over the window.
    used: Option<f64>,
    /// CPUs that its threads may run on.
    allowed: Option<f64>,
    /// CPUs that its quota gives.
    limit: Option<f64>,
    busiest: Option<&'s Thread>,
    /// Threads on a CPU for all of the window.
    busy_threads: usize,
}

impl<'s> Seen<'s> {
    fn of(stage: &'s StageRecord) -> Self {
        let threads = stage.threads.value().map_or(&[][..], Vec::as_slice);
        Self {
            stage,
            used: stage.cgroup.cpu_ratio.value().copied(),
            allowed: stage.cgroup.cpus_allowed.value().copied().map(f64::from),
            limit: stage.cgroup.cpu_limit.value().copied(),
            busiest: threads.iter().max_by_key(|thread| thread.oncpu_ns),
            busy_threads: threads.iter().filter(|t| t.oncpu_ratio >= BUSY).count(),
        }
    }

    /// Share of the periods in which the quota held it back, where periods are counted.
    fn throttled(&self) -> Option<(u64, u64, f64)> {
        let held = *self.stage.cgroup.nr_throttled.value()?;
        let periods = *self.stage.cgroup.nr_periods.value()?;
        #[expect(clippy::cast_precision_loss, reason = "periods of 100 ms are few")]
        (periods > 0).then(|| (held, periods, held as f64 / periods as f64))
    }

    fn one_busy_thread(&self) -> bool {
        self.busy_threads == 1
    }

    fn quota(&self) -> Option<Answer> {
        if self.one_busy_thread() {
            return None;
        }
        if let Some((held, periods, ratio)) = self.throttled()
            && ratio >= THROTTLED_PERIODS
        {
            let evidence = format!("its CPU quota held it back in {held} of {periods} periods");
            return Some(Answer::new(Bottleneck::CpuQuota, evidence));
        }
        let (used, limit) = (self.used?, self.limit?);
        let below_cpus = self.allowed.is_none_or(|allowed| limit < allowed);
        (below_cpus && used >= BUSY * limit).then(|| {
            let evidence = format!("it used {used:.2} of the {limit:.2} CPUs of its quota");
            Answer::new(Bottleneck::CpuQuota, evidence)
        })
    }

    fn cpus(&self) -> Option<Answer> {
        let (used, allowed) = (self.used?, self.allowed?);
        // On one allowed CPU the group is as busy as its only busy thread; that one decides.
        if used < BUSY * allowed || self.one_busy_thread() && allowed <= 1.0 {
            return None;
        }
        let evidence = format!("it used {used:.2} of the {allowed:.0} CPUs that it may run on");
        Some(Answer::new(Bottleneck::Cpu, evidence))
    }

    fn thread(&self) -> Option<Answer> {
        let busiest = self.busiest.filter(|thread| thread.oncpu_ratio >= BUSY)?;
        let share = percent(busiest.oncpu_ratio);
        let evidence = format!(
            "thread {} ({}) was on a CPU for {share} of the window",
            busiest.tid, busiest.comm
        );
        let others = (self.busy_threads > 1)
            .then(|| format!("{} threads were, each a limit of its own", self.busy_threads));
        Some(Answer::new(Bottleneck::SingleThread, evidence).and(others))
    }

    fn run_queue(&self) -> Option<Answer> {
        if let Some(thread) = self.busiest
            && thread.oncpu_ratio + thread.runq_ratio >= BUSY
        {
            let evidence = format!(
                "thread {} ({}) was never idle, but on a CPU only for {} of the window: for {} it \
                 waited for one that others held",
                thread.tid,
                thread.comm,
                percent(thread.oncpu_ratio),
                percent(thread.runq_ratio)
            );
            return Some(Answer::new(Bottleneck::RunQueue, evidence));
        }
        let waiting = self.waiters()?;
        let running = self.used?;
        (waiting >= WAITERS && waiting >= WAITING * (waiting + running)).then(|| {
            let evidence = format!(
                "on average {waiting:.2} of its threads waited for a CPU that others held, while \
                 {running:.2} ran"
            );
            Answer::new(Bottleneck::RunQueue, evidence)
        })
    }

    /// Threads waiting for a CPU, on average over the window.
    fn waiters(&self) -> Option<f64> {
        let sched = self.stage.sched.value()?;
        share(self.stage, &crate::measured::Measured::Value(sched.runqlat_sum_ns))
    }

    fn neither(&self) -> Answer {
        if self.used.is_none() || self.busiest.is_none() || self.stage.sched.value().is_none() {
            let evidence = "the figures that would tell were not measured";
            return Answer::new(Bottleneck::Unknown, evidence);
        }
        Answer::new(Bottleneck::None, NO_LIMIT)
    }

    /// The figures behind the answer, whichever it was.
    fn figures(&self) -> Vec<String> {
        let mut figures = Vec::from_iter(self.waits());
        if let Some(used) = self.used {
            let allowed = self.allowed.map(|n| format!(" of {n:.0} allowed")).unwrap_or_default();
            let limit = self.limit.map(|n| format!(", quota {n:.2}")).unwrap_or_default();
            figures.push(format!("CPUs used: {used:.2}{allowed}{limit}"));
        }
        if let Some(t) = self.busiest {
            let (on, waited) = (percent(t.oncpu_ratio), percent(t.runq_ratio));
            figures.push(format!("busiest thread: {on} on a CPU, {waited} waiting for one"));
        }
        if let Some((held, periods, _)) = self.throttled() {
            figures.push(format!("throttled: {held} of {periods} periods"));
        }
        figures
    }

    /// Who held the CPU while its threads waited, where that was asked for.
    fn waits(&self) -> Option<String> {
        let block = self.stage.explain.run_queue.as_ref()?.value()?;
        if block.waited_ns == 0 {
            return None;
        }
        let of_group = |group: &crate::observe::HolderGroup| format!(" (most: {})", group.cgroup);
        let most = block.by_cgroup.first().map(of_group).unwrap_or_default();
        Some(format!(
            "its threads' waits for a CPU: {} behind others{most}, {} behind its own threads, {} for \
             its quota",
            percent(block.others.ratio),
            percent(block.own_threads.ratio),
            percent(block.quota.ratio)
        ))
    }

    /// What could not be looked at.
    fn gaps(&self) -> Vec<String> {
        let cgroup = &self.stage.cgroup;
        [
            ("CPU use", cgroup.cpu_ratio.why()),
            ("allowed CPUs", cgroup.cpus_allowed.why()),
            ("threads", self.stage.threads.why()),
            ("run-queue waits", self.stage.sched.why()),
            ("accept queues", self.stage.net.why()),
        ]
        .into_iter()
        .filter_map(|(what, why)| Some(format!("{what} not measured: {}", why?)))
        .collect()
    }
}
