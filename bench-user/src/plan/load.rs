//! How requests are made: protocol, client, request, schedule, connection.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::HeaderMap;
use hyper::header::AUTHORIZATION;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

use crate::fetch::{Fetcher, Spoken};
use crate::tls::TlsSpec;
use crate::units::Span;

/// How requests are made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LoadSpec {
    /// Worker threads, one runtime each; default: half of the CPUs, at least one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workers: Option<u32>,
    /// CPUs the workers are pinned to, as `"0-3,6"`; default: the last half of the CPUs where
    /// there are at least four, else not pinned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpus: Option<String>,
    /// A request without its last byte after this long is a timeout.
    pub timeout: Span,
    /// Extra request headers.
    pub headers: BTreeMap<String, String>,
    /// What is spoken.
    pub protocol: Protocol,
    /// Who speaks it; default: `lean` where it can, else `hyper`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<Client>,
    /// HTTP/1.1 requests on a connection at a time; 1 is no pipelining.
    pub pipeline: u32,
    /// HTTP/2 and gRPC: requests on a connection at a time.
    pub streams: u32,
    /// Request method; default: GET, or POST with a body.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// Request body, gRPC message (protobuf bytes as text) or WebSocket message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// File with the body, for one that is no text; relative to the plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body_file: Option<PathBuf>,
    /// `user:password` for an `Authorization: Basic` header; only the user is kept in the record.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "hide_password")]
    #[schemars(with = "Option<String>")]
    pub basic_auth: Option<String>,
    /// Shuffles the order of a list of addresses (0: as given) and draws the Poisson arrivals.
    pub seed: u64,
    /// Only addresses of this family; default: the first that takes a connection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub family: Option<Family>,
    /// Source addresses of the connections in turn; each has local ports of its own.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<IpAddr>,
    /// Connect to this unix socket instead of the address's host and port.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unix_socket: Option<PathBuf>,
    /// A connection that is not open after this long failed; default: `timeout`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connect_timeout: Option<Span>,
    /// For https:// and wss:// addresses.
    pub tls: TlsSpec,
    /// How the requests of an open loop are spread over time.
    pub arrivals: Arrivals,
    /// What happens to requests that are late, in the open loop.
    pub catch_up: CatchUp,
    /// What WebSocket connections do.
    pub websocket: WebsocketMode,
}

/// What is spoken on the connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// HTTP/1.1.
    #[default]
    Http1,
    /// HTTP/2: by ALPN over TLS, with prior knowledge otherwise.
    Http2,
    /// Unary gRPC calls over HTTP/2.
    Grpc,
    /// Server-sent events over HTTP/1.1: every connection holds one stream open.
    Sse,
    /// WebSocket.
    Websocket,
    /// Connections that are opened, held and not used.
    Idle,
}

/// Which client makes the requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Client {
    /// Our own loop over epoll, for plain HTTP/1.1: the least client CPU per request.
    Lean,
    /// hyper over tokio: every protocol, and the other's witness.
    Hyper,
}

/// Address family.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Family {
    /// IPv4 only.
    Ipv4,
    /// IPv6 only.
    Ipv6,
}

impl Family {
    /// The family of an address.
    #[must_use]
    pub const fn of(address: IpAddr) -> Self {
        if address.is_ipv4() { Self::Ipv4 } else { Self::Ipv6 }
    }

    /// As people write it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ipv4 => "IPv4",
            Self::Ipv6 => "IPv6",
        }
    }
}

/// How the requests of an open loop are spread over time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Arrivals {
    /// One every 1/rate.
    #[default]
    Constant,
    /// Exponential gaps of mean 1/rate, as independent users make.
    Poisson,
}

/// What happens to requests of an open loop that are late.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CatchUp {
    /// Sent as soon as a connection is free, however many are due.
    #[default]
    Queue,
    /// One that is due while no connection is free is never sent; counted as skipped.
    Skip,
    /// As `queue`, at no more than twice the rate.
    Cap,
}

