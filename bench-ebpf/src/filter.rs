//! Is the current thread ours? The only scoping code.

use crate::maps::TARGET;

/// The answer for the current thread.
pub(crate) enum Scope {
    /// In the target's cgroup or one below it.
    Ours,
    /// Elsewhere.
    Foreign,
    /// The kernel could not tell.
    Failed,
}

/// Asks the kernel by ancestry, so a cgroup made later below the target's counts at once.
#[inline(always)]
pub(crate) fn current() -> Scope {
    match TARGET.current_task_under_cgroup(0) {
        Ok(true) => Scope::Ours,
        Ok(false) => Scope::Foreign,
        Err(_) => Scope::Failed,
    }
}
