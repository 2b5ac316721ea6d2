//! What the generator itself did wrong in a stage, as sentences: then its figures say more about
//! the client than about the server.

use super::LoadSample;
use crate::units::show_ns;

/// Lateness below this changes no conclusion, ns: it is the order of a time slice, which any
/// machine with more threads than CPUs takes now and then.
const LATE_NS: u64 = 10_000_000;

/// Nor does lateness below this share of the median response time.
const LATE_SHARE: u64 = 10;

impl LoadSample {
    /// The generator was the limit; `None` when it was not.
    #[must_use]
    pub fn generator_was_limit(&self) -> Option<String> {
        let generator = &self.generator;
        let waited = generator.runq_ratio.unwrap_or(0.0) * 100.0;
        generator.limited.then(|| {
            format!(
                "the load generator was the limit (its busiest worker was {:.0} % of the time on a \
                 CPU and waited {waited:.0} % for one); give it more workers or CPUs",
                generator.cpu_ratio * 100.0
            )
        })
    }

    /// The generator was late: in the open loop at taking up requests that were due, in the closed
    /// one at looking at what had come. Late is a 99th percentile above 10 ms and above a tenth of
    /// the median response time, the larger of the two: that much of the response times is then
    /// the client's. `None` when it was not, or too few samples say.
    #[must_use]
    pub fn generator_was_late(&self) -> Option<String> {
        let (late_ns, what) = match &self.offered {
            Some(offered) => (offered.lateness_ns.p99?, "sent requests"),
            None => (self.generator.lag_ns_p99?, "woke"),
        };
        let bound_ns = LATE_NS.max(self.response_ns.p50.unwrap_or(0) / LATE_SHARE);
        #[expect(clippy::cast_precision_loss, reason = "for people, three digits")]
        let show = |ns: u64| show_ns(ns as f64);
        (late_ns > bound_ns).then(|| {
            format!(
                "the load generator {what} {} late (99th percentile), and more than {} is too \
                 much; give it more workers or CPUs",
                show(late_ns),
                show(bound_ns)
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distribution::Distribution;
    use crate::load::Offered;

    const MS: u64 = 1_000_000;

    fn late(open: bool, late_ns: u64, p50_ns: u64) -> Option<String> {
        let mut load = LoadSample::default();
        load.response_ns.p50 = Some(p50_ns);
        if open {
            let lateness_ns = Distribution { p99: Some(late_ns), ..Distribution::default() };
            load.offered = Some(Offered { lateness_ns, ..Offered::default() });
            // How late the loop woke is in the lateness already.
            load.generator.lag_ns_p99 = Some(900 * MS);
        } else {
            load.generator.lag_ns_p99 = Some(late_ns);
        }
        load.generator_was_late()
    }

    #[test]
    fn late_is_above_ten_ms_and_above_a_tenth_of_the_median_response() {
        for open in [true, false] {
            assert_eq!(late(open, 10 * MS, MS), None);
            let said = late(open, 11 * MS, MS).unwrap();
            assert!(said.contains("11.00 ms late") && said.contains("10.00 ms is too"), "{said}");
            assert_eq!(late(open, 50 * MS, 500 * MS), None);
            assert!(late(open, 51 * MS, 500 * MS).is_some());
        }
        assert_eq!(LoadSample::default().generator_was_late(), None);
    }

    #[test]
    fn a_generator_without_a_cpu_to_spare_was_the_limit() {
        let mut load = LoadSample::default();
        assert_eq!(load.generator_was_limit(), None);
        load.generator.limited = true;
        load.generator.cpu_ratio = 0.97;
        let said = load.generator_was_limit().unwrap();
        assert!(said.contains("97 % of the time on a CPU"), "{said}");
    }
}
