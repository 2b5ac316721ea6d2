//! Windows without load, of an instrument that saw everything and of one that saw nothing.

use std::collections::BTreeMap;

use bench_user::measured::Measured;
use bench_user::observe::{CgroupUse, Sample};

use super::stage::{LEAN, WINDOW, stage};

/// A window of an instrument that saw everything.
pub(crate) fn everything_observed() -> Sample {
    let stage = stage(&LEAN[1], 1, 1, true);
    Sample {
        window_ns: WINDOW,
        syscalls: stage.syscalls,
        sched: stage.sched,
        threads: stage.threads,
        ended: stage.ended,
        perf: stage.perf,
        cgroup: stage.cgroup,
        net: stage.net,
        machine: stage.machine,
        explain: stage.explain,
        observer_cost: stage.observer_cost,
    }
}

/// A window of an instrument that saw nothing, for one reason.
pub(crate) fn nothing_observed(why: &str) -> Sample {
    Sample {
        window_ns: WINDOW,
        perf: BTreeMap::from([("cycles".into(), Measured::unavailable(why))]),
        cgroup: CgroupUse {
            psi: BTreeMap::from([("cpu.some".into(), Measured::unavailable(why))]),
            ..CgroupUse::unavailable(why)
        },
        ..Sample::empty(why)
    }
}
