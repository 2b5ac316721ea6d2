use super::*;
use crate::analyze::builder::a_stage;
use crate::load::Events;
use crate::measured::Measured;
use crate::observe::{Count, ENDED_KEPT, PerfCount, Thread};

#[test]
fn a_number_is_found_by_its_path() {
    let mut stage = a_stage(50);
    stage.cgroup.psi.insert("cpu.some".into(), Measured::Value(7));
    stage
        .perf
        .insert("context-switches".into(), Measured::Value(PerfCount { value: 42, scaled: false }));
    let by_name = [("read".to_owned(), Count { count: 10, per_sec: 1.0, per_request: None })];
    stage.syscalls = stage.syscalls.map(|mut s| {
        s.by_name.extend(by_name);
        s
    });
    for (name, expected) in [
        ("syscalls.per_request", 4.0),
        ("syscalls.by_name.read.count", 10.0),
        ("load.achieved_rps", 1000.0),
        ("load.response_ns.p99", 90e6),
        ("cgroup.psi.cpu.some", 7.0),
        ("perf.context-switches.value", 42.0),
        ("sched.switches", 20_000.0),
        ("sched.voluntary_per_request", 1.5),
        ("threads.busiest.oncpu_ratio", 0.5),
        ("cpu_ns_per_request", 600_000.0),
        ("error_ratio", 0.0),
        // 32 MiB now and 12 MiB before, over 50 connections.
        ("memory_bytes_per_connection", 419_430.4),
    ] {
        assert_eq!(value(&stage, name), Ok(expected), "{name}");
    }
}

#[test]
fn held_streams_have_figures_of_their_own() {
    let mut stage = a_stage(50);
    let why = value(&stage, "load.events.gap_ns.p99").unwrap_err();
    assert!(why.contains("held no stream"), "{why}");
    stage.load.events = Some(Events { per_sec: 7.5, ..Events::default() });
    assert_eq!(value(&stage, "load.events.per_sec"), Ok(7.5));
    let why = value(&stage, "load.events.gap_ns.p99").unwrap_err();
    assert!(why.contains("too few samples"), "{why}");
    assert!(check_name("load.events.gap.p99").is_err());
    stage.cgroup.memory_before_bytes = Measured::unavailable("no memory controller");
    let why = value(&stage, "memory_bytes_per_connection").unwrap_err();
    assert!(why.contains("no memory controller"), "{why}");
    stage = a_stage(50);
    stage.load.connections.live_median = 0;
    let why = value(&stage, "memory_bytes_per_connection").unwrap_err();
    assert!(why.contains("no connection"), "{why}");
}

#[test]
fn what_never_happened_is_zero_but_only_where_it_could_be_counted() {
    let mut stage = a_stage(50);
    assert_eq!(value(&stage, "syscalls.by_name.futex.per_sec"), Ok(0.0));
    assert_eq!(value(&stage, "syscalls.by_name.futex.per_request"), Ok(0.0));
    assert_eq!(value(&stage, "load.outcomes.other_status.404"), Ok(0.0));
    let typo = value(&stage, "syscalls.by_name.futexx.count").unwrap_err();
    assert!(typo.contains("no syscall is named `futexx`"), "{typo}");
    stage.syscalls = Measured::unavailable("not root");
    let why = value(&stage, "syscalls.by_name.futex.per_sec").unwrap_err();
    assert!(why.contains("not root"), "{why}");
}

#[test]
fn a_figure_that_is_not_there_says_why() {
    let mut stage = a_stage(50);
    stage.sched = Measured::unavailable("no CONFIG_SCHED_INFO");
    stage.load.requests = 0;
    stage.load.response_ns.p99 = None;
    for (name, reason) in [
        ("sched.per_sec", "no CONFIG_SCHED_INFO"),
        ("sched.voluntary_per_request", "no CONFIG_SCHED_INFO"),
        ("load.response_ns.p99", "too few samples: p99 needs 100 samples"),
        ("load.response_ns.p9999", "too few samples: p99.99 needs 10,000 samples"),
        ("load.service_ns.p50", "closed loop"),
        ("error_ratio", "no request ended"),
        ("perf.cycles.value", "there are: none"),
    ] {
        let why = value(&stage, name).unwrap_err();
        assert!(why.contains(reason), "{name}: {why}");
    }
}

#[test]
fn kinds_of_switches_add_up_to_all_per_request() {
    let mut stage = a_stage(50);
    // The readings of the kernel came a little later than the edges of the window.
    stage.observed_requests = 8000;
    stage.sched = stage.sched.map(|mut s| {
        s.per_request = Some(2.5);
        s
    });
    let of = |name| value(&stage, name).unwrap();
    let kinds = of("sched.voluntary_per_request") + of("sched.involuntary_per_request");
    assert!((kinds - of("sched.per_request")).abs() < 1e-9, "{kinds}");
}

#[test]
fn a_list_of_threads_that_was_cut_is_not_counted() {
    let mut stage = a_stage(50);
    assert_eq!(value(&stage, "threads.count"), Ok(2.0));
    let ended = Thread { exited: true, ..Thread::default() };
    stage.threads = Measured::Value(vec![ended; ENDED_KEPT]);
    let why = value(&stage, "threads.count").unwrap_err();
    assert!(why.contains("only 4096 were kept"), "{why}");
}

#[test]
fn a_wrong_name_is_told_from_a_missing_measurement() {
    let wrong = check_name("syscall.per_request").unwrap_err();
    assert!(wrong.contains("nearest is `syscalls.per_request`"), "{wrong}");
    assert!(check_name("load.generator.limited").unwrap_err().contains("not a number"));
    assert!(check_name("syscalls.hook").is_err() && check_name("load").is_err());
    assert!(check_name("syscalls.total.x").is_err() && check_name("").is_err());
    for fine in ["perf.cycles.value", "cgroup.psi.memory.full", "load.connect_ns.p50"] {
        assert_eq!(check_name(fine), Ok(()), "{fine}");
    }
}
