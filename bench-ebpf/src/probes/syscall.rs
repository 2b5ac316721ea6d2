//! Syscalls entered.
//!
//! Hooks: `sys_enter` (BTF tracepoint), or `raw_syscalls:sys_enter` (classic tracepoint) where the
//! kernel can preempt the first kind in its middle and then skips events. One of them is loaded.
//! Blind to: vDSO calls; calls that seccomp refuses; work that io_uring does without a syscall.
//! Costs: 30 ns (28 .. 32) a syscall of the target and 25 ns (24 .. 27) one of anything else, where
//! a program that does nothing costs 23 ns (6.18, a two-CPU virtual machine, December 2026).

use aya_ebpf::{
    EbpfContext as _,
    macros::{btf_tracepoint, tracepoint},
    programs::{BtfTracePointContext, TracePointContext},
};
use bench_ebpf::abi::{SYSCALL_SLOTS, TS_COMPAT, globals::NO_OFFSET};

use crate::filter::{self, Scope};
use crate::maps::{COMPAT_STATUS, SYSCALLS};
use crate::task;

/// Arguments: the registers, the number.
#[btf_tracepoint(function = "sys_enter")]
pub(crate) fn sys_enter(ctx: BtfTracePointContext) -> i32 {
    count(|| ctx.arg::<i64>(1));
    0
}

/// Fields: eight common bytes, then the number; the loader checks that in the format file.
#[tracepoint]
pub(crate) fn sys_enter_tp(ctx: TracePointContext) -> u32 {
    // SAFETY: the verifier knows the context's size and that byte 8 lies in it.
    count(|| unsafe { *ctx.as_ptr().cast::<i64>().add(1) });
    // On 0 the kernel would keep the event from every perf event of the machine, and `perf trace`
    // would see no syscalls (kernel/events/core.c, `perf_trace_run_bpf_submit`).
    1
}

#[inline(always)]
fn count(number: impl FnOnce() -> i64) {
    let scope = filter::current();
    if let Scope::Foreign = scope {
        return;
    }
    let Some(counts) = SYSCALLS.get_ptr_mut(0) else {
        return;
    };
    // SAFETY: index 0 of a per-CPU array of one is always there, and no other program run on
    // this CPU writes to it before this one ends.
    let counts = unsafe { &mut *counts };
    if let Scope::Failed = scope {
        counts.filter_failed += 1;
        return;
    }
    if is_compat() {
        counts.compat += 1;
        return;
    }
    match usize::try_from(number()) {
        Ok(number) if number < SYSCALL_SLOTS => counts.by_number[number] += 1,
        _ => counts.unknown += 1,
    }
}

/// The call came through the 32-bit entry, so its number is of another table.
#[inline(always)]
pub(super) fn is_compat() -> bool {
    let offset = COMPAT_STATUS.load();
    if offset == NO_OFFSET {
        return false;
    }
    // The running thread is there, so it can be read.
    task::load_current::<u32>(offset).is_some_and(|status| status & TS_COMPAT != 0)
}
