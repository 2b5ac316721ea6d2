//! Of the iterator over all tasks, of threads that have ended, and where a task leads to.

use aya_ebpf::{
    Global,
    macros::map,
    maps::{Array, RingBuf},
};
use bench_ebpf::abi::{ENDED_BYTES, globals::NO_OFFSET};

/// Beside the cgroup array, which only a helper for the current thread can read.
#[map]
pub(crate) static TARGET_ID: Array<u64> = Array::with_max_entries(1, 0);

/// So that a reading need not look for the few ended threads among all in the hash. It is read
/// without a system call a thread.
#[map]
pub(crate) static ENDED: RingBuf = RingBuf::with_byte_size(ENDED_BYTES, 0);

#[unsafe(no_mangle)]
pub(crate) static TASK_PID: Global<u32> = Global::new(0);
#[unsafe(no_mangle)]
pub(crate) static TASK_TGID: Global<u32> = Global::new(0);
#[unsafe(no_mangle)]
pub(crate) static TASK_COMM: Global<u32> = Global::new(0);
#[unsafe(no_mangle)]
pub(crate) static TASK_LEADER: Global<u32> = Global::new(0);
#[unsafe(no_mangle)]
pub(crate) static TASK_CGROUPS: Global<u32> = Global::new(0);
#[unsafe(no_mangle)]
pub(crate) static DFL_CGRP: Global<u32> = Global::new(0);
#[unsafe(no_mangle)]
pub(crate) static CGROUP_KN: Global<u32> = Global::new(0);
#[unsafe(no_mangle)]
pub(crate) static KN_ID: Global<u32> = Global::new(0);
#[unsafe(no_mangle)]
pub(crate) static CGROUP_PARENT: Global<u32> = Global::new(0);
#[unsafe(no_mangle)]
pub(crate) static CSS_CGROUP: Global<u32> = Global::new(0);
#[unsafe(no_mangle)]
pub(crate) static LAST_QUEUED: Global<u32> = Global::new(0);
#[unsafe(no_mangle)]
pub(crate) static TASK_CFS_RQ: Global<u32> = Global::new(NO_OFFSET);
#[unsafe(no_mangle)]
pub(crate) static CFS_RQ_RQ: Global<u32> = Global::new(0);
#[unsafe(no_mangle)]
pub(crate) static RQ_CLOCK: Global<u32> = Global::new(0);
#[unsafe(no_mangle)]
pub(crate) static LAST_ARRIVAL: Global<u32> = Global::new(0);
#[unsafe(no_mangle)]
pub(crate) static THROTTLE_COUNT: Global<u32> = Global::new(NO_OFFSET);
