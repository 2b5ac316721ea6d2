//! Listening TCP sockets of a network namespace, from sock_diag(7).
//!
//! The kernel shows here what `/proc/net/tcp` does not: how many connections a listener lets wait
//! (`sk_max_ack_backlog`) and how many it dropped (`sk_drops`, Linux 4.7 `tcp_listendrop`,
//! include/net/tcp.h). The socket stays in its namespace, so it answers also after the process
//! that named the namespace has ended. A dump of listeners walks their hash table alone and costs
//! tens of microseconds, however many connections there are.

use std::fs::File;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd as _, OwnedFd};

use netlink_packet_core::{
    NLM_F_DUMP, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload,
};
use netlink_packet_sock_diag::SockDiagMessage;
use netlink_packet_sock_diag::constants::{AF_INET, AF_INET6, IPPROTO_TCP};
use netlink_packet_sock_diag::inet::nlas::Nla;
use netlink_packet_sock_diag::inet::{
    ExtensionFlags, InetRequest, InetResponse, SocketId, StateFlags,
};
use rustix::net::netlink::{self, SocketAddrNetlink};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, sendto, socket_with,
};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// Room for one datagram of a dump, bytes: the kernel fills at most 32 KiB
/// (`netlink_dump`, net/netlink/af_netlink.c).
const DATAGRAM_BYTES: usize = 64 << 10;

/// A listening socket as the kernel counts it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Listening {
    /// Where it listens.
    pub address: SocketAddr,
    /// Its inode, by which a process's descriptors name it.
    pub inode: u64,
    /// Connections that wait to be accepted.
    pub waiting: u64,
    /// So many may wait; one more is the last that is taken. `None` where the kernel hides it.
    pub limit: Option<u64>,
    /// Connections and SYNs dropped here since it was made. `None` where the kernel hides it.
    pub drops: Option<u64>,
}

/// A question to one network namespace, asked as often as wanted.
#[derive(Debug)]
pub struct SockDiag {
    socket: OwnedFd,
}

