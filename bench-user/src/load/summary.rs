//! From the merged counts of all workers to the sample of a stage.

use super::tally::Tally;
use super::{Connections, GeneratorUse, LoadSample, Offered, Window};
use crate::plan::Protocol;

/// What was asked of a stage, as far as its sample tells it.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    pub(super) protocol: Protocol,
    pub(super) connections: u32,
    /// Requests per second of an open loop.
    pub(super) rps: Option<f64>,
    pub(super) workers: u32,
    /// CPUs that workers are pinned to.
    pub(super) cpus: Vec<usize>,
}

impl Tally {
    /// The sample of a stage.
    pub(super) fn into_sample(self, window: Window, asked: Asked) -> LoadSample {
        let window_ns = window.end_ns.saturating_sub(window.start_ns);
        #[expect(clippy::cast_precision_loss, reason = "counts and ns of a stage are below 2^53")]
        let achieved_rps = match window_ns {
            0 => 0.0,
            ns => self.outcomes.ok as f64 * 1e9 / ns as f64,
        };
        let offered = self.paced.zip(asked.rps).map(|(paced, rps)| Offered {
            rps,
            scheduled: paced.scheduled,
            sent: paced.sent,
            skipped: paced.skipped,
            unsent: paced.scheduled - paced.sent - paced.skipped,
            achieved_ratio: achieved_rps / rps,
            lateness_ns: paced.lateness.distribution(),
        });
        LoadSample {
            protocol: asked.protocol,
            window_start_ns: window.start_ns,
            window_ns,
            requests: self.outcomes.ok + self.outcomes.non_2xx(),
            achieved_rps,
            outcomes: self.outcomes,
            account: self.account,
            bytes_in: self.bytes_in,
            bytes_out: self.bytes_out,
            response_ns: self.response.distribution(),
            service_ns: offered.is_some().then(|| self.service.distribution()),
            first_byte_ns: self.first_byte.distribution(),
            connect_ns: self.connect.distribution(),
            tls_ns: self.tls.distribution(),
            upgrade_ns: self.upgrade.distribution(),
            connections: connections(asked.connections, self.live),
            offered,
            events: self.events.map(|events| events.into_events(window_ns)),
            generator: GeneratorUse {
                workers: asked.workers,
                cpus: asked.cpus,
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

#[cfg(test)]
mod tests {
    use super::super::outcome::Status;
    use super::super::tally::Ended;
    use super::super::usage::Usage;
    use super::*;

    const WINDOW: Window = Window { start_ns: 0, end_ns: 2_000_000_000 };

    fn asked(connections: u32) -> Asked {
        Asked { protocol: Protocol::Http1, connections, rps: None, workers: 2, cpus: vec![0] }
    }

    #[test]
    fn rates_are_of_good_responses_and_requests_of_all_whole_ones() {
        let mut tally = Tally::new();
        for status in [200, 200, 200, 404] {
            let ended = Ended {
                intended_ns: 1,
                sent_ns: 1,
                first_byte_ns: None,
                end_ns: 5,
                bytes_in: 2,
                bytes_out: 3,
                informational: 1,
                is_retried: false,
                how: Ok(Status::http(status)),
                is_timed: true,
            };
            tally.count(ended, 0, false);
        }
        let sample = tally.into_sample(WINDOW, asked(1));
        assert_eq!((sample.requests, sample.outcomes.ok, sample.outcomes.informational), (4, 3, 4));
        assert!((sample.achieved_rps - 1.5).abs() < 1e-12);
        assert_eq!((sample.service_ns, sample.offered), (None, None));
    }

    #[test]
    fn live_connections_are_their_median_and_least() {
        let mut tally = Tally::new();
        tally.live = vec![1541, 1600, 3];
        let sample = tally.into_sample(WINDOW, asked(1600));
        let expect = Connections { asked: 1600, live_median: 1541, live_min: 3 };
        assert_eq!(sample.connections, expect);
    }

    #[test]
    fn the_generator_is_the_limit_when_its_busiest_worker_is() {
        let mut tally = Tally::new();
        tally.usage = Some(Usage { cpu_ratio: 0.97, runq_ratio: Some(0.0) });
        assert!(tally.into_sample(WINDOW, asked(1)).generator.limited);
    }

    #[test]
    fn a_window_that_never_began_is_empty_and_not_nan() {
        let window = Window { start_ns: 50, end_ns: 40 };
        let sample = Tally::new().into_sample(window, asked(1));
        assert_eq!((sample.window_ns, sample.achieved_rps), (0, 0.0));
    }
}
