//! The plan's limit on what the probes cost, held against the calibration of a climb's first
//! warm-up, before its window.

use anyhow::{Result, bail};

use super::{Event, Position, Sink};
use crate::observe::{Decision, ObserverSet};
use crate::plan::{Level, Plan};
use crate::units::Share;

/// Takes off the explanations that pass the plan's limit, with a warning that names them.
///
/// # Errors
/// When the probes that every run needs pass it alone, or what they cost cannot be measured.
pub(super) fn limit(
    plan: &Plan,
    position: Position,
    observers: &mut ObserverSet,
    sink: &mut dyn Sink,
) -> Result<()> {
    let (Some(most), Some(overhead)) = (plan.observe.max_overhead, observers.overhead()) else {
        return Ok(());
    };
    let overhead = overhead.map_err(|why| {
        anyhow::anyhow!("`max_overhead` cannot be kept: {why}; run without `--max-overhead`")
    })?;
    let level = Level { connections: position.connections, offered_rps: position.offered_rps };
    let base = crate::observe::Overhead { explain_ns: Vec::new(), ..overhead.clone() };
    match overhead.decide(most.0) {
        Decision::Keep => Ok(()),
        Decision::Refuse => bail!(
            "the probes cost {} of the CPU time of target and load in the warm-up at {level}, more \
             than the {most} of `max_overhead`: raise it, or take client numbers alone with \
             `--no-observe`",
            shown(base.ratio())
        ),
        Decision::Drop(kinds) => {
            let names: Vec<_> = kinds.iter().map(|kind| kind.name()).collect();
            let names = names.join(", ");
            let cost = shown(overhead.ratio());
            for kind in kinds {
                observers.detach(
                    kind,
                    &format!(
                        "taken off: with it the probes cost {cost}, and `max_overhead` is {most}"
                    ),
                );
            }
            sink.event(Event::Warning(&format!(
                "the probes cost {cost} of the CPU time of target and load in the warm-up at \
                 {level}, more than the {most} of `max_overhead`: {names} taken off"
            )))
        }
    }
}

/// In percent, to two decimals.
fn shown(ratio: Option<f64>) -> String {
    ratio.map_or("an unknown share".into(), |ratio| Share((ratio * 1e4).round() / 1e4).to_string())
}
