//! Who holds a CPU while threads wait for it.
//!
//! Each CPU keeps how long it has been in each [`Cause`] so far; a wait notes these totals when
//! it begins and takes the difference when it ends. Both happen under the lock of the CPU's run
//! queue, and both by its clock, so the parts of a wait add up to exactly what the kernel books
//! for it (`sched_info.run_delay`).
//!
//! ```text
//!   totals change        o-----------o--------o--------------o     at each switch on the CPU
//!   the CPU is in        |  foreign  |  ours  |   foreign    |
//!   a wait               .    |------------------------------|     begins in a slice, ends at a
//!                        .skip.                                    switch
//! ```
//!
//! Integers only; the same code runs in the probes and in the observer.

/// What a CPU does while others wait for it.
pub mod cause {
    /// It runs a thread of the target.
    pub const OURS: usize = 0;
    /// It runs another's.
    pub const FOREIGN: usize = 1;
    /// It is idle, on its way to the thread that was woken up.
    pub const IDLE: usize = 2;
    /// The target's quota is used up, so that it may not run, whoever does.
    pub const QUOTA: usize = 3;
    /// A switch on it was not seen, so that nobody knows.
    pub const UNKNOWN: usize = 4;
}

/// How many there are.
pub const CAUSES: usize = 5;

/// Time by cause, ns.
pub type ByCause = [u64; CAUSES];

/// A CPU's account.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cpu {
    /// Odd while it is written.
    pub version: u64,
    /// When the slice began, by the run queue's clock, ns; 0: none has.
    pub since: u64,
    /// What the CPU is in.
    pub cause: u64,
    /// Address of the thread that came last.
    pub running: u64,
    /// Slices that are over.
    pub totals: ByCause,
    /// Threads of the target that wait here and were seen to begin.
    pub waiting: u64,
    /// Up to when `covered` counts.
    pub mark: u64,
    /// Their waiting in this slice, summed, ns.
    pub covered: u64,
    /// Address of the group's queue whose quota is used up; 0: none.
    pub held_by: u64,
}

impl Cpu {
    /// The slice ends here and the next begins.
    #[inline(always)]
    pub const fn close(&mut self, clock: u64) {
        self.cover(clock);
        let cause = index(self.cause);
        // The verifier must see that the index is in bounds.
        if self.since != 0 && cause < CAUSES {
            self.totals[cause] += clock.saturating_sub(self.since);
        }
        self.since = clock;
    }

    /// Counts the waiting up to now.
    #[inline(always)]
    pub const fn cover(&mut self, clock: u64) {
        self.covered += self.waiting * clock.saturating_sub(self.mark);
        self.mark = clock;
    }
}

#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "one of a few; it is compared before its use")]
const fn index(cause: u64) -> usize {
    cause as usize
}

/// The begin of a wait.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Wait {
    /// 1: it is going on.
    pub is_open: u32,
    /// On which CPU.
    pub cpu: u32,
    /// The CPU's totals then.
    pub totals: ByCause,
    /// What the CPU was in then.
    pub cause: u64,
    /// How much of that slice was over by then, ns; 0 where it is not known.
    pub skip: u64,
    /// When it began on this CPU, `CLOCK_MONOTONIC`, ns.
    pub mono: u64,
    /// The same by the run queue's clock, ns; 0: not known.
    pub clock: u64,
    /// 1: it is among [`Cpu::waiting`].
    pub is_counted: u64,
    /// Parts of it on CPUs that it was moved away from.
    pub before: ByCause,
}

/// A wait by cause, and what of it has none, ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Split {
    /// By cause.
    pub by_cause: ByCause,
    /// The rest of what the kernel booked.
    pub unattributed: u64,
}

/// A wait that ends now, at a switch, and of which the kernel books `booked` ns on this CPU.
#[must_use]
#[inline(always)]
pub const fn ended(wait: &Wait, totals: &ByCause, booked: u64) -> Split {
    let mut split = Split { by_cause: [0; CAUSES], unattributed: 0 };
    let mut left = booked;
    // What is over of the slice in which it began was before the wait.
    let mut sum = 0;
    let mut cause = 0;
    while cause < CAUSES {
        split.by_cause[cause] = totals[cause].saturating_sub(wait.totals[cause]);
        sum += split.by_cause[cause];
        cause += 1;
    }
    if sum > booked {
        take(&mut split.by_cause, wait.cause, sum - booked);
    }
    cause = 0;
    while cause < CAUSES {
        // Never more than was booked, where clocks of two CPUs differ.
        if split.by_cause[cause] > left {
            split.by_cause[cause] = left;
        }
        left -= split.by_cause[cause];
        cause += 1;
    }
    split.unattributed = left;
    split
}

/// A wait that ended on this CPU where its last slice ended, of which the kernel's part is not
/// known.
#[must_use]
#[inline(always)]
pub const fn ended_unseen(wait: &Wait, totals: &ByCause) -> Split {
    ended(&without_skip(wait), totals, u64::MAX)
}

