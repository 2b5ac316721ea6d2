//! Members of `task_struct`, by offsets that the loader looked up.

/// A member, by its offset.
#[inline(always)]
pub(crate) fn load<T>(task: *const u8, offset: u32) -> T {
    // SAFETY: the offset comes from frozen read-only data, so the verifier knows it and checks
    // that a member of this size lies there in a live task.
    unsafe { task.add(offset as usize).cast::<T>().read() }
}
