//! The engine of the hyper client: a task a lane on a current-thread tokio runtime.
//!
//! A lane is what carries one request at a time: a connection of HTTP/1.1, a stream of an HTTP/2
//! connection. Lanes are handed from stage to stage with their links; a lane whose request is
//! given up at a stage's end is dropped with its connection, and made anew.

mod alarm;
mod deadline;
mod desk;
mod grpc;
mod held;
mod http1;
mod http2;
mod lane;
mod link;
mod setting;
mod stream;
mod trunk;
mod upgrade;
mod websocket;
mod wire;

use std::cell::Cell;
use std::io;
use std::rc::Rc;
use std::sync::Arc;

use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::{JoinSet, LocalSet};

use self::alarm::Alarm;
use self::deadline::Timeline;
use self::desk::Desk;
pub(super) use self::held::Held;
use self::lane::Lane;
use self::setting::Setting;
use self::trunk::Trunk;
use super::LoadSetup;
use super::dial::Dialer;
use super::recorder::{Live, Recorder};
use super::requests::Requests;
use super::usage::Watch;
use super::worker::{Engine, Order, RAMP_STEP_NS, Share, Worker};
use crate::clock;
use crate::plan::Protocol;

/// The engine of one worker.
#[derive(Debug)]
pub(super) struct Tasks {
    /// By their place in this worker; `None`: not open.
    lanes: Vec<Option<Lane>>,
    /// Lives as long as the connections, some of which are driven by tasks of their own.
    local: LocalSet,
    runtime: Runtime,
    setup: Arc<LoadSetup>,
    requests: Requests,
    dialer: Dialer,
    live: Live,
}

/// When a lane sent the request that is in flight on it; 0: none is.
type InFlight = Rc<Cell<u64>>;

impl Tasks {
    pub(super) fn new(worker: &Worker, live: Live) -> io::Result<Self> {
        Ok(Self {
            lanes: Vec::new(),
            local: LocalSet::new(),
            runtime: Builder::new_current_thread().enable_all().build()?,
            setup: Arc::clone(&worker.setup),
            requests: worker.requests.clone(),
            dialer: worker.dialer.clone(),
            live,
        })
    }

    fn setting(&self, recorder: &Rc<Recorder>, desk: &Rc<Desk>, timeline: Timeline) -> Setting {
        Setting {
            setup: Arc::clone(&self.setup),
            requests: self.requests.clone(),
            dialer: self.dialer.clone(),
            live: self.live.clone(),
            recorder: Rc::clone(recorder),
            desk: Rc::clone(desk),
            timeline,
        }
    }

    /// How many requests a connection carries at a time.
    fn lanes_per_connection(&self) -> usize {
        match self.setup.protocol {
            Protocol::Http2 | Protocol::Grpc => self.setup.streams.max(1) as usize,
            Protocol::Http1 | Protocol::Sse | Protocol::Websocket | Protocol::Idle => 1,
        }
    }

    /// Takes out the lanes that are open, with the places of all that there are to be. A lane that
    /// is made anew shares the connection that the others of its place still have.
    fn take_lanes(&mut self, places: &[usize]) -> Vec<(Option<Lane>, usize, Rc<Trunk>)> {
        let each = self.lanes_per_connection();
        let mut open = std::mem::take(&mut self.lanes);
        open.resize_with(places.len() * each, || None);
        let mut lanes = Vec::with_capacity(open.len());
        for (together, place) in open.chunks_mut(each).zip(places) {
            let trunk = together.iter().flatten().next().map(|lane| Rc::clone(lane.trunk()));
            let trunk = trunk.unwrap_or_else(|| Rc::new(Trunk::new()));
            lanes.extend(together.iter_mut().map(|l| (l.take(), *place, Rc::clone(&trunk))));
        }
        lanes
    }
}

impl Engine for Tasks {
    fn keep(&mut self, connections: usize) {
        self.lanes.truncate(connections * self.lanes_per_connection());
    }

    fn stage(&mut self, share: Share, recorder: &Rc<Recorder>) {
        let timeline = Timeline::new();
        let desk = Rc::new(Desk::new(share.pacer, recorder));
        let setting = self.setting(recorder, &desk, timeline);
        let lanes = self.take_lanes(&share.places);
        self.lanes = self.local.block_on(&self.runtime, async {
            let mut stage = Stage::new(lanes.len());
            let (own, mut watch) = (
                Rc::clone(recorder),
                Watch::new(recorder.window(), recorder.interval_ns(), clock::now_ns()),
            );
            let watching = tokio::task::spawn_local(async move {
                while watch.next_ns() < u64::MAX {
                    timeline.sleep_until(watch.next_ns()).await;
                    watch.pass(clock::now_ns(), &own);
                }
            });
            let pacing = tokio::task::spawn_local(Rc::clone(&desk).pace(Alarm::new));
            for (lane, place, trunk) in lanes {
                // Those that are open already go on at once.
                let due_ns = if lane.is_some() { 0 } else { place as u64 * RAMP_STEP_NS };
                let lane = lane.unwrap_or_else(|| Lane::new(place, trunk));
                stage.spawn(lane, share.start_ns + due_ns, &setting);
            }
            drop(setting);
            tokio::select! {
                () = stage.all_done() => {}
                () = timeline.sleep_until(share.cutoff_ns) => {}
                () = recorder.control().stopped() => {}
            }
            recorder.leave_window();
            for task in [pacing, watching] {
                // It holds the recorder until it has ended.
                task.abort();
                drop(task.await);
            }
            stage.end(recorder).await
        });
        let desk = Rc::into_inner(desk).expect("the stage's tasks are gone");
        desk.finish(recorder);
    }

    fn next_order(&mut self, orders: &mut UnboundedReceiver<Order>) -> Option<Order> {
        self.local.block_on(&self.runtime, orders.recv())
    }
}

/// The lanes of one stage, under way.
#[derive(Debug)]
struct Stage {
    tasks: JoinSet<(usize, Lane)>,
    in_flight: Vec<InFlight>,
    lanes: Vec<Option<Lane>>,
}

impl Stage {
    fn new(lanes: usize) -> Self {
        let lanes = std::iter::repeat_with(|| None).take(lanes).collect();
        Self { tasks: JoinSet::new(), in_flight: Vec::new(), lanes }
    }

    fn spawn(&mut self, mut lane: Lane, due_ns: u64, setting: &Setting) {
        let nth = self.in_flight.len();
        let in_flight = InFlight::default();
        self.in_flight.push(Rc::clone(&in_flight));
        let setting = setting.clone();
        self.tasks.spawn_local(async move {
            setting.timeline.sleep_until(due_ns).await;
            lane.keep_busy(&setting, &in_flight).await;
            (nth, lane)
        });
    }

    /// Waits for every lane; a panic in one of them is our own fault and goes on here.
    async fn all_done(&mut self) {
        while let Some(done) = self.tasks.join_next().await {
            match done {
                Ok((nth, lane)) => self.lanes[nth] = Some(lane),
                Err(error) => {
                    if let Ok(panic) = error.try_into_panic() {
                        std::panic::resume_unwind(panic);
                    }
                }
            }
        }
    }

    /// Gives up what is in flight and gives back the lanes that are free.
    async fn end(mut self, recorder: &Recorder) -> Vec<Option<Lane>> {
        let now_ns = clock::now_ns();
        self.tasks.abort_all();
        self.all_done().await;
        for (lane, in_flight) in self.lanes.iter().zip(&self.in_flight) {
            if lane.is_none() && in_flight.get() > 0 {
                recorder.give_up(in_flight.get(), now_ns);
            }
        }
        self.lanes
    }
}
