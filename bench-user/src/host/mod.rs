//! The machine: what it is, what it can do, where its cgroup trees are. Looked at, not changed.

mod cgroups;
pub mod counters;
mod delegation;
pub mod doctor;
pub mod engines;
pub mod environment;
pub mod owner;
mod reach;
pub mod sock_diag;
pub mod sockets;
pub mod topology;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use cgroups::{
    CgroupKind, CgroupPlaces, CgroupTrees, children, has_own_cgroup_namespace, kind_of,
    processes_below,
};
pub use delegation::is_kept_by_processes;

use crate::measured::Measured;

/// What must be known of the machine to judge a record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostInfo {
    /// Kernel release (`uname -r`).
    pub kernel: String,
    /// Machine architecture (`uname -m`).
    pub arch: String,
    /// CPUs online.
    pub cpus: u32,
    /// Model name of the first CPU.
    pub cpu_model: Measured<String>,
    /// Frequency governor of the first CPU.
    pub governor: Measured<String>,
    /// Clock source: with hpet or acpi_pm every reading of the clock is a real syscall.
    pub clocksource: Measured<String>,
    /// Hypervisor, or `none`.
    pub virtualization: Measured<String>,
    /// CPU vulnerability mitigations by name; they change the price of a syscall.
    pub mitigations: BTreeMap<String, String>,
    /// `v2`, `hybrid` (a v2 tree beside v1 controllers), `v1` (no v2 tree) or `none`.
    pub cgroup_mode: String,
    /// Kernel type information is there (`/sys/kernel/btf/vmlinux`).
    pub btf: bool,
    /// Hardware performance counters, or why there are none.
    pub pmu: Measured<bool>,
    /// Preemption model, as the kernel names it.
    pub preemption: Measured<String>,
    /// Memory, bytes.
    pub memory_bytes: Measured<u64>,
}
