//! Flags that override keys of `[ladder]` and `[load]`.

use super::set;
use crate::cli::{
    ArrivalsName, CatchUpName, ClientName, ConnectionArgs, LoadArgs, ProtocolName, RequestArgs,
    WebsocketName,
};
use crate::plan::{
    Arrivals, CatchUp, Client, Family, Ladder, LoadSpec, PlanError, Protocol, WebsocketMode,
};

pub(super) fn override_ladder(ladder: &mut Ladder, args: &LoadArgs) -> Result<(), PlanError> {
    if !args.connections.is_empty() {
        ladder.connections.clone_from(&args.connections);
    }
    // A way of the command line to say the load takes the place of the plan's way; two of them are
    // left side by side, for validation to refuse.
    if !args.rate.is_empty() {
        ladder.rates.clone_from(&args.rate);
        ladder.find_rate = None;
    }
    if let Some(objective) = &args.find_rate {
        ladder.find_rate = Some(objective.parse().map_err(PlanError::Invalid)?);
        ladder.rates.clone_from(&args.rate);
        if args.connections.is_empty() {
            ladder.connections.truncate(1);
        }
    }
    set(&mut ladder.duration, args.duration);
    set(&mut ladder.warmup, args.warmup);
    set(&mut ladder.pause, args.pause);
    Ok(())
}

pub(super) fn override_load(load: &mut LoadSpec, args: &LoadArgs) {
    set(&mut load.workers, args.workers.map(Some));
    set(&mut load.cpus, args.load_cpus.clone().map(Some));
    request(load, &args.request);
    connection(load, &args.connection);
}

fn request(load: &mut LoadSpec, args: &RequestArgs) {
    set(&mut load.protocol, args.protocol.map(protocol));
    set(&mut load.client, args.client.map(|name| Some(client(name))));
    set(&mut load.pipeline, args.pipeline);
    set(&mut load.streams, args.streams);
    set(&mut load.websocket, args.websocket.map(websocket));
    set(&mut load.method, args.method.clone().map(Some));
    // The one body of the command line takes the place of the plan's, whichever of the two it is.
    let body = args.body.as_ref().or(args.data.as_ref());
    if body.is_some() || args.body_file.is_some() {
        load.body = body.cloned();
        load.body_file.clone_from(&args.body_file);
    }
    load.headers.extend(args.header.iter().cloned());
    set(&mut load.basic_auth, args.basic_auth.clone().map(Some));
    set(&mut load.seed, args.seed);
    set(&mut load.timeout, args.timeout);
    set(&mut load.arrivals, args.arrivals.map(arrivals));
    set(&mut load.catch_up, args.catch_up.map(catch_up));
}

fn connection(load: &mut LoadSpec, args: &ConnectionArgs) {
    let family = match (args.ipv4, args.ipv6) {
        (true, _) => Some(Family::Ipv4),
        (_, true) => Some(Family::Ipv6),
        _ => None,
    };
    set(&mut load.family, family.map(Some));
    if !args.source.is_empty() {
        load.sources.clone_from(&args.source);
    }
    set(&mut load.unix_socket, args.unix_socket.clone().map(Some));
    set(&mut load.connect_timeout, args.connect_timeout.map(Some));
    set(&mut load.tls.ca, args.ca.clone().map(Some));
    set(&mut load.tls.server_name, args.server_name.clone().map(Some));
    load.tls.verify &= !args.no_verify;
}

const fn protocol(name: ProtocolName) -> Protocol {
    match name {
        ProtocolName::Http1 => Protocol::Http1,
        ProtocolName::Http2 => Protocol::Http2,
        ProtocolName::Grpc => Protocol::Grpc,
        ProtocolName::Sse => Protocol::Sse,
        ProtocolName::Websocket => Protocol::Websocket,
        ProtocolName::Idle => Protocol::Idle,
    }
}

const fn client(name: ClientName) -> Client {
    match name {
        ClientName::Lean => Client::Lean,
        ClientName::Hyper => Client::Hyper,
    }
}

const fn websocket(name: WebsocketName) -> WebsocketMode {
    match name {
        WebsocketName::Echo => WebsocketMode::Echo,
        WebsocketName::Listen => WebsocketMode::Listen,
    }
}

const fn arrivals(name: ArrivalsName) -> Arrivals {
    match name {
        ArrivalsName::Constant => Arrivals::Constant,
        ArrivalsName::Poisson => Arrivals::Poisson,
    }
}

const fn catch_up(name: CatchUpName) -> CatchUp {
    match name {
        CatchUpName::Queue => CatchUp::Queue,
        CatchUpName::Skip => CatchUp::Skip,
        CatchUpName::Cap => CatchUp::Cap,
    }
}
