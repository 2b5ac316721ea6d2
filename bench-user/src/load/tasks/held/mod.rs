//! The engine of connections that are held open: event streams, WebSocket listeners and idle
//! ones. A task a connection, for as long as the generator lives.
//!
//! The tasks read between stages too, so that no event waits for the next stage in a buffer and
//! pings are answered; nothing is counted then and nothing opened. A stage ends with its window,
//! or when what is being opened then is open, failed or given up.

mod holder;
mod idle;
mod listen;
mod open;
mod sse;
mod stage;

use std::rc::Rc;

use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::{JoinHandle, LocalSet};

use self::holder::Holder;
use self::stage::{Current, Stage};
use super::deadline::Timeline;
use super::desk::Desk;
use super::{InFlight, Tasks};
use crate::clock;
use crate::load::LoadSetup;
use crate::load::recorder::Recorder;
use crate::load::usage::Watch;
use crate::load::worker::{Engine, Order, RAMP_STEP_NS, Share};
use crate::plan::{Protocol, WebsocketMode};

/// The engine of one worker.
#[derive(Debug)]
pub(in crate::load) struct Held {
    tasks: Tasks,
    local: LocalSet,
    current: Rc<Current>,
    places: Vec<Place>,
}

/// One connection.
#[derive(Debug)]
struct Place {
    task: JoinHandle<()>,
    /// When its stream was asked for; 0: none is open.
    in_flight: InFlight,
}

impl Held {
    /// Whether this engine is the one for what is asked.
    pub(in crate::load) fn does(setup: &LoadSetup) -> bool {
        match setup.protocol {
            Protocol::Sse | Protocol::Idle => true,
            Protocol::Websocket => setup.websocket == WebsocketMode::Listen,
            _ => false,
        }
    }

    pub(in crate::load) fn new(tasks: Tasks) -> Self {
        let current = Rc::new(Current::default());
        Self { tasks, local: LocalSet::new(), current, places: Vec::new() }
    }

    /// Adds the connections that are missing.
    fn fill(&mut self, share: &Share, timeline: Timeline) {
        for &place in share.places.iter().skip(self.places.len()) {
            let in_flight = InFlight::default();
            let holder = Holder::new(place, Rc::clone(&self.current), Rc::clone(&in_flight));
            let due_ns = share.start_ns + place as u64 * RAMP_STEP_NS;
            let task = self.local.spawn_local(holder.run(timeline, due_ns));
            self.places.push(Place { task, in_flight });
        }
    }

    fn open_streams(&self) -> impl Iterator<Item = u64> {
        self.places.iter().map(|place| place.in_flight.get()).filter(|sent_ns| *sent_ns > 0)
    }

    /// A task ends only when it panics, which is our own fault and goes on here.
    fn find_panic(&mut self) {
        if let Some(at) = self.places.iter().position(|place| place.task.is_finished()) {
            let place = self.places.swap_remove(at);
            if let Err(error) = self.local.block_on(&self.tasks.runtime, place.task)
                && let Ok(panic) = error.try_into_panic()
            {
                std::panic::resume_unwind(panic);
            }
        }
    }
}

impl Engine for Held {
    fn keep(&mut self, connections: usize) {
        for surplus in self.places.drain(connections.min(self.places.len())..) {
            surplus.task.abort();
        }
    }

    fn stage(&mut self, share: Share, recorder: &Rc<Recorder>) {
        let timeline = Timeline::new();
        if self.tasks.setup.protocol != Protocol::Idle {
            recorder.carried(self.open_streams().count() as u64);
        }
        self.fill(&share, timeline);
        let desk = Rc::new(Desk::new(None, recorder));
        let setting = self.tasks.setting(recorder, &desk, timeline);
        drop(desk);
        let stage = self.current.begin(setting);
        self.local.block_on(&self.tasks.runtime, async {
            let mut watch = Watch::new(recorder.window(), recorder.interval_ns(), clock::now_ns());
            let whole = async {
                while watch.next_ns() < u64::MAX {
                    timeline.sleep_until(watch.next_ns()).await;
                    watch.pass(clock::now_ns(), recorder);
                }
                stage.all_settled().await;
            };
            tokio::select! {
                () = whole => {}
                () = timeline.sleep_until(share.cutoff_ns) => {}
                () = recorder.control().stopped() => {}
            }
            recorder.leave_window();
        });
        let now_ns = clock::now_ns();
        self.open_streams().for_each(|sent_ns| recorder.give_up(sent_ns, now_ns));
        self.end(stage);
        self.find_panic();
    }

    fn next_order(&mut self, orders: &mut UnboundedReceiver<Order>) -> Option<Order> {
        self.local.block_on(&self.tasks.runtime, orders.recv())
    }
}

impl Held {
    /// Gives up what is being opened and waits until nobody has the stage any more.
    fn end(&mut self, stage: Rc<Stage>) {
        self.current.end();
        self.local.block_on(&self.tasks.runtime, stage.all_settled());
        Rc::into_inner(stage).expect("what was being opened has let go of the stage");
    }
}
