//! The generator: one stage of requests, timed from the client's side.
//!
//! Closed loop over HTTP/1.1: every connection sends its next request when the last one has
//! ended. Knows addresses and nothing of the kernel side; follows no redirect, asks for no
//! encoding, pipelines nothing.
//!
//! ```text
//!        start()                 window.start              window.end      + cooldown
//!           |------- warm-up --------|------ measured ---------|--- cool-down ---|
//!  worker   connect, request, request, request, request, requ..|..est            |
//!                                                               no new request   given up:
//!                                                                                in flight at end
//! ```
//!
//! Each worker is a thread with its own single-threaded runtime, its own share of the
//! connections and its own counters; nothing is shared while a stage runs, and the workers'
//! histograms are added up at its end. A request belongs to the window when its end (last body
//! byte, or failure) does; the account counts every request of the stage, so that it can be
//! compared with a server that counts.

mod address;
mod connection;
mod control;
mod crawl;
mod deadline;
mod descriptors;
mod link;
mod links;
mod outcome;
mod recorder;
mod requests;
mod running;
mod sample;
mod tally;
mod timing;
mod urls;
mod usage;
mod wire;
mod worker;

#[cfg(test)]
mod test_server;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use url::Url;

pub use address::AddressError;
pub use crawl::{Crawl, CrawlError, CrawlLimits, SkipReason, Skipped, crawl};
pub use descriptors::{DescriptorError, ensure_descriptors};
pub use requests::{RequestError, check_headers};
pub use running::{LoadError, RunningLoad};
pub use sample::{Account, Connections, Generator, LoadSample, Outcomes, Progress};
pub use urls::{UrlsError, resolve};

/// The measured part of a stage, `[start, end)` in ns of `CLOCK_MONOTONIC`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// First instant that belongs to it.
    pub start_ns: u64,
    /// First instant that no longer does.
    pub end_ns: u64,
}

/// One stage of load.
#[derive(Debug, Clone)]
pub struct StageLoad {
    /// Requested in turn; every connection begins at another place of the list.
    pub urls: Arc<[Url]>,
    /// Connections kept busy.
    pub connections: u32,
    /// Worker threads; never more than connections.
    pub workers: u32,
    /// CPUs that the workers are pinned to in turn; empty: not pinned.
    pub cpus: Vec<usize>,
    /// A request without its last byte after this long is a timeout; so is a connection that
    /// is not open by then.
    pub timeout: Duration,
    /// Extra request headers; `Host` replaces the one of the address.
    pub headers: BTreeMap<String, String>,
    /// When to measure; requests are made from the start of the load on.
    pub window: Window,
    /// Length of the pieces that the window is also reported in, ns; 0: in one piece.
    pub interval_ns: u64,
    /// How long requests in flight at the window's end may take until they are given up.
    pub cooldown: Duration,
}

/// One piece of the window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IntervalLoad {
    /// Its start, ns of `CLOCK_MONOTONIC`.
    pub start_ns: u64,
    /// Its end, ns of `CLOCK_MONOTONIC`.
    pub end_ns: u64,
    /// Complete responses that ended in it.
    pub completed: u64,
    /// 99th percentile of their response time (and that of timeouts), ns, to 1 %; `None` below
    /// 100 samples.
    pub response_ns_p99: Option<u64>,
}
