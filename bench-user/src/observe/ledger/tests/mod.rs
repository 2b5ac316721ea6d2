//! Every way in which a thread can be at two readings counts once.

mod lives;

use super::*;

const SINCE: u64 = 1000 * PROC_TICK_NS;

/// When procfs and the iterator are read, boot time in ns.
const AT: u64 = 3000 * PROC_TICK_NS;

fn books(n: u64) -> Books {
    Books { run_delay: n, pcount: n, sum_exec: n, nvcsw: n, nivcsw: n }
}

fn in_procfs(tid: u32, start_ticks: u64, n: u64) -> ThreadBooks {
    ThreadBooks {
        tid,
        pid: 1,
        comm: format!("t{tid}"),
        start_ticks,
        oncpu_ns: n,
        runq_ns: n,
        timeslices: n,
        voluntary: n,
        involuntary: n,
        cpus_allowed: "0-1".into(),
        at_ns: AT,
    }
}

fn in_probe(tid: u64, ticks: u64, first: u64, last: u64, ended: u32) -> (ThreadKey, ThreadEntry) {
    let mut comm = [0; 16];
    comm[..2].copy_from_slice(b"pr");
    let key = ThreadKey { tid, start_ns: ticks * PROC_TICK_NS + 3 };
    let entry = ThreadEntry {
        ended,
        tgid: 1,
        task: tid,
        takeovers: 0,
        first_at: AT - 500,
        ended_at: if ended == 0 { 0 } else { AT + 500 },
        absences: 0,
        away: Books::default(),
        first: books(first),
        last: books(last),
        comm,
    };
    (key, entry)
}

/// Reading A, then reading B, and what counts between them.
fn check(
    a: (&[ThreadBooks], &[(ThreadKey, ThreadEntry)]),
    b: (&[ThreadBooks], &[(ThreadKey, ThreadEntry)]),
    expected: u64,
) {
    let mut ledger = Ledger::new(SINCE);
    ledger.update(a.0, a.1);
    ledger.begin_window();
    let begin = ledger.total();
    ledger.update(b.0, b.1);
    assert_eq!(minus(ledger.total(), begin), books(expected));
    let sum: u64 = ledger.threads(1).iter().map(|t| t.oncpu_ns).sum();
    assert_eq!(sum, expected, "the threads add up to the total");
}

#[test]
fn a_thread_that_lives_on_counts_by_its_own_books() {
    check((&[in_procfs(1, 5, 100)], &[]), (&[in_procfs(1, 5, 130)], &[]), 30);
}

#[test]
fn a_thread_born_in_the_window_counts_whole() {
    check((&[], &[]), (&[in_procfs(1, 2000, 40)], &[in_probe(1, 2000, 0, 40, 0)]), 40);
    let first_stint = in_procfs(1, 2000, 1);
    check((&[], &[]), (&[first_stint], &[]), 1);
}

#[test]
fn without_a_probe_a_new_thread_counts_whole() {
    let mut ledger = Ledger::without_probe(SINCE);
    ledger.update(&[in_procfs(1, 2000, 40)], &[]);
    assert_eq!(ledger.total(), books(40));
}

#[test]
fn a_thread_born_elsewhere_while_we_watch_counts_from_when_it_joined() {
    check((&[], &[]), (&[in_procfs(1, 2000, 500)], &[]), 0);
    check((&[], &[]), (&[in_procfs(1, 2000, 500)], &[in_probe(1, 2000, 480, 500, 0)]), 20);
    let seen_before_its_first_switch_here = [in_procfs(1, 2000, 500)];
    check(
        (&seen_before_its_first_switch_here, &[]),
        (&[in_procfs(1, 2000, 530)], &[in_probe(1, 2000, 501, 530, 0)]),
        30,
    );
}

/// An exec by thread 2 gives it the id and the start of thread 1, whose last switch comes under
/// the id that was thread 2's.
#[test]
fn an_exec_by_another_thread_counts_neither_thread_twice() {
    let by_other = |mut of: (ThreadKey, ThreadEntry)| {
        (of.1.task, of.1.takeovers) = (2, 1);
        of
    };
    let before = [in_procfs(1, 5, 10), in_procfs(2, 6, 300)];
    let (first, second) = (in_probe(1, 5, 2, 10, 0), in_probe(2, 6, 2, 300, 0));
    // 5 between the readings under its own id, 3 under the new one; 1 ended with nothing more.
    let last_of_first = in_probe(2, 5, 11, 11, 1);
    let second_again = by_other(in_probe(1, 5, 306, 309, 0));
    let after = [in_procfs(1, 5, 309)];
    check(
        (&before, &[first, second]),
        (&after, &[in_probe(2, 6, 2, 305, 0), last_of_first, second_again]),
        5 + 3,
    );
    // Where the probe had not seen thread 1, its books tell.
    check((&before[..1], &[]), (&after, &[second_again]), 3);
    check((&[in_procfs(1, 5, 306)], &[]), (&after, &[second_again]), 3);
    let never_seen = in_probe(1, 5, 306, 309, 0);
    check((&before[..1], &[]), (&after, &[never_seen]), 3);
    check((&[in_procfs(1, 5, 900)], &[]), (&after, &[never_seen]), 3);
}

