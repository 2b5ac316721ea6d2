//! The busiest thread between two looks.

use std::collections::HashMap;

/// Time on a CPU by thread at the look before.
#[derive(Debug, Default)]
pub(super) struct Busiest {
    oncpu_ns: HashMap<(u32, u64), u64>,
    at_ns: u64,
}

impl Busiest {
    /// At the begin of a window.
    pub(super) fn at(oncpu_ns: HashMap<(u32, u64), u64>, at_ns: u64) -> Self {
        Self { oncpu_ns, at_ns }
    }

    /// The largest share of the time since the look before that a thread was on a CPU; a thread
    /// that was not there at that look has none.
    pub(super) fn since(&mut self, now: HashMap<(u32, u64), u64>, at_ns: u64) -> Option<f64> {
        let interval_ns = at_ns.saturating_sub(self.at_ns);
        self.at_ns = at_ns;
        let then = std::mem::replace(&mut self.oncpu_ns, now);
        let added = |(id, ns): (&_, &u64)| ns.saturating_sub(*then.get(id).unwrap_or(ns));
        let most = self.oncpu_ns.iter().map(added).max();
        #[expect(clippy::cast_precision_loss, reason = "an interval is far below 2^53 ns")]
        (interval_ns > 0).then(|| most.map(|ns| ns as f64 / interval_ns as f64))?
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_one_that_ran_most_since_the_look_before() {
        let at = |a, b| HashMap::from([((1, 1), a), ((2, 1), b)]);
        let mut busiest = Busiest::at(at(1000, 0), 0);
        assert_eq!(busiest.since(at(1010, 40), 100), Some(0.4));
        let mut new = at(1090, 50);
        new.insert((3, 1), 5000);
        assert_eq!(busiest.since(new, 200), Some(0.8));
        assert_eq!(busiest.since(at(1090, 50), 200), None);
    }
}
