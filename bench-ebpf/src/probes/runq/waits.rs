//! Where each wait of the target's threads begins, moves and ends.

use aya_ebpf::{bindings::BPF_ANY, helpers::generated::bpf_ktime_get_ns};
use bench_ebpf::{
    abi::runq::Counts,
    queue::{self, ByCause, CAUSES, Cpu, Wait},
};

use super::cpu;
use crate::maps::runq::RUNQ_WAITS;
use crate::seqlock;

/// A thread begins to wait for this CPU, whose lock is held.
#[inline(always)]
pub(super) fn begin(task: *const u8, number: u32, cpu: &mut Cpu, clock: u64, counts: &mut Counts) {
    let fresh = Wait {
        is_open: 1,
        cpu: number,
        totals: cpu.totals,
        cause: cpu.cause,
        skip: clock.saturating_sub(cpu.since),
        // SAFETY: a helper without arguments.
        mono: unsafe { bpf_ktime_get_ns() },
        clock,
        is_counted: 1,
        before: [0; CAUSES],
    };
    if let Some(wait) = RUNQ_WAITS.get_ptr_mut(task as u64) {
        // SAFETY: a thread is in one hook at a time, under the lock of the queue that it is on.
        let wait = unsafe { &mut *wait };
        if wait.is_open != 0 {
            counts.begin_twice += 1;
            return;
        }
        *wait = fresh;
    } else if RUNQ_WAITS.insert(task as u64, fresh, u64::from(BPF_ANY)).is_err() {
        counts.threads_full += 1;
        return;
    }
    cpu.cover(clock);
    cpu.waiting += 1;
}

/// A thread comes to this CPU, whose lock is held. Its wait began there at `queued`; 0: it did not
/// wait, by the kernel's books. One that is not ours may have been when it began to wait.
#[inline(always)]
pub(super) fn end(
    task: *const u8,
    number: u32,
    cpu: &mut Cpu,
    (clock, queued): (u64, u64),
    is_ours: bool,
    counts: &mut Counts,
) {
    let wait = RUNQ_WAITS.get_ptr_mut(task as u64);
    // SAFETY: a thread is in one hook at a time, under the lock of the queue that it is on.
    let wait = wait.map(|wait| unsafe { &mut *wait });
    let is_open = wait.as_ref().is_some_and(|wait| wait.is_open != 0);
    if !is_open && (queued == 0 || !is_ours) {
        return;
    }
    let booked = if queued == 0 { 0 } else { clock.saturating_sub(queued) };
    counts.waits += 1;
    let Some(wait) = wait else {
        counts.begin_unseen += 1;
        counts.unattributed += booked;
        return;
    };
    if wait.is_open == 0 || wait.cpu != number {
        counts.begin_unseen += 1;
        counts.unattributed += booked;
    } else {
        if wait.is_counted != 0 {
            cpu.waiting = cpu.waiting.saturating_sub(1);
        }
        enter(&queue::ended(wait, &cpu.totals, booked), counts);
    }
    add(&mut counts.by_cause, &wait.before);
    wait.before = [0; CAUSES];
    wait.is_open = 0;
}

/// A thread has come to this CPU, whose lock is held, where its account's last slice ended.
#[inline(always)]
pub(super) fn end_unseen(task: *const u8, number: u32, cpu: &mut Cpu, counts: &mut Counts) {
    let Some(wait) = RUNQ_WAITS.get_ptr_mut(task as u64) else {
        return;
    };
    // SAFETY: as above.
    let wait = unsafe { &mut *wait };
    if wait.is_open == 0 || wait.cpu != number {
        return;
    }
    counts.waits += 1;
    if wait.is_counted != 0 {
        cpu.waiting = cpu.waiting.saturating_sub(1);
    }
    add(&mut counts.by_cause, &queue::ended_unseen(wait, &cpu.totals).by_cause);
    add(&mut counts.by_cause, &wait.before);
    wait.before = [0; CAUSES];
    wait.is_open = 0;
}

/// A thread that may be waiting is moved to another CPU. The lock of the one that it leaves is
/// held, that of the other is not, and neither is its clock known: a second move of the same wait
/// is measured by another one.
#[inline(always)]
pub(super) fn carry_over(task: *const u8, clock: u64, to: u32, counts: &mut Counts) {
    let Some(wait) = RUNQ_WAITS.get_ptr_mut(task as u64) else {
        return;
    };
    // SAFETY: a thread is moved by who holds its lock.
    let wait = unsafe { &mut *wait };
    if wait.is_open == 0 {
        return;
    }
    let Some(from) = cpu(wait.cpu) else {
        return;
    };
    seqlock::begin_write(&mut from.version);
    from.cover(clock);
    if wait.is_counted != 0 {
        from.waiting = from.waiting.saturating_sub(1);
    }
    let now = *from;
    seqlock::end_write(&mut from.version);
    // SAFETY: a helper without arguments.
    let mono = unsafe { bpf_ktime_get_ns() };
    let waited = match wait.clock {
        0 => mono.saturating_sub(wait.mono),
        since => clock.saturating_sub(since),
    };
    let split = queue::open(wait, &now, waited);
    add(&mut wait.before, &split.by_cause);
    counts.unattributed += split.unattributed;
    (wait.mono, wait.clock) = (mono, 0);
    wait.is_counted = 0;
    wait.cpu = to;
    match look_at(to) {
        Some((totals, cause)) => {
            (wait.totals, wait.cause, wait.skip) = (totals, cause, 0);
        }
        None => {
            counts.torn += 1;
            wait.is_open = 0;
        }
    }
}

/// The last switch of a thread.
#[inline(always)]
pub(super) fn forget(task: *const u8) {
    // It may never have waited.
    RUNQ_WAITS.remove(task as u64).ok();
}

/// Another CPU's account, whole.
#[inline(always)]
fn look_at(number: u32) -> Option<(ByCause, u64)> {
    let cpu: *const Cpu = cpu(number)?;
    // SAFETY: a value of an array; that it changes meanwhile shows in its version.
    unsafe { seqlock::read(&raw const (*cpu).version, || ((*cpu).totals, (*cpu).cause)) }
}

#[inline(always)]
fn enter(split: &queue::Split, counts: &mut Counts) {
    add(&mut counts.by_cause, &split.by_cause);
    counts.unattributed += split.unattributed;
}

#[inline(always)]
fn add(sum: &mut ByCause, part: &ByCause) {
    for cause in 0..CAUSES {
        sum[cause] += part[cause];
    }
}
