//! The open loop against arithmetic and against the server's own count, for numbers that do not
//! divide each other.

use super::*;
use crate::load::OpenLoop;
use crate::plan::{Arrivals, CatchUp};

/// A window of 300 ms behind a warm-up of 30 ms, so that it begins at no particular request.
fn offered(client: Client, rps: f64, connections: u32, workers: u32) -> (LoadSample, Counts) {
    let server = TestServer::start(|_, peer| {
        peer.answer(OK);
        Next::Keep
    });
    let Trial { mut setup, mut stage } = trial_of(client, &[server.url("/")]);
    setup.workers = workers;
    stage.connections = connections;
    let open = OpenLoop { rps, arrivals: Arrivals::Constant, catch_up: CatchUp::Queue, seed: 0 };
    stage.open_loop = Some(open);
    let start_ns = clock::now_ns() + 30 * MS;
    stage.window = Window { start_ns, end_ns: start_ns + 300 * MS };
    let mut generator = Generator::start(setup).unwrap();
    let (sample, _) = generator.begin(stage).unwrap().finish();
    drop(generator);
    (sample, server.finish())
}

/// Rate times window is whole for each of these, so that the schedule has exactly as many
/// requests in the window, wherever between two of them it begins; rates and gaps are not.
#[test]
fn what_was_scheduled_is_arithmetic_and_what_was_started_is_what_the_server_read() {
    let cases = [
        (10.0, 1, 1, 3),
        (70.0, 1, 3, 21),
        (70.0, 13, 7, 21),
        (1_110.0, 7, 2, 333),
        (1_110.0, 3, 7, 333),
        (2_990.0, 13, 3, 897),
    ];
    let both = [Client::Hyper, Client::Lean].map(|client| cases.map(|case| (client, case)));
    for (client, (rps, connections, workers, scheduled)) in both.into_iter().flatten() {
        let (sample, counts) = offered(client, rps, connections, workers);
        let case = format!("{client:?}: {rps}/s, {connections} connections, {workers} workers");
        let offered = sample.offered.as_ref().unwrap();
        assert_eq!(offered.scheduled, scheduled, "{case}");
        assert_eq!(offered.scheduled, offered.sent + offered.skipped + offered.unsent, "{case}");
        assert_eq!(offered.lateness_ns.count, scheduled, "{case}");
        let account = &sample.account;
        assert_eq!((account.failed, account.in_flight_at_end), (0, 0), "{case}: {account:?}");
        assert_eq!(account.started, counts.all_received(), "{case}");
        assert_eq!(account.completed, counts.answered, "{case}");
        assert!(account.started >= offered.sent && counts.accepted <= u64::from(connections));
    }
}
