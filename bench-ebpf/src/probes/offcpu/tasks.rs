//! Every thread's account with what is open in it, in one go.
//!
//! The program runs once for each task of the reader's pid namespace when the iterator's
//! descriptor is read. A thread without an account gets one here: it has been where it is since
//! before the probes came.

use aya_ebpf::{
    bindings::{BPF_NOEXIST, seq_file},
    helpers::generated::bpf_seq_write,
};
use bench_ebpf::{
    abi::{
        TASK_DEAD,
        offcpu::{Entry, RUNNABLE, Record},
    },
    gap::Books,
};

use super::{books, first_seen, reason};
use crate::filter;
use crate::maps::offcpu::{OFFCPU, OFFCPU_COPY, OFFCPU_EMPTY, TASK_ON_CPU};
use crate::maps::tasks::{LAST_QUEUED, TASK_COMM, TASK_PID, TASK_TGID};
use crate::maps::{PCOUNT, STATE};
use crate::task::{barrier, load};

/// A thread that switches while it is read is read again, so often at most.
const TRIES: usize = 4;

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
fn offcpu_tasks(ctx: *const IterTask) -> i32 {
    // SAFETY: the verifier knows the context of a task iterator and that both members are there.
    let (meta, task) = unsafe { ((*ctx).meta, (*ctx).task) };
    if task.is_null() {
        // The call after the last task.
        return 0;
    }
    let state: u32 = load(task, STATE.load());
    let Some(copy) = OFFCPU_COPY.get_ptr_mut(0) else {
        return 0;
    };
    // SAFETY: index 0 of an array of one, which only this program uses, one run at a time.
    let copy = unsafe { &mut *copy };
    let is_ours = filter::is_ours(task);
    let key = task as u64;
    if OFFCPU.get_ptr(key).is_none() {
        // One that makes its last switch has no more account.
        if !is_ours || state & TASK_DEAD != 0 {
            return 0;
        }
        seed(task, state, copy);
    }
    let mut now = whole_books(task);
    let last_queued = load(task, LAST_QUEUED.load());
    let on_cpu = u64::from(load::<u32>(task, TASK_ON_CPU.load()));
    if !take(key, copy) {
        return 0;
    }
    now.clock = 0;
    let record = Record {
        task: key,
        tid: load(task, TASK_PID.load()),
        tgid: load(task, TASK_TGID.load()),
        comm: load(task, TASK_COMM.load()),
        is_outside: u64::from(!is_ours),
        now,
        last_queued,
        on_cpu,
    };
    // SAFETY: the verifier knows that the first member of the meta data is the file.
    let seq = unsafe { (*meta).seq };
    write(seq, &record);
    write(seq, copy);
    0
}

/// Opens an account for a thread that the switch program has not seen.
#[inline(always)]
fn seed(task: *const u8, state: u32, copy: &mut Entry) {
    let Some(empty) = OFFCPU_EMPTY.get_ptr(0) else {
        return;
    };
    // SAFETY: index 0 of an array of one, which nobody writes to.
    *copy = unsafe { *empty };
    let now = books(task);
    first_seen(task, copy, &now);
    copy.left = now;
    let is_waiting = load::<u64>(task, LAST_QUEUED.load()) != 0;
    let is_runnable = state == 0 || is_waiting || load::<u32>(task, TASK_ON_CPU.load()) != 0;
    copy.reason = u64::from(if is_runnable { RUNNABLE } else { reason::blocked_in(task, state) });
    // Not over an entry that the switch program has made meanwhile. Where the hash is full it
    // says so at the thread's next switch.
    OFFCPU.insert(task as u64, &*copy, u64::from(BPF_NOEXIST)).ok();
}

/// The books between two switches in.
#[inline(always)]
fn whole_books(task: *const u8) -> Books {
    let mut now = books(task);
    for _ in 0..TRIES {
        barrier();
        if load::<u64>(task, PCOUNT.load()) == now.pcount {
            break;
        }
        now = books(task);
    }
    now
}

/// Copies the account while nobody writes to it, after the books, so that it is never older than
/// they are. `false`: there is none, or it never stands still.
#[inline(always)]
fn take(key: u64, copy: &mut Entry) -> bool {
    let Some(entry) = OFFCPU.get_ptr(key) else {
        return false;
    };
    for _ in 0..TRIES {
        // SAFETY: a value of a map; that it changes meanwhile shows in its version.
        unsafe {
            let version = core::ptr::read_volatile(&raw const (*entry).version);
            barrier();
            *copy = *entry;
            barrier();
            if version % 2 == 0 && core::ptr::read_volatile(&raw const (*entry).version) == version
            {
                return true;
            }
        }
    }
    false
}

/// A record that does not fit is taken back by the kernel and comes whole at the next read.
#[inline(always)]
fn write<T>(seq: *mut seq_file, value: &T) {
    // SAFETY: the file of this iterator, and readable memory of this size.
    unsafe { bpf_seq_write(seq, core::ptr::from_ref(value).cast(), size_of::<T>() as u32) };
}
