//! TCP sockets of a network namespace, from procfs: who listens on a port, how many connections
//! wait there to be accepted, how many sockets are in TIME_WAIT, how many local ports there are.

use std::net::IpAddr;
use std::path::Path;

use procfs::net::{TcpNetEntry, TcpState};
use procfs::process::Process;
use procfs::{ProcError, ProcResult};

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
    let is_listener =
        |e: &TcpNetEntry| e.state == TcpState::Listen && e.local_address.port() == port;
    let listener = |entry: TcpNetEntry| Listener {
        ip: entry.local_address.ip(),
        inode: entry.inode,
        waiting: u64::from(entry.rx_queue),
    };
    Ok(process.tcp()?.into_iter().chain(v6).filter(is_listener).map(listener).collect())
}

/// Sockets in TIME_WAIT in our network namespace, of all processes.
#[must_use]
pub fn time_wait() -> Measured<u64> {
    let path = "/proc/self/net/sockstat";
    let text = std::fs::read_to_string(path).map_err(|e| format!("{path} cannot be read: {e}"));
    text.and_then(|text| tw(&text).ok_or("this kernel has no count of TIME_WAIT".to_owned())).into()
}

/// Local ports of one source address that a connection may get, while so many sockets are in
/// TIME_WAIT. Their ports count as taken, unless the kernel gives them out again
/// (`tcp_tw_reuse`), which by default it does on the loopback, and `is_over`: it does so only a
/// second after the last of them was closed.
///
/// # Errors
/// When the kernel's settings cannot be read.
pub fn local_ports_free(time_wait: u64, is_loopback: bool, is_over: bool) -> Result<u64, String> {
    let setting = |name: &str| {
        let path = Path::new("/proc/sys/net/ipv4").join(name);
        std::fs::read_to_string(&path)
            .map_err(|e| format!("{} cannot be read: {e}", path.display()))
    };
    let range = setting("ip_local_port_range")?;
    let reuse = if is_over { setting("tcp_tw_reuse").unwrap_or_default() } else { String::new() };
    ports_free(&range, reuse.trim(), time_wait, is_loopback)
        .ok_or_else(|| format!("the range of local ports is `{}`", range.trim()))
}

fn ports_free(range: &str, reuse: &str, time_wait: u64, is_loopback: bool) -> Option<u64> {
    let mut ends = range.split_whitespace().map(str::parse::<u64>);
    let (low, high) = (ends.next()?.ok()?, ends.next()?.ok()?);
    let all = (high + 1).checked_sub(low)?;
    let is_reused = reuse == "1" || (reuse == "2" && is_loopback);
    Some(if is_reused { all } else { all.saturating_sub(time_wait) })
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
        let free = |reuse, is_loopback| ports_free("32768\t60999\n", reuse, 28_000, is_loopback);
        assert_eq!((free("0", true), free("2", false)), (Some(232), Some(232)));
        assert_eq!((free("2", true), free("1", false)), (Some(28_232), Some(28_232)));
        assert_eq!(ports_free("10 19", "0", 50, false), Some(0));
        assert_eq!(ports_free("x", "0", 0, false), None);
        assert!(local_ports_free(0, true, true).is_ok());
        // Within that second none is given out again, whatever the setting is.
        assert_eq!(local_ports_free(u64::MAX, true, false), Ok(0));
    }

    #[test]
    fn time_wait_is_read_from_its_own_line() {
        let text = "sockets: used 9\nTCP: inuse 4 orphan 0 tw 17 alloc 5 mem 1\nUDP: inuse 1\n";
        assert_eq!((tw(text), tw("TCP: inuse 4\n")), (Some(17), None));
        assert!(time_wait().value().is_some());
    }
}
