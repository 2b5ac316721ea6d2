//! The own time of a program that is run to its end: the window of such a run is from its release to
//! its end and not from reading to reading, between which the program stood still and its last
//! threads were waited for. Every ratio and rate of the run is over that time.
//!
//! What is counted of the program alone may be read later, when all of it is in the kernel's books.
//! What the whole machine, its network and this tool do is read at the end itself.

use super::ObserverSet;
use crate::clock;
use crate::measured::Measured;
use crate::observe::machine::{self, MachineReading};
use crate::observe::net::NetReading;
use crate::observe::reading::Reading;

/// What was read when a program's own time was over.
pub(super) struct Over {
    at_ns: u64,
    own_cpu_ns: u64,
    net: NetReading,
    machine: Measured<MachineReading>,
}

impl Over {
    /// Puts the end of the window where the program's end was.
    pub(super) fn ends(self, reading: Reading) -> Reading {
        let Self { at_ns, own_cpu_ns, net, machine } = self;
        Reading { at_ns, own_cpu_ns, net: Some(net), machine, ..reading }
    }
}

impl ObserverSet {
    /// The program that stood still since [`Self::begin`] was let go on at this time, ns of
    /// `CLOCK_MONOTONIC`: from here on it has its own time.
    pub fn released(&mut self, at_ns: u64) {
        if let Some(begin) = &mut self.begin {
            begin.at_ns = at_ns;
            begin.own_cpu_ns = clock::thread_cpu_ns();
        }
        // The threads' marks are of the clock that goes on in a suspend.
        let ago_ns = clock::now_ns().saturating_sub(at_ns);
        self.ledger.stood_still_until(clock::boottime_ns().saturating_sub(ago_ns));
    }

    /// All of the program has ended, at this time, ns of `CLOCK_MONOTONIC`: what is read from here
    /// on, until [`Self::end`], adds nothing to its time.
    pub fn over(&mut self, at_ns: u64) {
        let own_cpu_ns = clock::thread_cpu_ns();
        let (net, machine) = (self.net.read(), machine::read());
        self.over = Some(Over { at_ns, own_cpu_ns, net, machine });
    }
}
