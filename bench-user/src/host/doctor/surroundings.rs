//! Tries of what is around a run: container engines, descriptors, local ports.

use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use rustix::process::{Resource, getrlimit};

use super::Tried;
use crate::host::topology;

/// Connections of the largest stage of the default ladder.
const MOST_CONNECTIONS: u64 = 1600;

/// Descriptors for all but connections and counters: files, sockets, maps and links.
const OTHER_DESCRIPTORS: u64 = 256;

/// perf counters on each CPU.
const COUNTERS: u64 = 10;

pub(super) fn docker() -> Tried {
    let home = std::env::var_os("DOCKER_HOST")
        .and_then(|host| host.to_str()?.strip_prefix("unix://").map(PathBuf::from));
    let sockets = home.into_iter().chain([PathBuf::from("/var/run/docker.sock")]);
    engine(sockets, "start dockerd, to measure a Docker container by name")
}

pub(super) fn podman() -> Tried {
    let own = std::env::var_os("XDG_RUNTIME_DIR")
        .map(|dir| PathBuf::from(dir).join("podman/podman.sock"));
    let sockets = [PathBuf::from("/run/podman/podman.sock")].into_iter().chain(own);
    engine(sockets, "start `podman system service`, to measure a Podman container by name")
}

fn engine(sockets: impl Iterator<Item = PathBuf>, remedy: &str) -> Tried {
    let mut tried = Vec::new();
    for socket in sockets {
        match UnixStream::connect(&socket) {
            Ok(_) => return Ok(format!("listens at {}", socket.display())),
            Err(e) => tried.push(format!("{}: {e}", socket.display())),
        }
    }
    Err((format!("no engine listens ({})", tried.join(", ")), remedy.into()))
}

pub(super) fn descriptors() -> Tried {
    let cpus = topology::online_cpus().map_or(1, |cpus| cpus.len() as u64);
    let need = MOST_CONNECTIONS + COUNTERS * cpus + OTHER_DESCRIPTORS;
    match getrlimit(Resource::Nofile).current {
        Some(limit) if limit < need => Err((
            format!("{limit} may be open, and the default ladder needs {need}"),
            format!("run `ulimit -n {need}` first"),
        )),
        Some(limit) => Ok(format!("{limit} may be open")),
        None => Ok("no limit is set".into()),
    }
}

/// Each connection to one address needs a port of its own, and keeps it for a minute after.
pub(super) fn ports() -> Tried {
    let path = "/proc/sys/net/ipv4/ip_local_port_range";
    let remedy = format!("widen {path}, for example to `1024 65535`");
    let text = std::fs::read_to_string(path)
        .map_err(|e| (format!("{path} cannot be read: {e}"), remedy.clone()))?;
    let mut ends = text.split_whitespace().map(str::parse::<u64>);
    let (Some(Ok(first)), Some(Ok(last))) = (ends.next(), ends.next()) else {
        return Err((format!("{path} holds no range"), remedy));
    };
    let ports = (last + 1).saturating_sub(first);
    // Two stages within that minute.
    if ports < 2 * MOST_CONNECTIONS {
        return Err((format!("only {ports} for outgoing connections"), remedy));
    }
    Ok(format!("{ports} for outgoing connections"))
}
