//! Arguments about what is requested and over which connections; each overrides the key of that
//! name in a plan's `[load]`.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::Args;

use super::value::{header, no_duration};
use super::{ArrivalsName, CatchUpName, ClientName, ProtocolName, WebsocketName};
use crate::units::Span;

/// What is requested.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Requests")]
pub struct RequestArgs {
    /// What is spoken [default: http1]
    #[arg(long, value_enum)]
    pub protocol: Option<ProtocolName>,
    /// Who speaks it [default: lean for plain HTTP/1.1, hyper for the rest]
    #[arg(long, value_enum)]
    pub client: Option<ClientName>,
    /// HTTP/1.1 requests on a connection at a time [default: 1, no pipelining]
    #[arg(long, value_name = "N")]
    pub pipeline: Option<u32>,
    /// HTTP/2 and gRPC: requests on a connection at a time [default: 1]
    #[arg(long, value_name = "N")]
    pub streams: Option<u32>,
    /// What WebSocket connections do: a message there and back, or listening [default: echo]
    #[arg(long, value_enum)]
    pub websocket: Option<WebsocketName>,
    /// Request method [default: GET, or POST with a body]
    #[arg(long, short = 'X')]
    pub method: Option<String>,
    /// Request body, gRPC message or WebSocket message
    #[arg(long, value_name = "TEXT", conflicts_with = "body_file")]
    pub body: Option<String>,
    /// The same as --body, as in curl; a duration is refused, as wrk's -d would be meant
    #[arg(short = 'd', value_name = "TEXT", conflicts_with_all = ["body", "body_file"],
          value_parser = no_duration)]
    pub data: Option<String>,
    /// File with the body, for one that is no text
    #[arg(long, value_name = "FILE")]
    pub body_file: Option<PathBuf>,
    /// Extra request header; may be given again
    #[arg(long, short = 'H', value_name = "NAME: VALUE", value_parser = header)]
    pub header: Vec<(String, String)>,
    /// For an `Authorization: Basic` header; only the user is kept in the record
    #[arg(long, value_name = "USER:PASSWORD")]
    pub basic_auth: Option<String>,
    /// Shuffles a list of addresses and draws Poisson arrivals [default: 0, as given]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// A request without its last byte after this long is a timeout [default: 10s]
    #[arg(long, value_name = "TIME")]
    pub timeout: Option<Span>,
    /// How the requests of --rate are spread over time [default: constant]
    #[arg(long, value_enum)]
    pub arrivals: Option<ArrivalsName>,
    /// What happens to requests of --rate that are late [default: queue]
    #[arg(long, value_enum)]
    pub catch_up: Option<CatchUpName>,
}

/// Over which connections.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Connections")]
pub struct ConnectionArgs {
    /// Only IPv4 addresses [default: the first address that takes a connection]
    #[arg(short = '4', long, conflicts_with = "ipv6")]
    pub ipv4: bool,
    /// Only IPv6 addresses
    #[arg(short = '6', long)]
    pub ipv6: bool,
    /// Source addresses in turn, each with local ports of its own, such as 127.0.0.2,127.0.0.3
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub source: Vec<IpAddr>,
    /// Connect to this unix socket instead of the address's host and port
    #[arg(long, value_name = "PATH")]
    pub unix_socket: Option<PathBuf>,
    /// A connection that is not open after this long failed [default: --timeout]
    #[arg(long, value_name = "TIME")]
    pub connect_timeout: Option<Span>,
    /// PEM file of certificates that are trusted instead of the system's
    #[arg(long, value_name = "FILE")]
    pub ca: Option<PathBuf>,
    /// Name that is asked for and checked in TLS [default: the address's host]
    #[arg(long, value_name = "NAME")]
    pub server_name: Option<String>,
    /// Take any certificate
    #[arg(long, visible_alias = "insecure")]
    pub no_verify: bool,
}
