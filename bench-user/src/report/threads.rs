//! Threads and what they did with their time: the busiest one by one, ended ones by name.

use super::figures::{self, NONE, count, ns, percent};
use super::levels::Row;
use super::page::{Page, Table};
use crate::measured::Measured;
use crate::observe::{ENDED_KEPT, EndedGroup, Thread};

/// So many threads are listed, busiest first.
const THREADS: usize = 10;

/// So many names of ended threads are listed, busiest first.
const NAMES: usize = 10;

/// A thread that lived for less of the window than this has its time beside its row.
const WHOLE: f64 = 0.99;

/// Both tables of one window; nothing where its threads are not known.
pub(super) fn of_window(
    page: &mut Page,
    threads: &Measured<Vec<Thread>>,
    ended: &Measured<Vec<EndedGroup>>,
) {
    let Some(threads) = threads.value() else { return };
    page.heading(format!("Threads{}", how_many(threads)));
    page.table(busiest(threads));
    if let Some(ended) = ended.value()
        && ended.iter().map(|group| group.threads).sum::<u64>() > THREADS as u64
    {
        page.heading("Ended threads by name");
        page.table(by_name(ended));
    }
}

/// The busiest threads of a level, in the climb that is shown of it.
pub(super) fn of_level(page: &mut Page, target: &str, row: &Row<'_>) {
    let middle = row.middle();
    let Some(threads) = middle.threads.value() else { return };
    if threads.is_empty() {
        return;
    }
    let climb = row.climb(middle);
    let at = row.at_level();
    page.heading(format!("Threads of {target}{at}{climb}{}", how_many(threads)));
    page.table(busiest(threads));
}

fn how_many(threads: &[Thread]) -> String {
    let ended = threads.iter().filter(|thread| thread.exited).count();
    if ended >= ENDED_KEPT {
        format!(": the busiest {THREADS} of more than {}", count(ENDED_KEPT as u64))
    } else if threads.len() > THREADS {
        format!(": the busiest {THREADS} of {}", threads.len())
    } else {
        String::new()
    }
}

/// Shares of the window: those of a thread that lived through it add up to 100 %.
fn busiest(threads: &[Thread]) -> Table {
    let mut table = Table::new([
        "thread",
        ">tid",
        ">pid",
        ">on CPU",
        ">waiting",
        ">blocked",
        ">voluntary",
        ">involuntary",
        "",
    ]);
    for thread in busiest_first(threads) {
        table.rows.push(vec![
            named(thread),
            thread.tid.to_string(),
            thread.pid.to_string(),
            percent(thread.oncpu_ratio),
            percent(thread.runq_ratio),
            thread.blocked_ratio.value().map_or(NONE.into(), |ratio| percent(*ratio)),
            count(thread.switches_voluntary),
            count(thread.switches_involuntary),
            remark(thread),
        ]);
    }
    table
}

/// Those that are shown.
pub(super) fn busiest_first(threads: &[Thread]) -> Vec<&Thread> {
    let mut threads: Vec<&Thread> = threads.iter().collect();
    threads.sort_by(|a, b| b.oncpu_ratio.total_cmp(&a.oncpu_ratio).then(a.tid.cmp(&b.tid)));
    threads.truncate(THREADS);
    threads
}

/// With the process's name where that says more.
pub(super) fn named(thread: &Thread) -> String {
    if thread.process.is_empty() || thread.process == thread.comm {
        thread.comm.clone()
    } else {
        format!("{} ({})", thread.comm, thread.process)
    }
}

fn remark(thread: &Thread) -> String {
    let mut remarks: Vec<String> = Vec::new();
    remarks.extend(thread.kind.map(|kind| kind.words().to_owned()));
    remarks.extend(thread.exited.then(|| "ended".to_owned()));
    let shares = thread.oncpu_ratio + thread.runq_ratio;
    if let (Some(lived), Some(blocked)) = (thread.lived_ns.value(), thread.blocked_ratio.value())
        && shares + blocked < WHOLE
    {
        remarks.push(format!("lived {}", ns(*lived)));
    }
    remarks.join(", ")
}

fn by_name(groups: &[EndedGroup]) -> Table {
    let mut table = Table::new([
        "name",
        ">threads",
        ">on CPU",
        ">waiting",
        ">mean life",
        ">voluntary",
        ">involuntary",
    ]);
    let row = |name: String, group: &EndedGroup| {
        let life = group.lived_ns.value().map(|sum| ns(sum / group.threads.max(1)));
        vec![
            name,
            count(group.threads),
            ns(group.oncpu_ns),
            ns(group.runq_ns),
            life.unwrap_or(NONE.into()),
            count(group.switches_voluntary),
            count(group.switches_involuntary),
        ]
    };
    table.rows.extend(groups.iter().take(NAMES).map(|group| row(group.name.clone(), group)));
    if let Some(rest) = groups.get(NAMES..).filter(|rest| !rest.is_empty()) {
        let mut sum = EndedGroup {
            lived_ns: Measured::unavailable("names of all kinds"),
            ..EndedGroup::default()
        };
        for group in rest {
            sum.threads += group.threads;
            sum.oncpu_ns += group.oncpu_ns;
            sum.runq_ns += group.runq_ns;
            sum.switches_voluntary += group.switches_voluntary;
            sum.switches_involuntary += group.switches_involuntary;
        }
        let names = figures::plural(rest.len() as u64, "other name", "other names");
        table.rows.push(row(names, &sum));
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::ThreadKind;

    #[test]
    fn a_thread_is_shown_with_its_process_its_kind_and_its_life() {
        let thread = Thread {
            comm: "iou-wrk-77".into(),
            process: "server".into(),
            kind: Some(ThreadKind::IoUringWorker),
            oncpu_ratio: 0.2,
            blocked_ratio: Measured::Value(0.1),
            lived_ns: Measured::Value(3_000_000),
            exited: true,
            ..Thread::default()
        };
        let row = busiest(&[thread]).rows.remove(0);
        assert_eq!(row[0], "iou-wrk-77 (server)");
        assert_eq!(row[3..6], ["20%", "0%", "10%"]);
        assert_eq!(row[8], "io_uring worker, ended, lived 3.00 ms");
    }

    #[test]
    fn names_beyond_the_first_ones_are_one_row() {
        let group = |n: u64| EndedGroup {
            name: format!("name{n}x"),
            threads: 2,
            oncpu_ns: 1_000,
            lived_ns: Measured::Value(10_000_000),
            ..EndedGroup::default()
        };
        let table = by_name(&(0..13).map(group).collect::<Vec<_>>());
        assert_eq!(table.rows.len(), NAMES + 1);
        assert_eq!(table.rows[0][4], "5.00 ms");
        assert_eq!(table.rows[NAMES][..2], ["3 other names", "6"]);
    }
}
