//! Whether a stage is valid: the rules, all of them, and what survives each.
//!
//! An invalid stage is not a failure of the target. Its figures stay in the record and in the
//! reports, marked with the reasons; only conclusions are refused, and only those that the fault
//! touches ([`Rule::spares`]).

use crate::plan::{Plan, Protocol, ValidRules};
use crate::record::{StageRecord, TargetRecord};
use crate::units::show_ns;

/// What the rules of a run and its target ask of a stage.
#[derive(Debug, Clone, Copy)]
pub struct Judge<'r> {
    limits: &'r ValidRules,
    protocol: Protocol,
    cooldown_ns: u64,
    target: &'r TargetRecord,
    in_flight: u32,
}

/// What can make a stage invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// Nothing was completed.
    Empty,
    /// Too few connections were open, or answered.
    Live,
    /// The generator had no CPU to spare.
    Generator,
    /// The generator was late.
    Late,
    /// Less was achieved than offered.
    Achieved,
    /// Connections were opened again too often.
    Reconnects,
    /// Too many requests failed or were not answered 2xx.
    NotServed,
    /// Another process sits between client and target.
    Proxy,
    /// What the stage before left behind was still there.
    Rest,
    /// The target was gone when the stage was over.
    Gone,
    /// A service that the target needs had ended.
    Service,
    /// The job failed.
    Job,
}

/// A rule that a stage breaks, in one sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reason {
    /// Which.
    pub rule: Rule,
    /// The sentence.
    pub says: String,
}

impl Rule {
    /// Whether conclusions about this metric survive.
    #[must_use]
    pub fn spares(self, metric: &str) -> bool {
        if BESIDE_THE_LOAD.iter().any(|block| metric.starts_with(block)) {
            return true;
        }
        match self {
            // What failed or was refused is what counts of outcomes are about, and nothing else is
            // left to speak of. Opening connections is work of the target and takes its time, so
            // not even the work of one request is that of a kept connection.
            Self::Empty | Self::Live | Self::Rest | Self::Gone => is_outcome(metric),
            // A server that refuses is often faster than one that serves; its errors are its
            // errors all the same, and what limits it may well be why.
            Self::Reconnects | Self::NotServed => is_outcome(metric) || metric == BOTTLENECK,
            // The work of one request is what it is at the load that was made, however much more
            // the target could have taken; rates, times and shares of a CPU say how much it was
            // given. A byte proxy passes requests on as they are, and is outside of the cgroup.
            Self::Generator | Self::Proxy => is_of_one_request(metric),
            // What is behind the target was gone: even its errors are not its own. What a job did
            // until it failed is not the job.
            Self::Service | Self::Job => false,
            // Looking late at one wake in a hundred stretches times, and only the client's.
            Self::Late => !(metric.starts_with("load.") && metric.contains("_ns")),
            // More was asked than given: what limits a target is best asked then, what fails is
            // the target's, and one request costs what it costs. Only times and rates are of a
            // queue that grows for as long as the stage lasts.
            Self::Achieved => {
                is_of_one_request(metric) || is_outcome(metric) || metric == BOTTLENECK
            }
        }
    }
}

const BOTTLENECK: &str = "bottleneck";

/// What was measured before the first request and after the last, which no stage can spoil, and the
/// findings about a whole climb, which have left its invalid stages out themselves.
const BESIDE_THE_LOAD: [&str; 3] = ["start.", "after.", "climb."];

fn is_of_one_request(metric: &str) -> bool {
    metric.ends_with("per_request")
}

fn is_outcome(metric: &str) -> bool {
    matches!(metric, "error_ratio" | "non_2xx_ratio")
        || ["load.outcomes.", "load.account."].iter().any(|block| metric.starts_with(block))
}

impl<'r> Judge<'r> {
    /// By the plan's limits, for the stages of this target.
    #[must_use]
    pub fn of(plan: &'r Plan, target: &'r TargetRecord) -> Self {
        let load = &plan.load;
        let in_flight = match load.protocol {
            Protocol::Http1 => load.pipeline,
            Protocol::Http2 | Protocol::Grpc => load.streams,
            Protocol::Sse | Protocol::Websocket | Protocol::Idle => 1,
        };
        Self {
            limits: &plan.valid,
            protocol: load.protocol,
            cooldown_ns: u64::try_from(load.cooldown().as_nanos()).unwrap_or(u64::MAX),
            target,
            in_flight,
        }
    }

    /// Requests that a busy connection has under way: those pipelined, or its HTTP/2 streams.
    #[must_use]
    pub const fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// Every rule that a stage breaks; empty for a valid one.
    #[must_use]
    pub fn reasons(&self, stage: &StageRecord) -> Vec<Reason> {
        if let Some(job) = &stage.job {
            let failed = job.failed.as_ref().map(|how| format!("the job {how}"));
            return broken([(Rule::Job, failed), (Rule::Service, service_ended(stage))]);
        }
        let load = &stage.load;
        broken([
            (Rule::Empty, self.empty(stage)),
            (Rule::Live, self.few_live(stage).or_else(|| self.stuck(stage))),
            (Rule::Generator, load.generator_was_limit()),
            (Rule::Late, load.generator_was_late()),
            (Rule::Achieved, self.fell_short(stage)),
            (Rule::Reconnects, self.reconnected(stage)),
            (Rule::NotServed, self.not_served(stage)),
            (Rule::Proxy, self.target.proxy.clone()),
            (Rule::Rest, stage.before.as_ref().and_then(|b| b.not_at_rest(stage.connections))),
            (Rule::Gone, self.gone(stage)),
            (Rule::Service, service_ended(stage)),
        ])
    }

