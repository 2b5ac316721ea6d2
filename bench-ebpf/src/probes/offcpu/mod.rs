//! What threads wait in while they are off the CPU.
//!
//! Hooks: `sched_switch` (BTF tracepoint), when one of ours goes off the CPU, where the stretch
//! since its switch before is split and entered under the reason noted then (`gap.rs`); and the
//! iterator `task` (5.8 and later), for stretches that are open at the edge of a window and for
//! threads that were asleep when the probes came.
//! The syscall is the one in the saved user registers, so nothing runs at a syscall.
//! Yields: time on a CPU, waiting for one, throttled, and blocked by reason, per thread; blocked
//! times by reason as histograms. Blind to: a page fault inside a syscall (the syscall has it);
//! what a quota does to a thread that wakes up while its group is held back (`runq.rs` sees it);
//! a move out of the target and back while a thread sleeps.
//! Costs: 130 ns a switch of the target (6.18, a two-CPU virtual machine, December 2026).

mod reason;
mod tasks;

use aya_ebpf::{
    bindings::BPF_NOEXIST, helpers::generated::bpf_ktime_get_ns, macros::btf_tracepoint,
    programs::BtfTracePointContext,
};
use bench_ebpf::{
    abi::{
        TASK_DEAD,
        offcpu::{
            Counts, Entry, HELD, HISTOGRAMS, OTHER, REASONS, RUNNABLE, SLOTS, THROTTLED, Waits,
        },
    },
    gap::{self, Books, Split},
    hist,
};

use crate::compiler::bucket;
use crate::filter::{self, Scope};
use crate::maps::offcpu::{OFFCPU, OFFCPU_COUNTS, OFFCPU_EMPTY, OFFCPU_HIST};
use crate::maps::tasks::{LAST_ARRIVAL, RQ_CLOCK};
use crate::maps::{
    NIVCSW, NVCSW, PCOUNT, RUN_DELAY, START_BOOTTIME, STATE, SUM_EXEC, WATCHING_SINCE,
};
use crate::seqlock;
use crate::task::{load, run_queue};

/// Arguments: preempted, the thread that leaves, and more.
#[btf_tracepoint(function = "sched_switch")]
pub(crate) fn offcpu_switch(ctx: BtfTracePointContext) -> i32 {
    let scope = filter::current();
    let prev: *const u8 = ctx.arg(1);
    let is_foreign = matches!(scope, Scope::Foreign);
    if is_foreign && load::<u32>(prev, STATE.load()) & TASK_DEAD == 0 {
        return 0;
    }
    let Some(counts) = OFFCPU_COUNTS.get_ptr_mut(0) else {
        return 0;
    };
    // SAFETY: index 0 of a per-CPU array of one is always there; the hook runs with preemption
    // and interrupts off, so nothing else writes to this CPU's value.
    let counts = unsafe { &mut *counts };
    if let Scope::Failed = scope {
        counts.filter_failed += 1;
        return 0;
    }
    if is_foreign {
        end_outside(prev as u64, counts);
    } else {
        account(prev, ctx.arg::<u64>(0) as u8 != 0, counts);
    }
    0
}

/// A thread ends outside of the target. If it was inside, its account goes before its address goes
/// to another thread; what it did since it left is not in it.
#[inline(always)]
fn end_outside(key: u64, counts: &mut Counts) {
    if let Some(entry) = OFFCPU.get_ptr(key) {
        // SAFETY: this is the thread's last switch, and only its switches write to the entry.
        fold(unsafe { &*entry }, counts);
        // It was found above, and nobody else takes it out.
        OFFCPU.remove(key).ok();
    }
}

#[inline(always)]
fn account(prev: *const u8, is_preempted: bool, counts: &mut Counts) {
    let now = Books { clock: load(run_queue(prev), RQ_CLOCK.load()), ..books(prev) };
    let key = prev as u64;
    let Some(entry) = OFFCPU.get_ptr_mut(key).or_else(|| open(key)) else {
        counts.threads_full += 1;
        return;
    };
    // SAFETY: a thread is switched away from on one CPU at a time, so this entry has one writer.
    let entry = unsafe { &mut *entry };
    seqlock::begin_write(&mut entry.version);
    if entry.opened == 0 {
        first_seen(prev, entry, &now);
    } else if now.pcount < entry.left.pcount {
        // The thread that had this address has left the target and ended elsewhere.
        counts.reset += 1;
    } else {
        match gap::closed(&entry.left, &now) {
            Some(split) => enter(entry, &split, counts),
            None => counts.absences += 1,
        }
    }
    entry.reason = u64::from(reason::of(prev, is_preempted));
    entry.left = now;
    seqlock::end_write(&mut entry.version);
    if load::<u32>(prev, STATE.load()) & TASK_DEAD != 0 {
        fold(entry, counts);
        // It was found above, and nobody else takes it out.
        OFFCPU.remove(key).ok();
    }
}

