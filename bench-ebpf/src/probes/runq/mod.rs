//! Who holds the CPU while the target's threads wait for it.
//!
//! Hooks, all BTF tracepoints under the lock of a run queue: `sched_switch` (every switch of the
//! machine, as each may be behind the CPU that one of ours waits for), `sched_wakeup`,
//! `sched_wakeup_new` and `sched_migrate_task`. Yields: waits by cause (`queue.rs`), and who
//! covered those behind others. A wait begins and ends where the kernel's books say so
//! (`sched_info.last_queued`), so that the parts add up to them; what has no cause is counted as
//! such.
//! Blind to: what held a CPU back for a thread that was moved there while it waited (the cause is
//! known, the name is not); more than one quota within the target on one CPU at a time (the last
//! one that was used up counts for all of its threads there).
//! Costs: 250 ns a switch of the target (6.18, a two-CPU virtual machine, December 2026).

mod waits;

use aya_ebpf::{
    bindings::BPF_ANY,
    helpers::generated::{bpf_get_smp_processor_id, bpf_probe_read_kernel},
    macros::btf_tracepoint,
    programs::BtfTracePointContext,
};
use bench_ebpf::{
    abi::{
        TASK_DEAD,
        globals::NO_OFFSET,
        runq::{Counts, Holder},
    },
    queue::{Cpu, cause},
};

use crate::filter::{self, Scope};
use crate::maps::STATE;
use crate::maps::runq::{RQ_CPU, RUNQ_COUNTS, RUNQ_CPUS, RUNQ_HOLDERS};
use crate::maps::tasks::{
    LAST_ARRIVAL, LAST_QUEUED, RQ_CLOCK, TASK_CFS_RQ, TASK_COMM, TASK_PID, TASK_TGID,
    THROTTLE_COUNT,
};
use crate::seqlock;
use crate::task::{is_throttled, load, run_queue};

/// Arguments: preempted, the thread that leaves, the thread that comes.
#[btf_tracepoint(function = "sched_switch")]
pub(crate) fn runq_switch(ctx: BtfTracePointContext) -> i32 {
    let (prev, next): (*const u8, *const u8) = (ctx.arg(1), ctx.arg(2));
    let Some(counts) = counts() else {
        return 0;
    };
    // SAFETY: a helper without arguments.
    let number = unsafe { bpf_get_smp_processor_id() };
    let Some(cpu) = cpu(number) else {
        counts.cpu_unknown += 1;
        return 0;
    };
    let clock = clock(run_queue(prev));
    let leaves = !matches!(filter::current(), Scope::Foreign);
    let comes = filter::is_ours(next);
    seqlock::begin_write(&mut cpu.version);
    if cpu.running != 0 && cpu.running != prev as u64 {
        catch_up(prev, leaves, number, cpu, clock, counts);
    }
    cpu.running = next as u64;
    cpu.close(clock);
    name_holder(prev, cpu, counts);
    if leaves && is_throttled(prev) {
        cpu.held_by = load(prev, TASK_CFS_RQ.load());
    } else if cpu.held_by != 0 && (comes || !is_held(cpu.held_by)) {
        cpu.held_by = 0;
    }
    cpu.cause = cause_of(cpu, next, comes) as u64;
    let state: u32 = load(prev, STATE.load());
    if state & TASK_DEAD != 0 {
        // Wherever it ends, as its address goes to another thread then.
        waits::forget(prev);
    } else if leaves && state == 0 {
        // The kernel books the wait right after this hook (`sched_info_depart`).
        waits::begin(prev, number, cpu, clock, counts);
    }
    // Whoever comes: it may have been one of ours when it began to wait, and moved here since.
    let queued: u64 = load(next, LAST_QUEUED.load());
    waits::end(next, number, cpu, (clock, queued), comes, counts);
    seqlock::end_write(&mut cpu.version);
    0
}

/// The switch to the thread that leaves now was not seen. When it came is in its books, and a
/// wait of it ended then; what the CPU did before nobody knows.
#[inline(always)]
fn catch_up(
    prev: *const u8,
    is_ours: bool,
    number: u32,
    cpu: &mut Cpu,
    clock: u64,
    counts: &mut Counts,
) {
    counts.switches_unseen += 1;
    if cpu.cause != cause::QUOTA as u64 {
        cpu.cause = cause::UNKNOWN as u64;
    }
    let is_idle = load::<u32>(prev, TASK_PID.load()) == 0;
    let came: u64 = load(prev, LAST_ARRIVAL.load());
    if is_idle || came < cpu.since || came > clock {
        return;
    }
    cpu.close(came);
    cpu.covered = 0;
    waits::end_unseen(prev, number, cpu, counts);
    if is_ours {
        cpu.held_by = 0;
    }
    cpu.cause = cause_of(cpu, prev, is_ours) as u64;
}

