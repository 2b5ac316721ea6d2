//! A user-space proxy between the load and the target: container engines publish ports by a
//! process of their own, which then is measured too, and is often the slower of the two.
//!
//! Found by what serves the address: the listening socket's inode, and the process that has it
//! among its descriptors. Blind to proxies that are not known by name, and, without root, to
//! those of other users.

use std::net::{IpAddr, ToSocketAddrs as _};

use procfs::process::{FDTarget, Process, all_processes};
use url::Url;

use crate::host::sockets::{self, Listener};

/// Programs that carry connections to containers and virtual machines, as the kernel names them
/// (15 bytes at most).
const PROXIES: [&str; 8] = [
    "docker-proxy",
    "rootlessport",
    "rootlesskit",
    "slirp4netns",
    "pasta",
    "pasta.avx2",
    "passt",
    "gvproxy",
];

/// The proxy that serves this address on this machine, as a sentence with the remedy; `None`
/// where there is none or where it cannot be seen.
pub(super) fn in_path(url: &Url) -> Option<String> {
    let (host, port) = (url.host_str()?, url.port_or_known_default()?);
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let addresses: Vec<IpAddr> = (host, port).to_socket_addrs().ok()?.map(|a| a.ip()).collect();
    let listeners = sockets::listeners(None, port).ok()?;
    let serves = |listener: &&Listener| addresses.iter().any(|ip| listener.takes(*ip));
    let inodes: Vec<u64> = listeners.iter().filter(serves).map(|l| l.inode).collect();
    if inodes.is_empty() {
        return None;
    }
    let proxy = all_processes().ok()?.flatten().find_map(|process| {
        let name = process.stat().ok()?.comm;
        (PROXIES.contains(&name.as_str()) && holds(&process, &inodes)).then_some(name)
    })?;
    Some(format!(
        "requests to {host}:{port} pass {proxy}, a proxy outside of the target: give the \
         container's own address, or run it in the host's network"
    ))
}

fn holds(process: &Process, inodes: &[u64]) -> bool {
    let is_one = |target: FDTarget| matches!(target, FDTarget::Socket(i) if inodes.contains(&i));
    process.fd().is_ok_and(|fds| fds.flatten().any(|fd| is_one(fd.target)))
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::os::fd::OwnedFd;
    use std::os::unix::fs::symlink;
    use std::os::unix::process::CommandExt as _;
    use std::process::{Child, Command, Stdio};

    use super::*;

    /// A process that holds a socket and does nothing, under a name.
    struct Holder(Child);

    impl Holder {
        fn start(name: &str, socket: OwnedFd) -> Self {
            let folder = tempfile::tempdir().unwrap();
            let program = folder.path().join(name);
            // The kernel names a process by the path that was executed, a link's as any other.
            symlink("/bin/sleep", &program).unwrap();
            let mut command = Command::new(program);
            command.arg0("sleep").arg("600").stdin(Stdio::from(socket));
            Self(command.spawn().unwrap())
        }
    }

    impl Drop for Holder {
        fn drop(&mut self) {
            drop(self.0.kill());
            drop(self.0.wait());
        }
    }

    #[test]
    fn a_proxy_is_found_by_the_socket_that_it_holds() {
        for name in ["docker-proxy", "rootlessport", "slirp4netns"] {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let port = listener.local_addr().unwrap().port();
            let url = |host: &str| Url::parse(&format!("http://{host}:{port}/")).unwrap();
            assert_eq!(in_path(&url("127.0.0.1")), None, "this process is no proxy");
            let holder = Holder::start(name, listener.into());
            let said = in_path(&url("127.0.0.1")).unwrap();
            assert!(said.contains(&format!("127.0.0.1:{port} pass {name}")), "{said}");
            assert_eq!(in_path(&url("127.0.0.2")), None, "it is bound to another address");
            drop(holder);
            assert_eq!(in_path(&url("127.0.0.1")), None, "it has ended");
        }
    }

    #[test]
    fn a_server_of_another_name_is_no_proxy() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let _holder = Holder::start("webserver", listener.into());
        assert_eq!(in_path(&Url::parse(&url).unwrap()), None);
    }
}
