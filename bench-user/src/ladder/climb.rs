//! One climb: a target is started or found, its stages made (`ascent.rs`), the target stopped.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use url::Url;

use super::ascent::Ascent;
use super::services::Services;
use super::stage::{End, Setting};
use super::{Climb, Event, Interrupt, Places, Sink, after, setup};
use crate::cpu_list;
use crate::fetch::Fetcher;
use crate::host::topology::Placement;
use crate::load::{self, Generator};
use crate::observe::{self, Bias, ObserverSet, Options};
use crate::plan::{Explain, Limit, Plan, TargetSpec};
use crate::target::{Contact, Idle, StartOptions, Target, TargetError, TargetHandle, TargetKind};

/// What all climbs of a run share.
pub(super) struct Expedition<'a> {
    pub(super) plan: &'a Plan,
    pub(super) placement: Placement,
    pub(super) interrupt: &'a Interrupt,
    pub(super) run_id: &'a str,
    pub(super) logs: &'a Path,
    /// Addresses by target, resolved (or crawled) once.
    pub(super) urls: Vec<Option<Arc<[Url]>>>,
    /// What the kernel's figure for the run time of probes has too much.
    pub(super) bias: Bias,
    /// Kinds that no target of the run is watched with, and why (`overhead.rs`).
    pub(super) taken_off: Vec<(Explain, String)>,
    /// What runs beside the targets.
    pub(super) services: Services,
}

/// A target that a climb can begin with.
pub(super) struct Begun {
    pub(super) target: Target,
    /// What it held when it was ready.
    pub(super) idle: Idle,
    /// What is requested of it.
    pub(super) urls: Arc<[Url]>,
}

impl<'a> Expedition<'a> {
    /// Nothing is started and nothing known yet.
    pub(super) fn new(
        plan: &'a Plan,
        placement: Placement,
        interrupt: &'a Interrupt,
        places: Places<'a>,
    ) -> Self {
        Self {
            plan,
            placement,
            interrupt,
            run_id: places.run_id,
            logs: places.logs,
            urls: vec![None; plan.targets.len()],
            bias: Bias::default(),
            taken_off: Vec::new(),
            services: Services::default(),
        }
    }

    /// Runs one climb and tells the sink of everything that is finished on the way.
    pub(super) fn climb(&mut self, climb: Climb, sink: &mut dyn Sink) -> Result<()> {
        let Some(Begun { mut target, idle, urls }) = self.begin(climb.target)? else {
            return Ok(());
        };
        sink.event(Event::Started { climb, target: &target, idle: &idle, urls: &urls })?;

        let end = self.stages(climb, &mut target, urls, sink);
        let is_whole = matches!(end, Ok(End::Whole));
        let after = is_whole.then(|| after::look(&target, self.plan, self.interrupt)).flatten();
        let exit = target.stop();
        sink.event(Event::Ended { climb, after: after.as_ref(), exit: exit.as_ref() })?;
        end.map(drop)
    }

    /// A target that is ready; `None` as for [`Self::start`].
    pub(super) fn begin(&mut self, n: usize) -> Result<Option<Begun>> {
        let spec = self.spec(n);
        let Some(target) = self.start(&spec)? else { return Ok(None) };
        // Before the crawl, which is work too.
        let idle = target.idle();
        let urls = self.addresses(n, &spec, &target)?;
        self.answers_well(&spec.name, &urls)?;
        Ok(Some(Begun { target, idle, urls }))
    }

    /// Starts the plan's services, in its order: before anything that may need one.
    ///
    /// # Errors
    /// The first that cannot be started.
    pub(super) fn start_services(&mut self) -> Result<()> {
        for service in &self.plan.services {
            if self.interrupt.signal().is_some() {
                return Ok(());
            }
            let spec = self.placed(service.as_target());
            // Whatever the load speaks, a service speaks HTTP/1.1 of its own.
            let fetcher = Fetcher::default();
            let options = self.start_options(&fetcher, Contact::Http);
            self.services.start(&spec, &options)?;
        }
        Ok(())
    }

