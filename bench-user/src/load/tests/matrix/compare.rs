//! What a client's report of one stage must have in common with the server's tally.
//!
//! Whole-stage counts are equal. What the client reports for its window only is compared with
//! what the server did per request: in one row, all responses of a status are alike.
//!
//! One thing the server cannot see: what was sent to it on a connection that it had reset. There
//! the client may have sent one more request on each such connection, and no more.

use std::collections::BTreeMap;
use std::fmt::Debug;

use super::super::super::test_server::{Request, Row, Tally, class};
use super::super::super::{FailureClass, LoadSample};
use super::super::CONNECTIONS;

/// One stage at one endpoint, from both sides.
pub(super) struct Case {
    pub(super) row: &'static Row,
    pub(super) method: &'static str,
    pub(super) sample: LoadSample,
    pub(super) tally: Tally,
    /// Connections that the server took.
    pub(super) accepted: u64,
}

/// Everything that the two sides do not agree on.
pub(super) fn complaints(case: &Case) -> Vec<String> {
    let mut page = Page { row: case.row.name, method: case.method, found: Vec::new() };
    case.books(&mut page);
    case.requests(&mut page);
    case.failures(&mut page);
    case.connections(&mut page);
    case.bytes(&mut page);
    case.times(&mut page);
    page.found
}

/// Where complaints are written.
struct Page {
    row: &'static str,
    method: &'static str,
    found: Vec<String>,
}

impl Page {
    fn same<T: PartialEq + Debug>(&mut self, what: &str, client: T, server: T) {
        if client != server {
            self.say(&format!("{what}: the client says {client:?}, the server {server:?}"));
        }
    }

    fn holds(&mut self, what: &str, is_so: bool) {
        if !is_so {
            self.say(&format!("not so: {what}"));
        }
    }

    fn say(&mut self, what: &str) {
        self.found.push(format!("{} {}: {what}", self.method, self.row));
    }
}

impl Case {
    /// Each side with itself.
    fn books(&self, page: &mut Page) {
        let (account, tally) = (&self.sample.account, &self.tally);
        page.same("in flight at the end", account.in_flight_at_end, 0);
        page.same("started", account.started, account.completed + account.failed);
        page.same("completed", account.completed, account.ok + account.http_error);
        page.same("failed by class", account.classes.values().sum(), account.failed);
        let server = tally.all_whole() + tally.failed.values().sum::<u64>() + tally.resent;
        assert_eq!(tally.requests, server, "the server's own books: {tally:?}");
        if let Some(offered) = &self.sample.offered {
            let parts = offered.sent + offered.skipped + offered.unsent;
            page.same("scheduled", offered.scheduled, parts);
            page.same("sent by the schedule", offered.sent, account.started);
            page.same("skipped", offered.skipped, 0);
        }
        page.same("what was odd about a request", &tally.odd, &None);
        page.same("connections with bytes that nobody was to send", tally.sent_too_much, 0);
    }

    fn requests(&self, page: &mut Page) {
        let (account, tally) = (&self.sample.account, &self.tally);
        let good = |status: &u16| (200..300).contains(status);
        let sum = |is_good: bool| {
            tally.whole.iter().filter(|(s, _)| good(s) == is_good).map(|(_, n)| n).sum::<u64>()
        };
        page.same("ok", account.ok, sum(true));
        page.same("http_error", account.http_error, sum(false));
        let outcomes = &self.sample.outcomes;
        for (status, count) in &outcomes.other_status {
            let server = tally.whole.get(status).copied().unwrap_or(0);
            page.holds(&format!("{count} with status {status} of {server}"), *count <= server);
        }
    }

    /// Failures by class, and requests that were sent again.
    fn failures(&self, page: &mut Page) {
        let (account, tally) = (&self.sample.account, &self.tally);
        let mut expect: BTreeMap<&str, u64> =
            tally.failed.iter().map(|(class, count)| (*class, *count)).collect();
        let mut retried = tally.resent;
        if self.is_idempotent() {
            retried += tally.met_close;
        } else if tally.met_close > 0 {
            *expect.entry(class::CLOSED_BEFORE_BYTES).or_default() += tally.met_close;
        }
        let mut said: BTreeMap<&str, u64> =
            account.classes.iter().map(|(class, count)| (class.name(), *count)).collect();
        // What the server could not see.
        let mut unseen = 0;
        if self.is_idempotent() {
            unseen = account.retried.saturating_sub(retried);
            retried += unseen;
        } else if tally.reset_after_whole > 0 {
            unseen = said.remove(class::RESET_BEFORE_BYTES).unwrap_or(0);
        }
        page.holds(
            &format!("{unseen} unseen on {} reset connections", tally.reset_after_whole),
            unseen <= tally.reset_after_whole,
        );
        page.same("retried", account.retried, retried);
        page.same("failures", said, expect);
        for class in account.classes.keys() {
            let has_example = self.sample.outcomes.examples.contains_key(class.name());
            let is_in_window = self.sample.outcomes.classes.contains_key(class);
            page.holds(&format!("an example of {}", class.name()), has_example || !is_in_window);
        }
    }

