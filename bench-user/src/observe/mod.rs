//! The instruments on the kernel's side.
//!
//! Knows a target's cgroup and pids and nothing of requests.

mod sample;

pub use sample::{CgroupUse, Count, Net, ObserverCost, PerfCount, Sample, Sched, Syscalls, Thread};
