//! What threads waited in while they were off the CPU.

use crate::observe::{OffCpu, OffCpuThread, Share, TimeSplit};
use crate::report::figures::{NONE, count, ns, percent};
use crate::report::page::{Item, Page, Table};

/// So many reasons and threads are listed; the rest is in the data.
const ROWS: usize = 10;

/// A share of less is not worth a word.
const WORTH_A_WORD: f64 = 0.005;

/// So many reasons are named for a thread.
const NAMED: usize = 3;

pub(super) fn add(page: &mut Page, block: &OffCpu) {
    let mut items = vec![Item::new("all threads", split(&block.split))];
    if block.ended.threads > 0 {
        let lead = format!("{} ended", count(block.ended.threads));
        items.push(Item::new(lead, split(&block.ended.split)));
    }
    items.extend(super::lost(&block.lost));
    page.items(items);
    if !block.threads.is_empty() {
        page.table(threads(&block.threads));
    }
    page.table(reasons(block));
}

fn split(s: &TimeSplit) -> String {
    format!(
        "{} of thread time: {} on a CPU, {} waiting for one (of it throttled: {}), {} blocked",
        ns(s.observed_ns),
        percent(s.on_cpu.ratio),
        percent(s.run_queue.ratio),
        percent(s.throttled.ratio),
        percent(s.blocked.ratio)
    )
}

fn threads(threads: &[OffCpuThread]) -> Table {
    let titles = ["thread", ">tid", ">on CPU", ">run queue", ">of it throttled", ">blocked", "in"];
    let mut table = Table::new(titles);
    for thread in threads.iter().take(ROWS) {
        let s = &thread.split;
        table.rows.push(vec![
            thread.comm.clone(),
            thread.tid.to_string(),
            percent(s.on_cpu.ratio),
            percent(s.run_queue.ratio),
            percent(s.throttled.ratio),
            percent(s.blocked.ratio),
            blocked_in(thread),
        ]);
    }
    table
}

/// Most first: `epoll_wait 71%, futex 3%`.
fn blocked_in(thread: &OffCpuThread) -> String {
    let mut reasons: Vec<(&String, &Share)> =
        thread.by_reason.iter().filter(|(_, share)| share.ratio >= WORTH_A_WORD).collect();
    reasons.sort_by_key(|(_, share)| std::cmp::Reverse(share.ns));
    let named = reasons.iter().take(NAMED);
    let named: Vec<String> =
        named.map(|(reason, share)| format!("{reason} {}", percent(share.ratio))).collect();
    named.join(", ")
}

fn reasons(block: &OffCpu) -> Table {
    let titles = ["blocked in", ">share", ">time", ">waits", ">p50", ">p99", ">max"];
    let mut table = Table::new(titles);
    let mut reasons: Vec<_> = block.by_reason.iter().collect();
    reasons.sort_by_key(|(_, blocked)| std::cmp::Reverse(blocked.ns));
    let time = |t: Option<u64>| t.map_or(NONE.into(), ns);
    for (reason, blocked) in reasons.into_iter().take(ROWS) {
        let waits = &blocked.waits_ns;
        table.rows.push(vec![
            reason.clone(),
            percent(blocked.ratio),
            ns(blocked.ns),
            count(blocked.count),
            time(waits.p50),
            time(waits.p99),
            time(waits.max),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_thread_was_blocked_in_is_told_most_first() {
        let share = |ns| Share::of(ns, 1000);
        let by_reason = [("futex", 30), ("epoll_wait", 710), ("read", 4), ("write", 20), ("x", 10)];
        let thread = OffCpuThread {
            by_reason: by_reason.map(|(name, ns)| (name.to_owned(), share(ns))).into(),
            ..OffCpuThread::default()
        };
        assert_eq!(blocked_in(&thread), "epoll_wait 71%, futex 3.0%, write 2.0%");
    }
}