/// What WebSocket connections do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum WebsocketMode {
    /// Sends the body as a message and waits for one back, as a request and its response.
    #[default]
    Echo,
    /// Sends the body once, if there is one, and counts what comes (fan-out).
    Listen,
}

impl Default for LoadSpec {
    fn default() -> Self {
        Self {
            workers: None,
            cpus: None,
            timeout: Span::from_secs(10),
            headers: BTreeMap::new(),
            protocol: Protocol::default(),
            client: None,
            pipeline: 1,
            streams: 1,
            method: None,
            body: None,
            body_file: None,
            basic_auth: None,
            seed: 0,
            family: None,
            sources: Vec::new(),
            unix_socket: None,
            connect_timeout: None,
            tls: TlsSpec::default(),
            arrivals: Arrivals::default(),
            catch_up: CatchUp::default(),
            websocket: WebsocketMode::default(),
        }
    }
}

impl LoadSpec {
    /// The client that makes the requests: the one asked for, or the leanest that can.
    #[must_use]
    pub fn client_for(&self, is_tls: bool) -> Client {
        let lean_can = self.protocol == Protocol::Http1 && !is_tls;
        self.client.unwrap_or(if lean_can { Client::Lean } else { Client::Hyper })
    }

    /// How long after a window's end its requests are waited for: long enough for every one that is
    /// not a timeout by itself.
    #[must_use]
    pub fn cooldown(&self) -> Duration {
        self.timeout.0.min(Duration::from_secs(5))
    }

    /// The family that connections are of: the one asked for, or that of their source addresses.
    #[must_use]
    pub fn family(&self) -> Option<Family> {
        self.family.or(self.sources.first().copied().map(Family::of))
    }

    /// Asks servers, outside of stages, in the way in which they are loaded.
    #[must_use]
    pub fn fetcher(&self) -> Fetcher {
        let spoken = match self.protocol {
            Protocol::Http1 | Protocol::Sse | Protocol::Websocket | Protocol::Idle => Spoken::Http1,
            Protocol::Http2 | Protocol::Grpc => Spoken::Http2,
        };
        Fetcher::new(spoken, self.tls.clone()).with_headers(self.known_headers())
    }

    /// The headers of the requests, with `basic_auth`; those that are no headers are for
    /// validation to refuse.
    fn known_headers(&self) -> HeaderMap {
        let auth = self.basic_auth.as_ref().map(|auth| {
            (AUTHORIZATION.as_str().to_owned(), format!("Basic {}", STANDARD.encode(auth)))
        });
        let all = self.headers.clone().into_iter().chain(auth);
        all.filter_map(|(name, value)| Some((name.parse().ok()?, value.parse().ok()?))).collect()
    }

    /// As it may be kept: without the password.
    #[must_use]
    pub fn without_password(&self) -> Self {
        let basic_auth = self.basic_auth.as_deref().map(without_password);
        Self { basic_auth, ..self.clone() }
    }
}

/// The password's place in a record.
const HIDDEN: &str = "***";

/// A record is passed on and a password is not: what stays tells the user, and can be read again.
fn without_password(auth: &str) -> String {
    let user = auth.split_once(':').map_or(auth, |(user, _password)| user);
    format!("{user}:{HIDDEN}")
}

fn hide_password<S: Serializer>(auth: &Option<String>, to: S) -> Result<S::Ok, S::Error> {
    auth.as_deref().map(without_password).serialize(to)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_not_kept_and_what_is_kept_can_be_read_again() {
        let auth = |text: &str| LoadSpec { basic_auth: Some(text.into()), ..LoadSpec::default() };
        let json = serde_json::to_string(&auth("me:p:w")).unwrap();
        assert!(json.contains("\"basic_auth\":\"me:***\"") && !json.contains("p:w"), "{json}");
        assert_eq!(serde_json::from_str::<LoadSpec>(&json).unwrap(), auth("me:***"));
        // What is kept comes back as it was kept.
        assert_eq!(auth("me:p:w").without_password(), auth("me:***"));
        let none = serde_json::to_value(LoadSpec::default()).unwrap();
        assert_eq!(none.get("basic_auth"), None);
    }
}
