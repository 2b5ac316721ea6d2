//! Runs stages and takes both readings at the same boundary: the only module that knows both
//! `load` and `observe`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::load::LoadSample;
use crate::observe::Sample;

/// Which stage of which climb.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// Place in the ladder, from 0.
    pub index: u32,
    /// Which climb, from 0.
    pub repetition: u32,
    /// The probes are attached.
    pub observed: bool,
    /// Connections of the stage.
    pub connections: u32,
}

/// A finished stage, both sides.
#[derive(Debug, Clone)]
pub struct StageDone {
    /// Which one.
    pub position: Position,
    /// The client's side.
    pub load: LoadSample,
    /// The kernel's side.
    pub kernel: Sample,
    /// Looks inside the window.
    pub samples: Vec<StageSample>,
    /// The stop rule that it tripped, as a sentence.
    pub stopped_by: Option<String>,
}

/// One look inside a stage.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct StageSample {
    /// Since the start of the window, ms; the figures are of the time since the sample before.
    pub t_ms: f64,
    /// Complete responses per second.
    pub achieved_rps: f64,
    /// 99th percentile of the response time, ns; `null` where the interval has too few.
    pub response_ns_p99: Option<u64>,
    /// Syscalls per second.
    pub syscalls_per_sec: Option<f64>,
    /// Context switches per second.
    pub switches_per_sec: Option<f64>,
    /// CPUs used.
    pub cpu_ratio: Option<f64>,
    /// Busiest thread's share on a CPU.
    pub busiest_thread_ratio: Option<f64>,
    /// Memory in use, bytes.
    pub memory_bytes: Option<u64>,
    /// Processes and threads.
    pub pids: Option<u64>,
    /// Held back by the quota, ns.
    pub throttled_ns: Option<u64>,
}
