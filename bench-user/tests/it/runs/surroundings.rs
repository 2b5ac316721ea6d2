//! What is around the threads of a made-up stage: its cgroup, its network, the machine.

use std::collections::BTreeMap;

use bench_user::measured::Measured::{self, Value};
use bench_user::observe::{CgroupUse, Listener, MachineUse, Net};

use super::stage::Around;

pub(super) fn cgroup(around: &Around) -> CgroupUse {
    CgroupUse {
        cpu_ratio: Value(around.busiest),
        user_ns: Value(1_500_000_000),
        system_ns: Value(3_400_000_000),
        cpu_limit: Value(1.0),
        cpus_allowed: Value(2),
        nr_periods: Value(50),
        nr_throttled: Value(4),
        throttled_ns: Value(20_000_000),
        memory_peak_bytes: Value(3 << 20),
        memory_before_bytes: Value(1 << 20),
        memory_current_bytes: Value(2 << 20),
        memory_limit_bytes: Measured::unavailable("it has no memory limit"),
        oom_kills: Value(0),
        memory_events: [("high", 0), ("low", 0), ("max", 12), ("oom", 0), ("oom_kill", 0)]
            .map(|(name, n)| (name.to_owned(), Value(n)))
            .into(),
        pids_peak: Measured::unavailable("the pids controller keeps no peak before Linux 6.11"),
        pids_current: Value(2),
        psi: BTreeMap::from([("cpu.some".into(), Value(150_000_000))]),
    }
}

pub(super) fn net() -> Net {
    Net {
        listen_overflows: 0,
        listen_drops: 0,
        retransmits: 3,
        segments_out: Value(120_000),
        segments_in: Value(90_000),
        accept_queue: Value(0),
        accept_queue_max: Value(7),
        listener_drops: Value(0),
        listeners: vec![Listener {
            address: "0.0.0.0:3000".into(),
            accept_queue: 0,
            accept_queue_max: 7,
            accept_queue_limit: Value(511),
            drops: Value(0),
        }],
    }
}

pub(super) fn machine() -> MachineUse {
    MachineUse {
        busy_cpus: 1.5,
        stolen_cpus: 0.02,
        irq_cpus: Value(0.0),
        softirq_cpus: Value(0.25),
    }
}
