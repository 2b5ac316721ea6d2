//! Values that one writer changes while others copy them: their version is odd while they change.

use crate::compiler::barrier;

/// A value that changes while it is copied is copied again, so often at most.
const TRIES: usize = 4;

/// The value changes from here on.
#[inline(always)]
pub(crate) fn begin_write(version: &mut u64) {
    *version += 1;
    barrier();
}

/// It has changed.
#[inline(always)]
pub(crate) fn end_write(version: &mut u64) {
    barrier();
    *version += 1;
}

/// What `copy` takes of a value while nobody changes it; `None` where it never stands still.
///
/// # Safety
/// `version` points at the version of a live value.
#[inline(always)]
pub(crate) unsafe fn read<T>(version: *const u64, mut copy: impl FnMut() -> T) -> Option<T> {
    for _ in 0..TRIES {
        // SAFETY: as the caller promises.
        let before = unsafe { core::ptr::read_volatile(version) };
        barrier();
        let copied = copy();
        barrier();
        // SAFETY: as the caller promises.
        if before.is_multiple_of(2) && unsafe { core::ptr::read_volatile(version) } == before {
            return Some(copied);
        }
    }
    None
}
