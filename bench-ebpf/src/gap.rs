//! The time between two switches away from a thread, split by the kernel's own books.
//!
//! ```text
//!   switch away            wake-up            switch in            switch away
//!   |------- blocked -------|---- run queue ----|------ on CPU ------|
//!   left.clock              last_queued         last_arrival         now.clock
//! ```
//!
//! All four are readings of the scheduler's clock (`rq->clock`), and `run_delay` grows by exactly
//! the second stretch (kernel/sched/stats.h, `sched_info_arrive`, 5.10 to 7.3), so the split is
//! exact to the nanosecond and needs no hook at the wake-up or the switch in. Where the thread
//! left able to run, the first stretch is nearly nothing: what there is of it the kernel has not
//! booked as a wait, and neither do we.
//!
//! Every switch away inside the target is seen. Where the books have more of them, the thread was
//! outside in between, and nothing of the stretch is the target's.
//! Blind to: a thread that is moved out and back without running outside.
//!
//! `probes/stacks.rs` takes the time that is neither on a CPU nor in the run queue from another
//! clock, as kernels without this one have stacks too; `probes/calls` needs the time off the CPU
//! of a part of a stint, for which there are no books, and takes it from hooks at both switches.
//!
//! Integers only; the same code runs in the probe, which closes stretches, and in the observer,
//! which cuts the open ones at the edge of a window.

/// What the kernel's books say of a thread at an instant.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Books {
    /// `CLOCK_MONOTONIC`, ns.
    pub mono: u64,
    /// The scheduler's clock, ns; 0: not known.
    pub clock: u64,
    /// Last switch in, by the scheduler's clock, ns.
    pub last_arrival: u64,
    /// Waited for a CPU, ns.
    pub run_delay: u64,
    /// Switches in.
    pub pcount: u64,
    /// On a CPU without interrupts and stolen time where the kernel tells them apart, ns.
    pub sum_exec: u64,
    /// Switches away, of both kinds.
    pub switches: u64,
}

/// The begin of a stretch. `last_arrival` is of the stint before and not used.
pub type Left = Books;

/// A stretch, split; the parts add up to its length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Split {
    /// On a CPU, ns, interrupts and stolen time included.
    pub on_cpu: u64,
    /// Waited for a CPU, ns.
    pub run_queue: u64,
    /// The rest: blocked, or able to run and not booked as such, ns.
    pub rest: u64,
}

/// The stretch up to a switch away, which is happening `now`; `None` where the thread was outside
/// of the target meanwhile.
#[must_use]
#[inline(always)]
pub const fn closed(left: &Left, now: &Books) -> Option<Split> {
    if now.switches.saturating_sub(left.switches) > 1 {
        return None;
    }
    let stints = now.pcount.wrapping_sub(left.pcount);
    if stints == 1 && left.clock != 0 {
        let off = now.last_arrival.saturating_sub(left.clock);
        let on_cpu = now.clock.saturating_sub(now.last_arrival);
        return Some(parts(off, on_cpu, run_delay(left, now)));
    }
    let gap = now.mono.saturating_sub(left.mono);
    let on_cpu = if stints == 1 {
        now.clock.saturating_sub(now.last_arrival)
    } else if stints == 0 && left.clock == 0 {
        // It was running when we first saw it, and has been since.
        gap
    } else {
        // Preempted on its way to sleep, it came back without an entry in the books of waits
        // (`sched_info_depart` asks for TASK_RUNNING).
        now.sum_exec.saturating_sub(left.sum_exec)
    };
    let on_cpu = least(on_cpu, gap);
    Some(parts(gap - on_cpu, on_cpu, run_delay(left, now)))
}

/// The stretch that is still open `now`, at an edge of a window: on a CPU, waiting for one since
/// `last_queued` (0: it is not), or blocked; `None` where the thread was outside of the target
/// meanwhile.
#[must_use]
pub const fn open(left: &Left, now: &Books, last_queued: u64, is_on_cpu: bool) -> Option<Split> {
    if was_outside(left, now, is_on_cpu) {
        return None;
    }
    Some(inside(left, now, last_queued, is_on_cpu))
}

/// Whether it was switched away from since. One switch alone may be the one that it is about to
/// be seen in: the books have it first, while the thread is still on the CPU of its last stint.
const fn was_outside(left: &Left, now: &Books, is_on_cpu: bool) -> bool {
    match now.switches.saturating_sub(left.switches) {
        0 => false,
        1 => !is_on_cpu || now.pcount.saturating_sub(left.pcount) > 1,
        _ => true,
    }
}

const fn inside(left: &Left, now: &Books, last_queued: u64, is_on_cpu: bool) -> Split {
    let gap = now.mono.saturating_sub(left.mono);
    let stints = now.pcount.wrapping_sub(left.pcount);
    if stints > 0 {
        // It runs, or has just left: of its time on the CPU the books may lack a tick, so it is
        // what remains of the stretch where the time off it is known.
        let off = if stints == 1 && left.clock != 0 {
            least(now.last_arrival.saturating_sub(left.clock), gap)
        } else {
            gap - least(now.sum_exec.saturating_sub(left.sum_exec), gap)
        };
        return parts(off, gap - off, run_delay(left, now));
    }
    if left.clock == 0 && is_on_cpu {
        return parts(0, gap, 0);
    }
    if last_queued == 0 || left.clock == 0 {
        return parts(gap, 0, run_delay(left, now));
    }
    let until_queued = least(last_queued.saturating_sub(left.clock), gap);
    let rest = until_queued - least(run_delay(left, now), until_queued);
    parts(gap, 0, gap - rest)
}

