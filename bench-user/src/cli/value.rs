//! Values of options that are neither text nor numbers.

use std::fmt::Display;
use std::str::FromStr;

use clap::ValueEnum;

/// A limit, or the word `off`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrOff<T> {
    /// The limit.
    At(T),
    /// `off`.
    Off,
}

impl<T: FromStr<Err: Display>> FromStr for OrOff<T> {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "off" => Ok(Self::Off),
            _ => text.parse().map(Self::At).map_err(|e: T::Err| format!("{e}, and not `off`")),
        }
    }
}

/// How a record is rendered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Format {
    /// Tables for a terminal
    #[default]
    Text,
    /// Tables for a document
    Markdown,
    /// For programs
    Json,
}

/// How a stored run is rendered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum ReportFormat {
    /// Tables for a terminal
    #[default]
    Text,
    /// Tables for a document
    Markdown,
    /// The record itself
    Json,
    /// One row a stage, for spreadsheets and data frames
    Csv,
    /// The histograms as an HdrHistogram interval log, for its log tools
    Hlog,
}

/// The built-in servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum BuiltinName {
    /// One read and one write a request
    Lean,
    /// One read a request and one write for every piece of the response
    Chatty,
}

/// How the repetitions of several targets alternate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OrderName {
    /// A B B A ...: a drift of the machine does not look like a difference
    Interleaved,
    /// Every repetition of one target, then those of the next
    Serial,
}

/// What is spoken on the connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ProtocolName {
    /// HTTP/1.1
    Http1,
    /// HTTP/2: by ALPN over TLS, with prior knowledge otherwise
    Http2,
    /// Unary gRPC calls
    Grpc,
    /// Server-sent events, a stream held open on every connection
    Sse,
    /// WebSocket
    Websocket,
    /// Connections that are opened, held and not used
    Idle,
}

/// Which client makes the requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ClientName {
    /// The least client CPU per request, for plain HTTP/1.1
    Lean,
    /// Every protocol
    Hyper,
}

/// How the requests of an open loop are spread over time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ArrivalsName {
    /// One every 1/rate
    Constant,
    /// Random gaps of mean 1/rate, as independent users make
    Poisson,
}

/// What happens to requests of an open loop that are late.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CatchUpName {
    /// Sent as soon as a connection is free
    Queue,
    /// Never sent, and counted as skipped
    Skip,
    /// Sent at no more than twice the rate
    Cap,
}

/// What WebSocket connections do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum WebsocketName {
    /// A message there and one back, as a request and its response
    Echo,
    /// Counts what comes
    Listen,
}

/// `KEY=VALUE`.
pub(super) fn variable(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.into(), value.into())),
        _ => Err("write it as KEY=VALUE".into()),
    }
}

/// `Name: value`.
pub(super) fn header(text: &str) -> Result<(String, String), String> {
    match text.split_once(':') {
        Some((name, value)) if !name.trim().is_empty() => {
            Ok((name.trim().into(), value.trim().into()))
        }
        _ => Err("write it as \"Name: value\"".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_can_be_off() {
        assert_eq!("off".parse(), Ok(OrOff::<u64>::Off));
        assert_eq!("7".parse(), Ok(OrOff::At(7_u64)));
        assert!("of".parse::<OrOff<u64>>().unwrap_err().ends_with("and not `off`"));
    }

    #[test]
    fn pairs_are_split_at_their_first_sign() {
        assert_eq!(variable("A=b=c"), Ok(("A".into(), "b=c".into())));
        assert_eq!(header("Host: a:1"), Ok(("Host".into(), "a:1".into())));
        assert!(variable("=x").is_err() && variable("A").is_err() && header(": x").is_err());
    }
}
