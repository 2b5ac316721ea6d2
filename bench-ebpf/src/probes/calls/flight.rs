//! Which call a thread is in: its enter, its return, and the switches between.

use aya_ebpf::helpers::generated::bpf_get_current_task;
use bench_ebpf::abi::{
    SYSCALL_SLOTS, TASK_DEAD,
    calls::{COMPAT, Call, CallCounts, UNKNOWN, kinds},
    globals::NO_OFFSET,
};

use super::outcome::{outcome, time};
use super::{counts, now_ns};
use crate::filter::{self, Scope};
use crate::maps::calls::{CALL_KINDS, CALL_NUMBER, CALLS};
use crate::maps::{RUN_DELAY, STATE};
use crate::probes::syscall::is_compat;
use crate::task;

/// What `sys_exit` shows.
pub(super) struct Return {
    pub(super) number: i32,
    pub(super) result: i64,
}

#[inline(always)]
pub(super) fn enter(number: impl FnOnce() -> i64) {
    let scope = filter::current();
    if let Scope::Foreign = scope {
        return;
    }
    let Some(counts) = counts() else { return };
    if let Scope::Failed = scope {
        counts.enter_filter_failed += 1;
        return;
    }
    let index = match usize::try_from(number()) {
        _ if is_compat() => COMPAT,
        Ok(number) if number < SYSCALL_SLOTS => number as u32,
        _ => UNKNOWN,
    };
    counts.entered[index as usize] += 1;
    let kind = CALL_KINDS.get(index).copied().unwrap_or(kinds::PLAIN);
    if kind == kinds::NEVER_RETURNS {
        counts.never_return += 1;
        return;
    }
    let call = Call {
        since_ns: now_ns(),
        off_since_ns: 0,
        off_ns: 0,
        run_delay_ns: 0,
        index,
        kind,
        in_flight: 1,
        has_blocked: 0,
    };
    let thread = current();
    match CALLS.get_ptr_mut(thread) {
        Some(entry) => {
            // SAFETY: an entry is written by its own thread, and by the switch away from it and
            // back to it, which cannot run at the same time.
            let entry = unsafe { &mut *entry };
            counts.replaced += u64::from(entry.in_flight);
            *entry = call;
        }
        None if CALLS.insert(thread, call, 0).is_err() => counts.calls_full += 1,
        None => {}
    }
}

#[inline(always)]
pub(super) fn exit(fields: impl FnOnce() -> Return) {
    let scope = filter::current();
    if let Scope::Foreign = scope {
        return;
    }
    let Some(counts) = counts() else { return };
    if let Scope::Failed = scope {
        counts.exit_filter_failed += 1;
        return;
    }
    let Return { number, result } = fields();
    let thread = current();
    let Some(entry) = CALLS.get_ptr_mut(thread) else {
        return unpaired(counts, number, result);
    };
    // SAFETY: as in `enter`.
    let entry = unsafe { &mut *entry };
    if entry.in_flight == 0 {
        return unpaired(counts, number, result);
    }
    entry.in_flight = 0;
    let call = *entry;
    counts.returned += 1;
    if call.index < COMPAT && number >= 0 && number as u32 != call.index {
        counts.renumbered += 1;
    }
    time(counts, &call);
    if call.kind != kinds::NO_RESULT {
        outcome(counts, &call, result);
    }
    if STATE.load() == NO_OFFSET && CALLS.remove(thread).is_err() {
        // It was there a moment ago, and nobody else takes it out.
        counts.calls_full += 1;
    }
}

/// A return whose enter was not seen.
#[inline(always)]
fn unpaired(counts: &mut CallCounts, number: i32, result: i64) {
    let kind = match u32::try_from(number) {
        Ok(index) if index < COMPAT && !is_compat() => CALL_KINDS.get(index).copied(),
        _ => None,
    };
    if kind == Some(kinds::FORKS) && result == 0 {
        counts.child_returns += 1;
    } else {
        counts.no_enter += 1;
    }
}

/// A thread goes off the CPU. Not by the books of `gap.rs`, which begin and end at switches: a call
/// begins and ends within a stint.
#[inline(always)]
pub(super) fn leave(is_preempted: bool, prev: *const u8) {
    let Some(entry) = CALLS.get_ptr_mut(prev as u64) else { return };
    // SAFETY: as in `enter`.
    let entry = unsafe { &mut *entry };
    let state: u32 = task::load(prev, STATE.load());
    if state & TASK_DEAD != 0 {
        if entry.in_flight != 0
            && let Some(counts) = counts()
        {
            counts.died += 1;
        }
        // Nobody else takes an entry out, so it is there.
        CALLS.remove(prev as u64).ok();
        return;
    }
    if entry.in_flight == 0 {
        return;
    }
    if entry.off_ns == 0 && RUN_DELAY.load() != NO_OFFSET {
        entry.run_delay_ns = task::load(prev, RUN_DELAY.load());
    }
    // The kernel's own rule of a voluntary switch (kernel/sched/core.c, `__schedule`).
    if !is_preempted && state != 0 {
        entry.has_blocked = 1;
    }
    entry.off_since_ns = now_ns();
}

/// A thread comes onto the CPU.
#[inline(always)]
pub(super) fn come(next: u64) {
    let Some(entry) = CALLS.get_ptr_mut(next) else { return };
    // SAFETY: as in `enter`.
    let entry = unsafe { &mut *entry };
    if entry.in_flight != 0 && entry.off_since_ns != 0 {
        entry.off_ns += now_ns().saturating_sub(entry.off_since_ns);
        entry.off_since_ns = 0;
    }
}

#[inline(always)]
fn current() -> u64 {
    // SAFETY: the helper takes nothing.
    unsafe { bpf_get_current_task() }
}

/// The number of the call as the registers hold it at its return; -1 where that is unknown.
#[inline(always)]
pub(super) fn number_in(registers: *const u8) -> i32 {
    let offset = CALL_NUMBER.load();
    if offset == NO_OFFSET { -1 } else { task::load(registers, offset) }
}
