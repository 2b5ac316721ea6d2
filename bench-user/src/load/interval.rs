//! The pieces of a window, for a line over time.

use hdrhistogram::Histogram;

use super::{IntervalLoad, Window};
use crate::distribution::Percentile;

/// One piece of the window, of one worker.
#[derive(Debug)]
pub(super) struct Interval {
    pub(super) completed: u64,
    /// Two digits are enough for a line over time, and small: every worker has one an interval.
    response: Histogram<u32>,
}

impl Interval {
    fn new() -> Self {
        let response = Histogram::new(2).expect("two digits are within the 0..=5 allowed");
        Self { completed: 0, response }
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

    /// Adds another worker's pieces, each to the one of the same place.
    pub(super) fn merge(mine: &mut Vec<Self>, theirs: &[Self]) {
        while mine.len() < theirs.len() {
            mine.push(Self::new());
        }
        for (mine, theirs) in mine.iter_mut().zip(theirs) {
            mine.completed += theirs.completed;
            mine.response.add(&theirs.response).expect("a histogram that resizes takes the other");
        }
    }
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
        done.push(IntervalLoad {
            start_ns,
            end_ns,
            completed: piece.map_or(0, |piece| piece.completed),
            response_ns_p99: piece.and_then(|piece| Percentile::P99.of(&piece.response)),
        });
        start_ns = end_ns;
    }
    done
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
    }
}
