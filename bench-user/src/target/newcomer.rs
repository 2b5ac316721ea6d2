//! What was started and is not ready yet, process or container.

use super::process::Started;
use super::{Exit, TargetError};

/// A target on its way to be ready.
pub(super) trait Newcomer {
    /// When it was let go, `CLOCK_MONOTONIC` ns.
    fn began_ns(&self) -> u64;

    /// How it ended, if it has; never blocks for long.
    ///
    /// # Errors
    /// When it turns out that it cannot start at all.
    fn ended(&mut self) -> Result<Option<Exit>, TargetError>;

    /// Brings what it has written so far into the logs, where that does not go there by itself.
    fn tell(&mut self);
}

impl Newcomer for Started {
    fn began_ns(&self) -> u64 {
        self.released_ns()
    }

    fn ended(&mut self) -> Result<Option<Exit>, TargetError> {
        Ok(self.poll_exit())
    }

    fn tell(&mut self) {}
}
