//! Every thread's account with what is open in it, in one go.
//!
//! The program runs once for each task of the reader's pid namespace when the iterator's
//! descriptor is read. A thread without an account gets one here: it has been where it is since
//! before the probes came.

use aya_ebpf::bindings::BPF_NOEXIST;
use bench_ebpf::{
    abi::{
        TASK_DEAD,
        offcpu::{Entry, HELD, RUNNABLE, Record, STOPPED},
    },
    gap::Books,
};

use super::{books, first_seen, reason};
use crate::compiler::barrier;
use crate::filter;
use crate::maps::offcpu::{OFFCPU, OFFCPU_COPY, OFFCPU_EMPTY, STARTS_HELD, TASK_ON_CPU};
use crate::maps::tasks::{LAST_QUEUED, TASK_COMM, TASK_PID, TASK_TGID};
use crate::maps::{PCOUNT, STATE};
use crate::probes::iterator::{self, IterTask, write};
use crate::seqlock;
use crate::task::load;

/// A thread that switches while it is read is read again, so often at most.
const TRIES: usize = 4;

#[unsafe(no_mangle)]
#[unsafe(link_section = "iter/task")]
fn offcpu_tasks(ctx: *const IterTask) -> i32 {
    let task = iterator::task(ctx);
    if task.is_null() {
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
    let on_cpu = u64::from(is_on_cpu(task));
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
    write(ctx, &record);
    write(ctx, copy);
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
    let is_runnable = state == 0 || is_waiting || is_on_cpu(task);
    let reason = if is_runnable { RUNNABLE } else { reason::blocked_in(task, state) };
    let is_held = reason == STOPPED && STARTS_HELD.load() != 0;
    copy.reason = u64::from(if is_held { HELD } else { reason });
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
    // SAFETY: a value of a map; that it changes meanwhile shows in its version.
    let whole = unsafe { seqlock::read(&raw const (*entry).version, || *copy = *entry) };
    whole.is_some()
}

/// It runs now, or is on its way off the CPU. The member is an `int` to 7.2 and a byte in 7.3; its
/// first byte tells in either.
#[inline(always)]
fn is_on_cpu(task: *const u8) -> bool {
    load::<u8>(task, TASK_ON_CPU.load()) != 0
}
