//! What a worker's own thread used of the window: CPU time, time waiting for a CPU, and how
//! late its event loop wakes.
//!
//! Read by that thread at the window's edges, since the thread CPU clock and
//! `/proc/thread-self` are about the reader.

use procfs::FromRead as _;
use procfs::process::Schedstat;

use super::Window;
use super::recorder::Recorder;
use crate::clock;

/// Between two wakes of the loop's watch, ns.
const TICK_NS: u64 = 10_000_000;

/// From here on a worker had no time of its own left: its next request waited for the worker
/// and not for the target.
const LIMITING: f64 = 0.95;

/// One worker's share of the window.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Usage {
    /// On a CPU, 0..=1.
    pub(super) cpu_ratio: f64,
    /// Runnable without a CPU, 0..=1; `None` without `/proc/thread-self/schedstat`.
    pub(super) runq_ratio: Option<f64>,
}

impl Usage {
    /// The rule for "limited by the client": the worker was on a CPU, or waiting for one, for at
    /// least 95 % of the window. More workers or more CPUs would have sent more.
    pub(super) fn is_limiting(self) -> bool {
        self.wanted() >= LIMITING
    }

    /// The one that wanted a CPU for the larger share.
    pub(super) fn busier(one: Option<Self>, other: Option<Self>) -> Option<Self> {
        one.into_iter().chain(other).max_by(|a, b| a.wanted().total_cmp(&b.wanted()))
    }

    fn wanted(self) -> f64 {
        self.cpu_ratio + self.runq_ratio.unwrap_or(0.0)
    }
}

/// The calling thread's clocks at one instant.
#[derive(Debug, Clone, Copy)]
pub(super) struct Edge {
    at_ns: u64,
    cpu_ns: u64,
    runq_ns: Option<u64>,
}

impl Edge {
    pub(super) fn now() -> Self {
        let runq_ns = Schedstat::from_file("/proc/thread-self/schedstat").ok().map(|s| s.run_delay);
        Self { at_ns: clock::now_ns(), cpu_ns: clock::thread_cpu_ns(), runq_ns }
    }

    /// The share of the time from `self` to `end`, which is the window but for how late the
    /// loop woke at its edges.
    pub(super) fn until(self, end: Self) -> Option<Usage> {
        let wall_ns = end.at_ns.checked_sub(self.at_ns).filter(|ns| *ns > 0)?;
        #[expect(clippy::cast_precision_loss, reason = "ns of a stage are far below 2^53")]
        let share = |ns: u64| (ns as f64 / wall_ns as f64).min(1.0);
        Some(Usage {
            cpu_ratio: share(end.cpu_ns.saturating_sub(self.cpu_ns)),
            runq_ratio: self.runq_ns.zip(end.runq_ns).map(|(a, b)| share(b.saturating_sub(a))),
        })
    }
}

/// What a worker does in a stage by the clock: notes its own use at the window's edges, the open
/// connections in the middle of each interval, shows each interval that is over, and notes how late
/// its loop wakes every 10 ms.
///
/// A stall of the loop counts once for every tick that it delayed.
#[derive(Debug)]
pub(super) struct Watch {
    window: Window,
    interval_ns: u64,
    /// When the next of each is due.
    tick_ns: u64,
    sample_ns: u64,
    has_entered: bool,
}

impl Watch {
    pub(super) fn new(window: Window, interval_ns: u64, now_ns: u64) -> Self {
        // Not at its start: without a warm-up nothing is open there.
        let window_ns = window.end_ns.saturating_sub(window.start_ns);
        Self {
            window,
            interval_ns,
            tick_ns: window.start_ns.max(now_ns),
            sample_ns: window.start_ns + interval_ns.min(window_ns) / 2,
            has_entered: false,
        }
    }

    /// When there is something to do next; never, after the end of the window.
    pub(super) fn next_ns(&self) -> u64 {
        if self.tick_ns > self.window.end_ns { u64::MAX } else { self.tick_ns.min(self.sample_ns) }
    }

