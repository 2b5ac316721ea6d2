//! Stacks of the target's threads: sampled on the CPU, and at every wait off it.
//!
//! Hooks: overflow of a perf `cpu-clock` event on every CPU; `sched_switch` (BTF tracepoint), when
//! one of ours goes off the CPU. A thread that goes because it has to wait leaves its stack in the
//! books, and when it is next switched away from, the kernel's own figures tell how long it
//! waited: the time since, without that on the CPU and that in the run queue. So no hook is needed
//! at the switch in or at the wake-up, and a wait ends exactly when the thread could run again.
//! A stack that is not to be had is counted without its frames, under the helper's errno.
//! Blind to: user frames of code without frame pointers; pages that are not in memory; sampling
//! while interrupts are off, which the frames that switch them on again stand for; a wait that began
//! before the probes came.
//! Costs: 1.0 to 1.5 µs a sample, 1.0 µs a wait off the CPU and 40 ns a switch of any other thread
//! (6.18, a two-CPU virtual machine, December 2026).

use aya_ebpf::{
    bindings::{BPF_ANY, BPF_F_USER_STACK, BPF_NOEXIST},
    helpers::{bpf_get_current_comm, bpf_get_current_pid_tgid, bpf_ktime_get_ns},
    macros::{btf_tracepoint, perf_event},
    programs::{BtfTracePointContext, PerfEventContext, tracing::StackIdContext},
};
use bench_ebpf::abi::{
    TASK_DEAD,
    stacks::{Away, Blocked, StackCounts, StackKey, TRACE_SLOTS},
};

use crate::filter::{self, Scope};
use crate::maps::stacks::{
    STACK_AWAY, STACK_COUNTS, STACK_SPILL, STACK_TRACES, STACKS_OFF_CPU, STACKS_ON_CPU,
};
use crate::maps::{PCOUNT, RUN_DELAY, STATE, SUM_EXEC};
use crate::task::load;

/// Another stack lies where this one would have to (kernel/bpf/stackmap.c, `__bpf_get_stackid`).
const EEXIST: i32 = -17;

#[perf_event]
pub(crate) fn stack_on_cpu(ctx: PerfEventContext) -> u32 {
    let scope = filter::current();
    if let Scope::Foreign = scope {
        return 0;
    }
    let Some(counts) = counts() else { return 0 };
    if let Scope::Failed = scope {
        counts.sample_filter_failed += 1;
        return 0;
    }
    let (key, collided) = stack(&ctx);
    counts.sample_collisions += u64::from(collided);
    if STACKS_ON_CPU.get_ptr_mut(key).is_none() {
        // Another CPU may be faster; then its entry counts.
        let _in_either_case = STACKS_ON_CPU.insert(key, 0, u64::from(BPF_NOEXIST));
    }
    match STACKS_ON_CPU.get_ptr_mut(key) {
        // SAFETY: this CPU's value, which no other program writes to, and a timer's interrupt
        // does not come inside itself.
        Some(samples) => unsafe { *samples += 1 },
        None => counts.sample_full += 1,
    }
    0
}

/// Arguments: preempted, the thread that leaves, the thread that comes, (since 5.18) the state.
#[btf_tracepoint(function = "sched_switch")]
pub(crate) fn stack_off_cpu(ctx: BtfTracePointContext) -> i32 {
    let scope = filter::current();
    if let Scope::Foreign = scope {
        let prev: *const u8 = ctx.arg(1);
        if load::<u32>(prev, STATE.load()) & TASK_DEAD != 0 {
            // It may have been inside.
            let _gone = STACK_AWAY.remove(prev as u64);
        }
        return 0;
    }
    let Some(counts) = counts() else { return 0 };
    if let Scope::Failed = scope {
        counts.wait_filter_failed += 1;
        return 0;
    }
    account(&ctx, counts);
    0
}