impl SockDiag {
    /// For the network namespace of a process; `None`: our own.
    ///
    /// # Errors
    /// When the namespace may not be entered or the kernel has no sock_diag, as a sentence.
    pub fn open(pid: Option<u32>) -> Result<Self, String> {
        let Some(pid) = pid else { return Self::here() };
        let path = format!("/proc/{pid}/ns/net");
        let namespace = File::open(&path)
            .map_err(|e| format!("{path} cannot be opened: {e}; is it root's?"))?;
        // A thread that has gone into another namespace has no way that cannot fail to come back,
        // so it is one that ends there.
        let inside = std::thread::spawn(move || {
            move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))
                .map_err(|e| format!("the network namespace of {path} cannot be entered: {e}"))?;
            Self::here()
        });
        inside.join().map_err(|_panic| "the thread in its network namespace panicked")?
    }

    fn here() -> Result<Self, String> {
        let no = |e| format!("the kernel has no sock_diag here: {e}");
        let (family, kind) = (AddressFamily::NETLINK, SocketType::DGRAM);
        let socket = socket_with(family, kind, SocketFlags::CLOEXEC, Some(netlink::SOCK_DIAG))
            .map_err(no)?;
        Ok(Self { socket })
    }

    /// Every TCP socket that listens there, for either family.
    ///
    /// # Errors
    /// When the kernel refuses, as one without `tcp_diag` does.
    pub fn listening(&self) -> Result<Vec<Listening>, String> {
        let mut found = Vec::new();
        for (family, socket_id) in [(AF_INET, SocketId::new_v4()), (AF_INET6, SocketId::new_v6())] {
            self.ask(family, socket_id)?;
            self.take_answers(&mut found)?;
        }
        Ok(found)
    }

    fn ask(&self, family: u8, socket_id: SocketId) -> Result<(), String> {
        let request = InetRequest {
            family,
            protocol: IPPROTO_TCP,
            extensions: ExtensionFlags::SKMEMINFO,
            states: StateFlags::LISTEN,
            socket_id,
        };
        let mut header = NetlinkHeader::default();
        header.flags = NLM_F_REQUEST | NLM_F_DUMP;
        let payload = NetlinkPayload::from(SockDiagMessage::InetRequest(request));
        let mut message = NetlinkMessage::new(header, payload);
        message.finalize();
        let mut bytes = vec![0; message.buffer_len()];
        message.serialize(&mut bytes);
        // Port 0 is the kernel.
        sendto(&self.socket, &bytes, SendFlags::empty(), &SocketAddrNetlink::new(0, 0))
            .map_err(|e| format!("sock_diag takes no question: {e}"))?;
        Ok(())
    }

    fn take_answers(&self, into: &mut Vec<Listening>) -> Result<(), String> {
        let mut buffer = vec![0; DATAGRAM_BYTES];
        loop {
            let (filled, _whole) = recv(&self.socket, &mut buffer[..], RecvFlags::empty())
                .map_err(|e| format!("sock_diag does not answer: {e}"))?;
            let mut rest = &buffer[..filled];
            while !rest.is_empty() {
                let message = NetlinkMessage::<SockDiagMessage>::deserialize(rest)
                    .map_err(|e| format!("sock_diag answers in another form: {e}"))?;
                match message.payload {
                    NetlinkPayload::Done(done) if done.code == 0 => return Ok(()),
                    // The end of a dump that failed: a kernel whose tcp_diag is not loaded.
                    NetlinkPayload::Done(done) => {
                        let why = io::Error::from_raw_os_error(done.code.abs());
                        return Err(format!("sock_diag shows no TCP sockets here: {why}"));
                    }
                    NetlinkPayload::Error(e) if e.code.is_some() => {
                        return Err(format!("sock_diag refuses: {}", e.to_io()));
                    }
                    NetlinkPayload::InnerMessage(SockDiagMessage::InetResponse(answer)) => {
                        into.push(listening(&answer));
                    }
                    _ => {}
                }
                // Messages start at multiples of four.
                let length = (message.header.length as usize).next_multiple_of(4);
                rest = rest.get(length.max(4)..).unwrap_or_default();
            }
        }
    }
}

fn listening(answer: &InetResponse) -> Listening {
    let header = &answer.header;
    let drops = answer.nlas.iter().find_map(|nla| match nla {
        Nla::MemInfo(memory) => Some(u64::from(memory.drops)),
        _ => None,
    });
    Listening {
        address: SocketAddr::new(header.socket_id.source_address, header.socket_id.source_port),
        inode: header.inode.into(),
        waiting: header.recv_queue.into(),
        limit: Some(header.send_queue.into()),
        drops,
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    fn at(diag: &SockDiag, address: SocketAddr) -> Listening {
        let found = diag.listening().unwrap();
        *found.iter().find(|l| l.address == address).expect("it listens")
    }

    #[test]
    fn a_listener_shows_its_queue_and_its_limit() {
        for any in ["127.0.0.1:0", "[::1]:0"] {
            // A machine without IPv6 has no such address.
            let Ok(listener) = TcpListener::bind(any) else { continue };
            let address = listener.local_addr().unwrap();
            let diag = SockDiag::open(None).unwrap();
            let before = at(&diag, address);
            assert_eq!((before.waiting, before.limit, before.drops), (0, Some(128), Some(0)));
            let connections = [(); 3].map(|()| TcpStream::connect(address).unwrap());
            assert_eq!(at(&diag, address).waiting, 3);
            let socket = std::fs::read_link(format!(
                "/proc/self/fd/{}",
                std::os::fd::AsRawFd::as_raw_fd(&listener)
            ));
            assert_eq!(socket.unwrap().to_string_lossy(), format!("socket:[{}]", before.inode));
            drop((listener, connections));
            assert!(diag.listening().unwrap().iter().all(|l| l.address != address));
        }
    }

    #[test]
    fn a_process_that_is_gone_has_no_namespace() {
        let error = SockDiag::open(Some(u32::MAX)).unwrap_err();
        assert!(error.contains("4294967295"), "{error}");
    }
}
