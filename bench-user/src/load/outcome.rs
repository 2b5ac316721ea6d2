//! How a request ended, by kind.
//!
//! What the socket did (`WireState`) decides before hyper's words do: the same keep-alive race
//! comes out of hyper as three different errors, depending on which poll saw it.

use std::error::Error;
use std::io;

use rustix::io::Errno;

use super::Outcomes;
use super::wire::WireState;

/// The kinds of failure; see the fields of [`Outcomes`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FailureKind {
    Connect,
    Reset,
    EarlyClose,
    Timeout,
    Protocol,
    NotSent,
}

/// A failed request: its kind and what was said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Failure {
    pub(super) kind: FailureKind,
    pub(super) message: String,
}

impl Failure {
    pub(super) fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }

    /// A connection that could not be opened.
    pub(super) fn connecting(error: &io::Error) -> Self {
        let kind = match error.raw_os_error().map(Errno::from_raw_os_error) {
            // Ours to answer for: the request never left for want of a port, a descriptor or
            // memory. The target had no part in it.
            Some(
                Errno::ADDRNOTAVAIL | Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM,
            ) => FailureKind::NotSent,
            _ => FailureKind::Connect,
        };
        Self::new(kind, chain(error))
    }

    /// An exchange that broke on an open connection.
    pub(super) fn exchanging(error: &hyper::Error, wire: &WireState) -> Self {
        let kind = if error.is_parse() || says_invalid(error) {
            FailureKind::Protocol
        } else if wire.has_failed() {
            FailureKind::Reset
        } else if wire.is_at_eof() {
            FailureKind::EarlyClose
        } else if wire.written() == 0 {
            FailureKind::NotSent
        } else {
            FailureKind::Protocol
        };
        Self::new(kind, chain(error))
    }
}

/// A chunk size that is not a number reaches us as an `io::Error` that no socket made.
fn says_invalid(error: &hyper::Error) -> bool {
    let mut cause = error.source();
    while let Some(e) = cause {
        if let Some(io) = e.downcast_ref::<io::Error>() {
            return matches!(io.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData);
        }
        cause = e.source();
    }
    false
}

/// An error with its causes, as one line.
fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(e) = cause {
        text = format!("{text}: {e}");
        cause = e.source();
    }
    text
}

impl Outcomes {
    /// Counts one whole response.
    pub(super) fn count_status(&mut self, status: u16) {
        if (200..300).contains(&status) {
            self.ok += 1;
        } else {
            *self.other_status.entry(status).or_default() += 1;
        }
    }

    /// Counts one failure and keeps the first message of its kind.
    pub(super) fn count_failure(&mut self, failure: Failure) {
        let (count, name) = match failure.kind {
            FailureKind::Connect => (&mut self.connect, "connect"),
            FailureKind::Reset => (&mut self.reset, "reset"),
            FailureKind::EarlyClose => (&mut self.early_close, "early_close"),
            FailureKind::Timeout => (&mut self.timeout, "timeout"),
            FailureKind::Protocol => (&mut self.protocol, "protocol"),
            FailureKind::NotSent => (&mut self.not_sent, "not_sent"),
        };
        *count += 1;
        if *count == 1 {
            self.examples.entry(name.to_owned()).or_insert(failure.message);
        }
    }

    /// Adds the counts of another worker; the first one's examples stay.
    pub(super) fn merge(&mut self, other: Self) {
        self.ok += other.ok;
        for (status, count) in other.other_status {
            *self.other_status.entry(status).or_default() += count;
        }
        self.connect += other.connect;
        self.reset += other.reset;
        self.early_close += other.early_close;
        self.timeout += other.timeout;
        self.protocol += other.protocol;
        self.not_sent += other.not_sent;
        self.retried += other.retried;
        self.reconnects += other.reconnects;
        for (kind, message) in other.examples {
            self.examples.entry(kind).or_insert(message);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn want_of_a_port_or_descriptor_is_our_failure_and_a_refusal_is_not() {
        let kind_of = |errno: Errno| {
            Failure::connecting(&io::Error::from_raw_os_error(errno.raw_os_error())).kind
        };
        assert_eq!(kind_of(Errno::ADDRNOTAVAIL), FailureKind::NotSent);
        assert_eq!(kind_of(Errno::MFILE), FailureKind::NotSent);
        assert_eq!(kind_of(Errno::CONNREFUSED), FailureKind::Connect);
        assert_eq!(kind_of(Errno::TIMEDOUT), FailureKind::Connect);
    }

    #[test]
    fn only_the_first_message_of_a_kind_is_kept() {
        let mut outcomes = Outcomes::default();
        for i in 0..1000 {
            outcomes.count_failure(Failure::new(FailureKind::Reset, format!("reset {i}")));
        }
        assert_eq!((outcomes.reset, outcomes.failed()), (1000, 1000));
        assert_eq!(outcomes.examples.len(), 1);
        assert_eq!(outcomes.examples["reset"], "reset 0");
    }
}
