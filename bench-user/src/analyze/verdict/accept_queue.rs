//! Whether the target was too slow to accept connections.
//!
//! The counter of overflows is that of a whole network namespace, where other servers listen too.
//! Whose queue it was is known from the drops of the target's own listeners (sock_diag). Where the
//! kernel does not show them, the load is the witness: a connection of it may have been one of
//! those that were dropped.

use crate::distribution::Distribution;
use crate::load::LoadSample;
use crate::observe::{Listener, Net};
use crate::record::{Bottleneck, StageRecord};

use super::{Answer, cpu};

/// What the accept queues say; `None` where nothing was dropped, or not by the target.
pub(super) fn decide(stage: &StageRecord) -> Option<Answer> {
    let net = stage.net.value().filter(|net| net.listen_overflows > 0)?;
    let evidence = match net.listener_drops.value() {
        Some(0) => return None,
        // A drop has other reasons too, so that the queue must have been seen full, or the load
        // have felt it.
        Some(_) => net
            .listeners
            .iter()
            .filter(|listener| listener.drops.value().is_some_and(|n| *n > 0))
            .find(|listener| listener.was_full() || met_a_full_queue(&stage.load))
            .map(own)?,
        None if met_a_full_queue(&stage.load) => of_namespace(net),
        None => return None,
    };
    // A thread that is too busy to accept is a reason for a full queue, and worth knowing.
    Some(Answer::new(Bottleneck::AcceptQueue, evidence).and(cpu::decide(stage).evidence))
}

fn own(listener: &Listener) -> String {
    let drops = listener.drops.value().copied().unwrap_or(0);
    let limit = match listener.accept_queue_limit.value() {
        Some(limit) => format!(" of {} that it holds", limit + 1),
        None => String::new(),
    };
    format!(
        "{drops} connections were dropped at its listener {}, whose accept queue was full: up to \
         {}{limit} were seen to wait",
        listener.address, listener.accept_queue_max
    )
}

fn of_namespace(net: &Net) -> String {
    format!(
        "{} connections were dropped in its network namespace because an accept queue was full",
        net.listen_overflows
    )
}

/// Whether a connection of the load may have been one of those that were dropped: the client then
/// sends its SYN again after a second, or its first request after at least 200 ms.
fn met_a_full_queue(load: &LoadSample) -> bool {
    const RESENT_NS: u64 = 200_000_000;
    let late = |times: &Distribution| times.max.is_some_and(|longest| longest >= RESENT_NS);
    let connections = &load.connections;
    connections.live_min < connections.asked
        || load.outcomes.failed() > 0
        || late(&load.connect_ns)
        || late(&load.response_ns)
}
