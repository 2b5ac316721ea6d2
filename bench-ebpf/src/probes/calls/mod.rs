//! Syscalls from enter to return: how long, how much of it off the CPU, how they fail, what they
//! bring.
//!
//! Hooks: `sys_enter` and `sys_exit` (BTF tracepoints, or classic ones where `sys_enter` says
//! so), and `sched_switch` (BTF tracepoint) for the time off the CPU. They stand beside the program that
//! counts, which so stays as cheap as it is while nothing is explained, can be taken off alone, and
//! are a second witness of how many calls there were.
//! Costs: 153 ns a call of the target and 62 ns one of any other thread, on top of the program that
//! counts (its own: 29 and 26 ns; 6.18 in a virtual machine, medians of six rounds in turn, 2026-12).
//!
//! A call in flight is kept by the address of the thread's `task_struct`: unlike its id it stays
//! when an exec takes over the id of the process's first thread. The entry of a thread stays until
//! its last switch, so that a call costs neither an insertion nor a removal; without the switch
//! it is taken out at every return.
//! Blind to: what `syscall.rs` is blind to; a call of a thread that leaves the cgroup inside it
//! stays in flight.

mod flight;
mod outcome;

use aya_ebpf::{
    EbpfContext as _,
    helpers::generated::bpf_ktime_get_ns,
    macros::{btf_tracepoint, tracepoint},
    programs::{BtfTracePointContext, TracePointContext},
};
use bench_ebpf::abi::calls::CallCounts;

use flight::{Return, come, enter, exit, leave, number_in};

use crate::maps::calls::CALL_COUNTS;

/// Arguments: the registers, the number.
#[btf_tracepoint(function = "sys_enter")]
pub(crate) fn calls_enter(ctx: BtfTracePointContext) -> i32 {
    enter(|| ctx.arg::<i64>(1));
    0
}

/// Fields: eight common bytes, then the number; the loader checks that in the format file.
#[tracepoint]
pub(crate) fn calls_enter_tp(ctx: TracePointContext) -> u32 {
    // SAFETY: the verifier knows the context's size and that byte 8 lies in it.
    enter(|| unsafe { *ctx.as_ptr().cast::<i64>().add(1) });
    // 1, because 0 would keep the event from every perf event, as `syscall.rs` says.
    1
}

/// Arguments: the registers, which hold the number, and the result.
#[btf_tracepoint(function = "sys_exit")]
pub(crate) fn calls_exit(ctx: BtfTracePointContext) -> i32 {
    exit(|| Return { number: number_in(ctx.arg(0)), result: ctx.arg::<i64>(1) });
    0
}

/// Fields: eight common bytes, the number, the result.
#[tracepoint]
pub(crate) fn calls_exit_tp(ctx: TracePointContext) -> u32 {
    let fields = ctx.as_ptr().cast::<i64>();
    // SAFETY: as above, with bytes 8 and 16.
    exit(|| unsafe { Return { number: *fields.add(1) as i32, result: *fields.add(2) } });
    1
}

/// Arguments: preempted, the thread that leaves, the thread that comes.
#[btf_tracepoint(function = "sched_switch")]
pub(crate) fn calls_switch(ctx: BtfTracePointContext) -> i32 {
    leave(ctx.arg::<u64>(0) & 0xff != 0, ctx.arg(1));
    come(ctx.arg::<u64>(2));
    0
}

#[inline(always)]
fn counts<'a>() -> Option<&'a mut CallCounts> {
    // SAFETY: index 0 of a per-CPU array of one is always there, and each of its words has one
    // program that adds to it, which does not interrupt itself.
    CALL_COUNTS.get_ptr_mut(0).map(|counts| unsafe { &mut *counts })
}

#[inline(always)]
fn now_ns() -> u64 {
    // SAFETY: the helper takes nothing.
    unsafe { bpf_ktime_get_ns() }
}
