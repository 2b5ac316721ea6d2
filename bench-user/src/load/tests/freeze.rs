//! A server that stands still for two seconds, and what that must do to each kind of loop.
//!
//! ```text
//!  0        0.5 s                       2.5 s            4 s   window, 4 s
//!  |---------|===========================|----------------|
//!            every request that was meant     ^
//!            for here is answered here -------+
//! ```
//!
//! Closed loop: each connection has one request in the freeze and sends no other, so the freeze is
//! all but invisible in its percentiles. Open loop at rate r: whatever was meant to be sent at t
//! inside the freeze ends after it, so at least r (2 s - x) requests took x or longer.

use std::time::Duration;

use super::super::test_server::{Site, Tally, row};
use super::super::{Generator, IntervalLoad, LoadSample, OpenLoop};
use super::{CONNECTIONS, MS, check_books, trial_of};
use crate::clock;
use crate::distribution::Distribution;
use crate::plan::{Arrivals, CatchUp, Client};

const WINDOW_MS: u64 = 4000;
const FREEZE_AT_MS: u64 = 500;
const FREEZE_MS: u64 = 2000;
const RPS: u64 = 200;

/// What a stage with a freeze in its window came to.
struct Frozen {
    sample: LoadSample,
    intervals: Vec<IntervalLoad>,
    tally: Tally,
    start_ns: u64,
}

fn frozen(client: Client, open_loop: Option<OpenLoop>) -> Frozen {
    let site = Site::start();
    let mut trial = trial_of(client, &[site.url(row("plain").unwrap())]);
    trial.stage.open_loop = open_loop;
    let mut generator = Generator::start(trial.setup).unwrap();
    let start_ns = clock::now_ns();
    site.freeze(start_ns + FREEZE_AT_MS * MS, Duration::from_millis(FREEZE_MS));
    trial.stage.window.start_ns = start_ns;
    trial.stage.window.end_ns = start_ns + WINDOW_MS * MS;
    let (sample, intervals) = generator.begin(trial.stage).unwrap().finish();
    drop(generator);
    check_books(&sample, &intervals);
    let tally = site.finish().0.remove("plain").unwrap();
    assert_eq!((sample.account.ok, sample.account.failed), (tally.all_whole(), 0));
    Frozen { sample, intervals, tally, start_ns }
}

impl Frozen {
    /// Responses that ended in the freeze: at most those that were on their way when it began.
    fn assert_stood_still(&self) {
        let from_ns = self.start_ns + FREEZE_AT_MS * MS;
        let to_ns = from_ns + FREEZE_MS * MS;
        let inside = self.intervals.iter().filter(|i| i.start_ns >= from_ns && i.end_ns <= to_ns);
        let ended: u64 = inside.map(|i| i.completed).sum();
        assert!(ended <= u64::from(CONNECTIONS), "{ended} responses in the freeze");
    }

    /// Requests whose response time was so long or longer, as far as the histogram can tell.
    fn at_least_ms(&self, ms: u64) -> u64 {
        at_least(&self.sample.response_ns, ms)
    }
}

/// Buckets hold values to 1 % or better; one that reaches up to the edge is counted.
fn at_least(times: &Distribution, ms: u64) -> u64 {
    times.histogram().map_or(0, |h| h.count_between(ms * MS, u64::MAX >> 1))
}

#[test]
fn a_closed_loop_sends_one_request_into_a_freeze_and_hides_it() {
    for client in [Client::Hyper, Client::Lean] {
        let frozen = frozen(client, None);
        frozen.assert_stood_still();
        let long = frozen.at_least_ms(FREEZE_MS / 2);
        assert!((1..=u64::from(CONNECTIONS)).contains(&long), "{client:?}: {long}");
        assert!(frozen.sample.response_ns.max >= Some(FREEZE_MS / 2 * MS));
        assert_eq!(frozen.sample.service_ns, None, "in the closed loop there is but one time");
    }
}

#[test]
fn an_open_loop_times_a_freeze_from_when_requests_were_meant_to_be_sent() {
    for client in [Client::Hyper, Client::Lean] {
        let open_loop = OpenLoop {
            rps: RPS as f64,
            arrivals: Arrivals::Constant,
            catch_up: CatchUp::Queue,
            seed: 1,
        };
        let frozen = frozen(client, Some(open_loop));
        frozen.assert_stood_still();
        let offered = frozen.sample.offered.as_ref().unwrap();
        assert_eq!(offered.scheduled, RPS * WINDOW_MS / 1000, "{client:?}");
        assert_eq!(offered.scheduled, offered.sent + offered.skipped + offered.unsent);
        assert_eq!((offered.skipped, offered.sent), (0, frozen.tally.requests));
        // Those that the window had no room for are not among the response times.
        let late = offered.scheduled - frozen.sample.response_ns.count;
        for ms in [0, 500, 1000, 1500, 1900] {
            let meant = RPS * (FREEZE_MS - ms) / 1000;
            let found = frozen.at_least_ms(ms);
            assert!(found + late >= meant, "{client:?}: {found} of {meant} took {ms} ms");
        }
        // A connection carries one request at a time, so few were sent before the freeze was over.
        let long = at_least(frozen.sample.service_ns.as_ref().unwrap(), FREEZE_MS / 2);
        assert!(long <= u64::from(CONNECTIONS), "{client:?}: {long} were sent into the freeze");
    }
}
