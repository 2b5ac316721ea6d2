//! How long a thread lived in the window, where it was, and whose its id was.

use bench_ebpf::abi::tasks::TaskRecord;

use super::*;
use crate::measured::Measured;

const MS: u64 = 1_000_000;

/// The window's edges, boot time in ns.
const A: u64 = AT;
const B: u64 = AT + 1000 * MS;

fn task(at_ns: u64, tid: u32, ticks: u64, n: u64, entry: Option<ThreadEntry>) -> Task {
    let mut process = [0; 16];
    process[..5].copy_from_slice(b"first");
    let record = TaskRecord {
        key: ThreadKey { tid: u64::from(tid), start_ns: ticks * PROC_TICK_NS + 3 },
        tgid: 1,
        has_entry: u32::from(entry.is_some()),
        is_outside: 0,
        task: u64::from(tid),
        at_ns,
        now: books(n),
        open_wait: 0,
        comm: *b"t\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
        process,
    };
    Task { record, entry }
}

/// A reading of the iterator, the ended threads, and what the probe still has.
fn read(ledger: &mut Ledger, tasks: &[Task], ended: &[Entry], left: &[Entry]) -> Vec<ThreadKey> {
    let unseen = ledger.update_live(tasks, ended);
    let left: Vec<_> = left.iter().filter(|(key, _)| unseen.contains(key)).copied().collect();
    ledger.close(&left)
}

/// The only thread of a window between two readings.
fn the_thread(a: &[Task], b: &[Task], ended: &[Entry], left: &[Entry]) -> Thread {
    let mut ledger = Ledger::new(SINCE);
    read(&mut ledger, a, &[], &[]);
    ledger.begin_window();
    read(&mut ledger, b, ended, left);
    let threads = ledger.threads(B - A);
    assert_eq!(threads.len(), 1, "{threads:?}");
    threads[0].clone()
}

fn ended_at(at_ns: u64, mut of: Entry) -> Entry {
    of.1.ended_at = at_ns;
    of
}

#[test]
fn the_rest_of_its_life_a_thread_was_blocked() {
    let waiting = |mut of: Task| {
        of.record.open_wait = 40;
        of
    };
    let lives_on =
        the_thread(&[task(A, 7, 5, 100, None)], &[waiting(task(B, 7, 5, 160, None))], &[], &[]);
    assert_eq!((lives_on.oncpu_ns, lives_on.runq_ns), (60, 60 + 40), "its open wait is in it");
    assert_eq!(lives_on.lived_ns, Measured::Value(1000 * MS));
    assert_eq!(lives_on.blocked_ns, Measured::Value(1000 * MS - 160));
    assert_eq!(lives_on.process, "first");
    let shares = lives_on.oncpu_ratio + lives_on.runq_ratio;
    assert!((shares + lives_on.blocked_ratio.value().unwrap() - 1.0).abs() < 1e-12);

    let birth = (A + 10 * MS) / PROC_TICK_NS;
    let born = the_thread(&[], &[task(B, 7, birth, 1, None)], &[], &[]);
    assert_eq!(born.lived_ns, Measured::Value(B - birth * PROC_TICK_NS - 3));
    let seen = in_probe(7, birth, 0, 50, 0).1;
    let born = the_thread(&[], &[task(B, 7, birth, 50, Some(seen))], &[], &[]);
    assert_eq!(born.lived_ns, Measured::Value(B - birth * PROC_TICK_NS - 3));

    let end = ended_at(A + 300 * MS, in_probe(7, 5, 90, 150, 1));
    let ended = the_thread(&[task(A, 7, 5, 100, None)], &[], &[end], &[]);
    assert_eq!((ended.oncpu_ns, ended.exited), (50, true));
    assert_eq!(ended.lived_ns, Measured::Value(300 * MS));

    let short = ended_at(birth * PROC_TICK_NS + 3 + 500, in_probe(7, birth, 0, 100, 1));
    let short = the_thread(&[], &[], &[short], &[]);
    assert_eq!(short.blocked_ns, Measured::Value(500 - 200));
}

#[test]
fn a_thread_that_joined_lives_from_its_first_sight() {
    let mut entry = in_probe(7, 5, 80, 100, 0).1;
    entry.first_at = A + 100 * MS;
    let joined = the_thread(&[], &[task(B, 7, 5, 100, Some(entry))], &[], &[]);
    assert_eq!((joined.oncpu_ns, joined.lived_ns), (20, Measured::Value(900 * MS)));
}

#[test]
fn what_a_thread_did_outside_is_not_counted() {
    let at_a = in_probe(7, 5, 80, 100, 0).1;
    let a = [task(A, 7, 5, 100, Some(at_a))];
    // Outside it has run more, and the iterator says so.
    let mut outside = task(B, 7, 5, 400, Some(at_a));
    outside.record.is_outside = 1;
    let away = the_thread(&a, &[outside], &[], &[]);
    assert_eq!(away.oncpu_ns, 0);
    assert!(away.lived_ns.why().unwrap().contains("outside"));
    // Back, but not switched away from since: more stints than the probe has seen.
    let back = the_thread(&a, &[task(B, 7, 5, 450, Some(at_a))], &[], &[]);
    assert_eq!(back.oncpu_ns, 0);
    // The probe has left out 100..450, and seen ten since.
    let mut seen = in_probe(7, 5, 80, 460, 0).1;
    (seen.away, seen.absences) = (books(350), 1);
    let back = the_thread(&a, &[task(B, 7, 5, 460, Some(seen))], &[], &[]);
    assert_eq!(back.oncpu_ns, 10);
    assert!(back.blocked_ns.why().unwrap().contains("outside"));
}

