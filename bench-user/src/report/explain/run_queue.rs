//! Who held the CPU while threads waited for it.

use crate::observe::RunQueue;
use crate::report::figures::{count, ns, percent};
use crate::report::page::{Item, Page, Table};

/// So many holders are listed; the rest is in the data.
const HOLDERS: usize = 5;

pub(super) fn add(page: &mut Page, block: &RunQueue) {
    let mut items = vec![
        Item::new(
            "in all",
            format!(
                "{} of waiting, {} waits; on average {:.2} threads waited",
                ns(block.waited_ns),
                count(block.waits),
                block.waiting
            ),
        ),
        Item::new("behind", causes(block)),
    ];
    items.extend(super::lost(&block.lost));
    page.items(items);
    if !block.holders.is_empty() {
        page.table(holders(block));
    }
}

/// Most first: `62% others (most: stress-ng 4242 of /user.slice/x), 30% own threads, 8% quota`.
pub(super) fn causes(block: &RunQueue) -> String {
    let others = match block.holders.first() {
        Some(most) => format!("others (most: {} {} of {})", most.comm, most.pid, most.cgroup),
        None => "others".to_owned(),
    };
    let mut causes = [
        (block.others, others),
        (block.own_threads, "own threads".to_owned()),
        (block.quota, "the quota".to_owned()),
        (block.idle, "an idle CPU on its way".to_owned()),
        (block.unattributed, "nobody knows whom".to_owned()),
    ];
    causes.sort_by_key(|(share, _)| std::cmp::Reverse(share.ns));
    let shown = causes.iter().filter(|(share, _)| share.ns > 0);
    let shown: Vec<String> =
        shown.map(|(share, who)| format!("{} {who}", percent(share.ratio))).collect();
    if shown.is_empty() { "nobody: there was no wait".into() } else { shown.join(", ") }
}

fn holders(block: &RunQueue) -> Table {
    let mut table = Table::new(["who ran meanwhile", ">pid", "cgroup", ">share", ">waiting"]);
    for holder in block.holders.iter().take(HOLDERS) {
        table.rows.push(vec![
            holder.comm.clone(),
            holder.pid.to_string(),
            holder.cgroup.clone(),
            percent(holder.covered.ratio),
            ns(holder.covered.ns),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::{Holder, Share};

    #[test]
    fn causes_are_told_most_first_and_the_holder_is_named() {
        let share = |ns| Share::of(ns, 1000);
        let holder = Holder {
            comm: "stress-ng".into(),
            pid: 4242,
            cgroup: "/user.slice/x".into(),
            covered: share(600),
        };
        let block = RunQueue {
            waited_ns: 1000,
            others: share(620),
            own_threads: share(300),
            quota: share(80),
            holders: vec![holder],
            ..RunQueue::default()
        };
        assert_eq!(
            causes(&block),
            "62% others (most: stress-ng 4242 of /user.slice/x), 30% own threads, 8.0% the \
             quota"
        );
        assert_eq!(causes(&RunQueue::default()), "nobody: there was no wait");
    }
}
