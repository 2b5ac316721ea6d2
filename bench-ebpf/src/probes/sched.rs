//! Switches, waits for a CPU and time on it, from the kernel's own books.
//!
//! Hooks: `sched_process_exec`, for ids that go to another thread; and `sched_switch` (both BTF
//! tracepoints), when one of ours goes off the CPU. It is then still
//! `current`, so the cgroup test is of exactly the thread that we account. The books
//! (`sched_info`, `se`, `nvcsw`, `nivcsw`) are brought up to date before the hook runs
//! (kernel/sched/core.c, `__schedule`, 5.10 to 7.3), so two readings give this stint's wait and
//! time on the CPU without a timestamp or a wakeup hook.
//! Blind to: kernels without CONFIG_SCHED_INFO; time stolen by a hypervisor.
//! Costs: 55 ns (46 .. 63) a switch of the target and 31 ns (21 .. 42) one of anything else, where
//! a program that does nothing costs 23 ns (6.18, a two-CPU virtual machine, December 2026).

use aya_ebpf::{
    bindings::BPF_RB_NO_WAKEUP,
    helpers::{bpf_get_current_comm, bpf_get_current_pid_tgid, generated::bpf_ktime_get_boot_ns},
    macros::btf_tracepoint,
    programs::BtfTracePointContext,
};
use bench_ebpf::{
    abi::{Books, EndedThread, SchedCounts, TASK_DEAD, ThreadEntry, ThreadKey},
    hist,
};

use crate::compiler::bucket;
use crate::filter::{self, Scope};
use crate::maps::tasks::ENDED;
use crate::maps::{
    BORN, NIVCSW, NVCSW, PCOUNT, RUN_DELAY, SCHED, START_BOOTTIME, STATE, SUM_EXEC, THREADS,
    WATCHING_SINCE,
};
use crate::task::load;

const NO_BOOKS: Books = Books { run_delay: 0, pcount: 0, sum_exec: 0, nvcsw: 0, nivcsw: 0 };

/// Arguments: preempted, the thread that leaves, the thread that comes, (since 5.18) the state.
#[btf_tracepoint(function = "sched_switch")]
pub(crate) fn sched_switch(ctx: BtfTracePointContext) -> i32 {
    let scope = filter::current();
    let prev: *const u8 = ctx.arg(1);
    let is_foreign = matches!(scope, Scope::Foreign);
    if is_foreign && load::<u32>(prev, STATE.load()) & TASK_DEAD == 0 {
        return 0;
    }
    let Some(counts) = SCHED.get_ptr_mut(0) else {
        return 0;
    };
    // SAFETY: index 0 of a per-CPU array of one is always there; the hook runs with preemption
    // and interrupts off, so nothing else writes to this CPU's value.
    let counts = unsafe { &mut *counts };
    if is_foreign {
        end_outside(prev, counts);
        return 0;
    }
    if let Scope::Failed = scope {
        counts.filter_failed += 1;
        return 0;
    }
    counts.switches += 1;
    account(&ctx, counts);
    0
}

/// An exec by another thread than the first hands that one's id and start to it. Arguments: the
/// thread, its id before, the program.
#[btf_tracepoint(function = "sched_process_exec")]
pub(crate) fn sched_exec(ctx: BtfTracePointContext) -> i32 {
    let before = u64::from(ctx.arg::<u32>(1));
    if let Scope::Ours = filter::current()
        && bpf_get_current_pid_tgid() & 0xffff_ffff != before
        && let Some(counts) = SCHED.get_ptr_mut(0)
    {
        // SAFETY: as above, but for interrupts, in which no switch takes place.
        unsafe { (*counts).reset += 1 };
    }
    0
}

#[inline(always)]
fn account(ctx: &BtfTracePointContext, counts: &mut SchedCounts) {
    let prev: *const u8 = ctx.arg(1);
    let now = books(prev);
    let tid = bpf_get_current_pid_tgid() & 0xffff_ffff;
    let key = ThreadKey { tid, start_ns: load(prev, START_BOOTTIME.load()) };
    let ended = u32::from(load::<u32>(prev, STATE.load()) & TASK_DEAD != 0);
    let Some(known) = THREADS.get_ptr_mut(key) else {
        return first_seen(ctx, &key, &now, ended, counts);
    };
    // SAFETY: a thread is switched away from on one CPU at a time, so this entry has one writer;
    // user space only takes out ended ones.
    let entry = unsafe { &mut *known };
    go_on(entry, prev as u64, &now, counts);
    if ended != 0 {
        note(ctx, &key, "ended");
        end(&key, entry, counts);
    }
}