#[test]
fn a_thread_that_ended_outside_is_given_up_and_forgotten() {
    let entry = in_probe(7, 5, 80, 100, 0);
    let mut outside = task(A, 7, 5, 400, Some(entry.1));
    outside.record.is_outside = 1;
    let mut ledger = Ledger::new(SINCE);
    read(&mut ledger, &[outside], &[], &[]);
    assert_eq!(read(&mut ledger, &[], &[], &[entry]), []);
    assert_eq!(read(&mut ledger, &[], &[], &[entry]), [entry.0]);
    assert_eq!((ledger.vanished, ledger.total()), (1, books(20)));
}

#[test]
fn a_thread_that_was_given_up_and_comes_back_is_no_zombie() {
    let mut ledger = Ledger::new(SINCE);
    read(&mut ledger, &[task(A, 7, 5, 100, None)], &[], &[]);
    read(&mut ledger, &[], &[], &[]);
    read(&mut ledger, &[], &[], &[]);
    read(&mut ledger, &[task(A, 7, 5, 400, None)], &[], &[]);
    read(&mut ledger, &[task(B, 7, 5, 430, None)], &[], &[]);
    assert_eq!((ledger.vanished, ledger.total()), (1, books(30)));
}

#[test]
fn a_thread_before_its_last_switch_is_not_given_up() {
    let entry = in_probe(7, 5, 80, 100, 0);
    let mut ledger = Ledger::new(SINCE);
    read(&mut ledger, &[task(A, 7, 5, 101, Some(entry.1))], &[], &[]);
    for _ in 0..3 {
        read(&mut ledger, &[], &[], &[entry]);
    }
    read(&mut ledger, &[], &[in_probe(7, 5, 80, 130, 1)], &[]);
    assert_eq!((ledger.vanished, ledger.total()), (0, books(50)));
}

/// Thread 2 executes another program: its task goes on as thread 1, whose task makes its last
/// switch under the id 2.
#[test]
fn an_id_that_is_taken_over_is_known_by_the_task_behind_it() {
    let (first, second) = (in_probe(1, 5, 2, 10, 0).1, in_probe(2, 6, 2, 300, 0));
    let a = [task(A, 1, 5, 10, Some(first)), task(A, 2, 6, 300, Some(second.1))];
    let mut ledger = Ledger::new(SINCE);
    read(&mut ledger, &a, &[], &[]);
    ledger.begin_window();
    let begin = ledger.total();
    // Before the first switch of the new thread 1 the probe still has the old one's entry.
    let mut taken = task(B, 1, 5, 310, Some(in_probe(1, 5, 2, 14, 0).1));
    taken.record.task = 2;
    let forget =
        read(&mut ledger, &[taken.clone()], &[], &[(second.0, in_probe(2, 6, 2, 305, 0).1)]);
    assert_eq!(forget, [second.0], "nobody goes by that id any more");
    // 4 of the first, 10 of the second.
    assert_eq!(minus(ledger.total(), begin), books(14));
    let mut entry = in_probe(1, 5, 312, 316, 0).1;
    (entry.task, entry.takeovers) = (2, 1);
    taken = task(B, 1, 5, 316, Some(entry));
    taken.record.task = 2;
    read(&mut ledger, &[taken], &[], &[]);
    assert_eq!(minus(ledger.total(), begin), books(14 + 6));
    assert_eq!(ledger.vanished, 0);
    let rows = ledger.threads(B - A);
    assert_eq!(rows.len(), 2);
    assert_eq!((rows[0].tid, rows[0].oncpu_ns), (1, 16), "its whole window under the new id");
    assert!(rows[1].lived_ns.why().unwrap().contains("took its id over"));
}

/// As above, but the first thread's last switch comes before its id goes away.
#[test]
fn an_id_that_is_taken_over_after_its_thread_ended_is_no_zombie() {
    let a = [task(A, 1, 5, 10, None), task(A, 2, 6, 300, None)];
    let mut ledger = Ledger::new(SINCE);
    read(&mut ledger, &a, &[], &[]);
    let mut taken = task(B, 1, 5, 310, None);
    taken.record.task = 2;
    read(&mut ledger, &[taken.clone()], &[in_probe(1, 5, 2, 13, 1)], &[]);
    assert_eq!(ledger.total(), books(3 + 10));
    let mut entry = in_probe(1, 5, 312, 316, 0).1;
    entry.task = 2;
    taken.record.now = books(316);
    taken.entry = Some(entry);
    read(&mut ledger, &[taken], &[], &[]);
    assert_eq!((ledger.total(), ledger.vanished), (books(3 + 16), 0));
}

#[test]
fn ended_threads_are_summed_by_name_and_none_is_left_out() {
    let named = |n: u64, comm: &[u8]| {
        let mut thread = ended_at(2000 * PROC_TICK_NS + 3 + 50, in_probe(n, 2000, 0, n, 1));
        thread.1.comm = [0; 16];
        thread.1.comm[..comm.len()].copy_from_slice(comm);
        thread
    };
    let many: Vec<_> = (1..=10_000).map(|n| named(n, format!("req-{n}").as_bytes())).collect();
    let mut ledger = Ledger::new(SINCE);
    read(&mut ledger, &[], &many, &[]);
    read(&mut ledger, &[], &[named(20_000, b"gc")], &[]);
    let groups = ledger.ended();
    let found: Vec<_> = groups.iter().map(|g| (&*g.name, g.threads, g.oncpu_ns)).collect();
    assert_eq!(found, [("req-*", 10_000, 50_005_000), ("gc", 1, 20_000)]);
    assert_eq!(groups[0].lived_ns, Measured::Value(10_000 * 50));
}
