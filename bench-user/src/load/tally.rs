//! What one worker has counted, and how the counts of several workers become one.

use super::Account;
use super::events::EventTally;
use super::failure::Failure;
use super::interval::Interval;
use super::outcome::{Outcomes, Status};
use super::pacer::Paced;
use super::timing::Timing;
use super::usage::Usage;

/// A request that ended.
#[derive(Debug)]
pub(super) struct Ended {
    /// When it should have been sent; in the closed loop when it could be.
    pub(super) intended_ns: u64,
    /// When its sending began.
    pub(super) sent_ns: u64,
    /// When the first byte of its final response came.
    pub(super) first_byte_ns: Option<u64>,
    pub(super) end_ns: u64,
    pub(super) bytes_in: u64,
    pub(super) bytes_out: u64,
    /// 1xx responses before the final one.
    pub(super) informational: u32,
    /// It was sent twice.
    pub(super) is_retried: bool,
    /// Status of its whole response, or why there is none.
    pub(super) how: Result<Status, Failure>,
    /// It took a time that belongs into the distribution: it is a whole response or a timeout.
    pub(super) is_timed: bool,
}

/// Counts of one worker.
#[derive(Debug)]
pub(super) struct Tally {
    /// Whole stage; `in_flight_at_end` is what is in flight now.
    pub(super) account: Account,
    pub(super) outcomes: Outcomes,
    pub(super) bytes_in: u64,
    pub(super) bytes_out: u64,
    pub(super) response: Timing,
    /// Recorded in the open loop only: in the closed one it is the response time.
    pub(super) service: Timing,
    pub(super) first_byte: Timing,
    pub(super) connect: Timing,
    pub(super) tls: Timing,
    pub(super) upgrade: Timing,
    pub(super) paced: Option<Paced>,
    pub(super) events: Option<EventTally>,
    pub(super) intervals: Vec<Interval>,
    /// Open connections in the middle of each interval of the window.
    pub(super) live: Vec<u32>,
    /// Lateness of the event loop.
    pub(super) lag: Timing,
    /// What the worker's thread used; `None` where the window never began.
    pub(super) usage: Option<Usage>,
}

impl Tally {
    pub(super) fn new() -> Self {
        Self {
            account: Account::default(),
            outcomes: Outcomes::default(),
            bytes_in: 0,
            bytes_out: 0,
            response: Timing::new(),
            service: Timing::new(),
            first_byte: Timing::new(),
            connect: Timing::new(),
            tls: Timing::new(),
            upgrade: Timing::new(),
            paced: None,
            events: None,
            intervals: Vec::new(),
            live: Vec::new(),
            lag: Timing::new(),
            usage: None,
        }
    }

    /// Counts a request that ended in the account of the whole stage.
    pub(super) fn settle(&mut self, ended: &Ended) {
        let account = &mut self.account;
        account.in_flight_at_end -= 1;
        account.retried += u64::from(ended.is_retried);
        match &ended.how {
            Ok(status) => {
                account.completed += 1;
                *(if status.is_ok() { &mut account.ok } else { &mut account.http_error }) += 1;
            }
            Err(failure) => {
                account.failed += 1;
                *account.classes.entry(failure.class).or_default() += 1;
            }
        }
    }

    /// Counts a request that ended inside the window, in its interval from 0.
    pub(super) fn count(&mut self, ended: Ended, interval: usize, is_open_loop: bool) {
        let piece = Interval::at(&mut self.intervals, interval);
        if ended.is_timed {
            let took_ns = ended.end_ns.saturating_sub(ended.intended_ns);
            self.response.record(took_ns);
            piece.record(took_ns);
            if is_open_loop {
                self.service.record(ended.end_ns.saturating_sub(ended.sent_ns));
            }
        }
        if let Some(first_ns) = ended.first_byte_ns {
            self.first_byte.record(first_ns.saturating_sub(ended.sent_ns));
        }
        self.bytes_in += ended.bytes_in;
        self.bytes_out += ended.bytes_out;
        self.outcomes.retried += u64::from(ended.is_retried);
        self.outcomes.informational += u64::from(ended.informational);
        match ended.how {
            Ok(status) => {
                piece.completed += 1;
                piece.non_2xx += u64::from(!status.is_ok());
                self.outcomes.count_status(status);
            }
            Err(failure) => self.outcomes.count_failure(failure),
        }
    }

