//! What the iterators over all tasks share; aya-ebpf has no macro for them.

use aya_ebpf::{bindings::seq_file, helpers::generated::bpf_seq_write};

/// `struct bpf_iter__task` (kernel/bpf/task_iter.c) and, behind its first member, `struct
/// bpf_iter_meta` (include/linux/bpf.h), both part of the kernel's interface.
#[repr(C)]
pub(super) struct IterTask {
    meta: *const IterMeta,
    task: *const u8,
}

#[repr(C)]
struct IterMeta {
    seq: *mut seq_file,
}

/// The task; null at the call after the last one.
#[inline(always)]
pub(super) fn task(ctx: *const IterTask) -> *const u8 {
    // SAFETY: the verifier knows the context of a task iterator and that this member is there.
    unsafe { (*ctx).task }
}

/// Writes a value for the reader. One that does not fit is taken back by the kernel, with all that
/// was written for this task, and comes whole at the next read.
#[inline(always)]
pub(super) fn write<T>(ctx: *const IterTask, value: &T) {
    // SAFETY: the verifier knows the context, and that the first member of its meta data is the
    // file; the value is readable memory of this size.
    unsafe {
        bpf_seq_write((*(*ctx).meta).seq, core::ptr::from_ref(value).cast(), size_of::<T>() as u32)
    };
}
