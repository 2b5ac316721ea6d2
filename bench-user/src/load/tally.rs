//! What one worker has counted, and how the workers' counts become one [`LoadSample`].

use hdrhistogram::Histogram;

use super::outcome::Failure;
use super::timing::Timing;
use super::usage::Usage;
use super::{Account, Connections, Generator, IntervalLoad, LoadSample, Outcomes, Window};

/// A request that ended.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) start_ns: u64,
    pub(super) end_ns: u64,
    pub(super) bytes_in: u64,
    pub(super) bytes_out: u64,
    /// It was sent twice.
    pub(super) is_retried: bool,
    /// Status of its whole response, or why there is none.
    pub(super) how: Result<u16, Failure>,
    /// It took a time that belongs into the distribution: it is a whole response or a timeout.
    pub(super) is_timed: bool,
}

/// Counts of one worker.
#[derive(Debug)]
pub(super) struct Tally {
    /// Whole stage; `in_flight_at_end` is what is in flight now.
    pub(super) account: Account,
    pub(super) outcomes: Outcomes,
    pub(super) bytes_in: u64,
    pub(super) bytes_out: u64,
    pub(super) response: Timing,
    pub(super) connect: Timing,
    pub(super) intervals: Vec<Interval>,
    /// Open connections at the start of each interval of the window.
    pub(super) live: Vec<u32>,
    /// Lateness of the event loop.
    pub(super) lag: Timing,
    /// What the worker's thread used; `None` where the window never began.
    pub(super) usage: Option<Usage>,
}

/// One piece of the window.
#[derive(Debug)]
pub(super) struct Interval {
    completed: u64,
    /// Two digits are enough for a line over time, and small: every worker has one an interval.
    response: Histogram<u32>,
}

impl Interval {
    fn new() -> Self {
        let response = Histogram::new(2).expect("two digits are within the 0..=5 allowed");
        Self { completed: 0, response }
    }
}

impl Tally {
    pub(super) fn new() -> Self {
        Self {
            account: Account::default(),
            outcomes: Outcomes::default(),
            bytes_in: 0,
            bytes_out: 0,
            response: Timing::new(),
            connect: Timing::new(),
            intervals: Vec::new(),
            live: Vec::new(),
            lag: Timing::new(),
            usage: None,
        }
    }

    /// Counts a request that ended inside the window, in its interval from 0.
    pub(super) fn count(&mut self, ended: Ended, interval: usize) {
        while self.intervals.len() <= interval {
            self.intervals.push(Interval::new());
        }
        let piece = &mut self.intervals[interval];
        if ended.is_timed {
            let took_ns = ended.end_ns.saturating_sub(ended.start_ns);
            self.response.record(took_ns);
            piece.response.record(took_ns).expect("a histogram that resizes takes every u64");
        }
        self.bytes_in += ended.bytes_in;
        self.bytes_out += ended.bytes_out;
        self.outcomes.retried += u64::from(ended.is_retried);
        match ended.how {
            Ok(status) => {
                piece.completed += 1;
                self.outcomes.count_status(status);
            }
            Err(failure) => self.outcomes.count_failure(failure),
        }
    }

    /// Adds another worker's counts. `usage` becomes that of the busier one.
    pub(super) fn merge(&mut self, other: Self) {
        self.account.started += other.account.started;
        self.account.completed += other.account.completed;
        self.account.failed += other.account.failed;
        self.account.in_flight_at_end += other.account.in_flight_at_end;
        self.outcomes.merge(other.outcomes);
        self.bytes_in += other.bytes_in;
        self.bytes_out += other.bytes_out;
        self.response.merge(&other.response);
        self.connect.merge(&other.connect);
        self.lag.merge(&other.lag);
        self.usage = Usage::busier(self.usage, other.usage);
        while self.intervals.len() < other.intervals.len() {
            self.intervals.push(Interval::new());
        }
        for (mine, theirs) in self.intervals.iter_mut().zip(&other.intervals) {
            mine.completed += theirs.completed;
            mine.response.add(&theirs.response).expect("a histogram that resizes takes the other");
        }
        // Worker by worker at the same instants; the shortest list ends where one was stopped.
        self.live.truncate(other.live.len());
        self.live.iter_mut().zip(&other.live).for_each(|(mine, theirs)| *mine += theirs);
    }

    /// The sample of a stage, from the merged counts of all workers.
    pub(super) fn into_sample(
        self,
        window: Window,
        asked: u32,
        workers: u32,
        cpus: Vec<usize>,
    ) -> LoadSample {
        let window_ns = window.end_ns.saturating_sub(window.start_ns);
        #[expect(clippy::cast_precision_loss, reason = "counts and ns of a stage are below 2^53")]
        let achieved_rps = match window_ns {
            0 => 0.0,
            ns => self.outcomes.ok as f64 * 1e9 / ns as f64,
        };
        LoadSample {
            window_start_ns: window.start_ns,
            window_ns,
            requests: self.outcomes.ok + self.outcomes.non_2xx(),
            achieved_rps,
            outcomes: self.outcomes,
            account: self.account,
            bytes_in: self.bytes_in,
            bytes_out: self.bytes_out,
            response_ns: self.response.distribution(),
            service_ns: None,
            connect_ns: self.connect.distribution(),
            connections: connections(asked, self.live),
            generator: Generator {
                workers,
                cpus,
                cpu_ratio: self.usage.map_or(0.0, |usage| usage.cpu_ratio),
                runq_ratio: self.usage.and_then(|usage| usage.runq_ratio),
                lag_ns_p99: self.lag.distribution().p99,
                limited: self.usage.is_some_and(|usage| usage.is_limiting()),
            },
        }
    }
}

