//! A stage under way: refused up front or started, watched, stopped, and its result.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;

use rustix::thread::{CpuSet, sched_setaffinity};
use tokio::runtime::{Builder, Runtime};

use super::control::Control;
use super::recorder::interval_ns;
use super::requests::Requests;
use super::tally::{Tally, intervals};
use super::worker::Worker;
use super::{
    AddressError, DescriptorError, IntervalLoad, LoadSample, Progress, RequestError, StageLoad,
    address, descriptors,
};

/// A stage that cannot begin.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// An address or a header that makes no request.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// No single server to talk to.
    #[error(transparent)]
    Address(#[from] AddressError),
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

/// Load that is being made. Dropped without [`Self::finish`], it stops.
#[derive(Debug)]
pub struct RunningLoad {
    stage: StageLoad,
    control: Arc<Control>,
    threads: Vec<JoinHandle<Tally>>,
}

impl RunningLoad {
    /// Starts the workers; they make requests at once, and measure in the stage's window.
    ///
    /// # Errors
    /// One of [`LoadError`]; no request was made then.
    pub fn start(stage: StageLoad) -> Result<Self, LoadError> {
        if stage.connections == 0 || stage.window.end_ns <= stage.window.start_ns {
            return Err(LoadError::Nothing);
        }
        let workers = stage.workers.clamp(1, stage.connections);
        // Requests share their bytes by reference count: one copy a worker, so that the counts
        // are not fought over.
        let requests = (0..workers)
            .map(|_| Requests::new(&stage.urls, &stage.headers))
            .collect::<Result<Vec<_>, _>>()?;
        descriptors::ensure_descriptors(stage.connections, workers)?;
        let address = address::pin(&stage.urls)?;
        let control = Arc::new(Control::new(stage.window, workers as usize));
        let mut running = Self { stage, control, threads: Vec::new() };
        for (index, requests) in requests.into_iter().enumerate() {
            let worker = Worker {
                index,
                workers: workers as usize,
                connections: running.stage.connections as usize,
                address,
                requests,
                timeout: running.stage.timeout,
                cooldown: running.stage.cooldown,
                interval_ns: interval_ns(&running.stage),
                control: Arc::clone(&running.control),
            };
            running.add(worker)?;
        }
        Ok(running)
    }

    /// How far the stage is; cheap enough to be asked often.
    #[must_use]
    pub fn progress(&self) -> Progress {
        self.control.progress()
    }

    /// Ends the window now and gives up what is in flight; [`Self::finish`] then returns at once.
    pub fn stop(&self) {
        self.control.stop();
    }

    /// Waits for the end of the stage, closes its connections and gives its numbers, whole and by interval.
    ///
    /// # Panics
    /// With the panic of a worker, which would be a defect of this program.
    #[must_use]
    pub fn finish(mut self) -> (LoadSample, Vec<IntervalLoad>) {
        self.control.let_close();
        let mut total: Option<Tally> = None;
        let workers = std::mem::take(&mut self.threads);
        let count = u32::try_from(workers.len()).unwrap_or(u32::MAX);
        for worker in workers {
            let tally = worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            match &mut total {
                Some(total) => total.merge(tally),
                None => total = Some(tally),
            }
        }
        let total = total.unwrap_or_else(Tally::new);
        let window = self.control.window();
        let pieces = intervals(&total.intervals, window, interval_ns(&self.stage));
        let cpus = self.stage.cpus.iter().copied().take(count as usize).collect();
        (total.into_sample(window, self.stage.connections, count, cpus), pieces)
    }

    fn add(&mut self, worker: Worker) -> Result<(), LoadError> {
        let index = worker.index;
        let cpus = &self.stage.cpus;
        let cpu = (!cpus.is_empty()).then(|| cpus[index % cpus.len()]);
        let failed = |error| LoadError::Worker(index, error);
        let runtime = Builder::new_current_thread().enable_all().build().map_err(failed)?;
        let (pinned, is_pinned) = sync_channel(1);
        let thread = std::thread::Builder::new()
            .name(format!("load-{index}"))
            .spawn(move || pin_and_run(worker, &runtime, cpu, &pinned))
            .map_err(failed)?;
        self.threads.push(thread);
        match (is_pinned.recv(), cpu) {
            (Ok(Err(error)), Some(cpu)) => Err(LoadError::Pin(cpu, error)),
            _ => Ok(()),
        }
    }
}

impl Drop for RunningLoad {
    /// Also the way out of a start that failed half way.
    fn drop(&mut self) {
        self.control.stop();
        for thread in self.threads.drain(..) {
            // Its counts are of no use to anyone here, and neither is a panic on the way out.
            drop(thread.join());
        }
    }
}

/// The body of a worker's thread. Only the thread itself can set its own affinity without
/// knowing its number, so it reports back before the first request.
fn pin_and_run(
    worker: Worker,
    runtime: &Runtime,
    cpu: Option<usize>,
    pinned: &SyncSender<io::Result<()>>,
) -> Tally {
    let result = cpu.map_or(Ok(()), pin_to);
    let is_pinned = result.is_ok();
    // The receiver waits for exactly this message.
    drop(pinned.send(result));
    if is_pinned { worker.run(runtime) } else { Tally::new() }
}

fn pin_to(cpu: usize) -> io::Result<()> {
    if cpu >= CpuSet::MAX_CPU {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut set = CpuSet::new();
    set.set(cpu);
    Ok(sched_setaffinity(None, &set)?)
}
