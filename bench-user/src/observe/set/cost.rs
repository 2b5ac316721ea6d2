//! What the probes cost, and taking off what costs too much.

use std::collections::BTreeMap;

use super::ObserverSet;
use crate::measured::Measured;
use crate::observe::bpf::ProgramCost;
use crate::plan::Explain;

impl ObserverSet {
    /// Measures the run time of the probes until [`Self::end_calibration`]: once in the life of
    /// a set, because while it lasts every BPF program of the machine pays for it.
    pub fn begin_calibration(&mut self) {
        if let (Measured::Value(bpf), false) = (&self.bpf, self.is_calibrated) {
            self.is_calibrated = true;
            self.calibration = bpf.begin_calibration();
        }
    }

    /// Ends the calibration; its figures are in the next sample.
    pub fn end_calibration(&mut self) {
        if let (Measured::Value(bpf), Some(calibration)) = (&self.bpf, self.calibration.take()) {
            self.probe_cost = bpf.end_calibration(&calibration);
        }
    }

    /// Runs and run time of each part of the probes since it was loaded, by its name: `sched`,
    /// `syscalls`, or that of an explanation; they stand still outside a calibration.
    ///
    /// # Errors
    /// Why there are no probes, or why the kernel does not show it.
    pub fn cost_by_part(&self) -> Result<BTreeMap<&'static str, ProgramCost>, String> {
        self.bpf.as_result()?.cost_by_part()
    }

    /// Takes an explanation off, for a reason that stands in its place from here on.
    pub fn detach(&mut self, kind: Explain, why: &str) {
        if let Measured::Value(bpf) = &mut self.bpf {
            bpf.detach(kind, why);
        }
    }
}
