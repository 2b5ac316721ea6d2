//! After a climb: what the target holds when its connections are closed, and whether it still
//! answers.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Interrupt;
use crate::clock;
use crate::measured::Measured;
use crate::observe::CgroupObserver;
use crate::plan::Plan;
use crate::target::{Target, TargetHandle};

/// How a target was when its climb was over: one `pause` of the plan after the last connection
/// was closed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct After {
    /// Resident memory of all its processes, bytes, looked at as `start.rss_bytes` was.
    pub rss_bytes: Measured<u64>,
    /// Memory that its cgroup uses, bytes.
    pub memory_current_bytes: Measured<u64>,
    /// 1 where it still answered, 0 where it did not.
    pub health_ratio: f64,
}

/// Waits one pause, then looks; the request for its health comes last, because it may cost memory.
/// `None` when a signal ended the wait.
pub(super) fn look(target: &Target, plan: &Plan, interrupt: &Interrupt) -> Option<After> {
    let rested = interrupt.wait_until(clock::now_ns() + plan.ladder.pause.as_ns());
    rested.then(|| After {
        rss_bytes: target.idle().rss_bytes,
        memory_current_bytes: memory_bytes(target),
        health_ratio: f64::from(u8::from(target.is_healthy())),
    })
}

/// Memory that the target's cgroup uses now, bytes.
pub(super) fn memory_bytes(target: &Target) -> Measured<u64> {
    let TargetHandle { cgroup, controllers, .. } = &target.handle;
    let v2 = cgroup.value().map(PathBuf::as_path);
    CgroupObserver::new(controllers, v2).read().memory_current_bytes
}
