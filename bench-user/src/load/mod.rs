//! The generator: one stage of requests, timed from the client's side.
//!
//! Closed loop (every connection sends its next request when the last one has ended) or open loop
//! (requests by a schedule). Knows addresses and nothing of the kernel side; follows no redirect
//! and asks for no encoding.
//!
//! ```text
//!        begin()                 window.start              window.end      + cooldown
//!           |------- warm-up --------|------ measured ---------|--- cool-down ---|
//!  worker   connect, request, request, request, request, requ..|..est            |
//!                                                               no new request   given up:
//!                                                                                in flight at end
//! ```
//!
//! Each worker is a thread with its own engine, its own share of the connections and its own
//! counters; nothing is shared while a stage runs, and the workers' histograms are added up at its
//! end. Connections live from stage to stage: a stage adds what it lacks. A request belongs to the
//! window when its end (last body byte, or failure) does; the account counts every request of the
//! stage, so that it can be compared with a server that counts.
//!
//! The modules stand in the order of a stage: what is asked, how it is connected, when it is sent,
//! who sends it, what is counted, what is said of it. `lean` and `tasks` are the two engines behind
//! `worker::Engine`; they share all the rest, so that they can be each other's witness.

// What is requested.
mod crawl;
mod links;
mod requests;
mod setup;
mod urls;

// Over which connections; what of that can be refused before a stage.
mod address;
mod descriptors;
mod dial;
mod ports;
mod tls;

// When.
mod pacer;
mod parsed;
mod pause;
mod schedule;

// By whom: the generator has workers, and a worker one of the two engines.
mod control;
mod generator;
mod lean;
mod sse;
mod tasks;
mod worker;

// What is counted, by one worker.
mod events;
mod failure;
mod interval;
mod outcome;
mod published;
mod recorder;
mod tally;
mod timing;
mod usage;

// What is said of a stage.
mod own_fault;
mod sample;
mod summary;

#[cfg(test)]
mod test_server;
#[cfg(test)]
mod tests;

pub use address::AddressError;
pub use crawl::{Crawl, CrawlError, CrawlLimits, SkipReason, Skipped, crawl};
pub use descriptors::{DescriptorError, descriptors_in_use, ensure_descriptors};
pub use dial::{DialError, ensure_dialable};
pub use failure::FailureClass;
pub use generator::{Generator, LoadError, RunningLoad};
pub use links::links;
pub use outcome::Outcomes;
pub use parsed::{EventsIn, ResponsesIn, events_in, responses_in};
pub use ports::PortError;
pub use published::SoFar;
pub use requests::{RequestError, check_headers};
pub use sample::{Account, Connections, Events, GeneratorUse, LoadSample, Offered, Progress};
pub use setup::{DialSpec, LoadSetup, OpenLoop, RequestSpec, StageLoad, Window};
pub use urls::{UrlsError, resolve, visit};

/// One piece of the window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IntervalLoad {
    /// Its start, ns of `CLOCK_MONOTONIC`.
    pub start_ns: u64,
    /// Its end, ns of `CLOCK_MONOTONIC`.
    pub end_ns: u64,
    /// Complete responses that ended in it.
    pub completed: u64,
    /// Median of their response time (and that of timeouts), ns, to 1 %; `None` without any.
    pub response_ns_p50: Option<u64>,
    /// 99th percentile of their response time (and that of timeouts), ns, to 1 %; `None` below
    /// 100 samples.
    pub response_ns_p99: Option<u64>,
}
