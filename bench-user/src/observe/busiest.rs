//! The busiest threads between two looks.

use std::collections::HashMap;

/// How many are told of.
const TOLD: usize = 8;

/// A thread's share of the time between two looks.
#[derive(Debug, Clone, PartialEq)]
pub struct ThreadShare {
    /// Thread id.
    pub tid: u32,
    /// Its name.
    pub comm: String,
    /// Share of the time on a CPU, 0..=1.
    pub oncpu_ratio: f64,
}

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

    /// The threads that were on a CPU for the largest shares of the time since the look before,
    /// the largest first; a thread that was not there at that look has none.
    pub(super) fn since(
        &mut self,
        now: HashMap<(u32, u64), u64>,
        at_ns: u64,
    ) -> Vec<((u32, u64), f64)> {
        let interval_ns = at_ns.saturating_sub(self.at_ns);
        self.at_ns = at_ns;
        let then = std::mem::replace(&mut self.oncpu_ns, now);
        if interval_ns == 0 {
            return Vec::new();
        }
        let added = |(id, ns): (&_, &u64)| (*id, ns.saturating_sub(*then.get(id).unwrap_or(ns)));
        let mut added: Vec<_> = self.oncpu_ns.iter().map(added).collect();
        added.sort_unstable_by_key(|(id, ns)| (std::cmp::Reverse(*ns), *id));
        added.truncate(TOLD);
        #[expect(clippy::cast_precision_loss, reason = "an interval is far below 2^53 ns")]
        let share = |ns: u64| ns as f64 / interval_ns as f64;
        added.into_iter().map(|(id, ns)| (id, share(ns))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_one_that_ran_most_since_the_look_before() {
        let at = |a, b| HashMap::from([((1, 1), a), ((2, 1), b)]);
        let mut busiest = Busiest::at(at(1000, 0), 0);
        assert_eq!(busiest.since(at(1010, 40), 100), [((2, 1), 0.4), ((1, 1), 0.1)]);
        let mut new = at(1090, 50);
        new.insert((3, 1), 5000);
        let shares = [((1, 1), 0.8), ((2, 1), 0.1), ((3, 1), 0.0)];
        assert_eq!(busiest.since(new, 200), shares);
        assert_eq!(busiest.since(at(1090, 50), 200), []);
    }

    #[test]
    fn of_many_only_the_busiest_are_told() {
        let all = |ns: u64| (0..100).map(|id| ((id, 1), ns * u64::from(id))).collect();
        let mut busiest = Busiest::at(all(0), 0);
        let told = busiest.since(all(1), 100);
        assert_eq!((told.len(), told[0], told[7].0), (8, ((99, 1), 0.99), (92, 1)));
    }
}
