//! What a generator is told: once for all its stages, and for each of them.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use url::Url;

use crate::plan::{Arrivals, CatchUp, Client, Family, Protocol, TlsSpec, WebsocketMode};

/// What stays the same over all stages of a climb.
#[derive(Debug, Clone)]
pub struct LoadSetup {
    /// What is spoken.
    pub protocol: Protocol,
    /// Who speaks it.
    pub client: Client,
    /// HTTP/1.1 requests on a connection at a time.
    pub pipeline: u32,
    /// HTTP/2 requests on a connection at a time.
    pub streams: u32,
    /// What WebSocket connections do.
    pub websocket: WebsocketMode,
    /// What is requested.
    pub requests: RequestSpec,
    /// How connections are opened.
    pub dial: DialSpec,
    /// Worker threads; those beyond the connections of a stage have nothing to do in it.
    pub workers: u32,
    /// CPUs that the workers are pinned to in turn; empty: not pinned.
    pub cpus: Vec<usize>,
    /// A request without its last byte after this long is a timeout.
    pub timeout: Duration,
    /// Length of the pieces that a window is also reported in, ns; 0: in one piece.
    pub interval_ns: u64,
}

/// What is requested.
#[derive(Debug, Clone)]
pub struct RequestSpec {
    /// Requested in turn, over all connections together.
    pub urls: Arc<[Url]>,
    /// Method; `None`: GET, or POST with a body.
    pub method: Option<String>,
    /// Extra request headers; `Host` replaces the one of the address.
    pub headers: BTreeMap<String, String>,
    /// Body of every request.
    pub body: Option<Bytes>,
    /// `user:password`.
    pub basic_auth: Option<String>,
    /// Shuffles the addresses; 0: as given.
    pub seed: u64,
}

/// How connections are opened.
#[derive(Debug, Clone, Default)]
pub struct DialSpec {
    /// Instead of the address's host and port.
    pub unix_socket: Option<PathBuf>,
    /// Only this family; `None`: the first address that takes a connection.
    pub family: Option<Family>,
    /// Source addresses in turn; empty: the kernel's choice.
    pub sources: Vec<IpAddr>,
    /// A connection that is not open (TLS included) by then failed; `None`: as requests.
    pub connect_timeout: Option<Duration>,
    /// For https:// and wss:// addresses.
    pub tls: TlsSpec,
}

/// One stage of load.
#[derive(Debug, Clone)]
pub struct StageLoad {
    /// Connections kept open: those of the stage before stay, the missing ones are added and
    /// surplus ones closed.
    pub connections: u32,
    /// The schedule; `None`: closed loop.
    pub open_loop: Option<OpenLoop>,
    /// When to measure; requests are made from the start of the load on.
    pub window: Window,
    /// How long requests in flight at the window's end may take until they are given up.
    pub cooldown: Duration,
}

/// Requests by a schedule that waits for no response.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OpenLoop {
    /// Requests per second of the whole stage; above 0.
    pub rps: f64,
    /// How they are spread.
    pub arrivals: Arrivals,
    /// What happens to late ones.
    pub catch_up: CatchUp,
    /// Draws Poisson arrivals.
    pub seed: u64,
}

/// The measured part of a stage, `[start, end)` in ns of `CLOCK_MONOTONIC`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// First instant that belongs to it.
    pub start_ns: u64,
    /// First instant that no longer does.
    pub end_ns: u64,
}
