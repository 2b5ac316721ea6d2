//! The generator of a climb: its workers and connections live from its first stage to its last.
//!
//! Each worker is a thread with its own share of the connections. It is sent one order a stage
//! and sends back one tally; between the two nothing is shared but the stage's [`Control`].

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::thread::JoinHandle;

use rustix::thread::{CpuSet, sched_setaffinity};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use super::control::Control;
use super::dial::{DialError, Dialer, ensure_dialable};
use super::interval::intervals;
use super::published::{self, Gathered};
use super::requests::Requests;
use super::summary::Asked;
use super::tally::Tally;
use super::worker::{Order, Worker};
use super::{
    AddressError, DescriptorError, IntervalLoad, LoadSample, LoadSetup, Progress, RequestError,
    SoFar, StageLoad, descriptors,
};
use crate::clock;
use crate::tls::TlsError;

/// A generator or a stage that cannot begin.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// An address, a method or a header that makes no request.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// No single server to talk to.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// A source address, a unix socket or local ports that are not there.
    #[error(transparent)]
    Dial(#[from] DialError),
    /// TLS that cannot be spoken as asked for.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// Too few file descriptors.
    #[error(transparent)]
    Descriptors(#[from] DescriptorError),
    /// No connections, or a window without length.
    #[error("a stage needs at least one connection and a window with a length")]
    Nothing,
    /// A runtime or a thread for a worker cannot be had.
    #[error("cannot start load worker {0}: {1}; free memory or threads, or ask for fewer workers")]
    Worker(usize, io::Error),
    /// A worker cannot be pinned.
    #[error("cannot pin a load worker to CPU {0}: {1}; name CPUs that this process may use")]
    Pin(usize, io::Error),
}

/// Workers with their connections. Dropped, it closes them.
#[derive(Debug)]
pub struct Generator {
    setup: Arc<LoadSetup>,
    workers: Vec<Handle>,
    /// Descriptors of this process that are no connection of ours.
    other_descriptors: u64,
}

#[derive(Debug)]
struct Handle {
    orders: UnboundedSender<Order>,
    thread: JoinHandle<()>,
}

impl Generator {
    /// Starts the workers; they open no connection yet.
    ///
    /// # Errors
    /// One of [`LoadError`].
    pub fn start(setup: LoadSetup) -> Result<Self, LoadError> {
        let setup = Arc::new(setup);
        let requests = Requests::new(&setup.requests, setup.protocol)?;
        let dialer = Dialer::new(&setup)?;
        let other_descriptors = descriptors::descriptors_in_use();
        let mut generator = Self { setup, workers: Vec::new(), other_descriptors };
        for index in 0..generator.setup.workers.max(1) as usize {
            let worker = Worker {
                index,
                setup: Arc::clone(&generator.setup),
                requests: requests.clone(),
                dialer: dialer.clone(),
            };
            generator.add(worker)?;
        }
        Ok(generator)
    }

    /// Begins a stage: workers make requests at once, and measure in the stage's window.
    ///
    /// # Errors
    /// One of [`LoadError`]; no request of this stage was made then.
    pub fn begin(&mut self, stage: StageLoad) -> Result<RunningLoad<'_>, LoadError> {
        if stage.connections == 0 || stage.window.end_ns <= stage.window.start_ns {
            return Err(LoadError::Nothing);
        }
        let active = self.workers.len().min(stage.connections as usize);
        let count = u32::try_from(active).unwrap_or(u32::MAX);
        ensure_dialable(&self.setup.dial, stage.connections)?;
        descriptors::ensure_descriptors(stage.connections, count, self.other_descriptors)?;
        let control = Arc::new(Control::new(stage.window, active));
        let (tallies, results) = channel();
        let (pieces, published) = published::channel(active);
        let start_ns = clock::now_ns();
        for worker in &self.workers {
            let order = Order {
                stage: stage.clone(),
                start_ns,
                active,
                interval_ns: self.interval_ns(&stage),
                control: Arc::clone(&control),
                tallies: tallies.clone(),
                pieces: pieces.clone(),
            };
            // Refused only by a worker that panicked, and finish() finds that out.
            drop(worker.orders.send(order));
        }
        let interval_ns = self.interval_ns(&stage);
        let gathered = Gathered::new(published, active, stage.window, interval_ns);
        Ok(RunningLoad { generator: self, stage, control, active, results, gathered })
    }

    /// The length of an interval: as asked, or the whole window.
    fn interval_ns(&self, stage: &StageLoad) -> u64 {
        match self.setup.interval_ns {
            0 => stage.window.end_ns.saturating_sub(stage.window.start_ns).max(1),
            ns => ns,
        }
    }

    fn add(&mut self, worker: Worker) -> Result<(), LoadError> {
        let index = worker.index;
        let cpus = &self.setup.cpus;
        let cpu = (!cpus.is_empty()).then(|| cpus[index % cpus.len()]);
        let failed = |error| LoadError::Worker(index, error);
        let (orders, received) = unbounded_channel();
        let (ready, is_ready) = sync_channel(1);
        let thread = std::thread::Builder::new()
            .name(format!("load-{index}"))
            .spawn(move || {
                if pin(cpu, &ready) {
                    worker.run(received, &ready);
                }
            })
            .map_err(failed)?;
        self.workers.push(Handle { orders, thread });
        // Once for the pinning, once for what the worker itself needs.
        match (is_ready.recv(), cpu) {
            (Ok(Err(error)), Some(cpu)) => return Err(LoadError::Pin(cpu, error)),
            (Ok(Err(error)), None) => return Err(failed(error)),
            _ => {}
        }
        match is_ready.recv() {
            Ok(Err(error)) => Err(failed(error)),
            _ => Ok(()),
        }
    }

    /// Joins a worker that ended before its tally: it has panicked, which is a defect of this
    /// program and goes on here.
    fn find_panic(&mut self) {
        for worker in self.workers.drain(..) {
            drop(worker.orders);
            if let Err(panic) = worker.thread.join() {
                std::panic::resume_unwind(panic);
            }
        }
    }
}

