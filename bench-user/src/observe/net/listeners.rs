//! The listening sockets of the target's own processes: who is one, how long its queue was and
//! what it dropped in the window. Reads nothing itself.
//!
//! A socket is the target's when a process of its cgroup holds a descriptor of it. Looking
//! through the descriptors of all processes costs a readlink for each of their connections, so it
//! is done when a window begins, and inside it only for a listener that was never seen before.

use std::collections::{HashMap, HashSet};

use super::block::Listener;
use crate::host::sock_diag::Listening;
use crate::measured::Measured;

/// Why limits and drops can be missing where the queue itself is known.
pub(super) const NO_DIAG: &str = "shown by sock_diag alone, which this kernel lacks for TCP \
                                  (CONFIG_INET_TCP_DIAG, or the module tcp_diag is not loaded)";

/// What is known of the listeners of the namespace.
#[derive(Debug, Default)]
pub(super) struct Listeners {
    own: HashSet<u64>,
    foreign: HashSet<u64>,
    /// The target's own that were seen in this window, by inode.
    seen: HashMap<u64, Track>,
    in_window: bool,
}

/// One listener over the window.
#[derive(Debug)]
struct Track {
    last: Listening,
    longest: u64,
    drops_at_begin: u64,
}

impl Listeners {
    /// A window is about to begin: what belongs to whom is looked up anew, because a socket can
    /// be handed over.
    pub(super) fn begin(&mut self) {
        self.own.clear();
        self.foreign.clear();
        self.restart();
    }

    /// Forgets the figures but not whose a listener is: the next [`Self::note`] is the begin of
    /// the window.
    pub(super) fn restart(&mut self) {
        self.seen.clear();
        self.in_window = false;
    }

    /// Takes in what listens now; `held` gives the sockets of the target's processes and is asked
    /// only where a listener is new.
    pub(super) fn note(&mut self, now: &[Listening], held: impl FnOnce() -> HashSet<u64>) {
        let is_new =
            |l: &&Listening| !self.own.contains(&l.inode) && !self.foreign.contains(&l.inode);
        let new: Vec<u64> = now.iter().filter(is_new).map(|l| l.inode).collect();
        if !new.is_empty() {
            let held = held();
            let (own, foreign): (Vec<u64>, Vec<u64>) =
                new.into_iter().partition(|inode| held.contains(inode));
            self.own.extend(own);
            self.foreign.extend(foreign);
        }
        for listening in now.iter().filter(|l| self.own.contains(&l.inode)) {
            let drops = listening.drops.unwrap_or(0);
            // One that is made inside the window has dropped nothing before it.
            let drops_at_begin = if self.in_window { 0 } else { drops };
            let track = self.seen.entry(listening.inode).or_insert(Track {
                last: *listening,
                longest: 0,
                drops_at_begin,
            });
            track.last = *listening;
            track.longest = track.longest.max(listening.waiting);
        }
        self.in_window = true;
    }

    /// Connections that wait at the target's listeners among these; `None` without any.
    pub(super) fn waiting(&self, now: &[Listening]) -> Option<u64> {
        let own = || now.iter().filter(|l| self.own.contains(&l.inode));
        own().next()?;
        Some(own().map(|l| l.waiting).sum())
    }

    /// Each over the window so far.
    pub(super) fn over_window(&self) -> Vec<Listener> {
        let mut all: Vec<Listener> = self.seen.values().map(Track::over_window).collect();
        all.sort_by(|a, b| {
            let rank = |l: &Listener| (l.drops.value().copied(), l.accept_queue_max);
            rank(b).cmp(&rank(a)).then_with(|| a.address.cmp(&b.address))
        });
        all
    }
}

impl Track {
    fn over_window(&self) -> Listener {
        let drops = self.last.drops.map(|drops| drops.saturating_sub(self.drops_at_begin));
        Listener {
            address: self.last.address.to_string(),
            accept_queue: self.last.waiting,
            accept_queue_max: self.longest,
            accept_queue_limit: self.last.limit.ok_or(NO_DIAG).into(),
            drops: drops.ok_or(NO_DIAG).into(),
        }
    }
}

/// The sum over listeners of what each shows; unavailable where one does not show it.
pub(super) fn sum<'l>(parts: impl Iterator<Item = &'l Measured<u64>>) -> Measured<u64> {
    parts.map(Measured::as_result).sum::<Result<u64, &str>>().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(inode: u64, waiting: u64, drops: u64) -> Listening {
        let address = format!("127.0.0.1:{}", 8000 + inode).parse().unwrap();
        Listening { address, inode, waiting, limit: Some(4), drops: Some(drops) }
    }

    fn held(inodes: &[u64]) -> HashSet<u64> {
        inodes.iter().copied().collect()
    }

    #[test]
    fn only_the_targets_own_listeners_count_and_from_the_begin_of_the_window() {
        let mut listeners = Listeners::default();
        listeners.begin();
        listeners.note(&[at(1, 0, 10), at(2, 99, 500)], || held(&[1, 77]));
        // Nothing is new, so nobody is asked.
        listeners.note(&[at(1, 5, 12), at(2, 99, 900)], || panic!("asked again"));
        let now = [at(1, 2, 13), at(2, 0, 999), at(3, 1, 4)];
        listeners.note(&now, || held(&[1, 3]));
        assert_eq!(listeners.waiting(&now), Some(3));
        let [three, one] = &listeners.over_window()[..] else { panic!("{listeners:?}") };
        assert_eq!((three.drops.value(), three.accept_queue_max), (Some(&4), 1));
        assert_eq!((one.drops.value(), one.accept_queue, one.accept_queue_max), (Some(&3), 2, 5));
        assert!(one.was_full() && !three.was_full());
        listeners.begin();
        listeners.note(&now, || held(&[]));
        assert_eq!((listeners.over_window(), listeners.waiting(&now)), (vec![], None));
    }

    #[test]
    fn a_listener_that_was_closed_keeps_its_last_figures() {
        let mut listeners = Listeners::default();
        listeners.begin();
        listeners.note(&[at(1, 3, 0)], || held(&[1]));
        listeners.note(&[], || panic!("nothing is new"));
        let [closed] = &listeners.over_window()[..] else { panic!("{listeners:?}") };
        assert_eq!(closed.accept_queue_max, 3);
    }

    #[test]
    fn what_is_hidden_has_a_reason_and_spoils_the_sum() {
        let mut listeners = Listeners::default();
        listeners.begin();
        listeners.note(&[Listening { limit: None, drops: None, ..at(1, 3, 0) }], || held(&[1]));
        let all = listeners.over_window();
        assert!(all[0].drops.why().is_some_and(|why| why.contains("sock_diag")));
        assert_eq!(sum(all.iter().map(|l| &l.drops)).why(), all[0].drops.why());
        assert!(!all[0].was_full());
        let known = [Measured::Value(2), Measured::Value(3)];
        assert_eq!(sum(known.iter()), Measured::Value(5));
    }
}