/// A wait that goes on, on this CPU for `waited` ns so far: what is not in slices that are over is
/// in the present one.
#[must_use]
pub const fn open(wait: &Wait, cpu: &Cpu, waited: u64) -> Split {
    let mut split = ended(&without_skip(wait), &cpu.totals, waited);
    let now = index(cpu.cause);
    if cpu.since != 0 && now < CAUSES {
        split.by_cause[now] += split.unattributed;
        split.unattributed = 0;
    }
    split
}

/// As if it had begun with its first slice, what was over of that set aside.
#[inline(always)]
const fn without_skip(wait: &Wait) -> Wait {
    let mut over = *wait;
    add(&mut over.totals, wait.cause, wait.skip);
    over
}

/// Adds to the part of a cause. Compares with each, because an index that varies into the stack
/// is more than the verifiers of older kernels follow (6.1 and 6.12 refuse it).
#[inline(always)]
const fn add(parts: &mut ByCause, to: u64, ns: u64) {
    let mut cause = 0;
    while cause < CAUSES {
        if cause as u64 == to {
            parts[cause] += ns;
        }
        cause += 1;
    }
}

/// Takes from the part of a cause, as much as there is.
#[inline(always)]
const fn take(parts: &mut ByCause, from: u64, ns: u64) {
    let mut cause = 0;
    while cause < CAUSES {
        if cause as u64 == from {
            parts[cause] = parts[cause].saturating_sub(ns);
        }
        cause += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::cause::{FOREIGN, IDLE, OURS, QUOTA, UNKNOWN};
    use super::*;

    /// Foreign from 100, ours from 150, foreign from 170.
    fn cpu() -> Cpu {
        let mut cpu = Cpu { since: 100, cause: FOREIGN as u64, ..Cpu::default() };
        cpu.close(150);
        cpu.cause = OURS as u64;
        cpu.close(170);
        cpu.cause = FOREIGN as u64;
        cpu
    }

    /// Began at 130, in the foreign slice.
    fn wait() -> Wait {
        Wait { cause: FOREIGN as u64, skip: 30, ..Wait::default() }
    }

    #[test]
    fn a_wait_is_split_by_what_the_cpu_did_meanwhile() {
        let mut cpu = cpu();
        cpu.close(200);
        assert_eq!(ended(&wait(), &cpu.totals, 70).by_cause, [20, 50, 0, 0, 0]);
        assert_eq!(ended(&wait(), &cpu.totals, 70).unattributed, 0);
    }

    #[test]
    fn an_open_wait_ends_in_the_present_slice() {
        let split = open(&wait(), &cpu(), 60);
        assert_eq!((split.by_cause, split.unattributed), ([20, 40, 0, 0, 0], 0));
        let mut young = Cpu { since: 100, cause: FOREIGN as u64, ..Cpu::default() };
        assert_eq!(open(&wait(), &young, 7).by_cause, [0, 7, 0, 0, 0]);
        young.since = 0;
        assert_eq!(open(&wait(), &young, 7).unattributed, 7);
    }

    #[test]
    fn what_no_slice_covers_is_unattributed_and_never_guessed() {
        let mut cpu = cpu();
        cpu.close(200);
        let split = ended(&wait(), &cpu.totals, 1000);
        assert_eq!(split.by_cause.iter().sum::<u64>() + split.unattributed, 1000);
        assert_eq!(split.unattributed, 1000 - 100);
        // A CPU whose first slice has not begun.
        assert_eq!(ended(&wait(), &[0; CAUSES], 5).unattributed, 5);
    }

    #[test]
    fn a_wait_whose_end_was_not_seen_has_the_slices_that_are_over() {
        let split = ended_unseen(&wait(), &cpu().totals);
        assert_eq!(split.by_cause, [20, 20, 0, 0, 0]);
    }

    #[test]
    fn the_parts_are_what_was_booked_whatever_the_clocks_say() {
        let totals = [3, 40, 7, 11, 2];
        for booked in [0, 1, 10, 63, 64, 500] {
            for cause in [OURS, FOREIGN, IDLE, QUOTA, UNKNOWN] {
                let wait = Wait { cause: cause as u64, ..Wait::default() };
                let split = ended(&wait, &totals, booked);
                assert_eq!(split.by_cause.iter().sum::<u64>() + split.unattributed, booked);
            }
        }
    }

    #[test]
    fn waiting_is_summed_over_threads_within_a_slice() {
        let mut cpu = Cpu { since: 100, mark: 100, ..Cpu::default() };
        cpu.cover(130);
        cpu.waiting = 1;
        cpu.cover(140);
        cpu.waiting = 2;
        cpu.close(150);
        assert_eq!(cpu.covered, 10 + 2 * 10);
    }
}
