//! Requests by a schedule: what is sent, on which connections, and what comes on idle ones.

use super::*;
use crate::load::{FailureClass, OpenLoop};
use crate::plan::{Arrivals, CatchUp};

/// So many requests a second, on so many connections of one worker.
fn open_loop(trial: &mut Trial, rps: f64, connections: u32) {
    let (arrivals, catch_up) = (Arrivals::Constant, CatchUp::Queue);
    trial.stage.open_loop = Some(OpenLoop { rps, arrivals, catch_up, seed: 0 });
    trial.stage.connections = connections;
    trial.setup.workers = 1;
}

#[test]
fn the_schedule_is_counted_whole_and_what_is_sent_is_answered() {
    let (sample, counts) = against_with(
        |_, peer| {
            peer.answer(OK);
            Next::Keep
        },
        |trial| open_loop(trial, 400.0, 3),
    );
    assert_all_answered(&sample, &counts);
    let offered = sample.offered.as_ref().unwrap();
    // The schedule begins with the load, some time after the window does.
    assert!((1..=100).contains(&offered.scheduled), "{offered:?}");
    assert_eq!(offered.scheduled, offered.sent + offered.skipped + offered.unsent);
    assert_eq!(offered.lateness_ns.count, offered.scheduled);
    assert_eq!(sample.account.started, offered.sent);
    assert_eq!(counts.accepted, 3);
}

#[test]
fn idle_connections_that_are_closed_are_opened_again_and_nothing_fails() {
    let (sample, counts) = against_with(
        |_, peer| {
            peer.answer(OK);
            Next::Close
        },
        |trial| open_loop(trial, 200.0, 3),
    );
    assert_all_answered(&sample, &counts);
    assert!(sample.outcomes.reconnects > 0, "{:?}", sample.outcomes);
}

#[test]
fn bytes_that_nobody_asked_for_cost_the_connection_and_no_request() {
    // More connections than requests: none has a second one, so what comes late comes on an idle
    // connection, unless it comes together with the response.
    for _ in 0..20 {
        let server = TestServer::start(|_, peer| {
            peer.answer(OK);
            std::thread::sleep(Duration::from_millis(20));
            peer.write("junk");
            Next::Hold
        });
        let mut trial = trial(&[server.url("/")]);
        open_loop(&mut trial, 80.0, 40);
        let (sample, _) = run(trial);
        let outcomes = &sample.outcomes;
        let together = outcomes.classes.get(&FailureClass::UnexpectedBytes).copied().unwrap_or(0);
        assert_eq!(outcomes.failed(), together, "{outcomes:?}");
        if outcomes.unasked_bytes > 0 {
            return;
        }
    }
    panic!("in twenty windows no byte came on an idle connection");
}

#[test]
fn what_closes_between_two_stages_is_opened_again_without_a_failure() {
    let server = TestServer::start(|request, peer| {
        peer.answer(OK);
        // The second response is the last one, wherever it falls.
        if request.place == 2 { Next::Close } else { Next::Keep }
    });
    let mut trial = trial(&[server.url("/")]);
    open_loop(&mut trial, 100.0, 8);
    let mut generator = Generator::start(trial.setup).unwrap();
    let mut completed = 0;
    for _ in 0..4 {
        let start_ns = clock::now_ns();
        let window = Window { start_ns, end_ns: start_ns + 100 * MS };
        let stage = StageLoad { window, ..trial.stage.clone() };
        let (sample, intervals) = generator.begin(stage).unwrap().finish();
        check_books(&sample, &intervals);
        assert_eq!(sample.account.failed, 0, "{:?}", sample.outcomes);
        completed += sample.account.completed;
    }
    drop(generator);
    assert_eq!(completed, server.finish().answered);
}
