//! What goes with which protocol, client, kind of loop and address.

use url::Url;

use crate::plan::validate::{ensure, refuse};
use crate::plan::{
    Arrivals, CatchUp, Client, Family, Ladder, LoadSpec, PlanError, Protocol, TargetSpec, TlsSpec,
    UrlSource, WebsocketMode,
};
use crate::tls;

/// More requests on one connection than any server reads ahead.
const PIPELINE_MAX: u32 = 1024;
/// Above what servers allow (RFC 9113 recommends no less than 100).
const STREAMS_MAX: u32 = 1000;

/// Checks `[load]` against itself and against the kind of loop.
pub(in crate::plan::validate) fn protocol(
    load: &LoadSpec,
    ladder: &Ladder,
) -> Result<(), PlanError> {
    let name = name(load.protocol);
    let is_http1 = load.protocol == Protocol::Http1;
    ensure(load.client != Some(Client::Lean) || is_http1, || {
        format!("the client `lean` speaks plain HTTP/1.1 and not {name}: take `client` out")
    })?;
    ensure((1..=PIPELINE_MAX).contains(&load.pipeline), || {
        format!("`pipeline` is {}: it must be from 1 to {PIPELINE_MAX}", load.pipeline)
    })?;
    ensure(load.pipeline == 1 || is_http1, || {
        format!("`pipeline` is for HTTP/1.1 and not for {name}: take it out")
    })?;
    ensure(load.pipeline == 1 || load.client != Some(Client::Hyper), || {
        "`pipeline` is for the client `lean`: take `client` out".into()
    })?;
    ensure((1..=STREAMS_MAX).contains(&load.streams), || {
        format!("`streams` is {}: it must be from 1 to {STREAMS_MAX}", load.streams)
    })?;
    let is_multiplexed = matches!(load.protocol, Protocol::Http2 | Protocol::Grpc);
    ensure(load.streams == 1 || is_multiplexed, || {
        format!("`streams` is for HTTP/2 and gRPC, and {name} has one: take it out")
    })?;
    ensure(load.websocket == WebsocketMode::Echo || load.protocol == Protocol::Websocket, || {
        format!("`websocket` is \"listen\" and {name} is spoken: set `protocol` to \"websocket\"")
    })?;
    messages(load)?;
    loops(load, ladder)
}

/// Where the protocol leaves no choice of method or body.
fn messages(load: &LoadSpec) -> Result<(), PlanError> {
    let has_body = load.body.is_some() || load.body_file.is_some();
    ensure(!has_body || load.protocol != Protocol::Idle, || {
        "idle connections send nothing: take `body` and `body_file` out".into()
    })?;
    let Some(method) = &load.method else { return Ok(()) };
    let only = match load.protocol {
        Protocol::Grpc => "POST",
        Protocol::Websocket => "GET",
        Protocol::Idle => return refuse("idle connections send nothing: take `method` out".into()),
        Protocol::Http1 | Protocol::Http2 | Protocol::Sse => return Ok(()),
    };
    ensure(method == only, || {
        format!("{} has no method but {only}: take `method` out", name(load.protocol))
    })
}

fn loops(load: &LoadSpec, ladder: &Ladder) -> Result<(), PlanError> {
    let stays_open = match load.protocol {
        Protocol::Sse => Some("server-sent events"),
        Protocol::Idle => Some("idle connections"),
        Protocol::Websocket if load.websocket == WebsocketMode::Listen => {
            Some("WebSocket connections that listen")
        }
        _ => None,
    };
    if ladder.rates.is_empty() {
        let given = [
            ("arrivals", load.arrivals != Arrivals::default()),
            ("catch_up", load.catch_up != CatchUp::default()),
        ];
        return match given.iter().find(|(_, set)| *set) {
            Some((key, _)) => refuse(format!(
                "`{key}` is for the open loop and the ladder has no `rates`: give them, or take \
                 `{key}` out"
            )),
            None => Ok(()),
        };
    }
    match stays_open {
        Some(what) => {
            refuse(format!("{what} have no rate of requests: take `rates` out of the ladder"))
        }
        None => Ok(()),
    }
}

/// Checks `[load]` against where the requests of each target go.
pub(in crate::plan::validate) fn addresses(
    load: &LoadSpec,
    targets: &[TargetSpec],
) -> Result<(), PlanError> {
    for target in targets {
        match &target.url {
            None => built_in(load, target)?,
            Some(base) => {
                for url in known_addresses(target, base) {
                    address(load, &target.name, &url)?;
                }
                side_requests(load, target, base)?;
            }
        }
    }
    ensure(load.unix_socket.is_none() || targets.len() == 1, || {
        "every target would be reached over the one `unix_socket`: give each a plan of its own"
            .into()
    })?;
    let is_tls = |target: &TargetSpec| target.url.as_ref().is_some_and(tls::is_at);
    ensure(load.tls == TlsSpec::default() || targets.iter().any(is_tls), || {
        "`tls` is set and no target is at an https:// or wss:// address: take it out".into()
    })
}

