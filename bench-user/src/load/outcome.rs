//! How a request ended: by status, or by class of failure.

use std::collections::BTreeMap;
use std::error::Error;
use std::io;

use rustix::io::Errno;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Why a request has no whole response. Each class belongs to one coarser kind.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum FailureClass {
    /// Connect: nobody listens there.
    ConnectRefused,
    /// Connect: no connection within the time allowed.
    ConnectTimeout,
    /// Connect: any other reason, such as no route.
    ConnectOther,
    /// TLS: the handshake failed.
    Tls,
    /// Not sent: every local port of the source address is in use.
    LocalPortExhausted,
    /// Not sent: this process may open no more descriptors.
    DescriptorLimit,
    /// Not sent: any other reason of our own, such as no memory.
    NotSentOther,
    /// Reset: before a byte of the response.
    ResetBeforeBytes,
    /// Reset: inside the response.
    ResetMidBody,
    /// Early close: before a byte of the response.
    ClosedBeforeBytes,
    /// Early close: inside the response.
    ShortBody,
    /// Timeout: no last byte within the time allowed.
    Timeout,
    /// Protocol: what came is not of the protocol.
    Parse,
    /// Protocol: bytes after the end of the response, so where it ended is in doubt.
    UnexpectedBytes,
    /// Protocol: the peer ended the exchange by the protocol's own means, such as an HTTP/2 reset.
    Protocol,
}

/// The kinds of failure that classes belong to: the fields of [`Outcomes`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Connect,
    Tls,
    NotSent,
    Reset,
    EarlyClose,
    Timeout,
    Protocol,
}

impl FailureClass {
    const fn kind(self) -> Kind {
        match self {
            Self::ConnectRefused | Self::ConnectTimeout | Self::ConnectOther => Kind::Connect,
            Self::Tls => Kind::Tls,
            Self::LocalPortExhausted | Self::DescriptorLimit | Self::NotSentOther => Kind::NotSent,
            Self::ResetBeforeBytes | Self::ResetMidBody => Kind::Reset,
            Self::ClosedBeforeBytes | Self::ShortBody => Kind::EarlyClose,
            Self::Timeout => Kind::Timeout,
            Self::Parse | Self::UnexpectedBytes | Self::Protocol => Kind::Protocol,
        }
    }

    /// Its name, as in the record.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::ConnectRefused => "connect_refused",
            Self::ConnectTimeout => "connect_timeout",
            Self::ConnectOther => "connect_other",
            Self::Tls => "tls",
            Self::LocalPortExhausted => "local_port_exhausted",
            Self::DescriptorLimit => "descriptor_limit",
            Self::NotSentOther => "not_sent_other",
            Self::ResetBeforeBytes => "reset_before_bytes",
            Self::ResetMidBody => "reset_mid_body",
            Self::ClosedBeforeBytes => "closed_before_bytes",
            Self::ShortBody => "short_body",
            Self::Timeout => "timeout",
            Self::Parse => "parse",
            Self::UnexpectedBytes => "unexpected_bytes",
            Self::Protocol => "protocol",
        }
    }
}

/// A failed request: its class and what was said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Failure {
    pub(super) class: FailureClass,
    pub(super) message: String,
}

impl Failure {
    pub(super) fn new(class: FailureClass, message: impl Into<String>) -> Self {
        Self { class, message: message.into() }
    }

    /// A connection that could not be opened.
    pub(super) fn connecting(error: &io::Error) -> Self {
        use FailureClass as Class;
        // Want of a port, a descriptor or memory is ours to answer for: the request never left
        // and the target had no part in it.
        let class = match error.raw_os_error().map(Errno::from_raw_os_error) {
            Some(Errno::ADDRNOTAVAIL | Errno::ADDRINUSE) => Class::LocalPortExhausted,
            Some(Errno::MFILE | Errno::NFILE) => Class::DescriptorLimit,
            Some(Errno::NOBUFS | Errno::NOMEM) => Class::NotSentOther,
            Some(Errno::TIMEDOUT) => Class::ConnectTimeout,
            _ if error.kind() == io::ErrorKind::ConnectionRefused => Class::ConnectRefused,
            _ => Class::ConnectOther,
        };
        Self::new(class, chain(error))
    }
}

/// An error with its causes, as one line.
pub(super) fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(e) = cause {
        text = format!("{text}: {e}");
        cause = e.source();
    }
    text
}

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

    const fn kinds(&self) -> [(&'static str, u64); 7] {
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
    fn want_of_a_port_or_descriptor_is_our_failure_and_a_refusal_is_not() {
        let class_of = |errno: Errno| {
            Failure::connecting(&io::Error::from_raw_os_error(errno.raw_os_error())).class
        };
        assert_eq!(class_of(Errno::ADDRNOTAVAIL), FailureClass::LocalPortExhausted);
        assert_eq!(class_of(Errno::MFILE), FailureClass::DescriptorLimit);
        assert_eq!(class_of(Errno::CONNREFUSED), FailureClass::ConnectRefused);
        assert_eq!(class_of(Errno::TIMEDOUT), FailureClass::ConnectTimeout);
        assert_eq!(class_of(Errno::NETUNREACH), FailureClass::ConnectOther);
    }

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
    fn names_are_those_of_the_record() {
        for class in [FailureClass::ConnectOther, FailureClass::Tls, FailureClass::ResetMidBody] {
            assert_eq!(serde_json::to_value(class).unwrap(), class.name());
        }
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
