//! What the compiler must not do with what it knows.

use bench_ebpf::hist;

/// Keeps it from moving memory accesses over this point; the target has no fences.
#[inline(always)]
pub(crate) fn barrier() {
    // SAFETY: no instruction at all.
    unsafe { core::arch::asm!("", options(nostack, preserves_flags)) };
}

/// The bucket of a value, through memory, so that it forgets the range that it has proved and keeps
/// the comparison with the array's length, which the verifier needs.
#[inline(always)]
pub(crate) fn bucket(value: u64) -> usize {
    // SAFETY: a read of a local.
    unsafe { core::ptr::read_volatile(&hist::bucket(value)) }
}