    fn connections(&self, page: &mut Page) {
        let (sample, tally) = (&self.sample, &self.tally);
        page.same("connections opened", sample.connect_ns.count, self.accepted);
        let asked = u64::from(CONNECTIONS);
        // Those of the window; at most one for each connection after it. On a busy machine not
        // every connection was opened a first time.
        let reconnects = sample.outcomes.reconnects;
        page.holds(
            &format!("{reconnects} reconnects, {} connections in all", self.accepted),
            reconnects < self.accepted && self.accepted - reconnects <= 2 * asked,
        );
        let ended = tally.ended;
        page.holds(
            &format!("{ended} connections ended, {} taken", self.accepted),
            self.accepted <= ended + asked && ended <= self.accepted,
        );
        let unasked = sample.outcomes.unasked_bytes;
        page.holds(
            &format!("{unasked} connections had bytes unasked of {}", tally.unasked),
            unasked <= tally.unasked && tally.unasked - unasked <= asked,
        );
    }

    fn bytes(&self, page: &mut Page) {
        let (sample, tally) = (&self.sample, &self.tally);
        let outcomes = &sample.outcomes;
        let each = |status: u16| match tally.whole.get(&status) {
            Some(count) => tally.body_bytes[&status] / count,
            None => 0,
        };
        let good = tally.whole.keys().find(|status| (200..300).contains(*status));
        let body_bytes = good.map_or(0, |status| outcomes.ok * each(*status))
            + outcomes.other_status.iter().map(|(s, n)| n * each(*s)).sum::<u64>();
        page.same("body bytes", sample.bytes_in, body_bytes);
        let ended = sample.requests + outcomes.failed();
        if let Some(each) = tally.informational.checked_div(tally.requests) {
            let (said, most) = (outcomes.informational, each * ended);
            // A request whose time was over may have ended before they were read.
            let least = most - each * outcomes.timeout;
            let is_so = (least..=most).contains(&said);
            page.holds(&format!("{said} 1xx responses of {least} to {most}"), is_so);
            // A request that met a reset may not have left whole.
            if tally.reset_after_whole == 0 {
                self.bytes_sent(page, ended);
            }
        }
    }

    fn bytes_sent(&self, page: &mut Page, ended: u64) {
        let (sample, tally) = (&self.sample, &self.tally);
        if tally.request_lengths.len() == 1 {
            let request = tally.request_bytes / tally.requests;
            let sent = request * (ended + sample.outcomes.retried);
            page.same("request bytes", sample.bytes_out, sent);
        } else if let Some(longest) = tally.request_lengths.last() {
            // hyper tells servers of HTTP/1.0 that it keeps the connection: not all are alike.
            let (said, server) = (sample.bytes_out, tally.request_bytes);
            let is_so = said <= server && server - said <= longest * (tally.requests - ended);
            page.holds(&format!("{said} request bytes in the window of {server} in all"), is_so);
        }
    }

    fn times(&self, page: &mut Page) {
        let (sample, row) = (&self.sample, self.row);
        let is_timed =
            |class: FailureClass| sample.outcomes.classes.get(&class).copied().unwrap_or(0);
        let timed = sample.requests + is_timed(FailureClass::Timeout);
        page.same("response times", sample.response_ns.count, timed);
        let first = Request::from_head(format!("{} / HTTP/1.1\r\n\r\n", self.method), 1);
        let script = (row.script)(&first);
        let least = row.timeout.unwrap_or_else(|| script.takes());
        let least_ns = u64::try_from(least.as_nanos()).unwrap_or(u64::MAX);
        let min = sample.response_ns.min;
        page.holds(
            &format!("no response within {least:?}: {min:?} ns"),
            min.is_none_or(|min| min >= least_ns),
        );
    }

    fn is_idempotent(&self) -> bool {
        Request::from_head(format!("{} / HTTP/1.1\r\n\r\n", self.method), 1).is_idempotent()
    }
}
