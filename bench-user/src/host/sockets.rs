//! TCP sockets of a network namespace, from procfs: who listens on a port, how many connections
//! wait there to be accepted, which sockets a process holds, how many are in TIME_WAIT, how many
//! local ports there are.

use std::collections::HashSet;
use std::net::IpAddr;
use std::path::Path;

use procfs::net::{TcpNetEntry, TcpState};
use procfs::process::Process;
use procfs::{ProcError, ProcResult};

use super::sock_diag::Listening;
use crate::measured::Measured;

/// A listening socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Listener {
    /// The address it is bound to; unspecified: all.
    pub ip: IpAddr,
    /// Its inode, by which a process's descriptors name it.
    pub inode: u64,
    /// Connections that wait to be accepted.
    pub waiting: u64,
}

impl Listener {
    /// Whether it takes connections to this address.
    #[must_use]
    pub fn takes(&self, ip: IpAddr) -> bool {
        self.ip.is_unspecified() || self.ip.to_canonical() == ip.to_canonical()
    }
}

/// The listeners on a port in the network namespace of a process; `None`: in our own.
///
/// # Errors
/// When the process is gone or its tables may not be read.
pub fn listeners(pid: Option<u32>, port: u16) -> ProcResult<Vec<Listener>> {
    let on_port = |listening: &Listening| listening.address.port() == port;
    let listener =
        |l: Listening| Listener { ip: l.address.ip(), inode: l.inode, waiting: l.waiting };
    Ok(listening(pid)?.into_iter().filter(on_port).map(listener).collect())
}

/// Every listening TCP socket in the network namespace of a process; `None`: in our own. Costs a
/// walk over all sockets of the namespace; their limits and drops are not shown here.
///
/// # Errors
/// When the process is gone or its tables may not be read.
pub fn listening(pid: Option<u32>) -> ProcResult<Vec<Listening>> {
    let process = match pid {
        Some(pid) => {
            Process::new(i32::try_from(pid).map_err(|_no_pid| ProcError::NotFound(None))?)?
        }
        None => Process::myself()?,
    };
    let v6 = match process.tcp6() {
        // A kernel without IPv6 has no such table.
        Err(ProcError::NotFound(_)) => Vec::new(),
        table => table?,
    };
    let listens = |e: &TcpNetEntry| e.state == TcpState::Listen;
    let listening = |entry: TcpNetEntry| Listening {
        address: entry.local_address,
        inode: entry.inode,
        waiting: u64::from(entry.rx_queue),
        limit: None,
        drops: None,
    };
    Ok(process.tcp()?.into_iter().chain(v6).filter(listens).map(listening).collect())
}

/// The inodes of the sockets that a process has descriptors of; none once it is gone.
#[must_use]
pub fn held_by(pid: u32) -> HashSet<u64> {
    let entries = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let inode = |link: &Path| -> Option<u64> {
        link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
    };
    entries.filter_map(|e| inode(&std::fs::read_link(e.path()).ok()?)).collect()
}

/// Sockets in TIME_WAIT in our network namespace, of all processes.
#[must_use]
pub fn time_wait() -> Measured<u64> {
    let path = "/proc/self/net/sockstat";
    let text = std::fs::read_to_string(path).map_err(|e| format!("{path} cannot be read: {e}"));
    text.and_then(|text| tw(&text).ok_or("this kernel has no count of TIME_WAIT".to_owned())).into()
}

/// Local ports of one source address, in our network namespace and for either family.
///
/// # Errors
/// When the kernel's settings cannot be read.
pub fn local_ports() -> Result<u64, String> {
    let range = setting("ip_local_port_range")?;
    ports_of(&range, &setting("ip_local_reserved_ports").unwrap_or_default())
        .ok_or_else(|| format!("the range of local ports is `{}`", range.trim()))
}

/// Those that a connection may get while so many sockets are in TIME_WAIT. Their ports count as
/// taken, unless the kernel gives them out again (`tcp_tw_reuse`), which by default it does on the
/// loopback, and `is_over`: it does so only a second after the last of them was closed.
///
/// # Errors
/// As [`local_ports`].
pub fn local_ports_free(time_wait: u64, is_loopback: bool, is_over: bool) -> Result<u64, String> {
    let reuse = if is_over { setting("tcp_tw_reuse").unwrap_or_default() } else { String::new() };
    Ok(ports_free(local_ports()?, reuse.trim(), time_wait, is_loopback))
}

fn setting(name: &str) -> Result<String, String> {
    let path = Path::new("/proc/sys/net/ipv4").join(name);
    std::fs::read_to_string(&path).map_err(|e| format!("{} cannot be read: {e}", path.display()))
}

