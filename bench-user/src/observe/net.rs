//! TCP counters of the target's network namespace.
//!
//! Source: `/proc/PID/net/netstat` and `snmp` of the main process; each namespace has its own.
//! Yields: `listen_overflows`, `listen_drops`, `retransmits`.
//! Blind to: which socket or process of the namespace it was; UDP. `listen_drops` counts more
//! than full accept queues.

use std::path::Path;

use super::Net;
use crate::measured::Measured;

/// Reads the namespace that the target's main process is in.
#[derive(Debug, Clone, Copy)]
pub struct NetObserver {
    main_pid: Option<u32>,
}

impl NetObserver {
    /// For the network namespace of this process.
    #[must_use]
    pub fn new(main_pid: Option<u32>) -> Self {
        Self { main_pid }
    }

    /// The counters since the namespace was made.
    #[must_use]
    pub fn read(&self) -> Measured<Net> {
        let Some(pid) = self.main_pid else {
            return Measured::unavailable(
                "the target's main process is not known, and with it its network namespace",
            );
        };
        let dir = Path::new("/proc").join(pid.to_string()).join("net");
        let text = |name: &str| {
            let path = dir.join(name);
            std::fs::read_to_string(&path)
                .map_err(|e| format!("{} cannot be read: {e}", path.display()))
        };
        text("netstat").and_then(|netstat| parse(&netstat, &text("snmp")?)).into()
    }
}

impl Net {
    /// What was counted between two readings of a [`NetObserver`].
    #[must_use]
    pub fn between(earlier: &Measured<Self>, later: &Measured<Self>) -> Measured<Self> {
        let difference = || -> Result<Self, String> {
            let (later, earlier) = (later.as_result()?, earlier.as_result()?);
            let minus = |later: u64, earlier| {
                later.checked_sub(earlier).ok_or("the main process changed its network namespace")
            };
            Ok(Self {
                listen_overflows: minus(later.listen_overflows, earlier.listen_overflows)?,
                listen_drops: minus(later.listen_drops, earlier.listen_drops)?,
                retransmits: minus(later.retransmits, earlier.retransmits)?,
            })
        };
        difference().into()
    }
}

fn parse(netstat: &str, snmp: &str) -> Result<Net, String> {
    let find = |text, group, name| {
        field(text, group, name).ok_or_else(|| format!("this kernel has no {group}.{name}"))
    };
    Ok(Net {
        listen_overflows: find(netstat, "TcpExt", "ListenOverflows")?,
        listen_drops: find(netstat, "TcpExt", "ListenDrops")?,
        retransmits: find(snmp, "Tcp", "RetransSegs")?,
    })
}

/// The value of `name` in a group. Each group is two lines: the names, then the values.
fn field(text: &str, group: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix(group)?.strip_prefix(':'));
    let (names, values) = (lines.next()?, lines.next()?);
    let at = names.split_whitespace().position(|n| n == name)?;
    values.split_whitespace().nth(at)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NETSTAT: &str = "TcpExt: SyncookiesSent ListenOverflows ListenDrops TCPHPHits\n\
                           TcpExt: 1 22 333 4444\nIpExt: InNoRoutes ListenDrops\nIpExt: 5 6\n";
    const SNMP: &str = "Ip: Forwarding\nIp: 2\nTcp: MaxConn RetransSegs InErrs\nTcp: -1 17 0\n\
                        UdpLite: RetransSegs\nUdpLite: 9\n";

    #[test]
    fn counters_are_found_by_group_and_name() {
        let net = parse(NETSTAT, SNMP).unwrap();
        assert_eq!(net, Net { listen_overflows: 22, listen_drops: 333, retransmits: 17 });
        assert!(parse("TcpExt: A\nTcpExt: 1\n", SNMP).unwrap_err().contains("ListenOverflows"));
    }

    #[test]
    fn a_window_is_the_difference_and_a_missing_side_has_a_reason() {
        let at = |n| Measured::Value(Net { listen_overflows: n, listen_drops: n, retransmits: n });
        assert_eq!(Net::between(&at(3), &at(10)), at(7));
        assert!(Net::between(&at(3), &at(2)).why().is_some());
        let unknown = NetObserver::new(None).read();
        assert_eq!(Net::between(&at(1), &unknown).why(), unknown.why());
    }

    #[test]
    fn this_process_has_a_namespace_with_counters() {
        assert!(NetObserver::new(Some(std::process::id())).read().value().is_some());
        assert!(NetObserver::new(Some(u32::MAX)).read().why().is_some());
    }
}
