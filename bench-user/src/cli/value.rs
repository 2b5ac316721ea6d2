//! Values of options that are neither text nor numbers.

use std::fmt::Display;
use std::str::FromStr;

use clap::ValueEnum;
use url::Url;

use crate::units::Span;

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

/// What a comparison fails on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FailOn {
    /// A figure that is worse
    Worse,
}

/// How the runs of a folder are rendered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum HistoryFormat {
    /// Tables for a terminal
    #[default]
    Text,
    /// Tables for a document
    Markdown,
    /// For programs
    Json,
    /// One row a run, for spreadsheets and data frames
    Csv,
}

/// How answers to claims are rendered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum CheckFormat {
    /// Tables for a terminal
    #[default]
    Text,
    /// Tables for a document
    Markdown,
    /// For programs
    Json,
    /// JUnit XML, a test case for each claim, for CI systems
    Junit,
}

/// How a stored run is rendered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum ReportFormat {
    /// Tables for a terminal
    #[default]
    Text,
    /// Tables for a document
    Markdown,
    /// One page with pictures for a browser, in a single file that needs no network
    Html,
    /// The record itself
    Json,
    /// One row a stage, for spreadsheets and data frames
    Csv,
    /// The histograms as an HdrHistogram interval log, for its log tools
    Hlog,
    /// The stacks as folded text, for tools that draw flame graphs
    Folded,
    /// The stacks as a flame graph, an SVG for a browser
    Flamegraph,
    /// The last stage of each target as series, in the text format of Prometheus
    Prometheus,
    /// The claims as JUnit XML, a test case for each, for CI systems
    Junit,
    /// The summary of a step of GitHub Actions, in Markdown
    Github,
}

/// The built-in servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum BuiltinName {
    /// One read and one write a request
    Lean,
    /// One read a request and one write for every piece of the response
    Chatty,
}

/// What the kernel can be asked for besides its counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ExplainName {
    /// Every kind
    All,
    /// Syscalls: latency, errors, events and bytes per call
    Syscalls,
    /// Submissions to io_uring by opcode
    IoUring,
    /// What threads wait in while they are off the CPU
    OffCpu,
    /// Who holds the CPU while threads wait for it
    RunQueue,
    /// Time in softirqs
    Softirq,
    /// Stacks on and off the CPU, for flame graphs
    Stacks,
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

/// An address with its scheme, which is what people leave out.
pub(super) fn address(text: &str) -> Result<Url, String> {
    if !text.contains("://") {
        return Err(format!("add http:// or https:// in front, such as http://{text}"));
    }
    text.parse().map_err(|error| format!("{error}; write it as http://HOST:PORT/PATH"))
}

/// A body that is not what other load generators mean by `-d`.
pub(super) fn no_duration(text: &str) -> Result<String, String> {
    match text.trim().parse::<Span>() {
        Ok(_) => Err(format!(
            "`-d` is the body; for a duration use --duration {text}, for this body --body {text}"
        )),
        Err(_) => Ok(text.to_owned()),
    }
}

/// A number of connections; how large it may be is for validation to say.
pub(super) fn connections(text: &str) -> Result<u32, String> {
    text.trim().parse().map_err(|_unread| "write whole numbers in digits, such as 10,20,50".into())
}

/// A rate; how large it may be is for validation to say.
pub(super) fn rate(text: &str) -> Result<f64, String> {
    text.trim()
        .parse()
        .map_err(|_unread| "write requests per second in digits, such as 1000 or 1000,2000".into())
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
    fn an_address_without_a_scheme_is_told_to_get_one() {
        assert_eq!(address("http://h:1/").unwrap().as_str(), "http://h:1/");
        for text in ["127.0.0.1:9001", "localhost:9001", "www.example.org/a"] {
            assert!(address(text).unwrap_err().contains(&format!("http://{text}")));
        }
        assert!(address("http://h:x/").unwrap_err().contains("HOST:PORT"));
    }

    #[test]
    fn a_body_that_is_a_duration_is_asked_about() {
        for text in ["3s", "30s", "1m 30s", "250ms"] {
            assert!(no_duration(text).unwrap_err().contains(&format!("--duration {text}")));
        }
        for text in ["", "3", "s", "a=3s", "{}"] {
            assert_eq!(no_duration(text).as_deref(), Ok(text));
        }
    }

    #[test]
    fn numbers_that_are_none_are_refused_in_plain_words() {
        assert_eq!((rate("0.5"), connections(" 7")), (Ok(0.5), Ok(7)));
        assert!(rate("10k").unwrap_err().contains("in digits"));
        for text in ["abc", "1.5", "-1", ""] {
            assert!(connections(text).unwrap_err().contains("whole numbers"), "{text}");
        }
    }

    #[test]
    fn pairs_are_split_at_their_first_sign() {
        assert_eq!(variable("A=b=c"), Ok(("A".into(), "b=c".into())));
        assert_eq!(header("Host: a:1"), Ok(("Host".into(), "a:1".into())));
        assert!(variable("=x").is_err() && variable("A").is_err() && header(": x").is_err());
    }
}
