//! Why a thread is off the CPU.

use aya_ebpf::helpers::generated::{bpf_probe_read_kernel, bpf_task_pt_regs};
use bench_ebpf::abi::{
    SYSCALL_SLOTS, TS_COMPAT,
    globals::NO_OFFSET,
    offcpu::{COMPAT, PAGE_FAULT, RUNNABLE, STOPPED, THROTTLED, UNKNOWN, WORKER},
};

use crate::maps::offcpu::{CALL_IS_32, HAS_PT_REGS, REGS_CALL, STACK_REGS, TASK_FLAGS, TASK_STACK};
use crate::maps::{COMPAT_STATUS, STATE};
use crate::task::{is_throttled, load};

/// `task_struct.__state`: stopped by a signal or a debugger (include/linux/sched.h,
/// `__TASK_STOPPED`, `__TASK_TRACED`; the same since 4.14).
const STOPPED_OR_TRACED: u32 = 0x4 | 0x8;

/// `task_struct.flags`: a thread without a user side (include/linux/sched.h, `PF_IO_WORKER`,
/// `PF_USER_WORKER` since 6.4, `PF_KTHREAD`).
const WORKERS: u32 = 0x10 | 0x4000 | 0x20_0000;

/// Why a thread goes off the CPU: voluntarily, as the kernel counts it, or not.
#[inline(always)]
pub(super) fn of(prev: *const u8, is_preempted: bool) -> u32 {
    let state: u32 = load(prev, STATE.load());
    if is_preempted || state == 0 {
        return if is_throttled(prev) { THROTTLED } else { RUNNABLE };
    }
    blocked_in(prev, state)
}

/// What a thread that is blocked waits in.
#[inline(always)]
pub(super) fn blocked_in(task: *const u8, state: u32) -> u32 {
    if state & STOPPED_OR_TRACED != 0 {
        return STOPPED;
    }
    if load::<u32>(task, TASK_FLAGS.load()) & WORKERS != 0 {
        return WORKER;
    }
    let number = call(task);
    if number < 0 {
        // What enters the kernel in other ways than by a syscall leaves -1 there.
        return PAGE_FAULT;
    }
    if is_compat(task) {
        return COMPAT;
    }
    if number < SYSCALL_SLOTS as i64 { number as u32 } else { UNKNOWN }
}

/// The syscall that brought it into the kernel, from the user registers saved at the entry.
#[inline(always)]
fn call(task: *const u8) -> i64 {
    if HAS_PT_REGS.load() != 0 {
        // SAFETY: a task that the verifier knows to be one.
        let regs = unsafe { bpf_task_pt_regs(task.cast_mut().cast()) } as *const u8;
        return if CALL_IS_32.load() != 0 {
            i64::from(load::<i32>(regs, REGS_CALL.load()))
        } else {
            load(regs, REGS_CALL.load())
        };
    }
    let stack: u64 = load(task, TASK_STACK.load());
    let from = stack + u64::from(STACK_REGS.load()) + u64::from(REGS_CALL.load());
    let mut number = 0_i64;
    let size = if CALL_IS_32.load() != 0 { 4 } else { 8 };
    // SAFETY: a helper that reads kernel memory if it is there, and fills the rest with zeros.
    let read = unsafe {
        bpf_probe_read_kernel(core::ptr::from_mut(&mut number).cast(), size, from as *const _)
    };
    match (read, size) {
        (0, 4) => i64::from(number as i32),
        (0, _) => number,
        _ => i64::MAX,
    }
}

#[inline(always)]
fn is_compat(task: *const u8) -> bool {
    let offset = COMPAT_STATUS.load();
    offset != NO_OFFSET && load::<u32>(task, offset) & TS_COMPAT != 0
}