    /// Does what is due.
    pub(super) fn pass(&mut self, now_ns: u64, recorder: &Recorder) {
        if now_ns < self.window.start_ns {
            return;
        }
        if !self.has_entered {
            self.has_entered = true;
            recorder.enter_window();
        }
        while self.sample_ns <= now_ns.min(self.window.end_ns - 1) {
            recorder.sample_live();
            self.sample_ns = self.sample_ns.saturating_add(self.interval_ns);
        }
        while self.tick_ns <= now_ns && self.tick_ns < self.window.end_ns {
            recorder.late(now_ns - self.tick_ns);
            recorder.show_live();
            self.tick_ns += TICK_NS;
        }
        recorder.publish(now_ns);
        if now_ns >= self.window.end_ns {
            recorder.leave_window();
            self.tick_ns = u64::MAX;
        } else {
            self.tick_ns = self.tick_ns.min(self.window.end_ns);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::control::Control;
    use super::super::recorder::Live;
    use super::*;

    #[test]
    fn a_worker_that_runs_or_waits_all_the_time_is_the_limit() {
        let usage = |cpu_ratio, runq_ratio| Usage { cpu_ratio, runq_ratio };
        assert!(usage(0.96, None).is_limiting());
        assert!(usage(0.55, Some(0.41)).is_limiting());
        assert!(!usage(0.55, Some(0.39)).is_limiting());
        assert!(!usage(0.90, None).is_limiting());
    }

    #[test]
    fn every_tick_and_interval_of_the_window_is_noted_once_however_late_the_loop_is() {
        // Window 100 to 125 ms: ticks at 100, 110, 120; intervals of 7 ms with their middles at
        // 103.5, 110.5, 117.5 and 124.5.
        let ms = 1_000_000;
        let window = Window { start_ns: 100 * ms, end_ns: 125 * ms };
        let control = Arc::new(Control::new(window, 1));
        let recorder = Recorder::new(control, 0, 7 * ms, false, Live::default());
        let mut watch = Watch::new(window, 7 * ms, 0);
        assert_eq!(watch.next_ns(), 100 * ms);
        for now_ms in [50, 100, 118, 119, 126, 130] {
            watch.pass(now_ms * ms, &recorder);
        }
        assert_eq!(watch.next_ns(), u64::MAX);
        let tally = recorder.into_tally();
        let lag = tally.lag.distribution();
        assert_eq!((tally.live.len(), lag.count, lag.max), (4, 3, Some(8 * ms)));
        assert!(tally.usage.is_some());
    }

    #[test]
    fn what_opens_as_the_window_begins_is_seen_in_a_window_of_one_interval() {
        let window = Window { start_ns: 100, end_ns: 200 };
        let live = Live::default();
        let control = Arc::new(Control::new(window, 1));
        let recorder = Recorder::new(control, 0, 500, false, live.clone());
        let mut watch = Watch::new(window, 500, 90);
        watch.pass(100, &recorder);
        let held = live.hold();
        watch.pass(200, &recorder);
        drop(held);
        assert_eq!(recorder.into_tally().live, [1]);
    }

    #[test]
    fn the_busier_worker_is_the_one_that_wanted_a_cpu_longer() {
        let (runs, waits) = (
            Usage { cpu_ratio: 0.6, runq_ratio: Some(0.0) },
            Usage { cpu_ratio: 0.3, runq_ratio: Some(0.5) },
        );
        assert_eq!(Usage::busier(Some(runs), Some(waits)), Some(waits));
        assert_eq!(Usage::busier(Some(runs), None), Some(runs));
        assert_eq!(Usage::busier(None, None), None);
    }

    #[test]
    fn shares_are_of_the_time_between_the_two_readings() {
        let start = Edge { at_ns: 1_000, cpu_ns: 10, runq_ns: Some(5) };
        let end = Edge { at_ns: 2_000, cpu_ns: 510, runq_ns: Some(255) };
        let expect = Usage { cpu_ratio: 0.5, runq_ratio: Some(0.25) };
        assert_eq!(start.until(end), Some(expect));
        assert_eq!(end.until(end), None);
        assert_eq!(Edge { runq_ns: None, ..start }.until(end).unwrap().runq_ratio, None);
    }

    #[test]
    fn a_thread_that_computes_is_seen_to_use_its_cpu() {
        let start = Edge::now();
        while clock::thread_cpu_ns() - start.cpu_ns < 1_000_000 {
            std::hint::spin_loop();
        }
        let usage = start.until(Edge::now()).unwrap();
        assert!(usage.cpu_ratio > 0.0 && usage.cpu_ratio <= 1.0, "{usage:?}");
    }
}
