//! What the rounds gave: plain data, and the quotients that are shown.

use std::collections::{BTreeMap, BTreeSet};

use super::child::Used;
use super::peers::{Count, Name};
use crate::statistics::Quartiles;

/// One client in one round at one number of connections.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Measured {
    /// 2xx responses per second of the client's CPU time.
    pub(super) requests_per_cpu_s: f64,
    /// The share of its run that the client was on a CPU, 0..=1.
    pub(super) cpu_ratio: f64,
    /// Peak resident memory, MiB.
    pub(super) peak_mib: Option<f64>,
    /// Syscalls per 2xx response, of a run of its own.
    pub(super) syscalls_per_request: Option<f64>,
}

impl Measured {
    /// `None` when nothing was completed, or in no time: then there is no quotient.
    #[expect(clippy::cast_precision_loss, reason = "the counts of one run are below 2^53")]
    pub(super) fn of(count: Count, used: &Used, counted: Option<(u64, Count)>) -> Option<Self> {
        let cpu_s = used.cpu.as_secs_f64();
        (count.ok > 0 && cpu_s > 0.0).then(|| Self {
            requests_per_cpu_s: count.ok as f64 / cpu_s,
            cpu_ratio: cpu_s / used.wall.as_secs_f64(),
            peak_mib: used.peak_bytes.map(|bytes| bytes as f64 / f64::from(1 << 20)),
            syscalls_per_request: counted
                .filter(|(_, count)| count.ok > 0)
                .map(|(syscalls, count)| syscalls as f64 / count.ok as f64),
        })
    }
}

/// All of it.
#[derive(Debug, Default)]
pub(super) struct Results {
    /// By connections, client and round.
    measured: BTreeMap<(u32, Name, u32), Measured>,
    /// What a reader of the numbers has to know, each once.
    pub(super) notes: BTreeSet<String>,
    /// Whether a client of ours counted other requests than the server.
    pub(super) is_ours_wrong: bool,
}

impl Results {
    pub(super) fn add(&mut self, connections: u32, name: Name, round: u32, measured: Measured) {
        self.measured.insert((connections, name, round), measured);
    }

    /// The numbers of connections and the clients that have results there.
    pub(super) fn cells(&self) -> BTreeSet<(u32, Name)> {
        self.measured.keys().map(|(connections, name, _)| (*connections, *name)).collect()
    }

    /// One figure over the rounds of a client; `None` when no round has it.
    pub(super) fn over_rounds(
        &self,
        (connections, name): (u32, Name),
        figure: impl Fn(&Measured) -> Option<f64>,
    ) -> Option<Quartiles> {
        Quartiles::of(self.rounds(connections, name).filter_map(|(_, measured)| figure(measured)))
    }

    /// How often the client made wrk's requests per CPU second, compared within rounds: a machine
    /// that gets slower or faster over minutes does so for both. `None` without wrk.
    pub(super) fn ratio_to_wrk(&self, (connections, name): (u32, Name)) -> Option<Quartiles> {
        Quartiles::of(self.rounds(connections, name).filter_map(|(round, measured)| {
            let wrk = self.measured.get(&(connections, Name::Wrk, round))?;
            Some(measured.requests_per_cpu_s / wrk.requests_per_cpu_s)
        }))
    }

    fn rounds(&self, connections: u32, name: Name) -> impl Iterator<Item = (u32, &Measured)> {
        self.measured
            .range((connections, name, 0)..=(connections, name, u32::MAX))
            .map(|((.., round), measured)| (*round, measured))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn measured(requests_per_cpu_s: f64) -> Measured {
        let (peak_mib, syscalls_per_request) = (None, None);
        Measured { requests_per_cpu_s, cpu_ratio: 0.5, peak_mib, syscalls_per_request }
    }

    #[test]
    fn the_quotients_are_those_of_the_right_runs() {
        let used = Used {
            cpu: Duration::from_secs(2),
            wall: Duration::from_secs(4),
            peak_bytes: Some(3 << 20),
        };
        let count = |ok| Count { ok, failed: 1 };
        let all = Measured::of(count(1000), &used, Some((90, count(30)))).expect("quotients");
        assert_eq!(
            all,
            Measured {
                requests_per_cpu_s: 500.0,
                cpu_ratio: 0.5,
                peak_mib: Some(3.0),
                syscalls_per_request: Some(3.0),
            }
        );
        assert_eq!(Measured::of(count(0), &used, None), None);
        let none = Measured::of(count(1), &used, Some((90, count(0)))).expect("one request");
        assert_eq!(none.syscalls_per_request, None);
    }

    #[test]
    fn ratios_are_taken_within_rounds_and_connections() {
        let mut all = Results::default();
        for (connections, name, round, figure) in [
            (10, Name::Wrk, 0, 100.0),
            (10, Name::Hyper, 0, 200.0),
            (10, Name::Wrk, 1, 1000.0),
            (10, Name::Hyper, 1, 2000.0),
            (10, Name::Hyper, 2, 9.0),
            (20, Name::Wrk, 0, 1.0),
        ] {
            all.add(connections, name, round, measured(figure));
        }
        let two = Quartiles { low: 2.0, median: 2.0, high: 2.0 };
        assert_eq!(all.ratio_to_wrk((10, Name::Hyper)), Some(two), "a round without wrk has none");
        assert_eq!(all.ratio_to_wrk((20, Name::Hyper)), None);
        let median = |cell| all.over_rounds(cell, |m| Some(m.requests_per_cpu_s)).map(|q| q.median);
        assert_eq!(median((10, Name::Hyper)), Some(200.0));
        assert_eq!(median((20, Name::Wrk)), Some(1.0));
    }
}