    /// Adds another worker's counts. `usage` becomes that of the busier one.
    pub(super) fn merge(&mut self, other: Self) {
        self.account.merge(other.account);
        self.outcomes.merge(other.outcomes);
        self.bytes_in += other.bytes_in;
        self.bytes_out += other.bytes_out;
        self.response.merge(&other.response);
        self.service.merge(&other.service);
        self.first_byte.merge(&other.first_byte);
        self.connect.merge(&other.connect);
        self.tls.merge(&other.tls);
        self.upgrade.merge(&other.upgrade);
        self.lag.merge(&other.lag);
        self.usage = Usage::busier(self.usage, other.usage);
        match (&mut self.paced, other.paced) {
            (Some(mine), Some(theirs)) => mine.merge(&theirs),
            (mine, theirs) => *mine = mine.take().or(theirs),
        }
        match (&mut self.events, other.events) {
            (Some(mine), Some(theirs)) => mine.merge(&theirs),
            (mine, theirs) => *mine = mine.take().or(theirs),
        }
        Interval::merge(&mut self.intervals, &other.intervals);
        // Worker by worker at the same instants; the shortest list ends where one was stopped.
        self.live.truncate(other.live.len());
        self.live.iter_mut().zip(&other.live).for_each(|(mine, theirs)| *mine += theirs);
    }
}

impl Account {
    fn merge(&mut self, other: Self) {
        self.carried += other.carried;
        self.started += other.started;
        self.completed += other.completed;
        self.ok += other.ok;
        self.http_error += other.http_error;
        self.failed += other.failed;
        for (class, count) in other.classes {
            *self.classes.entry(class).or_default() += count;
        }
        self.retried += other.retried;
        self.in_flight_at_end += other.in_flight_at_end;
        self.in_flight_age_ns_max = self.in_flight_age_ns_max.max(other.in_flight_age_ns_max);
    }
}

#[cfg(test)]
mod tests {
    use super::super::failure::FailureClass;
    use super::*;

    fn ended(took_ns: u64, how: Result<u16, FailureClass>) -> Ended {
        Ended {
            intended_ns: 1_000,
            sent_ns: 1_000,
            first_byte_ns: how.is_ok().then_some(1_000 + took_ns / 2),
            end_ns: 1_000 + took_ns,
            bytes_in: 10,
            bytes_out: 40,
            informational: 0,
            is_retried: false,
            is_timed: how.is_ok(),
            how: how.map(Status::http).map_err(|class| Failure::new(class, "test")),
        }
    }

    fn add(tally: &mut Tally, ended: Ended, interval: usize) {
        tally.account.started += 1;
        tally.account.in_flight_at_end += 1;
        tally.settle(&ended);
        tally.count(ended, interval, false);
    }

    #[test]
    fn two_workers_merged_count_what_one_would_have() {
        let (mut one, mut left, mut right) = (Tally::new(), Tally::new(), Tally::new());
        for i in 0..400u64 {
            let how = match i % 10 {
                0 => Ok(404),
                1 => Err(FailureClass::ShortBody),
                _ => Ok(200),
            };
            let interval = usize::from(i >= 200);
            add(&mut one, ended(i * 1000, how), interval);
            add(if i % 3 == 0 { &mut left } else { &mut right }, ended(i * 1000, how), interval);
        }
        left.merge(right);
        assert_eq!(left.account, one.account);
        assert_eq!(left.outcomes, one.outcomes);
        assert_eq!(left.response.distribution(), one.response.distribution());
        assert_eq!(left.first_byte.distribution(), one.first_byte.distribution());
        assert_eq!((left.bytes_in, left.bytes_out), (4_000, 16_000));
        assert_eq!((one.account.ok, one.account.http_error, one.account.failed), (320, 40, 40));
        let completed = |t: &Tally| t.intervals.iter().map(|i| i.completed).collect::<Vec<_>>();
        assert_eq!(completed(&left), completed(&one));
    }

    #[test]
    fn the_open_loop_keeps_response_and_service_time_apart() {
        let mut tally = Tally::new();
        tally.account.in_flight_at_end = 1;
        let late = Ended { intended_ns: 1_000, sent_ns: 5_000, ..ended(9_000, Ok(200)) };
        tally.count(late, 0, true);
        assert_eq!(tally.response.distribution().max, Some(9_000));
        assert_eq!(tally.service.distribution().max, Some(5_000));
    }

    #[test]
    fn failures_alone_give_no_percentile() {
        let mut tally = Tally::new();
        for _ in 0..5_000 {
            add(&mut tally, ended(5, Err(FailureClass::ResetBeforeBytes)), 0);
        }
        assert_eq!((tally.response.distribution().count, tally.outcomes.reset), (0, 5_000));
    }

    #[test]
    fn live_connections_are_added_across_workers_at_each_instant() {
        let with_live = |live: &[u32]| Tally { live: live.to_vec(), ..Tally::new() };
        let mut all = with_live(&[5, 4, 5]);
        all.merge(with_live(&[5, 1, 5, 5]));
        assert_eq!(all.live, [10, 5, 10]);
    }
}