/// Argument: the thread that was woken, which is not the current one.
#[btf_tracepoint(function = "sched_wakeup")]
pub(crate) fn runq_wakeup(ctx: BtfTracePointContext) -> i32 {
    woken(ctx.arg(0));
    0
}

/// Argument: the thread that was born.
#[btf_tracepoint(function = "sched_wakeup_new")]
pub(crate) fn runq_new(ctx: BtfTracePointContext) -> i32 {
    woken(ctx.arg(0));
    0
}

/// Arguments: a thread, and the CPU that it is moved to.
#[btf_tracepoint(function = "sched_migrate_task")]
pub(crate) fn runq_migrate(ctx: BtfTracePointContext) -> i32 {
    let task: *const u8 = ctx.arg(0);
    if let Some(counts) = counts() {
        waits::carry_over(task, clock(run_queue(task)), ctx.arg::<u64>(1) as u32, counts);
    }
    0
}

#[inline(always)]
fn woken(task: *const u8) {
    // It was running and had not gone to sleep yet: nothing to wait for.
    if load::<u64>(task, LAST_QUEUED.load()) == 0 || !filter::is_ours(task) {
        return;
    }
    let Some(counts) = counts() else {
        return;
    };
    let queue = run_queue(task);
    let number: u32 = load(queue, RQ_CPU.load());
    let Some(cpu) = cpu(number) else {
        counts.cpu_unknown += 1;
        return;
    };
    let clock = clock(queue);
    seqlock::begin_write(&mut cpu.version);
    if cpu.held_by == 0 && is_throttled(task) {
        cpu.held_by = load(task, TASK_CFS_RQ.load());
        cpu.close(clock);
        cpu.cause = cause::QUOTA as u64;
    }
    waits::begin(task, number, cpu, clock, counts);
    seqlock::end_write(&mut cpu.version);
}

/// What the CPU is in from here on.
#[inline(always)]
fn cause_of(cpu: &Cpu, next: *const u8, is_ours: bool) -> usize {
    if cpu.held_by != 0 {
        cause::QUOTA
    } else if is_ours {
        cause::OURS
    } else if load::<u32>(next, TASK_PID.load()) == 0 {
        cause::IDLE
    } else {
        cause::FOREIGN
    }
}

/// Enters the waiting that the slice which ends has covered under who ran in it.
#[inline(always)]
fn name_holder(prev: *const u8, cpu: &mut Cpu, counts: &mut Counts) {
    let covered = core::mem::replace(&mut cpu.covered, 0);
    if covered == 0 || cpu.cause != cause::FOREIGN as u64 {
        return;
    }
    let holder = Holder {
        cgroup: filter::id_of(filter::cgroup_of(prev)),
        tgid: u64::from(load::<u32>(prev, TASK_TGID.load())),
        comm: load(prev, TASK_COMM.load()),
    };
    if let Some(sum) = RUNQ_HOLDERS.get_ptr_mut(holder) {
        // SAFETY: this CPU's value of a per-CPU hash, with preemption and interrupts off.
        unsafe { *sum += covered };
    } else if RUNQ_HOLDERS.insert(holder, covered, u64::from(BPF_ANY)).is_err() {
        counts.unnamed += covered;
    }
}

/// Whether the quota of a group's queue is still used up.
#[inline(always)]
fn is_held(group: u64) -> bool {
    if THROTTLE_COUNT.load() == NO_OFFSET {
        return false;
    }
    let mut count = 0_u32;
    let from = group + u64::from(THROTTLE_COUNT.load());
    // SAFETY: a helper that reads kernel memory if it is there: the group may be gone.
    let read = unsafe {
        bpf_probe_read_kernel(core::ptr::from_mut(&mut count).cast(), 4, from as *const _)
    };
    read == 0 && count != 0
}

#[inline(always)]
fn counts() -> Option<&'static mut Counts> {
    // SAFETY: this CPU's value; the hooks run with interrupts off, so nothing else writes to it.
    RUNQ_COUNTS.get_ptr_mut(0).map(|counts| unsafe { &mut *counts })
}

#[inline(always)]
fn cpu(number: u32) -> Option<&'static mut Cpu> {
    // SAFETY: written under the lock of this CPU's run queue, which every caller holds that
    // writes; who only reads looks at the version.
    RUNQ_CPUS.get_ptr_mut(number).map(|cpu| unsafe { &mut *cpu })
}

/// A run queue's clock.
#[inline(always)]
fn clock(queue: *const u8) -> u64 {
    load(queue, RQ_CLOCK.load())
}
