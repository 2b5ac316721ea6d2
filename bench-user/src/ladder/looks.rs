//! The looks inside a window: each is told of while the stage goes on, and all become the samples
//! of its record.
//!
//! A look has its own interval of the client's only when all workers have shown it, up to 10 ms
//! later; it is told then, so that what is told and what is recorded are one sample. A look whose
//! interval does not come within the time of two is told without percentiles; the record has them.

use anyhow::Result;

use super::{Event, Sink, StageSample, join};
use crate::clock;
use crate::load::{IntervalLoad, Progress, RunningLoad};
use crate::observe::Look;

/// The looks of one window so far.
pub(super) struct Looks {
    window_start_ns: u64,
    interval_ns: u64,
    at_begin: Progress,
    all: Vec<(Look, Progress)>,
    /// How many of them were told of.
    told: usize,
}

impl Looks {
    pub(super) fn new(window_start_ns: u64, interval_ns: u64, at_begin: Progress) -> Self {
        Self { window_start_ns, interval_ns, at_begin, all: Vec::new(), told: 0 }
    }

    pub(super) fn push(&mut self, look: Look, progress: Progress) {
        self.all.push((look, progress));
    }

    /// Tells of the looks that can be told of now.
    ///
    /// # Errors
    /// The sink's.
    pub(super) fn tell(&mut self, load: &mut RunningLoad<'_>, sink: &mut dyn Sink) -> Result<()> {
        while let Some((look, _)) = self.all.get(self.told) {
            let intervals = load.intervals_over();
            let is_late = clock::now_ns().saturating_sub(look.at_ns) > 2 * self.interval_ns;
            let has_own = join::has_own(look, intervals, self.interval_ns);
            if !has_own && !is_late {
                break;
            }
            let sample = self.sample(self.told, if has_own { intervals } else { &[] });
            let so_far = load.so_far();
            sink.event(Event::Sampled { sample: &sample, busiest: &look.busiest, so_far })?;
            self.told += 1;
        }
        Ok(())
    }

    /// All of them, with all intervals of the window.
    pub(super) fn samples(&self, intervals: &[IntervalLoad]) -> Vec<StageSample> {
        (0..self.all.len()).map(|nth| self.sample(nth, intervals)).collect()
    }

    fn sample(&self, nth: usize, intervals: &[IntervalLoad]) -> StageSample {
        let (look, progress) = &self.all[nth];
        let before = nth.checked_sub(1).map_or(self.at_begin, |before| self.all[before].1);
        join::sample(self.window_start_ns, look, (before, *progress), intervals)
    }
}
