//! TCP counters of a network namespace since it was made, from `netstat` and `snmp` of procfs.

use std::path::Path;

/// What is read of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Counters {
    pub(super) listen_overflows: u64,
    pub(super) listen_drops: u64,
    pub(super) retransmits: u64,
    pub(super) segments_out: u64,
    pub(super) segments_in: u64,
}

impl Counters {
    /// Of the namespace whose files are in `dir`.
    pub(super) fn read(dir: &Path) -> Result<Self, String> {
        let text = |name: &str| {
            let path = dir.join(name);
            std::fs::read_to_string(&path)
                .map_err(|e| format!("{} cannot be read: {e}", path.display()))
        };
        parse(&text("netstat")?, &text("snmp")?)
    }

    /// What was counted since.
    pub(super) fn since(&self, earlier: &Self) -> Result<Self, String> {
        let minus = |later: u64, earlier| {
            later.checked_sub(earlier).ok_or("the main process changed its network namespace")
        };
        Ok(Self {
            listen_overflows: minus(self.listen_overflows, earlier.listen_overflows)?,
            listen_drops: minus(self.listen_drops, earlier.listen_drops)?,
            retransmits: minus(self.retransmits, earlier.retransmits)?,
            segments_out: minus(self.segments_out, earlier.segments_out)?,
            segments_in: minus(self.segments_in, earlier.segments_in)?,
        })
    }
}

fn parse(netstat: &str, snmp: &str) -> Result<Counters, String> {
    let find = |text, group, name| {
        field(text, group, name).ok_or_else(|| format!("this kernel has no {group}.{name}"))
    };
    Ok(Counters {
        listen_overflows: find(netstat, "TcpExt", "ListenOverflows")?,
        listen_drops: find(netstat, "TcpExt", "ListenDrops")?,
        retransmits: find(snmp, "Tcp", "RetransSegs")?,
        segments_out: find(snmp, "Tcp", "OutSegs")?,
        segments_in: find(snmp, "Tcp", "InSegs")?,
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
    const SNMP: &str = "Ip: Forwarding\nIp: 2\nTcp: MaxConn InSegs OutSegs RetransSegs InErrs\n\
                        Tcp: -1 90 80 17 0\nUdpLite: RetransSegs\nUdpLite: 9\n";

    #[test]
    fn counters_are_found_by_group_and_name() {
        let counters = parse(NETSTAT, SNMP).unwrap();
        let expected = Counters {
            listen_overflows: 22,
            listen_drops: 333,
            retransmits: 17,
            segments_out: 80,
            segments_in: 90,
        };
        assert_eq!(counters, expected);
        assert!(parse("TcpExt: A\nTcpExt: 1\n", SNMP).unwrap_err().contains("ListenOverflows"));
    }

    #[test]
    fn a_counter_that_went_back_is_another_namespace() {
        let at = |n| Counters { segments_in: n, ..parse(NETSTAT, SNMP).unwrap() };
        assert_eq!(at(97).since(&at(90)).unwrap().segments_in, 7);
        assert!(at(3).since(&at(4)).unwrap_err().contains("network namespace"));
    }
}
