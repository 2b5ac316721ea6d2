//! When the requests of an open loop should be sent: one sequence for the whole stage, of which
//! every worker has each `workers`-th.
//!
//! Intended times are computed, never observed: request `i` of a constant schedule belongs at
//! `start + i / rate`, whatever happened to the ones before it. Every worker draws the whole
//! Poisson sequence from the same seed, so its times do not depend on the number of workers.

use fastrand::Rng;

use crate::plan::Arrivals;

/// The intended times of one worker, in order, without end.
#[derive(Debug, Clone)]
pub(super) struct Schedule {
    start_ns: u64,
    gap_ns: f64,
    /// Number of the next request among those of all workers.
    next: u64,
    workers: u64,
    random: Option<Poisson>,
}

/// The sum of exponential gaps so far.
#[derive(Debug, Clone)]
struct Poisson {
    rng: Rng,
    /// Since the start, of request `next`, ns.
    at_ns: f64,
}

impl Schedule {
    /// The share of worker `worker` of `workers` in `rps` requests per second from `start_ns` on.
    pub(super) fn new(
        (rps, arrivals, seed): (f64, Arrivals, u64),
        start_ns: u64,
        worker: usize,
        workers: usize,
    ) -> Self {
        let random = (arrivals == Arrivals::Poisson)
            .then(|| Poisson { rng: Rng::with_seed(seed), at_ns: 0.0 });
        let mut schedule =
            Self { start_ns, gap_ns: 1e9 / rps, next: 0, workers: workers as u64, random };
        schedule.forward(worker as u64);
        schedule
    }

    /// When the next request should be sent, ns.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a stage has far fewer than 2^53 requests and ns, and its times are positive"
    )]
    pub(super) fn next_ns(&self) -> u64 {
        let since = match &self.random {
            Some(poisson) => poisson.at_ns,
            None => self.next as f64 * self.gap_ns,
        };
        self.start_ns.saturating_add(since.round() as u64)
    }

    /// Goes on to this worker's next request.
    pub(super) fn advance(&mut self) {
        self.forward(self.workers);
    }

    fn forward(&mut self, requests: u64) {
        self.next += requests;
        if let Some(poisson) = &mut self.random {
            for _ in 0..requests {
                // Inverse of the exponential distribution's function; f64() is below 1, so the
                // logarithm is finite.
                poisson.at_ns -= (1.0 - poisson.rng.f64()).ln() * self.gap_ns;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn until(end_ns: u64, rate: (f64, Arrivals, u64), worker: usize, workers: usize) -> Vec<u64> {
        let mut schedule = Schedule::new(rate, 1_000, worker, workers);
        let mut times = Vec::new();
        while schedule.next_ns() < end_ns {
            times.push(schedule.next_ns());
            schedule.advance();
        }
        times
    }

    #[test]
    fn totals_are_exact_for_awkward_rates_and_workers() {
        let second = 1_000_000_000;
        for (rps, seconds, expect) in
            [(7.0, 3, 21), (333.0, 1, 333), (1.0, 5, 5), (99_999.0, 1, 99_999), (0.5, 4, 2)]
        {
            for workers in [1, 2, 3, 7] {
                let rate = (rps, Arrivals::Constant, 0);
                let all = (0..workers).map(|w| until(1_000 + seconds * second, rate, w, workers));
                assert_eq!(all.map(|times| times.len()).sum::<usize>(), expect, "{rps} {workers}");
            }
        }
    }

    #[test]
    fn workers_together_follow_one_schedule_whatever_their_number() {
        for arrivals in [Arrivals::Constant, Arrivals::Poisson] {
            let rate = (12_345.0, arrivals, 9);
            let one = until(50_000_000, rate, 0, 1);
            for workers in [2, 3, 5] {
                let mut all: Vec<u64> =
                    (0..workers).flat_map(|w| until(50_000_000, rate, w, workers)).collect();
                all.sort_unstable();
                assert_eq!(all, one, "{arrivals:?} {workers}");
            }
        }
    }

    #[test]
    fn poisson_gaps_have_the_mean_and_spread_of_an_exponential() {
        let times = until(100_000_000_000, (1_000.0, Arrivals::Poisson, 1), 0, 1);
        let gaps: Vec<f64> = times.windows(2).map(|w| (w[1] - w[0]) as f64 / 1e6).collect();
        let n = gaps.len() as f64;
        let mean = gaps.iter().sum::<f64>() / n;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / n;
        // 100,000 gaps of mean 1 ms: five standard errors of the mean and of the variance.
        assert!((mean - 1.0).abs() < 5.0 / n.sqrt(), "{mean}");
        assert!((variance - 1.0).abs() < 5.0 * (8.0 / n).sqrt(), "{variance}");
    }
}
