//! A timer that is exact to microseconds, for the schedule of an open loop: tokio's own have a
//! granularity of 1 ms and round up.

use std::io;
use std::os::fd::OwnedFd;

use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use crate::clock;

/// A timer of the kernel, on the runtime's own epoll.
#[derive(Debug)]
pub(super) struct Alarm(AsyncFd<OwnedFd>);

impl Alarm {
    pub(super) fn new() -> io::Result<Self> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        #[expect(
            deprecated,
            reason = "unsound only for a type whose descriptor changes, which an OwnedFd's does \
                      not; what replaces it is unsafe"
        )]
        AsyncFd::with_interest(timer, Interest::READABLE).map(Self)
    }

    /// Waits until `at_ns` of `CLOCK_MONOTONIC`; not at all when it has passed.
    pub(super) async fn sleep_until(&self, at_ns: u64) -> io::Result<()> {
        // An instant of 0 would turn the timer off.
        let value = clock::timespec(at_ns.max(1));
        let once = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value: value };
        timerfd_settime(&self.0, TimerfdTimerFlags::ABSTIME, &once)?;
        loop {
            let mut ready = self.0.readable().await?;
            let read =
                |timer: &AsyncFd<OwnedFd>| Ok(rustix::io::read(timer.get_ref(), &mut [0; 8])?);
            match ready.try_io(read) {
                Ok(result) => return result.map(drop),
                // Readiness of an earlier alarm, which setting this one took back.
                Err(_would_block) => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn it_never_rings_early_and_at_once_for_the_past() {
        let alarm = Alarm::new().unwrap();
        for after_ns in [300_000, 1, 2_500_000] {
            let at_ns = clock::now_ns() + after_ns;
            alarm.sleep_until(at_ns).await.unwrap();
            assert!(clock::now_ns() >= at_ns);
        }
        alarm.sleep_until(0).await.unwrap();
    }
}
