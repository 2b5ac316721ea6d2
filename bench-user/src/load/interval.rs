//! The pieces of a window, for a line over time.

use hdrhistogram::Histogram;

use super::{IntervalLoad, Window};
use crate::distribution::Percentile;

/// One piece of the window, of one worker.
#[derive(Debug, Clone)]
pub(super) struct Interval {
    pub(super) completed: u64,
    /// Complete responses that are not 2xx, or whose gRPC status is an error.
    pub(super) non_2xx: u64,
    /// Two digits are enough for a line over time, and small: every worker has one an interval.
    response: Histogram<u32>,
}

impl Interval {
    pub(super) fn new() -> Self {
        let response = Histogram::new(2).expect("two digits are within the 0..=5 allowed");
        Self { completed: 0, non_2xx: 0, response }
    }

    /// The piece at a place, from 0.
    pub(super) fn at(pieces: &mut Vec<Self>, place: usize) -> &mut Self {
        while pieces.len() <= place {
            pieces.push(Self::new());
        }
        &mut pieces[place]
    }

    pub(super) fn record(&mut self, took_ns: u64) {
        self.response.record(took_ns).expect("a histogram that resizes takes every u64");
    }

    /// Adds another piece: one of another worker, or a later one.
    pub(super) fn add(&mut self, other: &Self) {
        self.completed += other.completed;
        self.non_2xx += other.non_2xx;
        self.response.add(&other.response).expect("a histogram that resizes takes the other");
    }

    /// A percentile of its response times, ns.
    pub(super) fn percentile(&self, percentile: Percentile) -> Option<u64> {
        percentile.of(&self.response)
    }

    /// What it says of a piece of the window with these edges.
    pub(super) fn load(&self, (start_ns, end_ns): (u64, u64)) -> IntervalLoad {
        IntervalLoad {
            start_ns,
            end_ns,
            completed: self.completed,
            response_ns_p50: self.percentile(Percentile::P50),
            response_ns_p99: self.percentile(Percentile::P99),
        }
    }

    /// Adds another worker's pieces, each to the one of the same place.
    pub(super) fn merge(mine: &mut Vec<Self>, theirs: &[Self]) {
        while mine.len() < theirs.len() {
            mine.push(Self::new());
        }
        for (mine, theirs) in mine.iter_mut().zip(theirs) {
            mine.add(theirs);
        }
    }
}

/// The intervals of the window, those in which nothing ended too.
pub(super) fn intervals(
    pieces: &[Interval],
    window: Window,
    interval_ns: u64,
) -> Vec<IntervalLoad> {
    let nothing = Interval::new();
    let edges = (0..).map_while(|place| edges(window, interval_ns, place));
    edges.enumerate().map(|(n, edges)| pieces.get(n).unwrap_or(&nothing).load(edges)).collect()
}

/// Start and end of the interval at a place; `None` behind the window's end, which cuts the last.
pub(super) fn edges(window: Window, interval_ns: u64, place: u64) -> Option<(u64, u64)> {
    let start_ns = window.start_ns.saturating_add(place.saturating_mul(interval_ns));
    let end_ns = start_ns.saturating_add(interval_ns).min(window.end_ns);
    (start_ns < window.end_ns).then_some((start_ns, end_ns))
}

/// How many intervals are over.
pub(super) fn count_over(window: Window, interval_ns: u64, now_ns: u64) -> u64 {
    let since_ns = now_ns.min(window.end_ns).saturating_sub(window.start_ns);
    let has_cut = now_ns >= window.end_ns && !since_ns.is_multiple_of(interval_ns);
    since_ns / interval_ns + u64::from(has_cut)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_without_an_end_in_it_is_there_too_and_the_last_is_cut_at_the_window() {
        let mut pieces = Vec::new();
        for _ in 0..100 {
            let piece = Interval::at(&mut pieces, 1);
            piece.completed += 1;
            piece.record(1_000);
        }
        let window = Window { start_ns: 500, end_ns: 750 };
        let done = intervals(&pieces, window, 100);
        assert_eq!(done.iter().map(|i| i.completed).collect::<Vec<_>>(), [0, 100, 0]);
        assert_eq!((done[2].start_ns, done[2].end_ns), (700, 750));
        assert_eq!((done[0].response_ns_p99, done[1].response_ns_p99.is_some()), (None, true));
        assert_eq!((done[0].response_ns_p50, done[1].response_ns_p50), (None, Some(1_003)));
    }

    #[test]
    fn an_interval_is_over_at_its_end_and_the_cut_one_at_the_windows() {
        let window = Window { start_ns: 500, end_ns: 750 };
        let over = |now_ns| count_over(window, 100, now_ns);
        assert_eq!([0, 599, 600, 749, 750, 9999].map(over), [0, 0, 1, 2, 3, 3]);
        assert_eq!(count_over(Window { start_ns: 0, end_ns: 200 }, 100, 200), 2);
        assert_eq!(edges(window, 100, 2), Some((700, 750)));
        assert_eq!(edges(window, 100, 3), None);
    }
}
