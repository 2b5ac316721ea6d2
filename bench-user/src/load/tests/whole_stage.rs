//! What a stage does besides requests: its end, its stop, its order, its refusals.

use super::*;

#[test]
fn what_is_in_flight_after_the_cool_down_is_neither_answered_nor_failed() {
    let (sample, counts) =
        against_with(|_, _| Next::Hold, |trial| trial.stage.cooldown = Duration::from_millis(20));
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
    let Trial { mut setup, mut stage } = trial(&[server.url("/")]);
    setup.timeout = hour;
    stage.window.end_ns = stage.window.start_ns + 3_600_000 * MS;
    stage.cooldown = hour;
    let mut generator = Generator::start(setup).unwrap();
    let load = generator.begin(stage).unwrap();
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
    drop(generator);
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
    let (sample, _) = run(trial(&urls));
    let received = server.finish().received;
    assert_eq!(received.len(), urls.len());
    assert_eq!(received.values().sum::<u64>(), sample.account.started);
    let (least, most) = (received.values().min().unwrap(), received.values().max().unwrap());
    assert!(most - least <= 1, "{received:?}");
}

#[test]
fn the_generator_reports_what_it_used_itself() {
    let cpu = rustix::thread::sched_getaffinity(None).unwrap();
    let cpu = (0..rustix::thread::CpuSet::MAX_CPU).find(|i| cpu.is_set(*i)).unwrap();
    let server = TestServer::start(|_, peer| {
        peer.answer(OK);
        Next::Keep
    });
    let mut trial = trial(&[server.url("/")]);
    trial.setup.cpus = vec![cpu];
    let (sample, intervals) = run(trial);
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
    let refusal = |change: fn(&mut Trial)| {
        let mut trial = trial(&[server.url("/")]);
        change(&mut trial);
        let mut generator = match Generator::start(trial.setup) {
            Ok(generator) => generator,
            Err(error) => return error,
        };
        generator.begin(trial.stage).map(|_| ()).unwrap_err()
    };
    let pinned = refusal(|trial| trial.setup.cpus = vec![1023]);
    assert!(matches!(pinned, LoadError::Pin(1023, _)), "{pinned}");
    assert!(matches!(refusal(|trial| trial.stage.connections = 0), LoadError::Nothing));
    let many = refusal(|trial| trial.stage.connections = u32::MAX);
    assert!(matches!(many, LoadError::Dial(_)), "{many}");
    let ftp = refusal(|trial| {
        trial.setup.requests.urls = Arc::from(["ftp://127.0.0.1/".parse().unwrap()]);
    });
    assert!(matches!(ftp, LoadError::Request(_)), "{ftp}");
    assert_eq!(server.finish().all_received(), 0);
}

#[test]
fn connections_of_one_stage_go_on_in_the_next_and_only_missing_ones_are_added() {
    let server = TestServer::start(|_, peer| {
        peer.answer(OK);
        Next::Keep
    });
    let Trial { setup, stage } = trial(&[server.url("/")]);
    let mut generator = Generator::start(setup).unwrap();
    let mut started = 0;
    for (connections, accepted) in [(2, 2), (5, 5), (5, 5), (1, 5), (3, 7)] {
        let start_ns = clock::now_ns();
        let window = Window { start_ns, end_ns: start_ns + 100 * MS };
        let stage = StageLoad { connections, window, ..stage.clone() };
        let (sample, intervals) = generator.begin(stage).unwrap().finish();
        check_books(&sample, &intervals);
        assert_eq!(sample.account.failed, 0);
        started += sample.account.started;
        assert_eq!(server.counts().accepted, accepted, "{connections}");
    }
    drop(generator);
    assert_eq!(server.finish().answered, started);
}