impl Drop for Generator {
    fn drop(&mut self) {
        for worker in self.workers.drain(..) {
            // Without its sender, a worker ends.
            drop(worker.orders);
            // A panic on the way out is of no use to anyone here.
            drop(worker.thread.join());
        }
    }
}

/// Load that is being made. Dropped without [`Self::finish`], it stops.
#[derive(Debug)]
pub struct RunningLoad<'a> {
    generator: &'a mut Generator,
    stage: StageLoad,
    control: Arc<Control>,
    active: usize,
    results: Receiver<Tally>,
    gathered: Gathered,
}

impl RunningLoad<'_> {
    /// How far the stage is; cheap enough to be asked often.
    #[must_use]
    pub fn progress(&self) -> Progress {
        self.control.progress()
    }

    /// The intervals of the window that are over, those of [`Self::finish`]; one that was over a
    /// moment ago may be missing, until all workers have shown it.
    pub fn intervals_over(&mut self) -> &[IntervalLoad] {
        self.gathered.over()
    }

    /// The stage so far, as its stop rules see it.
    #[must_use]
    pub fn so_far(&self) -> SoFar {
        self.gathered.so_far(self.progress())
    }

    /// Ends the window now and gives up what is in flight; [`Self::finish`] then returns at once.
    pub fn stop(&self) {
        self.control.stop();
    }

    /// Waits for the end of the stage and gives its numbers, whole and by interval. Connections
    /// with nothing in flight stay open.
    ///
    /// # Panics
    /// With the panic of a worker, which would be a defect of this program.
    #[must_use]
    pub fn finish(self) -> (LoadSample, Vec<IntervalLoad>) {
        let mut total: Option<Tally> = None;
        for _ in 0..self.active {
            match (self.results.recv(), &mut total) {
                (Ok(tally), Some(total)) => total.merge(tally),
                (Ok(tally), None) => total = Some(tally),
                (Err(_), _) => self.generator.find_panic(),
            }
        }
        let total = total.unwrap_or_else(Tally::new);
        let window = self.control.window();
        let pieces = intervals(&total.intervals, window, self.generator.interval_ns(&self.stage));
        let asked = Asked {
            protocol: self.generator.setup.protocol,
            connections: self.stage.connections,
            rps: self.stage.open_loop.map(|open| open.rps),
            workers: u32::try_from(self.active).unwrap_or(u32::MAX),
            cpus: self.generator.setup.cpus.iter().copied().take(self.active).collect(),
        };
        (total.into_sample(window, asked), pieces)
    }
}

impl Drop for RunningLoad<'_> {
    /// Also after finish(), where nobody listens to the stop any more.
    fn drop(&mut self) {
        self.control.stop();
    }
}

/// The first thing that a worker's thread does. Only the thread itself can set its own affinity
/// without knowing its number, so it reports back.
fn pin(cpu: Option<usize>, ready: &SyncSender<io::Result<()>>) -> bool {
    let result = cpu.map_or(Ok(()), pin_to);
    let is_pinned = result.is_ok();
    // The receiver waits for exactly this message.
    drop(ready.send(result));
    is_pinned
}

fn pin_to(cpu: usize) -> io::Result<()> {
    if cpu >= CpuSet::MAX_CPU {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut set = CpuSet::new();
    set.set(cpu);
    Ok(sched_setaffinity(None, &set)?)
}
