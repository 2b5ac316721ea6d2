//! Rest between two stages: what the one before left behind is given time to go, as long as the
//! next one would feel it.
//!
//! Two things are left behind. Sockets in TIME_WAIT each hold a local port for a minute; they
//! matter only where the free ports are fewer than the connections that are wanted, so waiting the
//! whole minute out every time would cost an hour for nothing. And connections that nobody has
//! accepted yet wait in the target's accept queue, ahead of the next stage's. The decision is pure
//! ([`wait`]): it is told the readings and the time.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::measured::Measured;
use crate::units::{ns, show_ns};

/// What was there when a stage began.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Before {
    /// Sockets in TIME_WAIT in our network namespace.
    pub time_wait: Measured<u64>,
    /// Local ports of one source address, times those addresses, that could be used: those of
    /// sockets in TIME_WAIT are taken unless the kernel gives them out again.
    pub local_ports_free: Measured<u64>,
    /// Connections that wait in the accept queue of the target's listening socket.
    pub accept_queue: Measured<u64>,
    /// How long the stage waited for these, the plan's pause not included, ms.
    pub waited_ms: f64,
}

impl Before {
    /// What was not back to rest for a stage of so many connections, as a sentence. What could
    /// not be read is not held against it.
    #[must_use]
    pub fn not_at_rest(&self, connections: u32) -> Option<String> {
        let waiting = self.accept_queue.value().copied().filter(|n| *n > 0);
        let free = self.local_ports_free.value().copied().filter(|n| *n < u64::from(connections));
        let what = match (waiting, free) {
            (Some(n), _) => format!("the target's accept queue still held {n} connections"),
            (None, Some(n)) => format!(
                "only {n} local ports were free for {connections} connections, the others in \
                 TIME_WAIT"
            ),
            (None, None) => return None,
        };
        Some(format!(
            "{what} when the stage began, after {} of waiting; raise `pause`",
            show_ns(self.waited_ms * 1e6)
        ))
    }
}

/// Longest wait, in pauses of the plan and at most: TIME_WAIT is over by then.
const PAUSES: u32 = 10;
const LONGEST: Duration = Duration::from_secs(60);

/// Between two readings.
const AGAIN_NS: u64 = 50_000_000;

/// The longest wait beside a pause of this length.
pub(super) fn longest(pause: Duration) -> Duration {
    pause.saturating_mul(PAUSES).min(LONGEST)
}

/// The world as [`wait`] sees it.
pub(super) trait World {
    /// Now, ns.
    fn now_ns(&mut self) -> u64;
    /// What is left behind now; `waited_ms` is filled in by the caller.
    fn read(&mut self) -> Before;
    /// Sleeps until then; `false` when the run is to end.
    fn sleep_until(&mut self, at_ns: u64) -> bool;
}

/// Waits until nothing is left behind that a stage of so many connections would feel, or for
/// `longest`; `None` when the run is to end.
pub(super) fn wait(world: &mut impl World, connections: u32, longest: Duration) -> Option<Before> {
    let longest_ns = ns(longest);
    let mut began_ns = None;
    loop {
        let mut before = world.read();
        let now_ns = world.now_ns();
        // From the first reading on: the reading itself is no wait.
        let start_ns = *began_ns.get_or_insert(now_ns);
        let end_ns = start_ns.saturating_add(longest_ns);
        if before.not_at_rest(connections).is_none() || now_ns >= end_ns {
            #[expect(clippy::cast_precision_loss, reason = "a wait is far below 2^53 ns")]
            let waited_ms = (now_ns - start_ns) as f64 / 1e6;
            before.waited_ms = waited_ms;
            return Some(before);
        }
        if !world.sleep_until((now_ns + AGAIN_NS).min(end_ns)) {
            return None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A clock that only sleeping moves, and an accept queue that is empty from an instant on.
    struct Fake {
        now_ns: u64,
        empty_at_ns: u64,
        interrupted_at_ns: u64,
        ports: u64,
    }

    impl World for Fake {
        fn now_ns(&mut self) -> u64 {
            self.now_ns
        }
        fn read(&mut self) -> Before {
            Before {
                accept_queue: Measured::Value(u64::from(self.now_ns < self.empty_at_ns)),
                local_ports_free: Measured::Value(self.ports),
                ..Before::default()
            }
        }
        fn sleep_until(&mut self, at_ns: u64) -> bool {
            self.now_ns = at_ns;
            at_ns < self.interrupted_at_ns
        }
    }

    const MS: u64 = 1_000_000;

    fn fake() -> Fake {
        Fake { now_ns: 7 * MS, empty_at_ns: 0, interrupted_at_ns: u64::MAX, ports: 100 }
    }

    #[test]
    fn what_nobody_would_feel_is_not_waited_for() {
        let before = wait(&mut fake(), 100, LONGEST).unwrap();
        assert_eq!((before.waited_ms, before.not_at_rest(100)), (0.0, None));
    }

    #[test]
    fn a_queue_is_waited_for_until_it_is_empty() {
        let mut world = Fake { empty_at_ns: 200 * MS, ..fake() };
        let before = wait(&mut world, 1, LONGEST).unwrap();
        assert_eq!((before.waited_ms, before.not_at_rest(1)), (200.0, None));
    }

    #[test]
    fn the_wait_has_an_end_and_the_rest_is_recorded() {
        let before = wait(&mut fake(), 101, Duration::from_millis(120)).unwrap();
        assert_eq!(before.waited_ms, 120.0);
        let said = before.not_at_rest(101).unwrap();
        assert!(
            said.contains("only 100 local ports") && said.contains("after 120.00 ms"),
            "{said}"
        );
        let mut full = Fake { empty_at_ns: u64::MAX, ..fake() };
        let said = wait(&mut full, 1, Duration::ZERO).unwrap().not_at_rest(1).unwrap();
        assert!(said.contains("still held 1 connections"), "{said}");
    }

    #[test]
    fn a_signal_ends_the_wait() {
        let mut world = Fake { empty_at_ns: u64::MAX, interrupted_at_ns: 100 * MS, ..fake() };
        assert_eq!(wait(&mut world, 1, LONGEST), None);
    }

    #[test]
    fn what_was_not_read_is_not_held_against_the_stage() {
        assert_eq!(Before::default().not_at_rest(u32::MAX), None);
    }

    #[test]
    fn the_longest_wait_is_ten_pauses_and_a_minute_at_most() {
        assert_eq!(longest(Duration::from_secs(1)), Duration::from_secs(10));
        assert_eq!(longest(Duration::from_secs(9)), Duration::from_secs(60));
        assert_eq!(longest(Duration::ZERO), Duration::ZERO);
    }
}
