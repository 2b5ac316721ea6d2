//! Tries of what is around a run: container engines, descriptors, local ports.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use rustix::process::{Resource, getrlimit};

use super::Tried;
use crate::host::engines::{self, Place};
use crate::host::{sockets, topology};

/// Connections of the largest stage of the default ladder.
const MOST_CONNECTIONS: u64 = 1600;

/// Descriptors for all but connections and counters: files, sockets, maps and links.
const OTHER_DESCRIPTORS: u64 = 256;

/// perf counters on each CPU.
const COUNTERS: u64 = 10;

pub(super) fn docker() -> Tried {
    let places = engines::docker(&engines::environment);
    engine(&places, "start dockerd, to measure Docker containers and images")
}

pub(super) fn podman() -> Tried {
    let places = engines::podman(&engines::environment);
    engine(&places, "start `podman system service`, to measure Podman containers and images")
}

fn engine(places: &[Place], remedy: &str) -> Tried {
    let mut tried = Vec::new();
    for place in places {
        match place {
            Place::Socket(path) => match UnixStream::connect(path) {
                Ok(stream) => return Ok(format!("{} at {place}", ping(stream))),
                Err(e) => tried.push(format!("{place}: {e}")),
            },
            Place::Elsewhere { variable, .. } => {
                let remedy = format!("unset {variable}, or {remedy}");
                return Err((format!("{place} is not a unix socket of this machine"), remedy));
            }
        }
    }
    Err((format!("no engine listens ({})", tried.join(", ")), remedy.into()))
}

/// Whether what listens is an engine: both answer this without a version.
fn ping(mut stream: UnixStream) -> &'static str {
    let patience = Some(Duration::from_secs(2));
    let mut answer = [0; 12];
    let answered = stream
        .set_read_timeout(patience)
        .and_then(|()| stream.write_all(b"GET /_ping HTTP/1.0\r\n\r\n"))
        .and_then(|()| stream.read_exact(&mut answer));
    match answered {
        Ok(()) if answer.ends_with(b" 200") => "answers",
        _ => "listens, but does not answer a ping,",
    }
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
    let ports = sockets::local_ports().map_err(|why| (why, remedy.clone()))?;
    // Two stages within that minute.
    if ports < 2 * MOST_CONNECTIONS {
        return Err((format!("only {ports} for outgoing connections"), remedy));
    }
    Ok(format!("{ports} for outgoing connections"))
}

/// With one of these every reading of the clock is a real syscall, which is counted as the
/// target's.
const SLOW_CLOCKS: [&str; 4] = ["hpet", "acpi_pm", "jiffies", "xen"];

pub(super) fn clock_source() -> Tried {
    let path = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    let Ok(text) = std::fs::read_to_string(path) else {
        return Ok("the kernel does not show which one it uses".into());
    };
    let name = text.trim();
    if SLOW_CLOCKS.contains(&name) {
        return Err((
            format!("{name}: every reading of the clock is a syscall"),
            format!("choose a faster one, see available_clocksource beside {path}"),
        ));
    }
    Ok(name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_engine_elsewhere_is_told_with_its_variable() {
        let address = "ssh://core@host/podman.sock".to_owned();
        let place = Place::Elsewhere { variable: "CONTAINER_HOST", address };
        let (why, remedy) = engine(&[place], "start one").unwrap_err();
        assert!(why.starts_with("CONTAINER_HOST=ssh://core@host/podman.sock is not"), "{why}");
        assert_eq!(remedy, "unset CONTAINER_HOST, or start one");
    }
}
