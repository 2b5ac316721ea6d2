//! Time in softirqs, and how much of it on top of the target's threads.
//!
//! Hooks: `softirq_entry` and `softirq_exit` (BTF tracepoints); one CPU is in one softirq at a
//! time. Yields: runs and time by kind. Work that the kernel does for the network or a timer is
//! done on whatever thread the interrupt met, and is in that thread's time on the CPU.
//! Blind to: hard interrupts, whose time is in the softirq or thread that they meet.
//! Costs: nothing that could be told from noise (6.18, a two-CPU virtual machine, December 2026).

use aya_ebpf::{
    helpers::generated::bpf_ktime_get_ns, macros::btf_tracepoint, programs::BtfTracePointContext,
};
use bench_ebpf::abi::softirq::{Counts, VECTORS};

use crate::filter::{self, Scope};
use crate::maps::softirq::SOFTIRQ;

/// Argument: the number of the kind.
#[btf_tracepoint(function = "softirq_entry")]
pub(crate) fn softirq_entry(ctx: BtfTracePointContext) -> i32 {
    let Some(counts) = counts() else {
        return 0;
    };
    let is_target = match filter::current() {
        Scope::Ours => true,
        Scope::Foreign => false,
        Scope::Failed => {
            counts.filter_failed += 1;
            false
        }
    };
    let vector = ctx.arg::<u64>(0) as u32 as usize;
    if vector < VECTORS {
        let runs = &mut counts.runs[vector];
        runs.count += 1;
        runs.target_count += u64::from(is_target);
    }
    counts.is_target = u64::from(is_target);
    // Last, so that our own work is in as little of it as can be.
    // SAFETY: a helper without arguments.
    counts.since = unsafe { bpf_ktime_get_ns() };
    0
}

/// Argument: the number of the kind.
#[btf_tracepoint(function = "softirq_exit")]
pub(crate) fn softirq_exit(ctx: BtfTracePointContext) -> i32 {
    // SAFETY: a helper without arguments.
    let now = unsafe { bpf_ktime_get_ns() };
    let Some(counts) = counts() else {
        return 0;
    };
    let since = core::mem::replace(&mut counts.since, 0);
    if since == 0 {
        counts.unpaired += 1;
        return 0;
    }
    let vector = ctx.arg::<u64>(0) as u32 as usize;
    if vector < VECTORS {
        let ns = now.saturating_sub(since);
        let runs = &mut counts.runs[vector];
        runs.ns += ns;
        runs.target_ns += if counts.is_target != 0 { ns } else { 0 };
    }
    0
}

#[inline(always)]
fn counts() -> Option<&'static mut Counts> {
    // SAFETY: this CPU's value; softirqs do not nest, so nothing else writes to it meanwhile.
    SOFTIRQ.get_ptr_mut(0).map(|counts| unsafe { &mut *counts })
}
