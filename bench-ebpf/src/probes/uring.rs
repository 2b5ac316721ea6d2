//! Work given to io_uring, which needs no syscall of its own.
//!
//! Hooks: `io_uring:io_uring_submit_req` (`io_uring_submit_sqe` before 6.4) and
//! `io_uring:io_uring_complete`, as BTF tracepoints, or as classic ones where `sys_enter` is one.
//! Yields: submissions by opcode, and completions by the sign of their result. A submission runs
//! on the thread that calls `io_uring_enter`, or on the ring's own SQPOLL thread, which is a
//! thread of the target's process and in its cgroup (since 5.12; before it was a kernel thread).
//! Blind to: completions that an interrupt or a thread outside the cgroup posts.
//! Costs: not measured; an add to this CPU's counters at a submission and at a completion.

use aya_ebpf::{
    EbpfContext as _,
    helpers::{bpf_get_current_comm, bpf_probe_read_kernel},
    macros::{btf_tracepoint, tracepoint},
    programs::{BtfTracePointContext, TracePointContext},
};
use bench_ebpf::abi::uring::{UringCounts, globals::BY_VALUE};

use crate::filter::{self, Scope};
use crate::maps::uring::{URING, URING_OPCODE, URING_OPCODE_ARG, URING_RESULT, URING_RESULT_ARG};

/// How the kernel names the thread that polls a ring (io_uring/sqpoll.c, `io_sq_thread`).
const POLLER: [u8; 8] = *b"iou-sqp-";

/// The loader names the tracepoint, which was `io_uring_submit_sqe` once.
#[btf_tracepoint(function = "io_uring_submit_req")]
pub(crate) fn uring_submit(ctx: BtfTracePointContext) -> i32 {
    submitted(|| {
        let argument = argument(&ctx, URING_OPCODE_ARG.load());
        let offset = URING_OPCODE.load();
        if offset == BY_VALUE { argument as u8 } else { member(argument, offset) }
    });
    0
}

#[tracepoint]
pub(crate) fn uring_submit_tp(ctx: TracePointContext) -> u32 {
    submitted(|| field(&ctx, URING_OPCODE.load()));
    // 1, because 0 would keep the event from every perf event, as `syscall.rs` says.
    1
}

#[btf_tracepoint(function = "io_uring_complete")]
pub(crate) fn uring_complete(ctx: BtfTracePointContext) -> i32 {
    completed(|| {
        let argument = argument(&ctx, URING_RESULT_ARG.load());
        let offset = URING_RESULT.load();
        if offset == BY_VALUE { argument as i32 } else { member(argument, offset) }
    });
    0
}

#[tracepoint]
pub(crate) fn uring_complete_tp(ctx: TracePointContext) -> u32 {
    completed(|| field(&ctx, URING_RESULT.load()));
    1
}

#[inline(always)]
fn submitted(opcode: impl FnOnce() -> u8) {
    let scope = filter::current();
    if let Scope::Foreign = scope {
        return;
    }
    let Some(counts) = counts() else { return };
    if let Scope::Failed = scope {
        counts.submit_filter_failed += 1;
        return;
    }
    counts.by_opcode[opcode() as usize] += 1;
    if bpf_get_current_comm().is_ok_and(|comm| comm[..8] == POLLER) {
        counts.by_poller += 1;
    }
}

#[inline(always)]
fn completed(result: impl FnOnce() -> i32) {
    let scope = filter::current();
    if let Scope::Foreign = scope {
        return;
    }
    let Some(counts) = counts() else { return };
    if let Scope::Failed = scope {
        counts.complete_filter_failed += 1;
    } else if result() < 0 {
        counts.failed += 1;
    } else {
        counts.succeeded += 1;
    }
}

#[inline(always)]
fn counts<'a>() -> Option<&'a mut UringCounts> {
    // SAFETY: index 0 of a per-CPU array of one is always there, and each of its words has one
    // program that adds to it, which does not interrupt itself.
    URING.get_ptr_mut(0).map(|counts| unsafe { &mut *counts })
}

/// An argument. Which one is a constant for the verifier, and branches that are not taken are not
/// looked at: an argument that this kernel lacks is no error.
#[inline(always)]
fn argument(ctx: &BtfTracePointContext, number: u32) -> u64 {
    match number {
        0 => ctx.arg(0),
        1 => ctx.arg(1),
        2 => ctx.arg(2),
        3 => ctx.arg(3),
        _ => 0,
    }
}

/// A member of what an argument points at.
#[inline(always)]
fn member<T>(argument: u64, offset: u32) -> T {
    // SAFETY: the offset comes from frozen read-only data, so the verifier knows it and checks
    // that a member of this size lies there.
    unsafe { (argument as *const u8).add(offset as usize).cast::<T>().read() }
}

/// A field of a classic tracepoint.
#[inline(always)]
fn field<T: Default>(ctx: &TracePointContext, offset: u32) -> T {
    // SAFETY: the helper checks the address; the offset is from the tracepoint's format file.
    unsafe {
        bpf_probe_read_kernel(ctx.as_ptr().cast::<u8>().add(offset as usize).cast::<T>())
            .unwrap_or_default()
    }
}