fn connections(asked: u32, mut live: Vec<u32>) -> Connections {
    live.sort_unstable();
    let at = |place: usize| live.get(place).copied().unwrap_or(0);
    Connections { asked, live_median: at(live.len() / 2), live_min: at(0) }
}

/// The intervals of the window, those in which nothing ended too.
pub(super) fn intervals(
    pieces: &[Interval],
    window: Window,
    interval_ns: u64,
) -> Vec<IntervalLoad> {
    let mut done = Vec::new();
    let mut start_ns = window.start_ns;
    while start_ns < window.end_ns {
        let end_ns = start_ns.saturating_add(interval_ns).min(window.end_ns);
        let piece = pieces.get(done.len());
        let response = piece.map(|piece| &piece.response).filter(|h| h.len() >= 100);
        done.push(IntervalLoad {
            start_ns,
            end_ns,
            completed: piece.map_or(0, |piece| piece.completed),
            response_ns_p99: response.map(|h| h.value_at_quantile(0.99)),
        });
        start_ns = end_ns;
    }
    done
}

#[cfg(test)]
mod tests {
    use super::super::outcome::FailureKind;
    use super::*;

    fn ended(took_ns: u64, how: Result<u16, Failure>) -> Ended {
        Ended {
            start_ns: 1_000,
            end_ns: 1_000 + took_ns,
            bytes_in: 10,
            bytes_out: 40,
            is_retried: false,
            is_timed: how.is_ok(),
            how,
        }
    }

    const WINDOW: Window = Window { start_ns: 0, end_ns: 2_000_000_000 };

    #[test]
    fn two_workers_merged_report_what_one_would_have() {
        let (mut one, mut left, mut right) = (Tally::new(), Tally::new(), Tally::new());
        for i in 0..400u64 {
            let status = if i % 10 == 0 { 404 } else { 200 };
            let interval = usize::from(i >= 200);
            one.count(ended(i * 1000, Ok(status)), interval);
            let worker = if i % 2 == 0 { &mut left } else { &mut right };
            worker.count(ended(i * 1000, Ok(status)), interval);
        }
        left.merge(right);
        let split = |tally: &Tally| intervals(&tally.intervals, WINDOW, 1_000_000_000);
        assert_eq!(split(&left), split(&one));
        assert!(split(&one).iter().all(|i| i.completed == 200 && i.response_ns_p99.is_some()));
        let sample = one.into_sample(WINDOW, 2, 1, Vec::new());
        assert_eq!(left.into_sample(WINDOW, 2, 1, Vec::new()), sample);
        assert_eq!((sample.requests, sample.outcomes.ok, sample.achieved_rps), (400, 360, 180.0));
    }

    #[test]
    fn failures_alone_give_no_rate_and_no_percentile() {
        let mut tally = Tally::new();
        for _ in 0..5_000 {
            tally.count(ended(5, Err(Failure::new(FailureKind::Reset, "reset"))), 0);
        }
        let sample = tally.into_sample(WINDOW, 1, 1, Vec::new());
        assert_eq!((sample.requests, sample.achieved_rps, sample.response_ns.count), (0, 0.0, 0));
        assert_eq!(sample.outcomes.reset, 5_000);
    }

    #[test]
    fn a_window_that_never_began_is_empty_and_not_nan() {
        let window = Window { start_ns: 50, end_ns: 40 };
        let sample = Tally::new().into_sample(window, 1, 1, Vec::new());
        assert_eq!((sample.window_ns, sample.achieved_rps), (0, 0.0));
        assert!(intervals(&[], window, 10).is_empty());
    }

    #[test]
    fn the_last_interval_ends_with_the_window_and_empty_ones_are_there() {
        let ends: Vec<_> = intervals(&[], Window { start_ns: 100, end_ns: 350 }, 100)
            .iter()
            .map(|i| (i.start_ns, i.end_ns, i.completed, i.response_ns_p99))
            .collect();
        assert_eq!(ends, [(100, 200, 0, None), (200, 300, 0, None), (300, 350, 0, None)]);
    }

    #[test]
    fn live_connections_are_added_across_workers_at_each_instant() {
        let with_live = |live: &[u32]| Tally { live: live.to_vec(), ..Tally::new() };
        let mut all = with_live(&[5, 4, 5]);
        all.merge(with_live(&[5, 1, 5, 5]));
        assert_eq!(all.live, [10, 5, 10]);
        let expect = Connections { asked: 10, live_median: 10, live_min: 5 };
        assert_eq!(connections(10, all.live), expect);
    }
}
