//! Every way in which a thread can be at two readings counts once.

use super::*;

const SINCE: u64 = 1000 * TICK_NS;

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
    }
}

fn in_probe(tid: u64, ticks: u64, first: u64, last: u64, ended: u32) -> (ThreadKey, ThreadEntry) {
    let mut comm = [0; 16];
    comm[..2].copy_from_slice(b"pr");
    let key = ThreadKey { tid, start_ns: ticks * TICK_NS + 3 };
    (key, ThreadEntry { ended, tgid: 1, first: books(first), last: books(last), comm })
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
    check((&[], &[]), (&[in_procfs(1, 2000, 40)], &[]), 40);
}

#[test]
fn a_thread_that_ends_counts_to_its_last_switch() {
    check((&[in_procfs(1, 5, 100)], &[]), (&[], &[in_probe(1, 5, 90, 170, 1)]), 70);
}

#[test]
fn a_thread_born_and_ended_in_the_window_counts_whole() {
    check((&[], &[]), (&[], &[in_probe(1, 2000, 0, 25, 1)]), 25);
}

#[test]
fn a_thread_that_joins_counts_from_its_first_sight() {
    check((&[], &[]), (&[in_procfs(1, 5, 500)], &[in_probe(1, 5, 480, 490, 0)]), 20);
    check((&[], &[]), (&[in_procfs(1, 5, 500)], &[]), 0);
}

#[test]
fn a_thread_that_ends_between_the_two_sources_counts_once() {
    let ended = [in_probe(1, 5, 90, 160, 1)];
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
    ledger.update(&[in_procfs(1, 2000, 20)], &[]);
    ledger.update(&[], &[]);
    ledger.update(&[], &[in_probe(1, 2000, 0, 25, 1)]);
    assert_eq!((ledger.total(), ledger.vanished), (books(25), 0));
}

#[test]
fn a_thread_that_left_without_a_last_switch_keeps_what_it_had() {
    let mut ledger = Ledger::new(SINCE);
    ledger.update(&[in_procfs(1, 2000, 20)], &[]);
    ledger.update(&[], &[]);
    ledger.update(&[], &[]);
    assert_eq!((ledger.total(), ledger.vanished), (books(20), 1));
}

#[test]
fn a_thread_on_its_way_out_is_known_as_such_until_its_last_switch() {
    let mut ledger = Ledger::new(SINCE);
    ledger.update(&[in_procfs(1, 2000, 20)], &[in_probe(1, 2000, 0, 15, 0)]);
    assert_eq!(ledger.leaving, 0);
    ledger.update(&[], &[in_probe(1, 2000, 0, 15, 0)]);
    assert_eq!(ledger.leaving, 1);
    ledger.update(&[], &[in_probe(1, 2000, 0, 25, 1)]);
    assert_eq!((ledger.leaving, ledger.total()), (0, books(25)));
}

#[test]
fn an_id_used_again_is_another_thread() {
    check(
        (&[in_procfs(1, 5, 1000)], &[in_probe(1, 5, 900, 1000, 0)]),
        (&[in_procfs(1, 2000, 7)], &[in_probe(1, 5, 900, 1010, 1)]),
        17,
    );
}

#[test]
fn ended_threads_are_given_back_to_be_forgotten() {
    let mut ledger = Ledger::new(SINCE);
    let (live, ended) = (in_probe(1, 5, 1, 2, 0), in_probe(2, 5, 1, 2, 1));
    assert_eq!(ledger.update(&[], &[live, ended]), [ended.0]);
}