    /// Streams that stay open complete nothing, and idle connections ask nothing.
    fn empty(&self, stage: &StageRecord) -> Option<String> {
        let load = &stage.load;
        match (&load.events, self.protocol) {
            (_, Protocol::Idle) => None,
            (Some(events), _) => (events.count == 0).then(|| "no event came".to_owned()),
            (None, _) => (load.requests == 0).then(|| "no request was completed".to_owned()),
        }
    }

    /// Whatever stopped in the last stage stopped at an unknown time in it, also where its figures
    /// look well.
    fn gone(&self, stage: &StageRecord) -> Option<String> {
        ending(self.target)?;
        let key = |s: &StageRecord| (s.repetition, s.index, s.observed);
        let is_last = self.target.stages.last().is_some_and(|last| key(last) == key(stage));
        is_last.then(|| "the target did not answer after this stage".to_owned())
    }

    fn few_live(&self, stage: &StageRecord) -> Option<String> {
        let open = &stage.load.connections;
        let enough = self.limits.live * f64::from(open.asked);
        (f64::from(open.live_median) < enough).then(|| {
            format!(
                "{}: fewer than {} of the connections were open",
                asked_and_live(open.asked, open.live_median),
                percent(self.limits.live)
            )
        })
    }

    /// A target that stands still for good fails no request before its timeout, and its times are
    /// those of the answers before that. What a signal gives up is younger than the cool-down.
    #[expect(clippy::cast_precision_loss, reason = "counts and ns of a stage are below 2^53")]
    fn stuck(&self, stage: &StageRecord) -> Option<String> {
        let (load, account) = (&stage.load, &stage.load.account);
        let oldest_ns = account.in_flight_age_ns_max.filter(|ns| *ns >= self.cooldown_ns)?;
        let asked = load.connections.asked;
        let most = (1.0 - self.limits.live) * f64::from(asked) * f64::from(self.in_flight);
        let is_stuck = !load.is_held() && account.in_flight_at_end as f64 > most;
        is_stuck.then(|| {
            format!(
                "{} requests over {asked} connections were still without an answer after the \
                 cool-down, the oldest for {}",
                account.in_flight_at_end,
                show_ns(oldest_ns as f64)
            )
        })
    }

    fn fell_short(&self, stage: &StageRecord) -> Option<String> {
        let (well, scheduled) = stage.load.falls_short(self.limits.achieved)?;
        Some(format!(
            "{well} requests were answered well of {scheduled} that the schedule offered, less than {}",
            percent(self.limits.achieved)
        ))
    }

    fn reconnected(&self, stage: &StageRecord) -> Option<String> {
        let (again, requests) = (stage.load.outcomes.reconnects, stage.load.requests);
        self.limits.reconnects.is_passed(again, requests).then(|| {
            format!(
                "{again} connections were opened again for {requests} requests; where the server \
                 is meant to close them, set `reconnects = false` under [valid]"
            )
        })
    }

    fn not_served(&self, stage: &StageRecord) -> Option<String> {
        let (bad, all) = stage.load.bad_of_all();
        self.limits.non_2xx.is_passed(bad, all).then(|| {
            format!(
                "{bad} of {all} requests failed or were not answered 2xx; where that is what is \
                 measured, set `non_2xx = false` under [valid]"
            )
        })
    }
}

fn broken<const N: usize>(rules: [(Rule, Option<String>); N]) -> Vec<Reason> {
    let reason = |(rule, says): (Rule, Option<String>)| Some(Reason { rule, says: says? });
    rules.into_iter().filter_map(reason).collect()
}

fn service_ended(stage: &StageRecord) -> Option<String> {
    stage.services.iter().find_map(|service| {
        let exit = service.exit.as_ref()?;
        Some(format!("the service `{}` had ended by itself: {exit}", service.name))
    })
}

/// How a target was gone when its last stage was over, as the end of a sentence about it; `None`
/// for one that answered, and while that is not known.
#[must_use]
pub fn ending(target: &TargetRecord) -> Option<String> {
    let died = target.exit.as_ref().filter(|exit| !exit.by_us);
    let how = match (died, target.final_health) {
        (Some(exit), _) => format!("ended by itself: {exit}"),
        (None, Some(false)) => "did not answer after its last stage".to_owned(),
        (None, _) => return None,
    };
    let at = target.stages.last().map(|last| format!(" (at {})", last.level()));
    Some(how + &at.unwrap_or_default())
}

/// `asked 1600, median live 1541`.
#[must_use]
pub fn asked_and_live(asked: u32, live: u32) -> String {
    format!("asked {asked}, median live {live}")
}

fn percent(share: f64) -> String {
    // A share such as 0.99 is a little less in binary; three decimals of a percent are enough.
    let percent = (share * 100_000.0).round() / 1000.0;
    format!("{percent} %")
}

#[cfg(test)]
mod tests;
