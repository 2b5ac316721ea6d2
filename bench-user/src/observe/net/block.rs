//! The block of the record on TCP around the target: its own listeners, and the counters of its
//! network namespace.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::measured::Measured;

/// TCP in the target's network namespace. The counters are those of the whole namespace, which
/// the target may share with others; what begins with `accept_queue`, and `listener_drops`, is of
/// the listening sockets of its own processes alone.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Net {
    /// Connections dropped because an accept queue was full (`TcpExt.ListenOverflows`).
    pub listen_overflows: u64,
    /// SYNs dropped at a listener, overflows included (`TcpExt.ListenDrops`).
    pub listen_drops: u64,
    /// Segments sent again (`Tcp.RetransSegs`).
    pub retransmits: u64,
    /// Segments sent, those sent again not included (`Tcp.OutSegs`).
    #[serde(default)]
    pub segments_out: Measured<u64>,
    /// Segments received (`Tcp.InSegs`).
    #[serde(default)]
    pub segments_in: Measured<u64>,
    /// Connections that waited to be accepted at the end of the window, at all its listeners.
    #[serde(default)]
    pub accept_queue: Measured<u64>,
    /// Most that were seen to wait at once in the window, at the listener where most did.
    #[serde(default)]
    pub accept_queue_max: Measured<u64>,
    /// Connections and SYNs dropped at its listeners, for whatever reason (`sk_drops`).
    #[serde(default)]
    pub listener_drops: Measured<u64>,
    /// Its listeners one by one, those with most drops and longest queues first.
    #[serde(default)]
    pub listeners: Vec<Listener>,
}

/// A listening socket that a process of the target holds.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Listener {
    /// Address and port, as `0.0.0.0:8080`.
    pub address: String,
    /// Connections that waited to be accepted at the end of the window.
    pub accept_queue: u64,
    /// Most that were seen to wait, at the edges of the window and at the looks inside it.
    pub accept_queue_max: u64,
    /// So many may wait (the smaller of `listen(2)`'s backlog and `net.core.somaxconn`); the
    /// kernel takes one more.
    pub accept_queue_limit: Measured<u64>,
    /// Connections and SYNs dropped here in the window, for whatever reason (`sk_drops`).
    pub drops: Measured<u64>,
}

impl Listener {
    /// Its queue was seen to hold all that it may (`sk_acceptq_is_full`, include/net/sock.h).
    #[must_use]
    pub fn was_full(&self) -> bool {
        self.accept_queue_limit.value().is_some_and(|limit| self.accept_queue_max > *limit)
    }
}
