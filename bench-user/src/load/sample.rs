//! What the generator says of one stage: plain data, as the record keeps it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::failure::FailureClass;
use super::outcome::Outcomes;
use crate::distribution::Distribution;
use crate::plan::Protocol;

/// The client's side of one stage.
///
/// A request belongs to the measured window when its end (last body byte, or its failure)
/// falls into it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct LoadSample {
    /// What was spoken.
    #[serde(default)]
    pub protocol: Protocol,
    /// Start of the window, ns of `CLOCK_MONOTONIC`.
    pub window_start_ns: u64,
    /// Length of the window, ns.
    pub window_ns: u64,
    /// Complete responses inside the window, whatever their status.
    pub requests: u64,
    /// Complete 2xx responses inside the window per second.
    pub achieved_rps: f64,
    /// How the requests that ended inside the window ended.
    pub outcomes: Outcomes,
    /// Requests of the whole stage: warm-up, window and cool-down.
    pub account: Account,
    /// Body bytes of the complete responses that ended inside the window, chunk framing taken off.
    pub bytes_in: u64,
    /// Request bytes (head and body) that left for the requests that ended inside the window, both
    /// sendings of a retried one.
    pub bytes_out: u64,
    /// From the time a request should have been sent to its last byte; complete responses, and
    /// timeouts at the time they took.
    pub response_ns: Distribution,
    /// From the time a request was sent to its last byte; `null` in the closed loop, where it is
    /// the response time.
    pub service_ns: Option<Distribution>,
    /// From the time a request was sent to the first byte of its final response.
    #[serde(default)]
    pub first_byte_ns: Distribution,
    /// Time to open a connection, TLS not included, whole stage.
    pub connect_ns: Distribution,
    /// Time of a TLS handshake, whole stage.
    #[serde(default)]
    pub tls_ns: Distribution,
    /// Time of a WebSocket's opening handshake (the HTTP upgrade), whole stage; no part of
    /// `connect_ns` or of a message's time.
    #[serde(default)]
    pub upgrade_ns: Distribution,
    /// Connections asked for and really open.
    pub connections: Connections,
    /// The schedule and how well it was kept; `null` in the closed loop.
    #[serde(default)]
    pub offered: Option<Offered>,
    /// What came on streams that stay open (server-sent events, WebSocket listeners); `null` where
    /// every request has one response.
    #[serde(default)]
    pub events: Option<Events>,
    /// What the generator itself used, and whether it was the limit.
    pub generator: GeneratorUse,
}

impl LoadSample {
    /// What the stage achieved per second: events where connections hold streams open, else
    /// complete 2xx responses.
    #[must_use]
    pub fn rate(&self) -> f64 {
        self.events.as_ref().map_or(self.achieved_rps, |events| events.per_sec)
    }

    /// Whether there was no load at all: the stage is a job.
    #[must_use]
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// Connections were held for their own sake: their requests, if there are any, last as long
    /// as the streams that they open.
    #[must_use]
    pub fn is_held(&self) -> bool {
        self.events.is_some() || self.protocol == Protocol::Idle
    }

    /// Good answers in the window and what the schedule offered in it, where the first is less than
    /// this share of the second; `None` where it is enough and in the closed loop. By counts,
    /// because a Poisson schedule offers in a window what it happens to offer. One request may be
    /// under way at the window's end that at its begin was not.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "counts of a stage are below 2^53")]
    pub fn falls_short(&self, least: f64) -> Option<(u64, u64)> {
        let scheduled = self.offered.as_ref()?.scheduled;
        let well = self.outcomes.ok;
        let is_short = well + 1 < scheduled && (well as f64) < least * scheduled as f64;
        is_short.then_some((well, scheduled))
    }

    /// Requests that ended in the window without a good answer, and all that ended in it.
    #[must_use]
    pub fn bad_of_all(&self) -> (u64, u64) {
        let failed = self.outcomes.failed();
        (failed + self.outcomes.non_2xx(), self.requests + failed)
    }
}