#[test]
fn a_thread_that_ends_counts_to_its_last_switch() {
    check((&[in_procfs(1, 5, 100)], &[]), (&[], &[in_probe(1, 5, 101, 170, 1)]), 70);
}

#[test]
fn a_thread_born_and_ended_in_the_window_counts_whole() {
    check((&[], &[]), (&[], &[in_probe(1, 2000, 0, 25, 1)]), 25);
}

#[test]
fn a_thread_that_joins_counts_from_its_first_sight() {
    check((&[], &[]), (&[in_procfs(1, 5, 500)], &[in_probe(1, 5, 480, 500, 0)]), 20);
    check((&[], &[]), (&[in_procfs(1, 5, 500)], &[]), 0);
}

#[test]
fn a_thread_that_ends_between_the_two_sources_counts_once() {
    let ended = [in_probe(1, 5, 101, 160, 1)];
    check((&[in_procfs(1, 5, 100)], &[]), (&[in_procfs(1, 5, 150)], &ended), 60);
}

#[test]
fn a_zombie_that_procfs_still_shows_is_not_counted_again() {
    let mut ledger = Ledger::new(SINCE);
    ledger.update(&[in_procfs(1, 2000, 20)], &[in_probe(1, 2000, 0, 25, 1)]);
    ledger.update(&[in_procfs(1, 2000, 25)], &[]);
    ledger.update(&[in_procfs(1, 2000, 25)], &[]);
    assert_eq!(ledger.total(), books(25));
}

#[test]
fn a_thread_on_its_way_out_that_neither_source_shows_is_not_counted_twice() {
    let mut ledger = Ledger::new(SINCE);
    ledger.update(&[in_procfs(1, 2000, 20)], &[in_probe(1, 2000, 0, 20, 0)]);
    ledger.update(&[], &[]);
    ledger.update(&[], &[in_probe(1, 2000, 0, 25, 1)]);
    assert_eq!((ledger.total(), ledger.vanished), (books(25), 0));
}

#[test]
fn a_thread_that_left_without_a_last_switch_keeps_what_it_had() {
    let mut ledger = Ledger::new(SINCE);
    ledger.update(&[in_procfs(1, 2000, 20)], &[in_probe(1, 2000, 0, 20, 0)]);
    ledger.update(&[], &[]);
    ledger.update(&[], &[]);
    assert_eq!((ledger.total(), ledger.vanished), (books(20), 1));
}

#[test]
fn an_id_used_again_is_another_thread() {
    check(
        (&[in_procfs(1, 5, 1000)], &[in_probe(1, 5, 900, 1000, 0)]),
        (&[in_procfs(1, 2000, 7)], &[in_probe(1, 5, 900, 1010, 1), in_probe(1, 2000, 0, 7, 0)]),
        17,
    );
}

#[test]
fn of_many_ended_threads_the_busiest_are_kept() {
    let mut ledger = Ledger::new(SINCE);
    let ended: Vec<_> = (1..=10_000).map(|n| in_probe(n, 2000, 0, n, 1)).collect();
    ledger.update(&[], &ended);
    let threads = ledger.threads(1);
    assert_eq!((threads.len(), threads[0].oncpu_ns), (ENDED_KEPT, 10_000));
    assert_eq!(ledger.total().sum_exec, (1..=10_000).sum::<u64>());
}

#[test]
fn ended_threads_can_be_taken_in_between_two_readings() {
    let mut ledger = Ledger::new(SINCE);
    ledger.update(&[in_procfs(1, 5, 100)], &[]);
    let (live, ended) = (in_probe(1, 5, 101, 120, 0), in_probe(2, 2000, 0, 30, 1));
    ledger.end_ended(&[live, ended]);
    ledger.update(&[in_procfs(1, 5, 120)], &[live]);
    assert_eq!((ledger.total(), ledger.vanished), (books(20 + 30), 0));
}

#[test]
fn the_cpus_that_may_be_used_are_those_of_the_threads_that_ran() {
    let pinned =
        |tid, n, cpus: &str| ThreadBooks { cpus_allowed: cpus.into(), ..in_procfs(tid, 5, n) };
    let mut ledger = Ledger::new(SINCE);
    let at = |n| [pinned(1, 10, "5"), pinned(2, n, "0"), pinned(3, n, "0,2-3")];
    ledger.update(&at(10), &[]);
    ledger.begin_window();
    assert_eq!(ledger.cpus_allowed(1000), None);
    ledger.update(&at(500), &[]);
    assert_eq!(ledger.cpus_allowed(1000), Some(3), "the idle first thread does not count");
}
