//! The engine of the lean client: HTTP/1.1 over TCP and unix sockets on an epoll loop of our own.
//!
//! What it saves is what a general client pays for every request: tasks and their wake-ups,
//! timers, allocations, the parsing of heads that say what the last one said. A request is one
//! write and one read; sockets are registered once, edge-triggered. It must give the same counts
//! as the hyper client against every server.
//!
//! `response`, `head` and `chunks` take bytes and know no socket; `connection` keeps what is out on
//! a socket; `waits` waits for news of all of them; `stage` is the loop, and `opening`, `sending`, `receiving` and `ending` are what it
//! does with a connection.

mod chunks;
mod connection;
mod ending;
mod head;
mod opening;
mod receiving;
mod response;
mod sending;
mod socket;
mod stage;
mod waits;

use std::io;
use std::rc::Rc;
use std::time::Duration;

use rustix::event::epoll::{Event, EventData, EventFlags};
use tokio::sync::mpsc::UnboundedReceiver;

use self::connection::Connection;
pub(super) use self::head::Heads;
pub(super) use self::response::Response;
use self::stage::Stage;
use self::waits::Waits;
use super::dial::Dialer;
use super::recorder::{Live, Recorder};
use super::requests::Requests;
use super::worker::{Engine, Order, Share, Worker};

/// News that are taken from the kernel at a time.
const EVENTS: usize = 256;

/// Bytes that are read at a time, by all connections of a worker into one buffer.
const BUFFER: usize = 64 << 10;

/// The engine of one worker.
pub(super) struct Lean {
    requests: Requests,
    dialer: Dialer,
    live: Live,
    /// Requests on a connection at a time.
    depth: usize,
    timeout: Duration,
    waits: Waits,
    events: Vec<Event>,
    buffer: Vec<u8>,
    heads: Heads,
    /// By their place in this worker.
    connections: Vec<Connection>,
}

impl Lean {
    pub(super) fn new(worker: &Worker, live: Live) -> io::Result<Self> {
        let nothing = Event { flags: EventFlags::empty(), data: EventData::new_u64(0) };
        Ok(Self {
            requests: worker.requests.clone(),
            dialer: worker.dialer.clone(),
            live,
            depth: worker.setup.pipeline.max(1) as usize,
            timeout: worker.setup.timeout,
            waits: Waits::new(EVENTS)?,
            events: vec![nothing; EVENTS],
            buffer: vec![0; BUFFER],
            heads: Heads::new(),
            connections: Vec::new(),
        })
    }
}

impl Engine for Lean {
    fn keep(&mut self, connections: usize) {
        self.connections.truncate(connections);
    }

    fn stage(&mut self, share: Share, recorder: &Rc<Recorder>) {
        Stage::new(self, share, recorder).run();
    }

    fn next_order(&mut self, orders: &mut UnboundedReceiver<Order>) -> Option<Order> {
        orders.blocking_recv()
    }
}
