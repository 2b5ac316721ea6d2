//! From the plan's words to what the generator is told: once a climb, and once a stage.

use std::sync::Arc;

use anyhow::{Context as _, Result};
use bytes::Bytes;
use url::Url;

use super::Position;
use crate::host::topology::Placement;
use crate::load::{DialSpec, LoadSetup, OpenLoop, RequestSpec, StageLoad, Window};
use crate::plan::{LoadSpec, Plan, Protocol};
use crate::target::Contact;
use crate::tls;

/// What stays the same over a climb.
pub(super) fn of_climb(plan: &Plan, urls: Arc<[Url]>, placement: &Placement) -> Result<LoadSetup> {
    let spec = &plan.load;
    let is_tls = urls.first().is_some_and(tls::is_at);
    Ok(LoadSetup {
        protocol: spec.protocol,
        client: spec.client_for(is_tls),
        pipeline: spec.pipeline,
        streams: spec.streams,
        websocket: spec.websocket,
        requests: RequestSpec {
            urls,
            method: spec.method.clone(),
            headers: spec.headers.clone(),
            body: body(spec)?,
            basic_auth: spec.basic_auth.clone(),
            seed: spec.seed,
        },
        dial: dial(spec),
        workers: placement.workers,
        cpus: placement.load_cpus.clone(),
        timeout: spec.timeout.0,
        interval_ns: interval_ns(plan),
    })
}

/// How its connections are opened.
pub(super) fn dial(spec: &LoadSpec) -> DialSpec {
    DialSpec {
        unix_socket: spec.unix_socket.clone(),
        family: spec.family,
        sources: spec.sources.clone(),
        connect_timeout: spec.connect_timeout.map(|span| span.0),
        tls: spec.tls.clone(),
    }
}

/// How a target that is loaded so is asked whether it is there. A stream of events answers a GET
/// too, and never ends.
pub(super) fn contact(spec: &LoadSpec) -> Contact<'_> {
    match (&spec.unix_socket, spec.protocol) {
        (Some(path), _) => Contact::Unix(path),
        (None, Protocol::Http1 | Protocol::Http2) => Contact::Http,
        (None, _) => Contact::Connection,
    }
}

/// One stage of it.
pub(super) fn of_stage(spec: &LoadSpec, position: Position, window: Window) -> StageLoad {
    StageLoad {
        connections: position.connections,
        open_loop: position.offered_rps.map(|rps| OpenLoop {
            rps,
            arrivals: spec.arrivals,
            catch_up: spec.catch_up,
            seed: spec.seed,
        }),
        window,
        cooldown: spec.cooldown(),
    }
}

/// Between two looks inside a stage, ns.
pub(super) fn interval_ns(plan: &Plan) -> u64 {
    plan.observe.interval.as_ns().max(10_000_000)
}

fn body(spec: &LoadSpec) -> Result<Option<Bytes>> {
    match (&spec.body, &spec.body_file) {
        (Some(text), _) => Ok(Some(Bytes::copy_from_slice(text.as_bytes()))),
        (None, Some(file)) => {
            let bytes = std::fs::read(file).with_context(|| {
                format!("cannot read the body file {}: correct `body_file`", file.display())
            })?;
            Ok(Some(bytes.into()))
        }
        (None, None) => Ok(None),
    }
}
