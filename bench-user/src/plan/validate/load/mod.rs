//! The rules of `[load]` that each key has for itself. What goes with which protocol, client and
//! address is in `protocol.rs`.

mod protocol;

use std::collections::BTreeSet;

use hyper::Method;
use hyper::header::{AUTHORIZATION, HeaderName, HeaderValue};
use url::Host;

pub(super) use protocol::{addresses, protocol};

use super::{cpu_list, ensure, refuse};
use crate::plan::{Family, LoadSpec, PlanError, TlsSpec};

/// More load threads than any machine has CPUs for.
const WORKERS_MAX: u32 = 1024;

/// Checks each key of `[load]`.
pub(super) fn keys(load: &LoadSpec) -> Result<(), PlanError> {
    ensure(load.workers.is_none_or(|n| (1..=WORKERS_MAX).contains(&n)), || {
        format!("`workers` must be from 1 to {WORKERS_MAX}: leave it out for half of the CPUs")
    })?;
    ensure(!load.timeout.0.is_zero(), || {
        "`timeout` is 0s, in which no request can be answered: raise it".into()
    })?;
    ensure(load.connect_timeout.is_none_or(|span| !span.0.is_zero()), || {
        "`connect_timeout` is 0s, in which no connection can be opened: raise it".into()
    })?;
    if let Some(list) = &load.cpus {
        cpu_list(list)?;
    }
    headers(load)?;
    request(load)?;
    sources(load)?;
    tls(&load.tls)
}

fn headers(load: &LoadSpec) -> Result<(), PlanError> {
    for (name, value) in &load.headers {
        let Ok(key) = HeaderName::from_bytes(name.as_bytes()) else {
            return refuse(format!(
                "\"{name}\" is not the name of a header: use letters, digits and `-`"
            ));
        };
        ensure(HeaderValue::from_str(value).is_ok(), || {
            format!("the header \"{name}\" has a value with control characters: take them out")
        })?;
        ensure(key != AUTHORIZATION || load.basic_auth.is_none(), || {
            format!("the header \"{name}\" is what `basic_auth` sends: keep one of the two")
        })?;
    }
    Ok(())
}

fn request(load: &LoadSpec) -> Result<(), PlanError> {
    if let Some(name) = &load.method {
        method(name)?;
    }
    ensure(load.body.is_none() || load.body_file.is_none(), || {
        "a request has one body: keep one of `body` and `body_file`".into()
    })?;
    let Some(auth) = &load.basic_auth else { return Ok(()) };
    ensure(auth.contains(':'), || {
        "`basic_auth` has no colon: write it as \"user:password\"".into()
    })?;
    ensure(!auth.contains(char::is_control), || {
        "`basic_auth` has control characters, which RFC 7617 forbids: take them out".into()
    })
}

fn method(name: &str) -> Result<(), PlanError> {
    const KNOWN: [&str; 8] = ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH"];
    let capitals = name.to_ascii_uppercase();
    ensure(capitals == name || !KNOWN.contains(&capitals.as_str()), || {
        format!("the method \"{name}\" is written in capitals: write it as \"{capitals}\"")
    })?;
    // A tunnel is no request that a server answers.
    let is_usable =
        Method::from_bytes(name.as_bytes()).is_ok_and(|method| method != Method::CONNECT);
    ensure(is_usable, || {
        format!("\"{name}\" cannot be the `method` of a request: use one such as GET or POST")
    })
}

fn sources(load: &LoadSpec) -> Result<(), PlanError> {
    if load.unix_socket.is_some() {
        let given = [("sources", !load.sources.is_empty()), ("family", load.family.is_some())];
        return match given.iter().find(|(_, set)| *set) {
            Some((key, _)) => {
                refuse(format!("a connection over `unix_socket` has no `{key}`: take it out"))
            }
            None => Ok(()),
        };
    }
    let Some(family) = load.family() else { return Ok(()) };
    let mut seen = BTreeSet::new();
    for source in &load.sources {
        ensure(seen.insert(source), || {
            format!("`sources` has {source} twice, which adds no local ports: take one out")
        })?;
        ensure(!source.is_unspecified() && !source.is_multicast(), || {
            format!("`sources` has {source}, which no connection comes from: give own addresses")
        })?;
        ensure(family == Family::of(*source), || {
            format!(
                "`sources` has {source}, and connections come from {} addresses: give addresses \
                 of one family, that of `family`",
                family.name()
            )
        })?;
    }
    Ok(())
}

fn tls(tls: &TlsSpec) -> Result<(), PlanError> {
    ensure(tls.verify || tls.ca.is_none(), || {
        "`tls` has a `ca` and verifies nothing: take `ca` out, or `verify = false`".into()
    })?;
    match &tls.server_name {
        Some(name) if Host::parse(name).is_err() => refuse(format!(
            "\"{name}\" cannot be a `server_name`: give a host name without scheme and port"
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
