use super::super::outcome::Status;
use super::*;

fn recorder(start_ns: u64, end_ns: u64) -> Recorder {
    let control = Arc::new(Control::new(Window { start_ns, end_ns }, 1));
    Recorder::new(control, 0, 100, false, Live::default())
}

fn ending_at(recorder: &Recorder, end_ns: u64) {
    recorder.begin();
    recorder.end(Ended {
        intended_ns: end_ns - 1,
        sent_ns: end_ns - 1,
        first_byte_ns: None,
        end_ns,
        bytes_in: 0,
        bytes_out: 0,
        informational: 0,
        is_retried: false,
        how: Ok(Status::http(200)),
        is_timed: true,
    });
}

#[test]
fn a_request_counts_in_the_window_of_its_end_and_always_in_the_account() {
    //           1000        1100        1200 = end
    //  999 |out  | 1000 1099 | 1100 1199 | 1200 out
    let recorder = recorder(1000, 1200);
    for end_ns in [999, 1000, 1099, 1100, 1199, 1200] {
        ending_at(&recorder, end_ns);
    }
    recorder.begin();
    recorder.give_up(1150, 1300);
    let tally = recorder.into_tally();
    assert_eq!(tally.outcomes.ok, 4);
    assert_eq!((tally.account.started, tally.account.completed), (7, 6));
    assert_eq!((tally.account.failed, tally.account.in_flight_at_end), (0, 1));
    assert_eq!(tally.account.in_flight_age_ns_max, Some(150));
    assert_eq!(tally.intervals.len(), 2);
}

#[test]
fn open_connections_are_sampled_as_they_are_then() {
    let recorder = recorder(0, u64::MAX);
    recorder.sample_live();
    let mut held: Vec<_> = (0..3).map(|_| recorder.live.hold()).collect();
    recorder.sample_live();
    held.pop();
    recorder.sample_live();
    recorder.show_live();
    assert_eq!(recorder.control.progress().live, 2);
    recorder.opened(5, 10, false);
    recorder.opened(5, 20, true);
    let tally = recorder.into_tally();
    assert_eq!((tally.live, tally.outcomes.reconnects), (vec![0, 3, 2], 1));
    assert_eq!(tally.connect.distribution().count, 2);
}

#[test]
fn a_stop_ends_the_window_and_the_requests() {
    let recorder = recorder(0, u64::MAX);
    assert!(recorder.accepts_requests(clock::now_ns()));
    recorder.control.stop();
    assert!(!recorder.accepts_requests(clock::now_ns()));
    ending_at(&recorder, u64::MAX - 1);
    assert_eq!(recorder.into_tally().outcomes.ok, 0);
}