const fn run_delay(left: &Left, now: &Books) -> u64 {
    now.run_delay.saturating_sub(left.run_delay)
}

const fn parts(off: u64, on_cpu: u64, run_delay: u64) -> Split {
    let run_queue = least(run_delay, off);
    Split { on_cpu, run_queue, rest: off - run_queue }
}

const fn least(a: u64, b: u64) -> u64 {
    if a < b { a } else { b }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The scheduler's clock is 1000 behind; left at 5000 after 3 stints, which was its third
    /// switch.
    const LEFT: Left = Left {
        mono: 6000,
        clock: 5000,
        last_arrival: 4000,
        run_delay: 70,
        pcount: 3,
        sum_exec: 900,
        switches: 3,
    };

    fn split(on_cpu: u64, run_queue: u64, rest: u64) -> Option<Split> {
        Some(Split { on_cpu, run_queue, rest })
    }

    /// Blocked 200, waited 30, ran 500, and goes again.
    const BACK: Books = Books {
        mono: 6730,
        clock: 5730,
        last_arrival: 5230,
        run_delay: 100,
        pcount: 4,
        sum_exec: 1400,
        switches: 4,
    };

    /// The same, and still runs.
    const RUNS: Books = Books { switches: 3, ..BACK };

    #[test]
    fn a_stretch_is_split_by_the_schedulers_clock_alone() {
        assert_eq!(closed(&LEFT, &BACK), split(500, 30, 200));
        // Interrupts on the CPU are not in `sum_exec`, and the other clock may drift.
        let odd = Books { sum_exec: 1000, mono: 6790, ..BACK };
        assert_eq!(closed(&LEFT, &odd), split(500, 30, 200));
    }

    #[test]
    fn what_was_seen_first_in_its_middle_is_split_by_the_other_clock() {
        let seen = Left { clock: 0, ..LEFT };
        assert_eq!(closed(&seen, &BACK), split(500, 30, 200));
        // It waited before we saw it: that part is not of this stretch.
        let waited = Books { run_delay: 5000, ..BACK };
        assert_eq!(closed(&seen, &waited), split(500, 230, 0));
        let ran_on = Books { pcount: 3, run_delay: 70, last_arrival: 4000, ..BACK };
        assert_eq!(closed(&seen, &ran_on), split(730, 0, 0));
    }

    #[test]
    fn a_thread_preempted_on_its_way_to_sleep_has_no_wait_in_the_books() {
        let back = Books { pcount: 3, run_delay: 70, last_arrival: 4000, ..BACK };
        assert_eq!(closed(&LEFT, &back), split(500, 0, 230));
    }

    #[test]
    fn a_stretch_with_a_switch_outside_is_not_the_targets() {
        assert_eq!(closed(&LEFT, &Books { pcount: 5, switches: 5, ..BACK }), None);
        // The kernel does not book every arrival.
        assert_eq!(closed(&LEFT, &Books { switches: 5, ..BACK }), None);
        assert_eq!(open(&LEFT, &Books { pcount: 5, ..BACK }, 0, true), None, "it runs inside");
        assert_eq!(open(&LEFT, &BACK, 0, false), None, "it sleeps inside");
        assert_eq!(open(&LEFT, &BACK, 5600, false), None, "it waits for a CPU inside");
    }

    #[test]
    fn the_switch_that_is_booked_and_not_yet_seen_was_inside() {
        assert_eq!(open(&LEFT, &BACK, 0, true), split(500, 30, 200));
        // First seen in the middle of it, or seen before the books were read.
        assert_eq!(closed(&Left { switches: 4, ..LEFT }, &BACK), split(500, 30, 200));
        assert_eq!(open(&LEFT, &Books { switches: 2, ..RUNS }, 0, true), split(500, 30, 200));
    }

    #[test]
    fn an_open_stretch_is_cut_where_the_thread_is() {
        let still = Books { last_arrival: 4000, run_delay: 70, pcount: 3, sum_exec: 900, ..RUNS };
        assert_eq!(open(&LEFT, &still, 0, false), split(0, 0, 730), "blocked");
        assert_eq!(open(&LEFT, &still, 5200, false), split(0, 530, 200), "queued since 5200");
        assert_eq!(open(&LEFT, &RUNS, 0, true), split(500, 30, 200), "running since 5230");
        let lagging = Books { sum_exec: 1000, ..RUNS };
        assert_eq!(open(&LEFT, &lagging, 0, true), split(500, 30, 200), "the books lag");
        // Moved while queued: a part of the wait is booked already.
        let moved = Books { run_delay: 170, ..still };
        assert_eq!(open(&LEFT, &moved, 5300, false), split(0, 530, 200), "queued again");
        let seen = Left { clock: 0, ..LEFT };
        assert_eq!(open(&seen, &still, 0, true), split(730, 0, 0), "running since first seen");
        assert_eq!(open(&seen, &still, 0, false), split(0, 0, 730), "blocked since first seen");
    }

    #[test]
    fn the_parts_of_any_stretch_add_up() {
        for run_delay in [0, 70, 100, 10_000] {
            for last_arrival in [0, 4900, 5230, 9000] {
                for pcount in [3, 4, 6] {
                    let now = Books { run_delay, last_arrival, pcount, ..RUNS };
                    for (queued, on) in [(0, false), (5100, false), (9000, false), (0, true)] {
                        let s = open(&LEFT, &now, queued, on).expect("it was inside");
                        assert_eq!(s.on_cpu + s.run_queue + s.rest, 730, "{now:?} {queued}");
                    }
                }
            }
        }
    }
}
