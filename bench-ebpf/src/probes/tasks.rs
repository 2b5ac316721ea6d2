//! Every thread of the target as it stands, in one go.
//!
//! Hook: the iterator `task` (5.8 and later), which runs once for each task of the reader's pid
//! namespace when its descriptor is read. Yields the books, and the entry of the switch program
//! where there is one. Ids are those of the first pid namespace.
//! Blind to: threads in pid namespaces that the reader cannot see; threads that were released
//! and wait for their last switch; cgroups more than 32 levels below the target.

use aya_ebpf::helpers::generated::bpf_ktime_get_boot_ns;
use bench_ebpf::abi::{
    Books, TASK_DEAD, TASK_RUNNING, ThreadEntry, ThreadKey, globals::NO_OFFSET, tasks::TaskRecord,
};

use super::iterator::{self, IterTask, write};
use super::sched::books;
use crate::filter::is_ours;
use crate::maps::tasks::{
    LAST_QUEUED, RQ_CLOCK, TASK_CFS_RQ, TASK_COMM, TASK_LEADER, TASK_PID, TASK_TGID,
};
use crate::maps::{START_BOOTTIME, STATE, THREADS};
use crate::task::{load, run_queue};

#[unsafe(no_mangle)]
#[unsafe(link_section = "iter/task")]
fn tasks(ctx: *const IterTask) -> i32 {
    let task = iterator::task(ctx);
    if task.is_null() {
        return 0;
    }
    // Its last switch is made or being made: the switch program has the final word.
    if load::<u32>(task, STATE.load()) & TASK_DEAD != 0 {
        return 0;
    }
    let key = ThreadKey {
        tid: u64::from(load::<u32>(task, TASK_PID.load())),
        start_ns: load(task, START_BOOTTIME.load()),
    };
    let is_ours = is_ours(task);
    let now = books(task);
    let at_ns = at();
    // After the books, so that it is never older than they are.
    let entry = THREADS.get_ptr(key);
    if !is_ours && entry.is_none() {
        return 0;
    }
    emit(ctx, task, key, now, at_ns, is_ours, entry);
    0
}

#[inline(always)]
fn emit(
    ctx: *const IterTask,
    task: *const u8,
    key: ThreadKey,
    now: Books,
    at_ns: u64,
    is_ours: bool,
    entry: Option<*const ThreadEntry>,
) {
    let leader: *const u8 = load(task, TASK_LEADER.load());
    let record = TaskRecord {
        key,
        tgid: load(task, TASK_TGID.load()),
        has_entry: u32::from(entry.is_some()),
        is_outside: u64::from(!is_ours),
        task: task as u64,
        at_ns,
        now,
        open_wait: open_wait(task),
        comm: load(task, TASK_COMM.load()),
        process: load(leader, TASK_COMM.load()),
    };
    write(ctx, &record);
    if let Some(entry) = entry {
        // SAFETY: a value of a map that was just found; it may change while it is copied, which
        // the reader is ready for.
        write(ctx, unsafe { &*entry });
    }
}

/// How long it has been waiting for a CPU by now; by the clock of its run queue, which is at
/// most a tick old while anything runs there. A thread that sleeps does not wait, although the
/// kernel may keep such a time of it (6.12 and later leave sleepers on the queue for a while).
#[inline(always)]
fn open_wait(task: *const u8) -> u64 {
    let queued: u64 = load(task, LAST_QUEUED.load());
    let is_runnable = load::<u32>(task, STATE.load()) == TASK_RUNNING;
    if !is_runnable || queued == 0 || TASK_CFS_RQ.load() == NO_OFFSET {
        return 0;
    }
    let clock: u64 = load(run_queue(task), RQ_CLOCK.load());
    clock.saturating_sub(queued)
}

#[inline(always)]
fn at() -> u64 {
    // SAFETY: a helper without arguments.
    unsafe { bpf_ktime_get_boot_ns() }
}
