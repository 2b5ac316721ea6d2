//! TCP around the target: its own listeners, and the counters of its network namespace.
//!
//! Sources: sock_diag(7), else `/proc/PID/net/tcp` and `tcp6`, for listeners; `netstat` and `snmp`
//! of `/proc/PID/net` for counters. Each namespace has its own.
//! Yields: queue lengths, limits and drops of the target's listeners; `listen_overflows`,
//! `listen_drops`, `retransmits`, `segments_in`, `segments_out` of the whole namespace.
//! Blind to: which process of the namespace the counters are of; processes of the target that are
//! in another namespace than its main process; UDP; what a queue holds between two looks.
//! Costs: four small file reads and one dump of listeners a reading; without sock_diag a walk over
//! all sockets, which is left out of looks that come too soon after the one before.

mod block;
mod counters;
mod listeners;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

pub use block::{Listener, Net};

use self::counters::Counters;
use self::listeners::{Listeners, sum};
use crate::clock;
use crate::host::sock_diag::{Listening, SockDiag};
use crate::host::{processes_below, sockets};
use crate::measured::Measured;

/// A look inside a window asks for listeners only after so many times what asking took.
const LOOK_REST: u64 = 19;

const NO_PID: &str = "the target's main process is not known, and with it its network namespace";

/// Reads the network namespace that the target's main process is in.
#[derive(Debug)]
pub struct NetObserver {
    namespace: Measured<Namespace>,
    diag: Result<SockDiag, String>,
    /// Whose processes hold the listeners: the cgroup's, or the main one alone.
    directory: Option<PathBuf>,
    main_pid: Option<u32>,
    listeners: Listeners,
    asked_at_ns: u64,
    asked_for_ns: u64,
}

/// Whose `net` folder is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Namespace {
    /// Ours, which is there for as long as we are.
    Own,
    Of(u32),
}

/// One reading at the edge of a window.
#[derive(Debug, Clone)]
pub struct NetReading {
    counters: Measured<Counters>,
    listening: Measured<Vec<Listening>>,
}

impl Namespace {
    fn of(main_pid: Option<u32>) -> Result<Self, String> {
        let pid = main_pid.ok_or(NO_PID)?;
        let link = |whose: String| {
            let path = format!("/proc/{whose}/ns/net");
            std::fs::read_link(&path).map_err(|e| format!("{path} cannot be read: {e}"))
        };
        let is_own = link(pid.to_string())? == link("self".into())?;
        Ok(if is_own { Self::Own } else { Self::Of(pid) })
    }

    fn pid(self) -> Option<u32> {
        match self {
            Self::Own => None,
            Self::Of(pid) => Some(pid),
        }
    }

    fn dir(self) -> PathBuf {
        let whose = self.pid().map_or("thread-self".into(), |pid| pid.to_string());
        PathBuf::from("/proc").join(whose).join("net")
    }
}

impl NetObserver {
    /// For the network namespace of this process, and the listeners of the processes in this
    /// cgroup directory.
    #[must_use]
    pub fn new(main_pid: Option<u32>, directory: Option<&Path>) -> Self {
        let namespace = Namespace::of(main_pid);
        let diag = namespace.clone().and_then(|namespace| {
            let diag = SockDiag::open(namespace.pid())?;
            // A kernel may open the socket and know nothing of TCP.
            diag.listening().map(|_works| diag)
        });
        Self {
            namespace: namespace.into(),
            diag,
            directory: directory.map(Path::to_path_buf),
            main_pid,
            listeners: Listeners::default(),
            asked_at_ns: 0,
            asked_for_ns: 0,
        }
    }

    /// A window begins with the next reading.
    pub fn begin(&mut self) {
        self.listeners.begin();
        // Who holds which listener is looked up now: it takes long, and the edge is to be sharp.
        if let Ok(now) = self.listening() {
            self.note(&now);
        }
        self.listeners.restart();
    }

    /// Everything, at an edge of the window.
    #[must_use]
    pub fn read(&mut self) -> NetReading {
        let counters = match &self.namespace {
            Measured::Value(namespace) => Counters::read(&namespace.dir()).into(),
            Measured::Unavailable { unavailable } => Measured::unavailable(unavailable),
        };
        let listening = self.listening();
        if let Ok(now) = &listening {
            self.note(now);
        }
        NetReading { counters, listening: listening.into() }
    }

    /// The connections that wait to be accepted now; `None` where that is not known or was asked
    /// for a moment ago.
    pub fn look(&mut self) -> Option<u64> {
        let rested_ns = clock::now_ns() - self.asked_at_ns;
        if rested_ns < self.asked_for_ns * LOOK_REST {
            return None;
        }
        let now = self.listening().ok()?;
        self.note(&now);
        self.listeners.waiting(&now)
    }

