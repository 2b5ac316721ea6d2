//! The instruments tried on ourselves: this process goes into a cgroup of its own, does a known
//! amount of work there, and looks whether it was counted. For `doctor`.
//!
//! What cannot be known to the last one, because it also happens by itself, must lie between what
//! was made and what the kernel's other books say of the time around it. Goes back to where it
//! came from and leaves nothing behind.

mod judge;
mod stay;

use std::collections::BTreeMap;
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use self::judge::{Counted, Usage};
use self::stay::Stay;
use super::bpf::BpfObserver;
use super::net::NetObserver;
use super::set::ObserverSet;
use super::{Options, threads};
use crate::clock;
use crate::host::doctor::Capability;
use crate::measured::Measured;
use crate::plan::Explain;
use crate::target::{ControllerDir, TargetHandle, TargetKind};

/// Calls that are counted one by one.
const CALLS: u64 = 10_000;
/// Sleeps, each a switch.
const NAPS: u64 = 20;
/// Pages of fresh memory, each a fault.
const PAGES: usize = 256;
/// Memory that they are in: so much comes fresh from the kernel, whatever was freed before
/// (`DEFAULT_MMAP_THRESHOLD_MAX` of glibc is half of it).
const FRESH_BYTES: usize = 64 << 20;
/// Readings of the clock, none of which should be a syscall.
const CLOCK_READINGS: u64 = 1_000;

/// Tries the probes, perf and the listeners by counting what we do ourselves.
#[must_use]
pub fn self_test() -> Vec<Capability> {
    let mut found = match Stay::enter() {
        Ok(stay) => {
            let mut found = judge::all(&counted(&stay));
            found.extend(explanations(&stay));
            found
        }
        Err(why) => judge::none(&why),
    };
    found.push(listeners());
    found
}

/// Does the work, with every instrument on it.
fn counted(stay: &Stay) -> Result<Counted, String> {
    let perf = stay
        .perf
        .as_ref()
        .map(|path| ("perf_event".to_owned(), ControllerDir { path: path.clone(), is_v1: true }));
    let handle = TargetHandle {
        name: "doctor".into(),
        kind: TargetKind::Cgroup,
        urls: Vec::new(),
        cgroup: Measured::Value(stay.v2.clone()),
        controllers: perf.into_iter().collect::<BTreeMap<_, _>>(),
        main_pid: Some(std::process::id()),
    };
    let mut set = ObserverSet::attach(&handle, &Options::default());
    set.begin_calibration();
    let before = usage(stay)?;
    set.begin();
    work();
    // Its figures are those of the next sample.
    set.end_calibration();
    let sample = set.end().ok_or("the window was not begun")?;
    let around = usage(stay)?.since(before);
    Ok(Counted { sample, around, probes: set.probes_missing().map(str::to_owned) })
}

fn work() {
    for _ in 0..CALLS {
        std::hint::black_box(rustix::process::getppid());
    }
    for _ in 0..NAPS {
        std::thread::sleep(Duration::from_micros(100));
    }
    for _ in 0..CLOCK_READINGS {
        std::hint::black_box(clock::now_ns());
    }
    // A huge page would take one fault for many; where that cannot be turned off, the pages that
    // are touched are no bound from below, and the count shows as too small.
    rustix::thread::disable_transparent_huge_pages(true).ok();
    let page = rustix::param::page_size();
    let mut memory = vec![0_u8; FRESH_BYTES];
    for page in memory.chunks_mut(page).take(PAGES) {
        page[0] = 1;
    }
    std::hint::black_box(memory);
    rustix::thread::disable_transparent_huge_pages(false).ok();
}

/// What the kernel's other books say of us.
fn usage(stay: &Stay) -> Result<Usage, String> {
    let stat = procfs::process::Process::myself().and_then(|me| me.stat());
    let stat = stat.map_err(|e| format!("/proc/self/stat cannot be read: {e}"))?;
    // Where the kernel keeps none, the probe of switches is not there either, with its reason.
    let books = threads::read_cgroup(&stay.v2).unwrap_or_default();
    Ok(Usage {
        switches: books.iter().map(|thread| thread.voluntary + thread.involuntary).sum(),
        faults: stat.minflt + stat.majflt,
    })
}

/// Whether the kernel takes the probes of each explanation.
fn explanations(stay: &Stay) -> Vec<Capability> {
    let options = Options { explain: Explain::ALL.to_vec(), ..Options::default() };
    let attached = BpfObserver::attach(&stay.v2, &options).map_err(|e| e.to_string());
    let tried = |kind: Explain| {
        let attached = attached.as_ref().map_err(Clone::clone)?;
        let known = attached.kinds().get(&kind).ok_or("it was not asked for")?;
        known.as_result().map(|()| "its probes load and attach".to_owned()).map_err(str::to_owned)
    };
    let capability = |kind: Explain| {
        let remedy = format!("leave `{}` out of --explain; all else works", kind.name());
        let outcome: Result<String, String> = tried(kind);
        let name = format!("explain {}", kind.name());
        Capability::tried(&name, false, outcome.map_err(|why| (why, remedy)))
    };
    Explain::ALL.map(capability).into()
}

/// A listener of our own with three connections that nobody accepts.
fn listeners() -> Capability {
    let seen = || -> Result<String, String> {
        let no_loopback = |e: std::io::Error| format!("no connection on the loopback: {e}");
        let listener = TcpListener::bind("127.0.0.1:0").map_err(no_loopback)?;
        let address = listener.local_addr().map_err(no_loopback)?;
        let mut dialed = Vec::new();
        for _ in 0..3 {
            dialed.push(TcpStream::connect(address).map_err(no_loopback)?);
        }
        let mut observer = NetObserver::new(Some(std::process::id()), None);
        observer.begin();
        let now = observer.read();
        let net = observer.between(&now, &now);
        let net = net.as_result()?;
        let shown = net.listeners.iter().find(|l| l.address == address.to_string());
        let shown = shown.ok_or("our own listener is not shown")?;
        if shown.accept_queue != 3 {
            return Err(format!("3 connections wait, and {} are shown", shown.accept_queue));
        }
        shown.drops.as_result()?;
        Ok("the queue of a listener of ours, its limit and its drops are shown".into())
    };
    let remedy = "without it the queue is read from /proc/net/tcp, and its limit and drops are \
                  unavailable: load tcp_diag, or use a kernel with CONFIG_INET_TCP_DIAG";
    Capability::tried("accept queues", false, seen().map_err(|why| (why, remedy.to_owned())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_of_our_own_is_seen() {
        let found = listeners();
        assert!(found.works, "{found:?}");
    }
}