fn ports_free(all: u64, reuse: &str, time_wait: u64, is_loopback: bool) -> u64 {
    let is_reused = reuse == "1" || (reuse == "2" && is_loopback);
    if is_reused { all } else { all.saturating_sub(time_wait) }
}

/// Ports of the range `"32768\t60999"` without the reserved ones, `"40000,50000-50010"`; `None`
/// where it is no such range.
fn ports_of(range: &str, reserved: &str) -> Option<u64> {
    let mut bounds = range.split_whitespace().map(str::parse::<u64>);
    let (low, high) = (bounds.next()?.ok()?, bounds.next()?.ok()?);
    // The kernel draws from an even number of ports: it leaves the last of an odd range alone
    // (v6.1, net/ipv4/inet_hashtables.c, __inet_hash_connect).
    let size = (high + 1).checked_sub(low)?;
    let size = if size > 1 { size & !1 } else { size };
    let end = low + size;
    let taken: u64 = reserved
        .trim()
        .split(',')
        .filter_map(|part| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            Some((first.parse::<u64>().ok()?, last.parse::<u64>().ok()?))
        })
        .map(|(first, last)| (last + 1).min(end).saturating_sub(first.max(low)))
        .sum();
    Some(size.saturating_sub(taken))
}

/// The `tw` of the line `TCP:` of sockstat.
fn tw(sockstat: &str) -> Option<u64> {
    let line = sockstat.lines().find_map(|line| line.strip_prefix("TCP:"))?;
    let mut words = line.split_whitespace().skip_while(|word| *word != "tw");
    words.nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn a_listener_is_found_with_the_connections_that_nobody_accepted() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let waiting = || {
            let found = listeners(Some(std::process::id()), address.port()).unwrap();
            let [only] = &found[..] else { panic!("{found:?}") };
            assert!(only.takes(address.ip()) && !only.takes("127.0.0.2".parse().unwrap()));
            only.waiting
        };
        assert_eq!(waiting(), 0);
        let connections = [(); 3].map(|()| TcpStream::connect(address).unwrap());
        assert_eq!(waiting(), 3);
        drop(listener.accept().unwrap());
        assert_eq!(waiting(), 2);
        let [ours] = &listeners(None, address.port()).unwrap()[..] else { panic!("it listens") };
        assert!(held_by(std::process::id()).contains(&ours.inode));
        assert!(held_by(u32::MAX).is_empty());
        drop(connections);
        drop(listener);
        assert_eq!(listeners(None, address.port()).unwrap(), []);
        assert!(listeners(Some(u32::MAX), 1).is_err());
    }

    #[test]
    fn a_socket_bound_to_all_addresses_takes_every_one() {
        let listener = |ip: &str| Listener { ip: ip.parse().unwrap(), inode: 1, waiting: 0 };
        let v4 = "127.0.0.1".parse().unwrap();
        for all in ["0.0.0.0", "::", "::ffff:127.0.0.1"] {
            assert!(listener(all).takes(v4), "{all}");
        }
        assert!(!listener("10.0.0.1").takes(v4));
    }

    #[test]
    fn ports_in_time_wait_are_taken_unless_the_kernel_gives_them_out_again() {
        let free = |reuse, is_loopback| ports_free(28_232, reuse, 28_000, is_loopback);
        assert_eq!((free("0", true), free("2", false)), (232, 232));
        assert_eq!((free("2", true), free("1", false)), (28_232, 28_232));
        assert_eq!(ports_free(10, "0", 50, false), 0);
        assert!(local_ports_free(0, true, true).is_ok());
        // Within that second none is given out again, whatever the setting is.
        assert_eq!(local_ports_free(u64::MAX, true, false), Ok(0));
    }

    #[test]
    fn the_range_is_inclusive_even_and_without_what_is_reserved() {
        assert_eq!(ports_of("32768\t60999\n", "\n"), Some(28_232));
        assert_eq!(ports_of("20000 20199", ""), Some(200));
        assert_eq!(ports_of("20000 20200", ""), Some(200));
        assert_eq!(ports_of("20000 20000", ""), Some(1));
        assert_eq!(ports_of("20000 20199", "8080,20010,20100-20109,20195-30000\n"), Some(184));
        assert_eq!(ports_of("20000 20199", "1-65535"), Some(0));
        assert_eq!(ports_of("", ""), None);
        assert_eq!(ports_of("9 4", ""), None);
    }

    #[test]
    fn time_wait_is_read_from_its_own_line() {
        let text = "sockets: used 9\nTCP: inuse 4 orphan 0 tw 17 alloc 5 mem 1\nUDP: inuse 1\n";
        assert_eq!((tw(text), tw("TCP: inuse 4\n")), (Some(17), None));
        assert!(time_wait().value().is_some());
    }
}
