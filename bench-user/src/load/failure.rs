//! Why a request has no whole response, by class.

use std::error::Error;
use std::io;
use std::time::Duration;

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
pub(super) enum Kind {
    Connect,
    Tls,
    NotSent,
    Reset,
    EarlyClose,
    Timeout,
    Protocol,
}

impl FailureClass {
    pub(super) const fn kind(self) -> Kind {
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

/// Status of [`Failure::switched`].
pub(super) const SWITCHING_PROTOCOLS: u16 = 101;

/// A failed request: its class and what was said. What both clients meet is worded here, so that
/// their reports differ by nothing but their counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Failure {
    pub(super) class: FailureClass,
    pub(super) message: String,
}

impl Failure {
    pub(super) fn new(class: FailureClass, message: impl Into<String>) -> Self {
        Self { class, message: message.into() }
    }

    /// A request whose last byte did not come within the time allowed.
    pub(super) fn timeout(limit: Duration) -> Self {
        Self::new(FailureClass::Timeout, format!("no whole response within {limit:?}"))
    }

    /// A connection that was not open within the time allowed.
    pub(super) fn connect_timeout(limit: Duration) -> Self {
        Self::new(FailureClass::ConnectTimeout, format!("no connection within {limit:?}"))
    }

    /// The one 1xx that ends what HTTP/1.1 says on a connection; no request of ours asks for it.
    pub(super) fn switched() -> Self {
        let message = "101 Switching Protocols, which nobody asked for";
        Self::new(FailureClass::Protocol, message)
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
    fn names_are_those_of_the_record() {
        for class in [FailureClass::ConnectOther, FailureClass::Tls, FailureClass::ResetMidBody] {
            assert_eq!(serde_json::to_value(class).unwrap(), class.name());
        }
    }
}
