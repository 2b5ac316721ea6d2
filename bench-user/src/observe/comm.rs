//! Names of threads as the kernel keeps them.

use std::borrow::Cow;

/// Any bytes, to the first zero.
pub(super) fn text(comm: &[u8; 16]) -> Cow<'_, str> {
    let end = comm.iter().position(|byte| *byte == 0).unwrap_or(comm.len());
    String::from_utf8_lossy(&comm[..end])
}
