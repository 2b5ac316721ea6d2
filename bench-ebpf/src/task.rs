//! Members of `task_struct` and of what it leads to, by offsets that the loader looked up.

use aya_ebpf::helpers::{
    bpf_probe_read_kernel,
    generated::{bpf_get_current_task, bpf_get_current_task_btf},
};
use bench_ebpf::abi::globals::NO_OFFSET;

use crate::maps::HAS_TYPED_TASK;
use crate::maps::tasks::{CFS_RQ_RQ, TASK_CFS_RQ, THROTTLE_COUNT};

/// A member of the running thread; `None` where the kernel does not let it be read.
#[inline(always)]
pub(crate) fn load_current<T>(offset: u32) -> Option<T> {
    if HAS_TYPED_TASK.load() != 0 {
        // SAFETY: the helper gives a live task, this one.
        let task = unsafe { bpf_get_current_task_btf() }.cast::<u8>().cast_const();
        return Some(load(task, offset));
    }
    // SAFETY: the kernel checks the address.
    unsafe {
        let task = bpf_get_current_task() as *const u8;
        bpf_probe_read_kernel(task.add(offset as usize).cast::<T>()).ok()
    }
}

/// A member, by its offset.
#[inline(always)]
pub(crate) fn load<T>(structure: *const u8, offset: u32) -> T {
    // SAFETY: the offset comes from frozen read-only data, so the verifier knows it and checks
    // that a member of this size lies there in a live structure of the pointer's type.
    unsafe { structure.add(offset as usize).cast::<T>().read() }
}

/// The run queue that a thread is on, or was on last; by its clock the kernel books waits
/// (kernel/sched/stats.h, `sched_info_arrive`).
#[inline(always)]
pub(crate) fn run_queue(task: *const u8) -> *const u8 {
    let group: *const u8 = load(task, TASK_CFS_RQ.load());
    load(group, CFS_RQ_RQ.load())
}

/// Its group, or one above, has used its quota up.
#[inline(always)]
pub(crate) fn is_throttled(task: *const u8) -> bool {
    if THROTTLE_COUNT.load() == NO_OFFSET {
        return false;
    }
    let group: *const u8 = load(task, TASK_CFS_RQ.load());
    load::<u32>(group, THROTTLE_COUNT.load()) != 0
}