#[inline(always)]
fn account(ctx: &BtfTracePointContext, counts: &mut StackCounts) {
    let prev: *const u8 = ctx.arg(1);
    let id = prev as u64;
    let before = STACK_AWAY.get_ptr_mut(id);
    // SAFETY: a helper without arguments.
    let now_ns = unsafe { bpf_ktime_get_ns() };
    let (run_delay, pcount, sum_exec): (u64, u64, u64) =
        (load(prev, RUN_DELAY.load()), load(prev, PCOUNT.load()), load(prev, SUM_EXEC.load()));
    if let Some(before) = before {
        // SAFETY: a thread is switched away from on one CPU at a time, so its entry has one
        // writer, and nothing else takes it out.
        let before = unsafe { &*before };
        if before.blocks != 0 {
            if pcount - before.pcount == 1 {
                // Not by `gap.rs`: the scheduler's clock may not be had where stacks are.
                let gap = now_ns - before.since_ns;
                let ran = (sum_exec - before.sum_exec) + (run_delay - before.run_delay);
                // The books of one CPU may be some ns ahead of the clock of another.
                enter(counts, &before.key, gap.saturating_sub(ran));
            } else {
                counts.merged += 1;
            }
        }
    }
    let state: u32 = load(prev, STATE.load());
    if state & TASK_DEAD != 0 {
        // It may never have been seen.
        let _gone = STACK_AWAY.remove(id);
        return;
    }
    let mut away = Away {
        since_ns: now_ns,
        tid: bpf_get_current_pid_tgid() & 0xffff_ffff,
        run_delay,
        pcount,
        sum_exec,
        blocks: 0,
        key: StackKey { tgid: 0, user: 0, kernel: 0, zero: 0, comm: [0; 16] },
    };
    // A thread that is preempted stays in the run queue, whatever it was about to wait for
    // (kernel/sched/core.c, `__schedule`).
    let preempted = ctx.arg::<u64>(0) & 1 != 0;
    if state != 0 && !preempted {
        let (key, collided) = stack(ctx);
        counts.wait_collisions += u64::from(collided);
        away.blocks = 1;
        away.key = key;
    }
    if STACK_AWAY.insert(id, away, u64::from(BPF_ANY)).is_err() {
        counts.threads_full += 1;
    }
}

/// Enters a wait that has ended.
#[inline(always)]
fn enter(counts: &mut StackCounts, key: &StackKey, ns: u64) {
    if STACKS_OFF_CPU.get_ptr_mut(*key).is_none() {
        let none = Blocked { times: 0, ns: 0 };
        let _in_either_case = STACKS_OFF_CPU.insert(*key, none, u64::from(BPF_NOEXIST));
    }
    let Some(blocked) = STACKS_OFF_CPU.get_ptr_mut(*key) else {
        counts.wait_full += 1;
        return;
    };
    // SAFETY: this CPU's value; a switch runs with interrupts off, so it has one writer.
    let blocked = unsafe { &mut *blocked };
    blocked.times += 1;
    blocked.ns += ns;
}

/// The current thread's stack, and whether one of its halves collided with another stack.
#[inline(always)]
fn stack(ctx: &impl StackIdContext) -> (StackKey, bool) {
    let kernel = id(ctx, 0);
    let user = id(ctx, u64::from(BPF_F_USER_STACK));
    let key = StackKey {
        tgid: (bpf_get_current_pid_tgid() >> 32) as u32,
        user,
        kernel,
        zero: 0,
        comm: bpf_get_current_comm().unwrap_or_default(),
    };
    (key, user == EEXIST || kernel == EEXIST)
}

/// The id of a half, or the errno.
#[inline(always)]
fn id(ctx: &impl StackIdContext, flags: u64) -> i32 {
    match ctx.get_stackid(&STACK_TRACES, flags) {
        Ok(id) => id as i32,
        Err(EEXIST) => match ctx.get_stackid(&STACK_SPILL, flags) {
            Ok(id) => id as i32 + TRACE_SLOTS as i32,
            Err(errno) => errno,
        },
        Err(errno) => errno,
    }
}

#[inline(always)]
fn counts() -> Option<&'static mut StackCounts> {
    // SAFETY: index 0 of a per-CPU array of one is always there. The two programs write to
    // different fields; a timer cannot interrupt the switch, which runs with interrupts off.
    STACK_COUNTS.get_ptr_mut(0).map(|counts| unsafe { &mut *counts })
}
