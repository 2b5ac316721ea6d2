//! What runs beside the targets because they need it: started before the first climb, stopped
//! after the last, not measured but for its CPU time.
//!
//! A service that ends by itself is told at once and not started again: what depends on it is
//! measured without it from then on, and every stage since says so.

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Event, Sink};
use crate::clock;
use crate::measured::Measured;
use crate::observe::{CgroupObserver, CgroupReading};
use crate::plan::TargetSpec;
use crate::target::{Exit, StartOptions, Target, TargetError};

/// What a service did in a stage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServiceUse {
    /// Name in the plan.
    pub name: String,
    /// CPU time of its cgroup over the window, in CPUs.
    pub cpu_ratio: Measured<f64>,
    /// How it ended by itself, in this stage or before it; `null` while it runs.
    pub exit: Option<Exit>,
}

/// The services of a run. Dropping them stops them.
#[derive(Debug, Default)]
pub(super) struct Services {
    running: Vec<Service>,
}

/// One service.
#[derive(Debug)]
struct Service {
    target: Target,
    books: CgroupObserver,
    /// How it ended by itself.
    exit: Option<Exit>,
}

impl Services {
    /// Starts one more and waits until it is ready; not when the user wants to end the run.
    ///
    /// # Errors
    /// Why it cannot be started.
    pub(super) fn start(&mut self, spec: &TargetSpec, options: &StartOptions<'_>) -> Result<()> {
        let target = match Target::start(spec, options) {
            Err(TargetError::Interrupted) => return Ok(()),
            started => started.with_context(|| format!("service `{}`", spec.name))?,
        };
        let v2 = target.handle.cgroup.value().map(PathBuf::as_path);
        let books = CgroupObserver::new(&target.handle.controllers, v2);
        self.running.push(Service { target, books, exit: None });
        Ok(())
    }

    /// Tells of those that have ended since the last look; never blocks.
    ///
    /// # Errors
    /// The sink's.
    pub(super) fn look(&mut self, sink: &mut dyn Sink) -> Result<()> {
        for (service, running) in self.running.iter_mut().enumerate() {
            if running.exit.is_none()
                && let Some(exit) = running.target.poll_exit()
            {
                running.exit = Some(exit.clone());
                sink.event(Event::ServiceEnded { service, exit })?;
            }
        }
        Ok(())
    }

    /// Their books now, and when that is, ns.
    pub(super) fn read(&self) -> (u64, Vec<CgroupReading>) {
        (clock::now_ns(), self.running.iter().map(|service| service.books.read()).collect())
    }

    /// What each did since an earlier reading.
    pub(super) fn since(&self, (began_ns, before): &(u64, Vec<CgroupReading>)) -> Vec<ServiceUse> {
        let (now_ns, now) = self.read();
        let window_ns = now_ns.saturating_sub(*began_ns);
        let pairs = now.iter().zip(before);
        let uses = self.running.iter().zip(pairs).map(|(service, (now, before))| ServiceUse {
            name: service.target.handle.name.clone(),
            cpu_ratio: now.since(before, window_ns).cpu_ratio,
            exit: service.exit.clone(),
        });
        uses.collect()
    }

    /// Stops all, the last one first, and tells how each ended.
    ///
    /// # Errors
    /// The first of the sink's; all are stopped all the same.
    pub(super) fn stop(&mut self, sink: &mut dyn Sink) -> Result<()> {
        let mut told = Ok(());
        for (service, running) in std::mem::take(&mut self.running).into_iter().enumerate().rev() {
            // An end by itself, seen before, says more than the end that we make.
            let stopped = running.target.stop();
            let told_now = match running.exit.or(stopped) {
                Some(exit) => sink.event(Event::ServiceEnded { service, exit }),
                None => Ok(()),
            };
            told = told.and(told_now);
        }
        told
    }
}
