//! What a stage leaves behind in the kernel, read for the rest before the next one.

use std::net::IpAddr;

use super::Interrupt;
use super::rest::{Before, World};
use crate::clock;
use crate::host::sockets;
use crate::measured::Measured;
use crate::target::TargetHandle;

/// The machine and the target as they are.
pub(super) struct LeftBehind<'a> {
    pub(super) target: &'a TargetHandle,
    /// Source addresses that connections come from.
    pub(super) sources: usize,
    pub(super) interrupt: &'a Interrupt,
    /// When the stage before was over, ns.
    pub(super) since_ns: u64,
}

/// How long the kernel keeps even the port of a socket in TIME_WAIT that it would give out again
/// (`tcp_tw_reuse`): `tcp_twsk_unique` of net/ipv4/tcp_ipv4.c, one second since its last timestamp;
/// a setting since Linux 6.14 (`tcp_tw_reuse_delay`), with that default.
const REUSE_DELAY_NS: u64 = 1_000_000_000;

impl LeftBehind<'_> {
    /// Of the listening sockets on the target's port in its own network namespace; a port that is
    /// published under another number is not there.
    fn accept_queue(&self) -> Measured<u64> {
        let Some(port) = self.target.urls.first().and_then(url::Url::port_or_known_default) else {
            return Measured::unavailable("the target has no port");
        };
        match sockets::listeners(self.target.main_pid, port) {
            Ok(found) if found.is_empty() => Measured::unavailable(format!(
                "nothing listens on port {port} in the target's network namespace"
            )),
            Ok(found) => Measured::Value(found.iter().map(|listener| listener.waiting).sum()),
            Err(error) => Measured::unavailable(error.to_string()),
        }
    }

    fn is_loopback(&self) -> bool {
        let host = self.target.urls.first().and_then(url::Url::host_str).unwrap_or_default();
        let host = host.trim_start_matches('[').trim_end_matches(']');
        host == "localhost" || host.parse().is_ok_and(|ip: IpAddr| ip.is_loopback())
    }
}

impl World for LeftBehind<'_> {
    fn now_ns(&mut self) -> u64 {
        clock::now_ns()
    }

    fn read(&mut self) -> Before {
        let time_wait = sockets::time_wait();
        let sources = self.sources.max(1) as u64;
        let is_reused = self.is_loopback();
        let is_over = self.now_ns().saturating_sub(self.since_ns) > REUSE_DELAY_NS;
        let free = time_wait
            .as_result()
            .map_err(str::to_owned)
            .and_then(|n| sockets::local_ports_free(n.div_ceil(sources), is_reused, is_over));
        Before {
            time_wait,
            local_ports_free: free.map(|ports| ports * sources).into(),
            accept_queue: self.accept_queue(),
            waited_ms: 0.0,
        }
    }

    fn sleep_until(&mut self, at_ns: u64) -> bool {
        self.interrupt.wait_until(at_ns)
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;
    use crate::target::TargetKind;

    #[test]
    fn a_target_that_does_not_accept_is_seen_by_its_queue() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let mut target = TargetHandle {
            name: "t".into(),
            kind: TargetKind::Url,
            urls: vec![format!("http://{address}/").parse().unwrap()],
            cgroup: Measured::default(),
            controllers: std::collections::BTreeMap::new(),
            main_pid: None,
        };
        let _waiting = TcpStream::connect(address).unwrap();
        let interrupt = Interrupt::default();
        let read = |target: &TargetHandle| {
            LeftBehind { target, sources: 2, interrupt: &interrupt, since_ns: 0 }.read()
        };
        let before = read(&target);
        assert_eq!(before.accept_queue, Measured::Value(1));
        assert!(before.time_wait.value().is_some());
        assert!(before.local_ports_free.value().is_some_and(|n| *n > 0));
        target.urls = vec!["http://127.0.0.1:1/".parse().unwrap()];
        assert!(read(&target).accept_queue.why().is_some_and(|why| why.contains("port 1")));
    }
}
