//! What leaves the workers while a stage goes on: every interval that is over, once, as it will be
//! part of the stage's numbers.
//!
//! A worker publishes when it is awake by the clock anyway, every 10 ms, into a channel with room;
//! it never waits, and where there is no room its interval is not shown. So a stage is the same
//! whether anybody looks or not, and how slowly. A piece is final: requests are counted in the
//! order of their ends.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use super::interval::{self, Interval};
use super::{IntervalLoad, Progress, Window};
use crate::distribution::Percentile;

/// Intervals that may wait to be taken, for every worker: those of a second at the least length.
const ROOM: usize = 100;

/// One interval of one worker, by its place in the window; nothing where nothing ended in it.
pub(super) type Piece = (u64, Option<Interval>);

/// The stage so far, as its stop rules see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SoFar {
    /// Requests that failed, whole stage.
    pub failed: u64,
    /// Complete responses that are not 2xx, in the intervals of the window that are over.
    pub non_2xx: u64,
    /// Median of the response time in those intervals, ns, to 1 %.
    pub response_ns_p50: Option<u64>,
    /// 99th percentile of it, ns, to 1 %; `None` below 100 samples.
    pub response_ns_p99: Option<u64>,
    /// Connections open now.
    pub live: u32,
}

/// A channel for the workers of a stage.
pub(super) fn channel(workers: usize) -> (SyncSender<Piece>, Receiver<Piece>) {
    sync_channel(ROOM * workers)
}

/// Puts the workers' pieces together as they come.
#[derive(Debug)]
pub(super) struct Gathered {
    pieces: Receiver<Piece>,
    workers: usize,
    window: Window,
    interval_ns: u64,
    /// By place, with how many workers have published theirs.
    open: Vec<(u64, usize, Interval)>,
    over: Vec<IntervalLoad>,
    total: Interval,
}

impl Gathered {
    pub(super) fn new(
        pieces: Receiver<Piece>,
        workers: usize,
        window: Window,
        interval_ns: u64,
    ) -> Self {
        let (open, over, total) = (Vec::new(), Vec::new(), Interval::new());
        Self { pieces, workers, window, interval_ns, open, over, total }
    }

    /// Every interval that all workers have published, in the order in which that came about.
    pub(super) fn over(&mut self) -> &[IntervalLoad] {
        while let Ok((place, piece)) = self.pieces.try_recv() {
            self.take(place, piece);
        }
        &self.over
    }

    fn take(&mut self, place: u64, piece: Option<Interval>) {
        let known = self.open.iter().position(|(at, ..)| *at == place);
        let at = known.unwrap_or_else(|| {
            self.open.push((place, 0, Interval::new()));
            self.open.len() - 1
        });
        let (_, count, sum) = &mut self.open[at];
        *count += 1;
        if let Some(piece) = piece {
            sum.add(&piece);
        }
        if *count == self.workers {
            let (_, _, sum) = self.open.swap_remove(at);
            self.total.add(&sum);
            let edges = interval::edges(self.window, self.interval_ns, place);
            self.over.extend(edges.map(|edges| sum.load(edges)));
        }
    }

    pub(super) fn so_far(&self, progress: Progress) -> SoFar {
        SoFar {
            failed: progress.failed,
            non_2xx: self.total.non_2xx,
            response_ns_p50: self.total.percentile(Percentile::P50),
            response_ns_p99: self.total.percentile(Percentile::P99),
            live: progress.live,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(took_ns: u64, count: u64) -> Option<Interval> {
        let mut piece = Interval::new();
        piece.completed = count;
        piece.non_2xx = 1;
        (0..count).for_each(|_| piece.record(took_ns));
        Some(piece)
    }

    #[test]
    fn an_interval_is_over_when_every_worker_has_published_it() {
        let window = Window { start_ns: 1_000, end_ns: 1_250 };
        let (to, from) = channel(2);
        let mut gathered = Gathered::new(from, 2, window, 100);
        to.try_send((0, piece(50, 60))).unwrap();
        assert!(gathered.over().is_empty());
        assert_eq!(gathered.so_far(Progress::default()), SoFar::default());
        to.try_send((1, piece(900, 100))).unwrap();
        to.try_send((0, piece(50, 40))).unwrap();
        let first = IntervalLoad {
            start_ns: 1_000,
            end_ns: 1_100,
            completed: 100,
            response_ns_p50: Some(50),
            response_ns_p99: Some(50),
        };
        assert_eq!(gathered.over(), [first]);
        to.try_send((1, None)).unwrap();
        assert_eq!((gathered.over().len(), gathered.over()[1].response_ns_p99), (2, Some(903)));
        let progress = Progress { completed: 0, failed: 3, live: 7 };
        let so_far = SoFar {
            failed: 3,
            non_2xx: 3,
            response_ns_p50: Some(50),
            response_ns_p99: Some(903),
            live: 7,
        };
        assert_eq!(gathered.so_far(progress), so_far);
    }
}
