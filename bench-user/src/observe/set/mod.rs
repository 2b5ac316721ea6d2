//! All instruments on one target, read together at the edges of a window.
//!
//! Starting never fails: an instrument that cannot be had is named with its reason in every
//! sample. At an edge the fast counters are read first, then the threads, which take longest, and
//! the network's counters; how long that takes is in the sample as `read_ns`.

mod cost;
mod own_time;
mod reads;
mod threads;

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::clock;
use crate::measured::Measured;
use crate::observe::bpf::BpfObserver;
use crate::observe::busiest::Busiest;
use crate::observe::cgroup::CgroupObserver;
use crate::observe::explained::Explained;
use crate::observe::ledger::Ledger;
use crate::observe::net::NetObserver;
use crate::observe::options::{Options, Probes};
use crate::observe::overhead::Bias;
use crate::observe::perf::PerfObserver;
use crate::observe::reading::{Extent, Look, Reading};
use crate::observe::sample::{ObserverCost, Sample};
use crate::plan::Explain;
use crate::target::TargetHandle;
use cost::{Calibrated, Calibrating};
use own_time::Over;

/// Inside a window every thread is read only after so many times what the reading before took:
/// it is at most a twentieth of the time.
const LOOK_REST: u64 = 19;

/// All instruments on one target.
pub struct ObserverSet {
    directory: Measured<PathBuf>,
    bpf: Measured<BpfObserver>,
    explain: Vec<Explain>,
    perf: PerfObserver,
    cgroup: CgroupObserver,
    net: NetObserver,
    is_prepared: bool,
    ledger: Ledger,
    begin: Option<Reading>,
    over: Option<Over>,
    look: Option<Reading>,
    busiest: Busiest,
    threads_at_ns: u64,
    threads_ns: u64,
    pids_peak: Option<u64>,
    bias: Bias,
    calibrating: Calibrating,
    calibrated: Option<Result<Calibrated, String>>,
}

impl ObserverSet {
    /// Attaches what can be had to a target.
    #[must_use]
    pub fn attach(target: &TargetHandle, options: &Options) -> Self {
        let directory = target.cgroup.clone();
        let since = clock::boottime_ns();
        let bpf = match (&directory, options.probes) {
            (_, Probes::Detach) => {
                Measured::unavailable("a control stage: the probes are detached")
            }
            (Measured::Unavailable { unavailable }, _) => Measured::unavailable(unavailable),
            (Measured::Value(dir), _) => BpfObserver::attach(dir, options).into(),
        };
        let perf = match (target.controllers.get("perf_event"), &directory) {
            (Some(owner), _) => PerfObserver::open(&owner.path),
            (None, Measured::Value(dir)) => PerfObserver::open(dir),
            (None, Measured::Unavailable { unavailable }) => PerfObserver::none(unavailable),
        };
        let v2 = directory.value().map(PathBuf::as_path);
        let cgroup = CgroupObserver::new(&target.controllers, v2).with_main_pid(target.main_pid);
        let net = NetObserver::new(target.main_pid, v2);
        let ledger = if bpf.value().is_some_and(BpfObserver::sees_threads) {
            Ledger::new(since)
        } else {
            Ledger::without_probe(since)
        };
        let mut set = Self {
            directory,
            bpf,
            explain: options.explain.clone(),
            perf,
            cgroup,
            net,
            is_prepared: false,
            ledger,
            begin: None,
            over: None,
            look: None,
            busiest: Busiest::default(),
            threads_at_ns: 0,
            threads_ns: 0,
            pids_peak: None,
            bias: options.bias,
            calibrating: Calibrating::default(),
            calibrated: None,
        };
        // Threads alive now get their baseline now.
        let _known = set.read_threads();
        set
    }

    /// Why there are no probes, if there are none.
    #[must_use]
    pub fn probes_missing(&self) -> Option<&str> {
        self.bpf.why()
    }

    /// Looks up what takes long and must not stand between the two sides' readings at the begin
    /// of a window: which listeners are the target's. Without it, [`Self::begin`] does so.
    pub fn prepare(&mut self) {
        self.net.begin();
        self.is_prepared = true;
    }

    /// A window begins.
    pub fn begin(&mut self) {
        if !std::mem::take(&mut self.is_prepared) {
            self.net.begin();
        }
        let reading = self.read(Extent::Edge);
        self.ledger.begin_window();
        self.busiest = Busiest::at(self.ledger.oncpu_now(), reading.at_ns);
        self.pids_peak = None;
        self.begin = Some(reading);
        self.over = None;
        self.look = None;
    }