/// The built-in servers speak HTTP/1.1 over TCP on 127.0.0.1.
fn built_in(load: &LoadSpec, target: &TargetSpec) -> Result<(), PlanError> {
    let target = &target.name;
    ensure(matches!(load.protocol, Protocol::Http1 | Protocol::Idle), || {
        format!(
            "target \"{target}\" is built in and does not speak {}: set `protocol` to \"http1\"",
            name(load.protocol)
        )
    })?;
    ensure(load.unix_socket.is_none(), || {
        format!("target \"{target}\" is built in and has no `unix_socket`: take it out")
    })?;
    ensure(load.family() != Some(Family::Ipv6), || {
        format!("target \"{target}\" is built in and has an IPv4 address: take IPv6 out")
    })
}

/// What can be known of the addresses without reading a file or crawling.
fn known_addresses(target: &TargetSpec, base: &Url) -> Vec<Url> {
    match &target.urls {
        Some(UrlSource::List(list)) => list.iter().filter_map(|url| base.join(url).ok()).collect(),
        Some(UrlSource::Named(_)) => Vec::new(),
        None => vec![base.clone()],
    }
}

fn address(load: &LoadSpec, target: &str, url: &Url) -> Result<(), PlanError> {
    let is_websocket = matches!(url.scheme(), "ws" | "wss");
    ensure(!is_websocket || load.protocol == Protocol::Websocket, || {
        format!(
            "target \"{target}\" is at {url}, and {} is spoken: set `protocol` to \"websocket\"",
            name(load.protocol)
        )
    })?;
    ensure(!tls::is_at(url) || load.client != Some(Client::Lean), || {
        format!(
            "target \"{target}\" is at {url}, and the client `lean` speaks plain HTTP/1.1: take \
             `client` out"
        )
    })?;
    ensure(!tls::is_at(url) || load.pipeline == 1, || {
        format!(
            "target \"{target}\" is at {url}, and `pipeline` is for plain HTTP/1.1: take it out"
        )
    })?;
    // What a gRPC server knows is the method in the path.
    let is_method = url.path().split('/').filter(|part| !part.is_empty()).count() == 2;
    ensure(load.protocol != Protocol::Grpc || is_method, || {
        format!(
            "target \"{target}\" is at {url}, which names no gRPC method: give it as \
             /package.Service/Method"
        )
    })?;
    of_family(load, target, url)
}

/// An address in numbers has one family.
fn of_family(load: &LoadSpec, target: &str, url: &Url) -> Result<(), PlanError> {
    let given = match url.host() {
        _ if load.unix_socket.is_some() => None,
        Some(url::Host::Ipv4(_)) => Some(Family::Ipv4),
        Some(url::Host::Ipv6(_)) => Some(Family::Ipv6),
        _ => None,
    };
    let Some((given, wanted)) = given.zip(load.family()) else { return Ok(()) };
    ensure(given == wanted, || {
        format!(
            "target \"{target}\" is at {url}, which is no {} address: change it, `family` or \
             `sources`",
            wanted.name()
        )
    })
}

/// Questions besides the load (is it ready, which pages has it) are GETs over TCP, with TLS where
/// the address has it.
fn side_requests(load: &LoadSpec, target: &TargetSpec, base: &Url) -> Result<(), PlanError> {
    let is_http = |url: &Url| matches!(url.scheme(), "http" | "https");
    let is_tcp = load.unix_socket.is_none();
    let crawls = matches!(&target.urls, Some(UrlSource::Named(word)) if word == "crawl");
    ensure(!crawls || (is_tcp && is_http(base)), || {
        format!(
            "target \"{}\" cannot be crawled but over TCP at an http:// or https:// address: list \
             its `urls`",
            target.name
        )
    })?;
    let is_whole = |ready: &String| Url::parse(ready).is_ok_and(|url| is_http(&url));
    ensure(is_tcp || target.ready.as_ref().is_none_or(is_whole), || {
        format!(
            "target \"{}\" is asked whether it is `ready` over TCP and not over the unix socket: \
             give that address in full, or leave it out to wait until it takes connections",
            target.name
        )
    })
}

/// As people write it.
const fn name(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Http1 => "HTTP/1.1",
        Protocol::Http2 => "HTTP/2",
        Protocol::Grpc => "gRPC",
        Protocol::Sse => "server-sent events",
        Protocol::Websocket => "WebSocket",
        Protocol::Idle => "nothing (idle connections)",
    }
}