/// A new entry; `None` when the hash is full.
#[inline(always)]
fn open(key: u64) -> Option<*mut Entry> {
    let empty = OFFCPU_EMPTY.get_ptr(0)?;
    // SAFETY: index 0 of an array of one, which nobody writes to. Not over an entry that another
    // CPU has made meanwhile.
    OFFCPU.insert(key, unsafe { &*empty }, u64::from(BPF_NOEXIST)).ok();
    OFFCPU.get_ptr_mut(key)
}

/// What the books held before is not ours to count, unless it was born in the target while we
/// watch.
#[inline(always)]
fn first_seen(task: *const u8, entry: &mut Entry, now: &Books) {
    entry.opened = now.mono;
    if is_born_here(task, now) {
        entry.on_cpu =
            if now.clock == 0 { now.sum_exec } else { now.clock.wrapping_sub(now.last_arrival) };
        entry.run_queue = now.run_delay;
    }
}

/// Before its first switch away it has not been anywhere else.
#[inline(always)]
fn is_born_here(task: *const u8, now: &Books) -> bool {
    load::<u64>(task, START_BOOTTIME.load()) >= WATCHING_SINCE.load() && now.pcount <= 1
}

#[inline(always)]
fn enter(entry: &mut Entry, split: &Split, counts: &mut Counts) {
    entry.on_cpu += split.on_cpu;
    entry.run_queue += split.run_queue;
    let reason = entry.reason as u32;
    match reason {
        RUNNABLE => entry.unbooked += split.rest,
        THROTTLED => {
            entry.throttled += split.run_queue;
            entry.unbooked += split.rest;
            sample(reason, split.run_queue, counts);
        }
        HELD => {}
        _ => {
            block(entry, reason, split.rest);
            sample(reason, split.rest, counts);
        }
    }
}

#[inline(always)]
fn block(entry: &mut Entry, reason: u32, ns: u64) {
    for slot in &mut entry.slots {
        if slot.waits.count == 0 {
            slot.reason = u64::from(reason);
        }
        if slot.reason == u64::from(reason) {
            add(&mut slot.waits, ns);
            return;
        }
    }
    add(&mut entry.other, ns);
}

#[inline(always)]
fn add(waits: &mut Waits, ns: u64) {
    waits.count += 1;
    waits.ns += ns;
}

/// Enters a wait that is over into its reason's histogram, or into the others' where this CPU has
/// given all of its own away.
#[inline(always)]
fn sample(reason: u32, ns: u64, counts: &mut Counts) {
    let Some(of_reason) = counts.histogram_of.get_mut(reason as usize) else {
        return;
    };
    if *of_reason == 0 && counts.histograms + 1 < u64::from(HISTOGRAMS) {
        counts.histograms += 1;
        *of_reason = counts.histograms as u8;
    }
    let Some(histogram) = OFFCPU_HIST.get_ptr_mut(u32::from(*of_reason)) else {
        return;
    };
    let bucket = bucket(ns);
    if bucket < hist::BUCKETS {
        // SAFETY: a value of a per-CPU array, and nothing else runs on this CPU in this hook.
        unsafe { (*histogram)[bucket] += 1 };
    }
}

/// Adds an ended thread's account to this CPU's.
#[inline(always)]
fn fold(entry: &Entry, counts: &mut Counts) {
    counts.ended += 1;
    counts.ended_on_cpu += entry.on_cpu;
    counts.ended_run_queue += entry.run_queue;
    counts.ended_throttled += entry.throttled;
    counts.ended_unbooked += entry.unbooked;
    for slot in 0..SLOTS {
        let slot = &entry.slots[slot];
        let reason = slot.reason as usize;
        if reason < REASONS {
            let sum = &mut counts.ended_by_reason[reason];
            sum.count += slot.waits.count;
            sum.ns += slot.waits.ns;
        }
    }
    let sum = &mut counts.ended_by_reason[OTHER as usize];
    sum.count += entry.other.count;
    sum.ns += entry.other.ns;
}

/// The books as they stand, without the scheduler's clock, which is up to date in `sched_switch`
/// only.
#[inline(always)]
fn books(task: *const u8) -> Books {
    Books {
        // SAFETY: a helper without arguments.
        mono: unsafe { bpf_ktime_get_ns() },
        clock: 0,
        last_arrival: load(task, LAST_ARRIVAL.load()),
        run_delay: load(task, RUN_DELAY.load()),
        pcount: load(task, PCOUNT.load()),
        sum_exec: load(task, SUM_EXEC.load()),
        switches: load::<u64>(task, NVCSW.load()) + load::<u64>(task, NIVCSW.load()),
    }
}
