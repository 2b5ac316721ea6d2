//! Time in softirqs.

use crate::observe::Softirq;
use crate::report::figures::{count, ns};
use crate::report::page::{Item, Page, Table};

pub(super) fn add(page: &mut Page, block: &Softirq) {
    let all = format!(
        "{:.3} CPUs on the machine, {:.3} of them on top of the target's threads and in their time \
         on a CPU",
        block.cpus, block.on_target_cpus
    );
    let mut items = vec![Item::new("in all", all)];
    items.extend(super::lost(&block.lost));
    page.items(items);
    let titles = ["softirq", ">count", ">time", ">on target", ">time"];
    let mut table = Table::new(titles);
    let mut vectors: Vec<_> = block.by_vector.iter().collect();
    vectors.sort_by_key(|(_, time)| std::cmp::Reverse(time.ns));
    for (name, time) in vectors {
        table.rows.push(vec![
            name.clone(),
            count(time.count),
            ns(time.ns),
            count(time.on_target_count),
            ns(time.on_target_ns),
        ]);
    }
    page.table(table);
}
