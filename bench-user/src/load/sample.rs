//! What the generator says of one stage: plain data, as the record keeps it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::distribution::Distribution;

/// The client's side of one stage.
///
/// A request belongs to the measured window when its end (last body byte, or its failure)
/// falls into it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct LoadSample {
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
    /// Time to open a connection, whole stage.
    pub connect_ns: Distribution,
    /// Connections asked for and really open.
    pub connections: Connections,
    /// What the generator itself used, and whether it was the limit.
    pub generator: Generator,
}

/// How requests ended, by kind.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Outcomes {
    /// Complete responses with a 2xx status.
    pub ok: u64,
    /// Complete responses with another status, by that status.
    pub other_status: BTreeMap<u16, u64>,
    /// A connection could not be opened; each attempt is one request that failed.
    pub connect: u64,
    /// The connection was reset.
    pub reset: u64,
    /// The connection ended before the response was whole.
    pub early_close: u64,
    /// No last byte within the time allowed.
    pub timeout: u64,
    /// What came was not HTTP.
    pub protocol: u64,
    /// The request never left the client, for want of a local port, a descriptor or the like.
    pub not_sent: u64,
    /// A keep-alive connection that the server had closed between two requests; the request was
    /// sent again on a new one. Not a failure and not counted in the others.
    pub retried: u64,
    /// Connections opened again after a close.
    pub reconnects: u64,
    /// The first message of each kind that failed.
    pub examples: BTreeMap<String, String>,
}

impl Outcomes {
    /// Requests that failed, by kind in words: everything but complete responses.
    #[must_use]
    pub const fn failures(&self) -> [(&'static str, u64); 6] {
        [
            ("connect", self.connect),
            ("reset", self.reset),
            ("early close", self.early_close),
            ("timeout", self.timeout),
            ("protocol", self.protocol),
            ("not sent", self.not_sent),
        ]
    }

    /// Requests that failed.
    #[must_use]
    pub fn failed(&self) -> u64 {
        self.failures().iter().map(|(_, n)| n).sum()
    }

    /// Complete responses whose status is not 2xx.
    #[must_use]
    pub fn non_2xx(&self) -> u64 {
        self.other_status.values().sum()
    }
}

/// Every request of a stage: `started = completed + failed + in_flight_at_end`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Account {
    /// Requests begun.
    pub started: u64,
    /// Complete responses, whatever their status.
    pub completed: u64,
    /// Failed.
    pub failed: u64,
    /// Neither, when the cool-down ended.
    pub in_flight_at_end: u64,
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
pub struct Generator {
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
