//! What the ledger says of live threads inside a window.

use std::collections::HashMap;

use super::{Id, Ledger};
use crate::observe::busiest::ThreadShare;

impl Ledger {
    /// On-CPU time of each live thread so far, ns: the difference of two calls gives the busiest.
    pub(in crate::observe) fn oncpu_now(&self) -> HashMap<Id, u64> {
        self.live.iter().map(|(id, known)| (*id, known.now.books.sum_exec)).collect()
    }

    /// Shares of threads with their names.
    pub(in crate::observe) fn named(&self, shares: Vec<(Id, f64)>) -> Vec<ThreadShare> {
        let named = |(id, oncpu_ratio): (Id, f64)| {
            let comm = self.live.get(&id)?.comm.clone();
            Some(ThreadShare { tid: id.0, comm, oncpu_ratio })
        };
        shares.into_iter().filter_map(named).collect()
    }
}
