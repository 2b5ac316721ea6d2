//! TCP around a target against exact numbers of handshakes, in a network namespace of its own, so
//! that nothing else sends a segment.

use anyhow::{Context as _, Result, ensure};
use bench_user::observe::{Net, NetObserver};
use libtest_mimic::Trial;

use crate::place::{Place, measured, trial};
use crate::workload::Workload;

pub(crate) fn tests() -> Vec<Trial> {
    vec![
        trial("net::a_full_queue_drops_exactly_what_does_not_fit", full_queue),
        trial("net::handshakes_are_so_many_segments", handshakes),
        trial("net::only_sockets_of_the_cgroup_are_its_listeners", listeners_of_the_cgroup),
    ]
}

/// What was counted while the workload worked.
fn over_work(place: &Place, workload: &mut Workload) -> Result<Net> {
    let mut observer = NetObserver::new(Some(workload.pid()), Some(&place.v2));
    observer.begin();
    let begin = observer.read();
    workload.work()?;
    let end = observer.read();
    Ok(measured(&observer.between(&begin, &end))?.clone())
}

/// With a backlog of one, two connections are taken in; every other SYN is dropped at once and
/// sent again only after a second. The counters are those of the workload's own namespace.
fn full_queue() -> Result<()> {
    let place = Place::new(&[])?;
    let mut workload = Workload::start("netns dial 1 7")?;
    place.take_in(workload.pid())?;
    let net = over_work(&place, &mut workload)?;
    ensure!((net.listen_overflows, net.listen_drops) == (5, 5), "{net:?}");
    let [listener] = &net.listeners[..] else { anyhow::bail!("{:?}", net.listeners) };
    ensure!(measured(&listener.drops)? == &5, "{listener:?}");
    ensure!((listener.accept_queue, listener.accept_queue_max) == (2, 2), "{listener:?}");
    ensure!(measured(&listener.accept_queue_limit)? == &1, "{listener:?}");
    ensure!(listener.was_full(), "{listener:?}");
    ensure!(net.retransmits == 0, "{net:?}");
    Ok(())
}

/// A SYN, its answer and the acknowledgement of that, each sent and received here.
fn handshakes() -> Result<()> {
    let place = Place::new(&[])?;
    let mut workload = Workload::start("netns dial 100 50")?;
    place.take_in(workload.pid())?;
    let net = over_work(&place, &mut workload)?;
    let segments = (*measured(&net.segments_out)?, *measured(&net.segments_in)?);
    ensure!(segments == (150, 150), "{segments:?} segments");
    ensure!(net.listen_drops == 0 && net.accept_queue.value() == Some(&50), "{net:?}");
    Ok(())
}

/// Both listen in our own namespace.
fn listeners_of_the_cgroup() -> Result<()> {
    let place = Place::new(&[])?;
    let mut inside = Workload::start("dial 10 3")?;
    let mut outside = Workload::start("dial 10 4")?;
    place.take_in(inside.pid())?;
    outside.work()?;
    let net = over_work(&place, &mut inside)?;
    let [listener] = &net.listeners[..] else { anyhow::bail!("{:?}", net.listeners) };
    ensure!(listener.accept_queue == 3, "{listener:?}");
    // Its socket is the cgroup's also where a process in a child holds it.
    place.child_with(inside.pid())?;
    let mut observer = NetObserver::new(Some(inside.pid()), Some(&place.v2));
    observer.begin();
    let reading = observer.read();
    let net = observer.between(&reading, &reading);
    let net = net.value().context("our own namespace")?;
    ensure!(net.listeners.len() == 1 && net.accept_queue.value() == Some(&3), "{net:?}");
    inside.finish()?;
    Ok(())
}
