//! One worker: a thread that makes its share of a stage's load, stage after stage, through the
//! engine of its client.

use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::{Sender, SyncSender};

use tokio::sync::mpsc::UnboundedReceiver;

use super::control::Control;
use super::dial::Dialer;
use super::lean::Lean;
use super::pacer::Pacer;
use super::published::Piece;
use super::recorder::{Live, Recorder};
use super::requests::Requests;
use super::schedule::Schedule;
use super::tally::Tally;
use super::tasks::{Held, Tasks};
use super::{LoadSetup, StageLoad};
use crate::plan::Client;
use crate::units::ns;

/// Between the first connects of two connections, ns: 1,600 connections open over 160 ms, so
/// that the stage's own start does not overflow the target's accept queue.
pub(super) const RAMP_STEP_NS: u64 = 100_000;

/// What a worker is made of.
#[derive(Debug)]
pub(super) struct Worker {
    /// Its number, from 0.
    pub(super) index: usize,
    pub(super) setup: Arc<LoadSetup>,
    pub(super) requests: Requests,
    pub(super) dialer: Dialer,
}

/// One stage, as every worker is told of it.
#[derive(Debug)]
pub(super) struct Order {
    pub(super) stage: StageLoad,
    /// When the stage, and the schedule of an open loop, begins.
    pub(super) start_ns: u64,
    /// How many workers take part: the first ones.
    pub(super) active: usize,
    pub(super) interval_ns: u64,
    pub(super) control: Arc<Control>,
    pub(super) tallies: Sender<Tally>,
    pub(super) pieces: SyncSender<Piece>,
}

/// One worker's part of a stage.
#[derive(Debug)]
pub(super) struct Share {
    /// Its connections, by their number in the whole stage.
    pub(super) places: Vec<usize>,
    pub(super) start_ns: u64,
    /// What is in flight then is given up.
    pub(super) cutoff_ns: u64,
    /// The open loop; `None`: closed.
    pub(super) pacer: Option<Pacer>,
}

/// Makes the load of one worker and keeps its connections from stage to stage.
pub(super) trait Engine {
    /// Closes all but the first so many of this worker's connections.
    fn keep(&mut self, connections: usize);

    /// Makes one stage of load; returns when it is over. Connections with nothing in flight stay
    /// open; what is in flight is given up (`Recorder::give_up`) and its connection closed.
    ///
    /// The engine drives a `Watch` in it, so that the edges of the window are noted, hands the
    /// pacer's counts to the recorder, and drops every copy of the recorder's `Rc`.
    fn stage(&mut self, share: Share, recorder: &Rc<Recorder>);

    /// Waits for the next order; `None` when there will be none.
    fn next_order(&mut self, orders: &mut UnboundedReceiver<Order>) -> Option<Order>;
}

impl Worker {
    /// Does what it is ordered to until nobody orders any more. Tells `ready` first whether it
    /// can.
    pub(super) fn run(
        self,
        mut orders: UnboundedReceiver<Order>,
        ready: &SyncSender<io::Result<()>>,
    ) {
        let live = Live::default();
        let (mut engine, result) = match self.engine(&live) {
            Ok(engine) => (Some(engine), Ok(())),
            Err(error) => (None, Err(error)),
        };
        // The receiver waits for exactly this message.
        drop(ready.send(result));
        let Some(engine) = &mut engine else { return };
        while let Some(order) = engine.next_order(&mut orders) {
            self.obey(&mut **engine, &order, &live);
        }
    }

    fn engine(&self, live: &Live) -> io::Result<Box<dyn Engine>> {
        if self.setup.client == Client::Lean {
            return Ok(Box::new(Lean::new(self, live.clone())?));
        }
        let tasks = Tasks::new(self, live.clone())?;
        Ok(if Held::does(&self.setup) { Box::new(Held::new(tasks)) } else { Box::new(tasks) })
    }

    fn obey(&self, engine: &mut dyn Engine, order: &Order, live: &Live) {
        let share = self.share(order);
        engine.keep(share.places.len());
        if self.index >= order.active {
            return;
        }
        let recorder = Recorder::new(
            Arc::clone(&order.control),
            self.index,
            order.interval_ns,
            order.stage.open_loop.is_some(),
            live.clone(),
        );
        let recorder = Rc::new(recorder.publishing(order.pieces.clone()));
        engine.stage(share, &recorder);
        let recorder = Rc::into_inner(recorder).expect("the engine has let go of the stage");
        // Nobody waits for it any more where the stage was dropped.
        drop(order.tallies.send(recorder.into_tally()));
    }

    fn share(&self, order: &Order) -> Share {
        let stage = &order.stage;
        let pacer = stage.open_loop.map(|open| {
            let rate = (open.rps, open.arrivals, open.seed);
            let schedule = Schedule::new(rate, order.start_ns, self.index, order.active);
            Pacer::new(schedule, open.catch_up, open.rps, order.active, stage.window)
        });
        Share {
            places: (self.index..stage.connections as usize).step_by(order.active).collect(),
            start_ns: order.start_ns,
            cutoff_ns: stage.window.end_ns.saturating_add(ns(stage.cooldown)),
            pacer,
        }
    }
}
