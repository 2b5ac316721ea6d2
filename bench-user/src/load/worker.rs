//! One worker: a thread with its own runtime and its share of the connections.

use std::net::SocketAddr;
use std::panic::resume_unwind;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::task::{JoinSet, LocalSet};

use super::connection::{Setting, keep_busy};
use super::control::Control;
use super::deadline::Timeline;
use super::recorder::Recorder;
use super::requests::Requests;
use super::tally::Tally;
use super::usage::{watch_lag, watch_live};
use crate::clock;

/// Between the first connects of two connections, ns: 1,600 connections open over 160 ms, so
/// that the stage's own start does not overflow the target's accept queue.
const RAMP_STEP_NS: u64 = 100_000;

/// What a worker is told before its thread starts.
#[derive(Debug)]
pub(super) struct Worker {
    /// Its number, from 0.
    pub(super) index: usize,
    /// How many workers there are.
    pub(super) workers: usize,
    /// Connections of the whole stage; this worker has every `workers`-th of them.
    pub(super) connections: usize,
    pub(super) address: SocketAddr,
    pub(super) requests: Requests,
    pub(super) timeout: Duration,
    pub(super) cooldown: Duration,
    pub(super) interval_ns: u64,
    pub(super) control: Arc<Control>,
}

impl Worker {
    /// Makes load until the stage is over.
    pub(super) fn run(self, runtime: &Runtime) -> Tally {
        let recorder =
            Rc::new(Recorder::new(Arc::clone(&self.control), self.index, self.interval_ns));
        LocalSet::new().block_on(runtime, self.stage(Rc::clone(&recorder)));
        Rc::into_inner(recorder).expect("every task that held it was dropped").into_tally()
    }

    async fn stage(self, recorder: Rc<Recorder>) {
        let timeline = Timeline::new();
        let window = recorder.window();
        let cooldown_ns = u64::try_from(self.cooldown.as_nanos()).unwrap_or(u64::MAX);
        let control = Arc::clone(&self.control);
        let mut tasks = JoinSet::new();
        self.watch(&mut tasks, &recorder, timeline);
        self.connect(&mut tasks, &recorder, timeline);
        tokio::select! {
            () = all_done(&mut tasks) => {}
            () = timeline.sleep_until(window.end_ns.saturating_add(cooldown_ns)) => {}
            () = control.stopped() => {}
        }
        recorder.leave_window();
        tasks.shutdown().await;
    }

    /// Starts the tasks that look at the worker itself.
    fn watch(&self, tasks: &mut JoinSet<()>, recorder: &Rc<Recorder>, timeline: Timeline) {
        let window = recorder.window();
        let interval_ns = self.interval_ns;
        let own = Rc::clone(recorder);
        tasks.spawn_local(async move {
            timeline.sleep_until(window.start_ns).await;
            own.enter_window();
            timeline.sleep_until(window.end_ns).await;
            own.leave_window();
        });
        let own = Rc::clone(recorder);
        tasks.spawn_local(async move { watch_lag(&own, timeline, window).await });
        let own = Rc::clone(recorder);
        tasks.spawn_local(async move { watch_live(&own, timeline, window, interval_ns).await });
    }

    /// Starts this worker's connections, one after the other.
    fn connect(self, tasks: &mut JoinSet<()>, recorder: &Rc<Recorder>, timeline: Timeline) {
        let setting = Setting {
            address: self.address,
            requests: Rc::new(self.requests),
            recorder: Rc::clone(recorder),
            timeline,
            timeout: self.timeout,
        };
        let began_ns = clock::now_ns();
        for place in (self.index..self.connections).step_by(self.workers) {
            let setting = setting.clone();
            let due_ns = began_ns + place as u64 * RAMP_STEP_NS;
            tasks.spawn_local(async move {
                timeline.sleep_until(due_ns).await;
                keep_busy(setting, place).await;
            });
        }
    }
}

/// Waits for every task; a panic in one of them is our own fault and goes on here.
async fn all_done(tasks: &mut JoinSet<()>) {
    while let Some(done) = tasks.join_next().await {
        if let Err(error) = done
            && let Ok(panic) = error.try_into_panic()
        {
            resume_unwind(panic);
        }
    }
}