/// Whoever was born in the target is seen at the first switch; a thread that has had others was
/// elsewhere then, and what it did there is not ours to count.
#[inline(always)]
fn first_seen(
    ctx: &BtfTracePointContext,
    key: &ThreadKey,
    now: &Books,
    ended: u32,
    counts: &mut SchedCounts,
) {
    let born_here = key.start_ns >= WATCHING_SINCE.load() && now.switches() == 1;
    let first = if born_here { NO_BOOKS } else { *now };
    if born_here {
        enter_wait(counts, &first, now);
    } else {
        counts.first_sights += 1;
    }
    note(ctx, key, "first seen");
    // Not on the stack, where kernels before 6.13 have no room for it.
    let Some(entry) = BORN.get_ptr_mut(0) else {
        return;
    };
    // SAFETY: as `counts`.
    let entry = unsafe { &mut *entry };
    entry.ended = ended;
    entry.tgid = (bpf_get_current_pid_tgid() >> 32) as u32;
    entry.task = ctx.arg(1);
    entry.takeovers = 0;
    entry.first_at = boot_ns();
    entry.ended_at = if ended != 0 { boot_ns() } else { 0 };
    entry.absences = 0;
    entry.away = NO_BOOKS;
    entry.first = first;
    entry.last = *now;
    entry.comm = bpf_get_current_comm().unwrap_or_default();
    if ended != 0 {
        if pass_on(key, entry) {
            return;
        }
        counts.ended_in_hash += 1;
    }
    if THREADS.insert(key, &*entry, 0).is_err() {
        counts.threads_full += 1;
    }
}

/// A switch of a thread whose books are kept.
#[inline(always)]
fn go_on(entry: &mut ThreadEntry, task: u64, now: &Books, counts: &mut SchedCounts) {
    if entry.task != task {
        // An exec took the id over.
        entry.task = task;
        entry.takeovers += 1;
        entry.first = *now;
        entry.first_at = boot_ns();
        entry.away = NO_BOOKS;
    } else {
        enter_wait(counts, &entry.last, now);
        // Every switch inside is seen, so others were made outside. Not by `pcount`, which
        // kernels that leave sleepers on the queue do not always raise by one.
        if now.switches() - entry.last.switches() != 1 {
            entry.absences += 1;
            add_between(&mut entry.away, &entry.last, now);
        }
    }
    entry.last = *now;
}

/// A thread that was inside ends elsewhere: as if it came back for its last switch.
#[inline(always)]
fn end_outside(prev: *const u8, counts: &mut SchedCounts) {
    let tid = bpf_get_current_pid_tgid() & 0xffff_ffff;
    let key = ThreadKey { tid, start_ns: load(prev, START_BOOTTIME.load()) };
    let Some(known) = THREADS.get_ptr_mut(key) else {
        return;
    };
    // SAFETY: as in `account`.
    let entry = unsafe { &mut *known };
    if entry.task != prev as u64 {
        // Another thread left it behind under an id that this one took over outside.
        return;
    }
    let now = books(prev);
    entry.absences += 1;
    add_between(&mut entry.away, &entry.last, &now);
    entry.last = now;
    end(&key, entry, counts);
}

/// A thread's last switch.
#[inline(always)]
fn end(key: &ThreadKey, entry: &mut ThreadEntry, counts: &mut SchedCounts) {
    entry.ended = 1;
    // It may have executed another program since it was first seen.
    entry.comm = bpf_get_current_comm().unwrap_or_default();
    entry.ended_at = boot_ns();
    if pass_on(key, entry) {
        // It is there: this thread ends once.
        THREADS.remove(key).ok();
    } else {
        counts.ended_in_hash += 1;
    }
}

/// Puts an ended thread into the ring; false where that is full.
#[inline(always)]
fn pass_on(key: &ThreadKey, entry: &ThreadEntry) -> bool {
    let Some(mut slot) = ENDED.reserve::<EndedThread>(0) else {
        return false;
    };
    let to = slot.as_mut_ptr();
    // SAFETY: the slot has the size and alignment of the value, and every byte of it is written.
    unsafe {
        (*to).key = *key;
        (*to).entry = *entry;
    }
    slot.submit(u64::from(BPF_RB_NO_WAKEUP));
    true
}

#[inline(always)]
fn add_between(sum: &mut Books, before: &Books, now: &Books) {
    sum.run_delay += now.run_delay - before.run_delay;
    sum.pcount += now.pcount - before.pcount;
    sum.sum_exec += now.sum_exec - before.sum_exec;
    sum.nvcsw += now.nvcsw - before.nvcsw;
    sum.nivcsw += now.nivcsw - before.nivcsw;
}

/// Only at the ends of a thread's life: a clock read costs more than the rest.
#[inline(always)]
fn boot_ns() -> u64 {
    // SAFETY: a helper without arguments.
    unsafe { bpf_ktime_get_boot_ns() }
}

/// A line for `--probe-log`; nothing in a normal build, where it would cost time at every event.
#[inline(always)]
fn note(ctx: &BtfTracePointContext, key: &ThreadKey, what: &str) {
    #[cfg(feature = "probe-log")]
    aya_log_ebpf::info!(ctx, "thread {} {}", key.tid, what);
    #[cfg(not(feature = "probe-log"))]
    let _ = (ctx, key, what);
}

/// Enters the wait before the stint that ends now.
#[inline(always)]
fn enter_wait(counts: &mut SchedCounts, before: &Books, now: &Books) {
    if now.pcount - before.pcount != 1 {
        counts.merged += 1;
        return;
    }
    let wait = now.run_delay - before.run_delay;
    let bucket = bucket(wait);
    if bucket < hist::BUCKETS {
        counts.waits[bucket] += 1;
    }
}

#[inline(always)]
pub(super) fn books(task: *const u8) -> Books {
    Books {
        run_delay: load(task, RUN_DELAY.load()),
        pcount: load(task, PCOUNT.load()),
        sum_exec: load(task, SUM_EXEC.load()),
        nvcsw: load(task, NVCSW.load()),
        nivcsw: load(task, NIVCSW.load()),
    }
}
