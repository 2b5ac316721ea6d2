//! The one monotonic clock of the program, the same as the kernel side's.
//!
//! `CLOCK_MONOTONIC` is what `bpf_ktime_get_ns` returns, so a stage boundary means the same
//! instant on both sides. Wall time is only for the date in a record.

use rustix::time::{ClockId, Timespec, clock_gettime};

/// Nanoseconds in a clock tick of procfs (`USER_HZ` is 100 on every architecture of Linux).
pub const PROC_TICK_NS: u64 = 10_000_000;

/// Nanoseconds of `CLOCK_MONOTONIC`; never settable, never going back.
#[must_use]
pub fn now_ns() -> u64 {
    read(ClockId::Monotonic)
}

/// Nanoseconds since boot, suspended time included: the clock of a task's start time.
#[must_use]
pub fn boottime_ns() -> u64 {
    read(ClockId::Boottime)
}

/// Nanoseconds of CPU time that the calling thread has used.
#[must_use]
pub fn thread_cpu_ns() -> u64 {
    read(ClockId::ThreadCPUTime)
}

/// Nanoseconds of CPU time that all threads of this process have used.
#[must_use]
pub fn process_cpu_ns() -> u64 {
    read(ClockId::ProcessCPUTime)
}

/// The present date and time in UTC, RFC 3339, to the second.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "the one place where wall time is read")]
pub fn wall_rfc3339() -> String {
    humantime::format_rfc3339_seconds(std::time::SystemTime::now()).to_string()
}

/// Nanoseconds since 1970 in UTC, for those who are told when something was.
#[must_use]
pub fn wall_ns() -> u64 {
    read(ClockId::Realtime)
}

/// The same length of time, or instant, as the kernel's calls take it.
#[must_use]
pub fn timespec(ns: u64) -> Timespec {
    const SECOND: u64 = 1_000_000_000;
    Timespec {
        tv_sec: i64::try_from(ns / SECOND).expect("a u64 of ns has few enough seconds"),
        tv_nsec: i64::try_from(ns % SECOND).expect("a remainder of a second fits"),
    }
}

fn read(clock: ClockId) -> u64 {
    let t = clock_gettime(clock);
    let seconds = u64::try_from(t.tv_sec).expect("these clocks are past zero");
    let nanos = u64::try_from(t.tv_nsec).expect("nanoseconds are within a second");
    seconds * 1_000_000_000 + nanos
}
