//! What the probes cost, and taking off what costs too much.

use super::ObserverSet;
use crate::clock;
use crate::measured::Measured;
use crate::observe::bpf::{Calibration, Cost};
use crate::observe::overhead::Overhead;
use crate::observe::sample::ObserverCost;
use crate::plan::Explain;

/// Where the one calibration of a set is.
#[derive(Default)]
pub(super) enum Calibrating {
    #[default]
    NotYet,
    /// From this CPU time of target and load on, ns, or why it is not known.
    Running(Result<Calibration, String>, Result<u64, String>),
    Done,
}

/// What a calibration found.
pub(super) struct Calibrated {
    cost: Cost,
    /// CPU time of target and load meanwhile, ns, or why it is not known.
    busy_ns: Result<u64, String>,
}

impl ObserverSet {
    /// Measures the run time of the probes until [`Self::end_calibration`]: once in the life of
    /// a set, because while it lasts every BPF program of the machine pays for it.
    pub fn begin_calibration(&mut self) {
        if let (Measured::Value(bpf), Calibrating::NotYet) = (&self.bpf, &self.calibrating) {
            let busy_ns = self.busy_ns();
            self.calibrating = Calibrating::Running(bpf.begin_calibration(), busy_ns);
        }
    }

    /// Ends the calibration; its figures are in the next sample.
    pub fn end_calibration(&mut self) {
        let running = std::mem::replace(&mut self.calibrating, Calibrating::Done);
        let (Calibrating::Running(running, busy_ns), Measured::Value(bpf)) = (running, &self.bpf)
        else {
            return;
        };
        // The kernel stops measuring when `running` is dropped, which is before anything else.
        let cost = running.and_then(|running| bpf.end_calibration(&running));
        // A cgroup that is gone with its target has taken its books along.
        let busy_ns = busy_ns.and_then(|then| {
            let now = self.busy_ns()?;
            now.checked_sub(then).ok_or_else(|| "the books of its CPU time began anew".to_owned())
        });
        self.calibrated = Some(cost.map(|cost| Calibrated { cost, busy_ns }));
    }

    /// The overhead that was calibrated since the last window, to be held against a limit; `None`
    /// where there was no calibration since, or there are no probes.
    ///
    /// # Errors
    /// Why it could not be measured.
    pub fn overhead(&self) -> Option<Result<Overhead, String>> {
        let found = self.calibrated.as_ref()?.as_ref();
        Some(match found {
            Ok(Calibrated { cost, busy_ns: Ok(busy_ns) }) => {
                Ok(Overhead::of(&cost.parts, self.bias, *busy_ns))
            }
            Ok(Calibrated { busy_ns: Err(why), .. }) => {
                Err(format!("the CPU time of the target is not known: {why}"))
            }
            Err(why) => Err(why.clone()),
        })
    }

    /// Takes an explanation off, for a reason that stands in its place from here on.
    pub fn detach(&mut self, kind: Explain, why: &str) {
        if let Measured::Value(bpf) = &mut self.bpf {
            bpf.detach(kind, why);
        }
    }

    /// What the last calibration found, for the sample of the window that followed it.
    pub(super) fn calibrated_cost(&mut self) -> ObserverCost {
        let Some(Ok(Calibrated { cost, busy_ns })) = self.calibrated.take() else {
            return ObserverCost::default();
        };
        // Without the CPU time that it is a share of there is no share.
        let overhead = Overhead::of(&cost.parts, self.bias, busy_ns.unwrap_or(0));
        let ns_by_part =
            cost.parts.iter().map(|(part, cost)| (part.to_string(), self.bias.corrected(*cost)));
        ObserverCost {
            bpf_ns: Some(cost.parts.values().map(|part| part.run_ns).sum()),
            bpf_runs: Some(cost.parts.values().map(|part| part.runs).sum()),
            bpf_window_ns: Some(cost.over_ns),
            probe_cpu_ratio: Overhead { busy_ns: cost.over_ns, ..overhead.clone() }.ratio(),
            probe_overhead_ratio: overhead.ratio(),
            probe_ns_by_part: ns_by_part.collect(),
            ..ObserverCost::default()
        }
    }

    /// CPU time of the target and of this process, ns.
    fn busy_ns(&self) -> Result<u64, String> {
        let target_ns = self.cgroup.read().usage_ns;
        Ok(target_ns.as_result()? + clock::process_cpu_ns())
    }
}