/// Every request of a stage: `carried + started = completed + failed + in_flight_at_end`, and
/// `completed = ok + http_error`. Where connections hold a stream open (server-sent events,
/// WebSocket listeners), opening a stream is the request and its end the response.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Account {
    /// Streams that an earlier stage opened and that were still open when this one began.
    #[serde(default)]
    pub carried: u64,
    /// Requests begun.
    pub started: u64,
    /// Complete responses, whatever their status.
    pub completed: u64,
    /// Complete responses that say that the request succeeded.
    #[serde(default)]
    pub ok: u64,
    /// Complete responses that say that it did not.
    #[serde(default)]
    pub http_error: u64,
    /// Failed.
    pub failed: u64,
    /// The failed ones by class.
    #[serde(default)]
    pub classes: BTreeMap<FailureClass, u64>,
    /// Sent a second time after a keep-alive close.
    #[serde(default)]
    pub retried: u64,
    /// Neither, when the cool-down ended.
    pub in_flight_at_end: u64,
    /// Age of the oldest of those, ns; `null` when there is none.
    #[serde(default)]
    pub in_flight_age_ns_max: Option<u64>,
}

/// What an open loop was to send in the window, and how well that was done:
/// `scheduled = sent + skipped + unsent`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Offered {
    /// Requests per second of the schedule.
    pub rps: f64,
    /// Requests whose intended time lies in the window.
    pub scheduled: u64,
    /// Of those, the ones that were sent.
    pub sent: u64,
    /// Of those, never sent because no connection was free (`catch_up = "skip"`).
    pub skipped: u64,
    /// Of those, still waiting for a connection when the window ended.
    pub unsent: u64,
    /// Requests that ended well in the window per second over `rps`, 0..=1 and a little more.
    pub achieved_ratio: f64,
    /// How late the generator itself took up a request that was due, whether or not a connection
    /// was free then, ns. Waiting for a free connection is in `response_ns`, not here.
    pub lateness_ns: Distribution,
}

/// What came on streams that stay open, inside the window.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Events {
    /// Events (or messages).
    pub count: u64,
    /// The same per second.
    pub per_sec: f64,
    /// Bytes of their data.
    pub bytes: u64,
    /// From the time the stream was asked for to its first event, whole stage.
    pub first_event_ns: Distribution,
    /// Between two events of one stream. Events that share a read have a gap of 0 by construction.
    pub gap_ns: Distribution,
    /// Events that came in the same read as the one before them: their gap says nothing.
    pub shared_reads: u64,
    /// Comments (pings), which are no events.
    pub comments: u64,
    /// Streams that the server ended and that were opened again.
    pub reopened: u64,
}

/// Connections of a stage.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Connections {
    /// How many the stage asked for.
    pub asked: u32,
    /// Median of those open, sampled inside the window.
    pub live_median: u32,
    /// Fewest open at a sample inside the window.
    pub live_min: u32,
}

/// The generator as part of the experiment.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct GeneratorUse {
    /// Worker threads.
    pub workers: u32,
    /// CPUs they are pinned to; empty when they are not.
    pub cpus: Vec<usize>,
    /// Busiest worker's share of the window on a CPU, 0..=1; the busiest is the one that wanted a
    /// CPU (on one or waiting for one) for the largest share.
    pub cpu_ratio: f64,
    /// That worker's share of the window waiting for a CPU, 0..=1; `null` without
    /// `/proc/thread-self/schedstat`.
    pub runq_ratio: Option<f64>,
    /// How late the workers' event loops woke from a timer of 10 ms, 99th percentile, ns; the
    /// timers' own granularity is 1 ms. `null` below 100 wakes.
    pub lag_ns_p99: Option<u64>,
    /// The generator, not the target, limited the stage: its busiest worker was on a CPU or
    /// waiting for one for at least 95 % of the window.
    pub limited: bool,
}

/// A cheap look at a running stage, for the samples inside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Progress {
    /// Complete responses so far, whole stage.
    pub completed: u64,
    /// Failed requests so far, whole stage.
    pub failed: u64,
    /// Connections open now.
    pub live: u32,
}
