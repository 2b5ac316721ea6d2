//! Ids that go from one thread to another: an exec by another thread than the first ends all
//! others and goes on under the first one's id and start.

use std::collections::HashMap;
use std::collections::hash_map::Entry as Slot;

use bench_ebpf::abi::ThreadEntry;

use super::known::{End, Known};
use super::{Id, Ledger, id_of};
use crate::observe::bpf::Task;

impl Ledger {
    /// An exec by another thread than the first makes its task go on under the first one's id and
    /// start: the account that it had goes with it.
    pub(super) fn follow_renamed(&mut self, tasks: &[Task]) {
        let reading = self.reading;
        let unseen = |(_, known): &(&Id, &Known)| known.seen_in != reading && known.task.is_some();
        let before: HashMap<u64, Id> = self
            .live
            .iter()
            .filter(unseen)
            .filter_map(|(id, known)| Some((known.task?, *id)))
            .collect();
        if before.is_empty() {
            return;
        }
        for task in tasks {
            let Some(from) = before.get(&task.record.task) else { continue };
            let to = id_of(&task.record.key);
            if let Some(known) = self.live.remove(from) {
                self.forget.extend(known.key(from.0));
                let goes_on = self.live.remove(&to).map(|shown| known.goes_on_as(shown));
                self.live.extend(goes_on.map(|known| (to, known)));
            }
        }
    }

    /// Closes the account of an id that now belongs to another thread, whose books have nothing
    /// to do with those of the one before.
    pub(super) fn close_if_taken_over(
        &mut self,
        id: Id,
        task: Option<u64>,
        entry: Option<&ThreadEntry>,
    ) {
        let Slot::Occupied(mut known) = self.live.entry(id) else { return };
        if known.get().is_still(task, entry) {
            return;
        }
        // The probe may not have seen the other one yet, and know more of this one.
        if let Some(entry) = entry.filter(|entry| known.get().task == Some(entry.task)) {
            known.get_mut().take_in(entry);
        }
        let known = known.remove();
        self.account(known, End::TakenOver);
    }
}