    /// Looks for every target that should be running already, and for every image, before the first
    /// stage: minutes of load on one target are lost when another then is not there.
    ///
    /// # Errors
    /// The first that is not there or cannot be watched.
    pub(super) fn find_all(&self) -> Result<()> {
        for (n, spec) in self.plan.targets.iter().enumerate() {
            if spec.is_started() {
                Target::can_start(spec).with_context(|| format!("target `{}`", spec.name))?;
                continue;
            }
            // Adopting moves processes, which is done once and for the climb itself.
            if spec.adopt {
                continue;
            }
            if self.start(&self.spec(n))?.is_none() {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Says what the probes will cost, before anything is measured with them; a run of client
    /// numbers alone has none.
    pub(super) fn try_probes(&mut self, sink: &mut dyn Sink) -> Result<()> {
        let observe = &self.plan.observe;
        let has_kernel_side = self.plan.targets.iter().any(|target| !target.is_address_alone());
        if !observe.enabled || !has_kernel_side {
            return Ok(());
        }
        let options = Options { explain: observe.explain.clone(), ..Options::default() };
        let found = observe::probe_estimate(self.run_id, &options);
        self.bias = Bias(found.value().map_or(0.0, |found| found.run_bias_ns));
        sink.event(Event::ProbesTried(&found))
    }

    /// Starts or finds a target that can be watched; `None` when a signal ended the wait for it,
    /// which is no fault of the target and which the caller asks for.
    fn start(&self, spec: &TargetSpec) -> Result<Option<Target>> {
        let fetcher = self.plan.load.fetcher();
        let options = self.start_options(&fetcher, setup::contact(&self.plan.load));
        let target = match Target::start(spec, &options) {
            Err(TargetError::Interrupted) => return Ok(None),
            started => started.with_context(|| format!("target `{}`", spec.name))?,
        };
        self.can_be_watched(&target)?;
        Ok(Some(target))
    }

    fn start_options<'o>(&self, fetcher: &'o Fetcher, contact: Contact<'o>) -> StartOptions<'o>
    where
        'a: 'o,
    {
        StartOptions {
            run_id: self.run_id,
            logs_dir: self.logs,
            shim: None,
            fetcher,
            interrupted: Some(self.interrupt.flag()),
            contact,
        }
    }

    /// Whoever asks for the kernel side of a target that has none should know it before the run.
    fn can_be_watched(&self, target: &Target) -> Result<()> {
        let handle = &target.handle;
        if !self.plan.observe.enabled || handle.kind == TargetKind::Url {
            return Ok(());
        }
        handle.cgroup.as_result().map(drop).map_err(|why| {
            anyhow::anyhow!(
                "target `{}` cannot be watched: {why}; for client numbers alone use `--no-observe`",
                handle.name
            )
        })
    }

    /// One request before the load: a wrong address should not cost a whole stage, nor load the
    /// wrong pages. Not where the plan allows other answers than 2xx, nor
    /// where a GET has no answer.
    fn answers_well(&self, name: &str, urls: &[Url]) -> Result<()> {
        let (Limit::MoreThan(_), Some(url)) = (self.plan.stop.non_2xx, urls.first()) else {
            return Ok(());
        };
        if !setup::contact(&self.plan.load).speaks_http(url) {
            return Ok(());
        }
        let fetcher = self.plan.load.fetcher();
        let got = fetcher
            .get(url, self.plan.load.timeout.0)
            .with_context(|| format!("target `{name}`"))?;
        let remedy = match got.status {
            200..300 => return Ok(()),
            300..400 => "give the final address, which `bench-user crawl` shows",
            _ => "correct the url",
        };
        anyhow::bail!(
            "target `{name}` answers {url} with {} and not with 2xx: {remedy}, or allow it with \
             `--stop-non-2xx off`",
            got.status
        )
    }

    /// The target as the plan has it; a started one gets the CPUs that the load leaves free. Not
    /// where that is a single one: there every program is limited by its CPU, and whether it is
    /// by one thread could not be told.
    fn spec(&self, target: usize) -> TargetSpec {
        self.placed(self.plan.targets[target].clone())
    }

    fn placed(&self, mut spec: TargetSpec) -> TargetSpec {
        if spec.is_started() && spec.cpuset.is_none() && self.placement.target_cpus.len() > 1 {
            spec.cpuset = Some(cpu_list::show(&self.placement.target_cpus));
        }
        spec
    }

    /// The first address is the target's own; a list or a crawl is resolved at the first climb,
    /// so every climb requests the same; a started
    /// target gets in each what the crawl has asked for in the first.
    fn addresses(&mut self, n: usize, spec: &TargetSpec, target: &Target) -> Result<Arc<[Url]>> {
        let base = target.handle.urls.first().context("a target has at least one address")?;
        // A built-in server picks another port every time.
        if spec.urls.is_none() {
            return Ok(Arc::from([base.clone()]));
        }
        if let Some(urls) = &self.urls[n] {
            let stops = || self.interrupt.signal().is_some();
            if spec.is_started() {
                load::visit(urls, spec.urls.as_ref(), &self.plan.load.fetcher(), &stops);
            }
            return Ok(Arc::clone(urls));
        }
        let urls: Arc<[Url]> = load::resolve(base, spec.urls.as_ref(), &self.plan.load.fetcher())
            .with_context(|| format!("addresses of target `{}`", spec.name))?
            .into();
        self.urls[n] = Some(Arc::clone(&urls));
        Ok(urls)
    }

    /// The instruments of a climb, or of one run of a job, which `starts_held`; `None` where nothing
    /// is watched: an address alone has no kernel side.
    pub(super) fn observers(
        &self,
        handle: &TargetHandle,
        starts_held: bool,
    ) -> Option<ObserverSet> {
        let spec = &self.plan.observe;
        if !spec.enabled || handle.kind == TargetKind::Url {
            return None;
        }
        let options = Options {
            explain: spec.explain.clone(),
            bias: self.bias,
            starts_held,
            probe_log: spec.probe_log,
            ..Options::default()
        };
        let mut observers = ObserverSet::attach(handle, &options);
        for (kind, why) in &self.taken_off {
            observers.detach(*kind, why);
        }
        Some(observers)
    }

    fn stages(
        &mut self,
        climb: Climb,
        target: &mut Target,
        urls: Arc<[Url]>,
        sink: &mut dyn Sink,
    ) -> Result<End> {
        let observers = self.observers(&target.handle, false);
        let memory_before = observers.as_ref().map(|_| after::memory_bytes(target));
        let missing = observers.as_ref().and_then(ObserverSet::probes_missing);
        if let Some(why) = missing {
            sink.event(Event::Warning(&format!("no probes: {why}")))?;
        }
        let observed = observers.is_some() && missing.is_none();
        let generator = Generator::start(setup::of_climb(self.plan, urls, &self.placement)?)?;
        let setting = Setting { plan: self.plan, interrupt: self.interrupt, memory_before };
        let services = &mut self.services;
        Ascent { setting, climb, target, services, observers, observed, generator, sink }.run()
    }
}
