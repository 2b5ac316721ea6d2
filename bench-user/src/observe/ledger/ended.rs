//! Threads that ended inside the window: the busiest one by one, all of them by name.

use std::collections::BTreeMap;

use super::known::Known;
use crate::measured::Measured;
use crate::observe::thread_table::{EndedGroup, Thread};

/// Ended threads that are shown one by one, the busiest; the others count in the groups.
pub const ENDED_KEPT: usize = 4096;

/// Names that are told apart; the rest is one group.
const GROUPS: usize = 1024;

/// Name of that group.
const OTHERS: &str = "(other names)";

/// Those of one window.
#[derive(Debug, Default)]
pub(super) struct Ended {
    /// With what each added in the window.
    rows: Vec<Thread>,
    groups: BTreeMap<String, EndedGroup>,
}

impl Ended {
    pub(super) fn clear(&mut self) {
        self.rows.clear();
        self.groups.clear();
    }

    pub(super) fn keep(&mut self, known: &Known) {
        let row = known.row();
        self.enter(&row);
        self.rows.push(row);
        // Twice as many before any is dropped, so that each is sorted once on average.
        if self.rows.len() >= 2 * ENDED_KEPT {
            self.drop_idlest();
        }
    }

    fn enter(&mut self, row: &Thread) {
        let mut name = folded_name(&row.comm);
        if self.groups.len() >= GROUPS && !self.groups.contains_key(&name) {
            OTHERS.clone_into(&mut name);
        }
        let group = self.groups.entry(name).or_insert_with_key(|name| EndedGroup {
            name: name.clone(),
            lived_ns: Measured::Value(0),
            ..EndedGroup::default()
        });
        group.threads += 1;
        group.oncpu_ns += row.oncpu_ns;
        group.runq_ns += row.runq_ns;
        group.switches_voluntary += row.switches_voluntary;
        group.switches_involuntary += row.switches_involuntary;
        group.lived_ns = match (group.lived_ns.as_result(), row.lived_ns.as_result()) {
            (Ok(sum), Ok(one)) => Ok(sum + one),
            (Err(why), _) | (_, Err(why)) => Err(why.to_owned()),
        }
        .into();
    }

    fn drop_idlest(&mut self) {
        self.rows.sort_by_key(|row| std::cmp::Reverse(row.oncpu_ns));
        self.rows.truncate(ENDED_KEPT);
    }

    /// The busiest.
    pub(super) fn rows(&mut self) -> &[Thread] {
        if self.rows.len() > ENDED_KEPT {
            self.drop_idlest();
        }
        &self.rows
    }

    /// All of them, the busiest name first.
    pub(super) fn groups(&self) -> Vec<EndedGroup> {
        let mut groups: Vec<_> = self.groups.values().cloned().collect();
        groups.sort_by(|a, b| b.oncpu_ns.cmp(&a.oncpu_ns).then_with(|| a.name.cmp(&b.name)));
        groups
    }
}

/// The name of a thread with `*` for digits at its end, so that those of a pool have one name.
#[must_use]
pub fn folded_name(comm: &str) -> String {
    let stem = comm.trim_end_matches(|c: char| c.is_ascii_digit());
    if stem.len() == comm.len() { comm.to_owned() } else { format!("{stem}*") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_at_the_end_of_a_name_are_folded_and_no_others() {
        assert_eq!(folded_name("worker-17"), "worker-*");
        assert_eq!(folded_name("h2spec"), "h2spec");
        assert_eq!(folded_name("42"), "*");
    }

    #[test]
    fn names_without_end_become_one_group() {
        let mut ended = Ended::default();
        for n in 0..2 * GROUPS {
            ended.enter(&Thread { comm: format!("{n}x"), oncpu_ns: 1, ..Thread::default() });
        }
        let groups = ended.groups();
        assert_eq!(groups.len(), GROUPS + 1);
        assert_eq!((&*groups[0].name, groups[0].threads), (OTHERS, GROUPS as u64));
    }
}