    /// A look inside the window.
    pub fn look(&mut self) -> Look {
        let rested_ns = clock::now_ns() - self.threads_at_ns;
        let with_threads = rested_ns >= self.threads_ns * LOOK_REST;
        let now = self.read(Extent::Look { with_threads });
        let Some(then) = self.look.as_ref().or(self.begin.as_ref()) else {
            return Look::default();
        };
        let interval_ns = now.at_ns - then.at_ns;
        let added = now.cgroup.since(&then.cgroup, interval_ns);
        let mut look = Look {
            at_ns: now.at_ns,
            interval_ns,
            syscalls: now.syscalls_since(then),
            switches: now.switches_since(then),
            cpu_ratio: added.cpu_ratio.value().copied(),
            busiest: Vec::new(),
            memory_bytes: added.memory_current_bytes.value().copied(),
            pids: added.pids_current.value().copied(),
            throttled_ns: added.throttled_ns.value().copied(),
            accept_queue: now.accept_queue,
        };
        if with_threads && now.books.value().is_some() {
            let shares = self.busiest.since(self.ledger.oncpu_now(), now.at_ns);
            look.busiest = self.ledger.named(shares);
        }
        self.pids_peak = self.pids_peak.max(look.pids);
        self.look = Some(now);
        look
    }

    /// What the window has until now, without what explains it; it goes on. `None` when none was
    /// begun.
    pub fn so_far(&mut self) -> Option<Sample> {
        let begin = self.begin.take()?;
        let now = self.read(Extent::SoFar);
        let sample = self.between(&begin, now);
        self.begin = Some(begin);
        Some(sample)
    }

    /// The window ends; `None` when none had begun.
    pub fn end(&mut self) -> Option<Sample> {
        let now = self.read(Extent::Edge);
        let begin = self.begin.take()?;
        let now = match self.over.take() {
            Some(over) => over.ends(now),
            None => now,
        };
        self.look = None;
        if let Measured::Value(bpf) = &mut self.bpf {
            bpf.flush_log();
        }
        let explain = match self.bpf.why() {
            None => now.explained_since(&begin, now.at_ns - begin.at_ns),
            Some(why) => Explained::unavailable(&self.explain, why),
        };
        let sample = self.between(&begin, now);
        let ObserverCost { user_cpu_ns, read_ns, lost, .. } = sample.observer_cost;
        let observer_cost = ObserverCost { user_cpu_ns, read_ns, lost, ..self.calibrated_cost() };
        Some(Sample { explain, observer_cost, ..sample })
    }

    /// All but explanations and what a calibration found.
    fn between(&mut self, begin: &Reading, now: Reading) -> Sample {
        let window_ns = now.at_ns - begin.at_ns;
        let cpus = now.books.value().and_then(|_| self.cpus_allowed(window_ns));
        let cgroup = now.cgroup_since(begin, (cpus, self.pids_peak), window_ns);
        let perf = now.perf.since(&begin.perf);
        let cost = ObserverCost {
            user_cpu_ns: now.own_cpu_ns - begin.own_cpu_ns,
            read_ns: now.took_ns + begin.took_ns,
            lost: self.lost(&now, begin),
            ..ObserverCost::default()
        };
        Sample {
            window_ns,
            machine: now.machine_since(begin),
            net: now.net_since(begin, &self.net),
            syscalls: now.syscall_block_since(begin, window_ns),
            sched: now.sched_since(begin, &perf, window_ns),
            ended: now.books.clone().map(|_| self.ledger.ended()),
            threads: now.books.map(|_| self.ledger.threads(window_ns)),
            perf,
            cgroup,
            explain: Explained::default(),
            observer_cost: cost,
        }
    }

    fn lost(&self, now: &Reading, begin: &Reading) -> BTreeMap<String, u64> {
        let mut lost = now.lost_since(begin);
        if self.ledger.vanished > 0 && self.bpf.value().is_some() {
            lost.insert("threads_vanished".into(), self.ledger.vanished);
        }
        lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::TargetKind;

    #[test]
    fn what_was_asked_for_and_cannot_be_had_says_why() {
        let target = TargetHandle {
            name: "nowhere".into(),
            kind: TargetKind::Cgroup,
            urls: Vec::new(),
            cgroup: Measured::unavailable("no cgroup of its own"),
            controllers: BTreeMap::new(),
            main_pid: None,
        };
        let options = Options { explain: vec![Explain::OffCpu], ..Options::default() };
        let mut set = ObserverSet::attach(&target, &options);
        set.begin();
        let so_far = set.so_far().expect("a window was begun");
        assert_eq!(so_far.explain, Explained::default());
        let explain = set.end().expect("a window goes on after a look at it").explain;
        let why = explain.off_cpu.as_ref().and_then(Measured::why);
        assert_eq!(why, Some("no cgroup of its own"));
        assert!(explain.stacks.is_none(), "it was not asked for");
    }
}