    /// What was counted between two readings, with what was seen of the listeners since
    /// [`Self::begin`].
    #[must_use]
    pub fn between(&self, earlier: &NetReading, later: &NetReading) -> Measured<Net> {
        let block = || -> Result<Net, String> {
            let counted = later.counters.as_result()?.since(earlier.counters.as_result()?)?;
            let listeners = self.listeners.over_window();
            let waiting = match later.listening.as_result() {
                Ok(now) => self.listeners.waiting(now).ok_or("none of its processes listens here"),
                Err(why) => Err(why),
            };
            // Of none there is no sum: that would be a zero which nobody counted.
            let seen = if listeners.is_empty() { waiting.map(drop) } else { Ok(()) };
            let longest = || listeners.iter().map(|l| l.accept_queue_max).max().unwrap_or(0);
            Ok(Net {
                listen_overflows: counted.listen_overflows,
                listen_drops: counted.listen_drops,
                retransmits: counted.retransmits,
                segments_out: Measured::Value(counted.segments_out),
                segments_in: Measured::Value(counted.segments_in),
                accept_queue: waiting.into(),
                accept_queue_max: seen.map(|()| longest()).into(),
                listener_drops: match seen {
                    Ok(()) => sum(listeners.iter().map(|l| &l.drops)),
                    Err(why) => Measured::unavailable(why),
                },
                listeners,
            })
        };
        block().into()
    }

    fn listening(&mut self) -> Result<Vec<Listening>, String> {
        let began_ns = clock::now_ns();
        let namespace = *self.namespace.as_result()?;
        let found = match &self.diag {
            Ok(diag) => diag.listening(),
            Err(_no_diag) => sockets::listening(namespace.pid()).map_err(|e| e.to_string()),
        };
        self.asked_at_ns = clock::now_ns();
        self.asked_for_ns = self.asked_at_ns - began_ns;
        found
    }

    fn note(&mut self, now: &[Listening]) {
        let (directory, main_pid) = (&self.directory, self.main_pid);
        self.listeners.note(now, || {
            let pids = match directory {
                Some(directory) => processes_below(directory).unwrap_or_default(),
                None => main_pid.into_iter().collect(),
            };
            pids.into_iter().flat_map(sockets::held_by).collect::<HashSet<u64>>()
        });
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn our_own_listener_is_seen_with_its_queue_and_strangers_are_not() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let mut observer = NetObserver::new(Some(std::process::id()), None);
        observer.begin();
        let begin = observer.read();
        let connections = [(); 3].map(|()| TcpStream::connect(address).unwrap());
        assert!(observer.look().is_none_or(|waiting| waiting >= 3));
        let full = observer.read();
        let net = observer.between(&begin, &full);
        let ours = |net: &Measured<Net>| -> Listener {
            let net = net.value().unwrap();
            net.listeners.iter().find(|l| l.address == address.to_string()).unwrap().clone()
        };
        assert_eq!((ours(&net).accept_queue, ours(&net).drops.value()), (3, Some(&0)));
        // Three handshakes: a SYN, its answer and an acknowledgement each.
        let segments = net.value().unwrap();
        assert!(segments.segments_in.value().is_some_and(|n| *n >= 9), "{segments:?}");
        for _ in 0..3 {
            drop(listener.accept().unwrap());
        }
        let end = observer.read();
        let after = ours(&observer.between(&begin, &end));
        assert_eq!((after.accept_queue, after.accept_queue_max), (0, 3));
        drop(connections);
    }

    #[test]
    fn without_a_process_there_is_a_reason() {
        let mut unknown = NetObserver::new(None, None);
        unknown.begin();
        let reading = unknown.read();
        assert_eq!(unknown.between(&reading, &reading).why(), Some(NO_PID));
        assert_eq!(unknown.look(), None);
        let mut gone = NetObserver::new(Some(u32::MAX), None);
        let reading = gone.read();
        assert!(gone.between(&reading, &reading).why().is_some());
    }

    /// procfs alone, as on a kernel without `tcp_diag`.
    #[test]
    fn without_sock_diag_the_queue_is_known_and_the_drops_say_why_not() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let _waiting = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let mut observer = NetObserver::new(Some(std::process::id()), None);
        observer.diag = Err("none here".into());
        observer.begin();
        let (begin, end) = (observer.read(), observer.read());
        let net = observer.between(&begin, &end);
        let net = net.value().unwrap();
        assert!(net.accept_queue.value().is_some_and(|n| *n >= 1), "{net:?}");
        assert!(net.listener_drops.why().is_some_and(|why| why.contains("tcp_diag")), "{net:?}");
    }
}
