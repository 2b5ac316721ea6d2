//! A server that stands still for a known time: no byte is written between two instants of
//! `CLOCK_MONOTONIC`, and everything goes on after.

use std::ops::Range;
use std::sync::{Condvar, Mutex};
use std::time::Duration;

use crate::clock;

/// What every write of a server passes.
#[derive(Debug, Default)]
pub(super) struct Gate {
    closed_ns: Mutex<Range<u64>>,
    changed: Condvar,
}

impl Gate {
    /// Closes it from `start_ns` for `length`, in place of any closing before.
    pub(super) fn close(&self, start_ns: u64, length: Duration) {
        let length_ns = u64::try_from(length.as_nanos()).unwrap_or(u64::MAX);
        *self.closed_ns.lock().unwrap() = start_ns..start_ns.saturating_add(length_ns);
        self.changed.notify_all();
    }

    /// Returns at an instant at which it is not closed.
    pub(super) fn pass(&self) {
        let mut closed_ns = self.closed_ns.lock().unwrap();
        loop {
            let now_ns = clock::now_ns();
            if !closed_ns.contains(&now_ns) {
                return;
            }
            let left = Duration::from_nanos(closed_ns.end - now_ns);
            closed_ns = self.changed.wait_timeout(closed_ns, left).unwrap().0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_passes_while_it_is_closed_and_everything_before_and_after() {
        let gate = Gate::default();
        gate.pass();
        let start_ns = clock::now_ns();
        gate.close(start_ns, Duration::from_millis(20));
        gate.pass();
        assert!(clock::now_ns() >= start_ns + 20_000_000);
        gate.close(clock::now_ns() + 3_600_000_000_000, Duration::from_secs(3600));
        gate.pass();
    }

    #[test]
    fn a_new_closing_frees_who_waits_on_the_old_one() {
        let gate = Gate::default();
        gate.close(clock::now_ns(), Duration::from_secs(3600));
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| gate.pass());
            gate.close(0, Duration::ZERO);
            waiting.join().unwrap();
        });
    }
}
