//! What a stage does besides requests: its end, its stop, its order, its refusals.

use super::*;

#[test]
fn what_is_in_flight_after_the_cool_down_is_neither_answered_nor_failed() {
    let (sample, counts) = against_with(
        |_, _| Next::Hold,
        |stage| StageLoad { cooldown: Duration::from_millis(20), ..stage },
    );
    let asked = u64::from(CONNECTIONS);
    assert_eq!((sample.account.started, sample.account.in_flight_at_end), (asked, asked));
    assert_eq!((counts.all_received(), sample.outcomes.failed()), (asked, 0));
    assert_eq!((sample.response_ns.count, sample.achieved_rps), (0, 0.0));
}

#[test]
fn a_stop_gives_up_what_is_in_flight_and_cuts_the_window() {
    let server = TestServer::start(|request, peer| {
        if request.place == 2 {
            return Next::Hold;
        }
        peer.answer(OK);
        Next::Keep
    });
    let hour = Duration::from_secs(3600);
    let base = stage(&[server.url("/")]);
    let window = Window { end_ns: base.window.start_ns + 3_600_000 * MS, ..base.window };
    let load = RunningLoad::start(StageLoad { window, timeout: hour, cooldown: hour, ..base });
    let load = load.unwrap();
    let asked = u64::from(CONNECTIONS);
    let patience_ns = clock::now_ns() + 60_000 * MS;
    while server.counts().all_received() < 2 * asked {
        assert!(clock::now_ns() < patience_ns, "the server never got a second request each");
        std::thread::yield_now();
    }
    let progress = load.progress();
    assert_eq!((progress.completed, progress.failed), (asked, 0));
    assert_eq!(progress.live, CONNECTIONS);
    load.stop();
    let (sample, intervals) = load.finish();
    check_books(&sample, &intervals);
    assert_eq!((sample.account.started, sample.account.in_flight_at_end), (2 * asked, asked));
    assert!(sample.window_ns > 0 && sample.window_ns < 3_600_000 * MS);
    assert_eq!(server.finish().accepted, asked);
}

#[test]
fn addresses_are_requested_in_turn_by_every_connection() {
    let server = TestServer::start(|_, peer| {
        peer.answer(OK);
        Next::Keep
    });
    let urls = ["/0", "/1", "/2", "/3", "/4"].map(|path| server.url(path));
    let (sample, _) = run(stage(&urls));
    let received = server.finish().received;
    assert_eq!(received.len(), urls.len());
    assert_eq!(received.values().sum::<u64>(), sample.account.started);
    let (least, most) = (received.values().min().unwrap(), received.values().max().unwrap());
    assert!(most - least <= u64::from(CONNECTIONS), "{received:?}");
}

#[test]
fn the_generator_reports_what_it_used_itself() {
    let cpu = rustix::thread::sched_getaffinity(None).unwrap();
    let cpu = (0..rustix::thread::CpuSet::MAX_CPU).find(|i| cpu.is_set(*i)).unwrap();
    let server = TestServer::start(|_, peer| {
        peer.answer(OK);
        Next::Keep
    });
    let (sample, intervals) = run(StageLoad { cpus: vec![cpu], ..stage(&[server.url("/")]) });
    let generator = &sample.generator;
    assert_eq!((generator.workers, &generator.cpus[..]), (2, &[cpu][..]));
    assert!(generator.cpu_ratio > 0.0 && generator.cpu_ratio <= 1.0, "{generator:?}");
    assert!(generator.runq_ratio.is_some_and(|ratio| (0.0..=1.0).contains(&ratio)));
    assert_eq!(intervals.len(), 5);
    assert_eq!(intervals[4].end_ns, sample.window_start_ns + sample.window_ns);
}

#[test]
fn a_stage_that_cannot_be_made_is_refused_before_the_first_request() {
    let server = TestServer::start(|_, _| Next::Close);
    let base = stage(&[server.url("/")]);
    let refusal = |stage| RunningLoad::start(stage).map(|_| ()).unwrap_err();
    let pinned = refusal(StageLoad { cpus: vec![1023], ..base.clone() });
    assert!(matches!(pinned, LoadError::Pin(1023, _)), "{pinned}");
    assert!(matches!(refusal(StageLoad { connections: 0, ..base.clone() }), LoadError::Nothing));
    let many = refusal(StageLoad { connections: u32::MAX, workers: 1, ..base.clone() });
    assert!(matches!(many, LoadError::Descriptors(_)), "{many}");
    let https = Arc::from(["https://127.0.0.1/".parse().unwrap()]);
    assert!(matches!(refusal(StageLoad { urls: https, ..base }), LoadError::Request(_)));
    assert_eq!(server.finish().all_received(), 0);
}
