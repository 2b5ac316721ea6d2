//! Every thread of the target as it stands, in one go.
//!
//! Hook: the iterator `task` (5.8 and later), which runs once for each task of the reader's pid
//! namespace when its descriptor is read. Yields the books, and the entry of the switch program
//! where there is one. Ids are those of the first pid namespace.
//! Blind to: threads in pid namespaces that the reader cannot see; threads that were released
//! and wait for their last switch; cgroups more than 32 levels below the target.

use aya_ebpf::{
    bindings::seq_file,
    helpers::generated::{bpf_ktime_get_boot_ns, bpf_seq_write},
};
use bench_ebpf::abi::{
    Books, TASK_DEAD, TASK_RUNNING, ThreadEntry, ThreadKey,
    tasks::{TaskRecord, globals::NO_CLOCK},
};

use super::sched::books;
use crate::filter::is_ours;
use crate::maps::tasks::{
    CFS_RQ_RQ, LAST_QUEUED, RQ_CLOCK, TASK_CFS_RQ, TASK_COMM, TASK_LEADER, TASK_PID, TASK_TGID,
};
use crate::maps::{START_BOOTTIME, STATE, THREADS};
use crate::task::load;

/// `struct bpf_iter__task` (kernel/bpf/task_iter.c) and, behind its first member, `struct
/// bpf_iter_meta` (include/linux/bpf.h), both part of the kernel's interface.
#[repr(C)]
struct IterTask {
    meta: *const IterMeta,
    task: *const u8,
}

#[repr(C)]
struct IterMeta {
    seq: *mut seq_file,
}

/// aya-ebpf has no macro for iterators.
#[unsafe(no_mangle)]
#[unsafe(link_section = "iter/task")]
fn tasks(ctx: *const IterTask) -> i32 {
    // SAFETY: the verifier knows the context of a task iterator and that both members are there.
    let (meta, task) = unsafe { ((*ctx).meta, (*ctx).task) };
    if task.is_null() {
        // The call after the last task.
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
    // SAFETY: the verifier knows that the first member of the meta data is the file.
    let seq = unsafe { (*meta).seq };
    emit(seq, task, key, now, at_ns, is_ours, entry);
    0
}

#[inline(always)]
fn emit(
    seq: *mut seq_file,
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
    write(seq, &record);
    if let Some(entry) = entry {
        // SAFETY: a value of a map that was just found; it may change while it is copied, which
        // the reader is ready for.
        write(seq, unsafe { &*entry });
    }
}

/// A record that does not fit is taken back by the kernel and comes whole at the next read.
#[inline(always)]
fn write<T>(seq: *mut seq_file, value: &T) {
    // SAFETY: the file of this iterator, and readable memory of this size.
    unsafe { bpf_seq_write(seq, core::ptr::from_ref(value).cast(), size_of::<T>() as u32) };
}

/// How long it has been waiting for a CPU by now; by the clock of its run queue, which is at
/// most a tick old while anything runs there. A thread that sleeps does not wait, although the
/// kernel may keep such a time of it (6.12 and later leave sleepers on the queue for a while).
#[inline(always)]
fn open_wait(task: *const u8) -> u64 {
    let queued: u64 = load(task, LAST_QUEUED.load());
    let is_runnable = load::<u32>(task, STATE.load()) == TASK_RUNNING;
    if !is_runnable || queued == 0 || TASK_CFS_RQ.load() == NO_CLOCK {
        return 0;
    }
    let cfs_rq: *const u8 = load(task, TASK_CFS_RQ.load());
    let rq: *const u8 = load(cfs_rq, CFS_RQ_RQ.load());
    let clock: u64 = load(rq, RQ_CLOCK.load());
    clock.saturating_sub(queued)
}

#[inline(always)]
fn at() -> u64 {
    // SAFETY: a helper without arguments.
    unsafe { bpf_ktime_get_boot_ns() }
}
