//! How requests ended: by status, or by class of failure.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::failure::{Failure, FailureClass, Kind};

/// How requests ended, by kind.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Outcomes {
    /// Complete responses with a 2xx status, and with `grpc-status` 0 where gRPC is spoken.
    pub ok: u64,
    /// Complete responses with another status, by that status.
    pub other_status: BTreeMap<u16, u64>,
    /// Complete gRPC responses that are not `OK`, by `grpc-status`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub grpc_status: BTreeMap<u16, u64>,
    /// A connection could not be opened; each attempt is one request that failed.
    pub connect: u64,
    /// A TLS handshake failed; each attempt is one request that failed.
    #[serde(default)]
    pub tls: u64,
    /// The connection was reset.
    pub reset: u64,
    /// The connection ended before the response was whole.
    pub early_close: u64,
    /// No last byte within the time allowed.
    pub timeout: u64,
    /// What came was not of the protocol.
    pub protocol: u64,
    /// The request never left the client, for want of a local port, a descriptor or the like.
    pub not_sent: u64,
    /// The failures again, by class.
    #[serde(default)]
    pub classes: BTreeMap<FailureClass, u64>,
    /// A keep-alive connection that the server had closed between two requests; the request was
    /// sent again on a new one. Not a failure and not counted in the others.
    pub retried: u64,
    /// Connections opened again after a close.
    pub reconnects: u64,
    /// Informational (1xx) responses, which answer no request.
    #[serde(default)]
    pub informational: u64,
    /// Connections closed because bytes came on them while no request was out.
    #[serde(default)]
    pub unasked_bytes: u64,
    /// The first message of each class that failed, by the class's name.
    pub examples: BTreeMap<String, String>,
}

impl Outcomes {
    /// Failed requests by class, in words; by kind in a record that is older than the classes.
    #[must_use]
    pub fn failures(&self) -> Vec<(String, u64)> {
        if self.classes.is_empty() {
            let kinds = self.kinds().into_iter().filter(|(_, count)| *count > 0);
            return kinds.map(|(kind, count)| (kind.to_owned(), count)).collect();
        }
        let in_words = |class: &FailureClass| class.name().replace('_', " ");
        self.classes.iter().map(|(class, count)| (in_words(class), *count)).collect()
    }

    /// Requests that failed: everything but complete responses.
    #[must_use]
    pub fn failed(&self) -> u64 {
        self.kinds().iter().map(|(_, count)| count).sum()
    }

    /// Requests that failed, by kind; those that none did too.
    #[must_use]
    pub const fn kinds(&self) -> [(&'static str, u64); 7] {
        [
            ("connect", self.connect),
            ("tls", self.tls),
            ("not sent", self.not_sent),
            ("reset", self.reset),
            ("early close", self.early_close),
            ("timeout", self.timeout),
            ("protocol", self.protocol),
        ]
    }

    /// Complete responses that say that the request did not succeed: a status that is not 2xx, or
    /// a `grpc-status` that is not 0.
    #[must_use]
    pub fn non_2xx(&self) -> u64 {
        self.other_status.values().chain(self.grpc_status.values()).sum()
    }

    /// Counts one whole response.
    pub(super) fn count_status(&mut self, status: Status) {
        if status.is_ok() {
            self.ok += 1;
        } else if let Some(grpc) = status.grpc.filter(|_| status.is_2xx()) {
            *self.grpc_status.entry(grpc).or_default() += 1;
        } else {
            *self.other_status.entry(status.http).or_default() += 1;
        }
    }

    /// Counts one failure and keeps the first message of its class.
    pub(super) fn count_failure(&mut self, failure: Failure) {
        *self.of_kind(failure.class.kind()) += 1;
        let count = self.classes.entry(failure.class).or_default();
        *count += 1;
        if *count == 1 {
            self.examples.insert(failure.class.name().to_owned(), failure.message);
        }
    }

    fn of_kind(&mut self, kind: Kind) -> &mut u64 {
        match kind {
            Kind::Connect => &mut self.connect,
            Kind::Tls => &mut self.tls,
            Kind::NotSent => &mut self.not_sent,
            Kind::Reset => &mut self.reset,
            Kind::EarlyClose => &mut self.early_close,
            Kind::Timeout => &mut self.timeout,
            Kind::Protocol => &mut self.protocol,
        }
    }

    /// Adds the counts of another worker; the first one's examples stay.
    pub(super) fn merge(&mut self, other: Self) {
        self.ok += other.ok;
        add_all(&mut self.other_status, other.other_status);
        add_all(&mut self.grpc_status, other.grpc_status);
        for (class, count) in &other.classes {
            *self.of_kind(class.kind()) += count;
        }
        add_all(&mut self.classes, other.classes);
        self.retried += other.retried;
        self.reconnects += other.reconnects;
        self.informational += other.informational;
        self.unasked_bytes += other.unasked_bytes;
        for (name, message) in other.examples {
            self.examples.entry(name).or_insert(message);
        }
    }
}

fn add_all<K: Ord>(sum: &mut BTreeMap<K, u64>, other: BTreeMap<K, u64>) {
    for (key, count) in other {
        *sum.entry(key).or_default() += count;
    }
}

/// What a whole response says of its request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Status {
    /// Status code; 200 stands for a message that was echoed.
    pub(super) http: u16,
    /// `grpc-status`, where gRPC is spoken.
    pub(super) grpc: Option<u16>,
}

impl Status {
    pub(super) const fn http(status: u16) -> Self {
        Self { http: status, grpc: None }
    }

    const fn is_2xx(self) -> bool {
        self.http / 100 == 2
    }

    /// The request succeeded.
    pub(super) fn is_ok(self) -> bool {
        self.is_2xx() && self.grpc.is_none_or(|status| status == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_message_of_a_class_is_kept() {
        let mut outcomes = Outcomes::default();
        for i in 0..1000 {
            let class = FailureClass::ResetMidBody;
            outcomes.count_failure(Failure::new(class, format!("reset {i}")));
        }
        assert_eq!((outcomes.reset, outcomes.failed()), (1000, 1000));
        assert_eq!(outcomes.examples.len(), 1);
        assert_eq!(outcomes.examples["reset_mid_body"], "reset 0");
    }

    #[test]
    fn a_record_without_classes_still_tells_its_failures() {
        let old = Outcomes { reset: 3, ..Outcomes::default() };
        assert_eq!((old.failed(), old.failures()), (3, vec![("reset".to_owned(), 3)]));
    }

    #[test]
    fn a_grpc_error_is_an_answer_that_is_not_ok() {
        let mut outcomes = Outcomes::default();
        outcomes.count_status(Status { http: 200, grpc: Some(0) });
        outcomes.count_status(Status { http: 200, grpc: Some(14) });
        outcomes.count_status(Status { http: 503, grpc: Some(14) });
        assert_eq!((outcomes.ok, outcomes.non_2xx()), (1, 2));
        assert_eq!(outcomes.grpc_status, BTreeMap::from([(14, 1)]));
    }
}
