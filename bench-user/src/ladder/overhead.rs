//! The plan's limit on what the probes cost: one decision for the run, before its first climb.
//!
//! Every target is started or found once more and gets the load of its first stage for the length
//! of a warm-up, with all probes on. A kind that passes the limit at one target is taken off for
//! all of them and for good, so that every window of the run is watched with the same probes:
//! decided climb by climb, one target could keep a kind that another loses, and the two would
//! differ by what that kind costs.
//!
//! A later warm-up that passes the limit takes nothing off, for the same reason; the analysis
//! warns of it.

use std::sync::Arc;

use anyhow::{Result, bail};
use url::Url;

use super::climb::{Begun, Expedition};
use super::{Event, Position, Sink, setup};
use crate::clock;
use crate::load::{Generator, Window};
use crate::observe::{Decision, Overhead};
use crate::plan::{Explain, Level};
use crate::target::Target;
use crate::units::Share;

/// What the probes cost at one target.
struct Warmed {
    name: String,
    level: Level,
    overhead: Overhead,
}

impl Expedition<'_> {
    /// Holds the plan's limit against a warm-up of every target, and says what is taken off.
    ///
    /// # Errors
    /// When the probes that every run needs pass it alone, or what they cost cannot be measured.
    pub(super) fn keep_limit(&mut self, sink: &mut dyn Sink) -> Result<()> {
        let Some(most) = self.plan.observe.max_overhead else { return Ok(()) };
        let mut warmed = Vec::new();
        for place in 0..self.plan.targets.len() {
            warmed.extend(self.warmed(place, sink)?);
        }
        self.taken_off = taken_off(most, &warmed)?;
        for (kind, why) in &self.taken_off {
            sink.event(Event::Warning(&format!("{} is {why}", kind.name())))?;
        }
        Ok(())
    }

    /// `None` for a target that has no probes, and after a signal.
    fn warmed(&mut self, place: usize, sink: &mut dyn Sink) -> Result<Option<Warmed>> {
        let is_watched = self.plan.observe.enabled && !self.plan.targets[place].is_address_alone();
        if !is_watched || self.interrupt.signal().is_some() {
            return Ok(None);
        }
        let Some(Begun { mut target, urls, .. }) = self.begin(place)? else { return Ok(None) };
        sink.event(Event::Warmed { place, target: &target })?;
        let warmed = self.warm_up(place, &target, urls);
        let exit = target.poll_exit();
        target.stop();
        if let Some(exit) = exit {
            let name = &self.plan.targets[place].name;
            bail!("target `{name}` ended by itself in the warm-up for `max_overhead`: {exit}");
        }
        warmed
    }

    /// The warm-up of the first stage, without its window.
    fn warm_up(&self, place: usize, target: &Target, urls: Arc<[Url]>) -> Result<Option<Warmed>> {
        let plan = self.plan;
        let Some(mut observers) = self.observers(&target.handle, false) else { return Ok(None) };
        let connections = plan.ladder.connections.first().copied().unwrap_or(1);
        let search = Level { connections, offered_rps: None };
        let level = plan.ladder.levels().first().copied().unwrap_or(search);
        let Level { connections, offered_rps } = level;
        let position = Position {
            index: 0,
            repetition: 0,
            observed: true,
            is_control: false,
            connections,
            offered_rps,
        };
        let mut generator = Generator::start(setup::of_climb(plan, urls, &self.placement)?)?;
        let start_ns = clock::now_ns() + plan.ladder.warmup.as_ns();
        let window = Window { start_ns, end_ns: start_ns + plan.ladder.duration.as_ns() };
        let load = generator.begin(setup::of_stage(&plan.load, position, window))?;
        observers.prepare();
        observers.begin_calibration();
        let is_whole = self.interrupt.wait_until(start_ns);
        observers.end_calibration();
        load.stop();
        drop(load.finish());
        let Some(overhead) = observers.overhead().filter(|_| is_whole) else { return Ok(None) };
        let overhead = overhead.map_err(|why| {
            anyhow::anyhow!("`max_overhead` cannot be kept: {why}; run without `--max-overhead`")
        })?;
        Ok(Some(Warmed { name: plan.targets[place].name.clone(), level, overhead }))
    }
}

/// What passes the limit at one target or another, each kind with the first reason.
///
/// # Errors
/// When the probes that every run needs pass it alone.
fn taken_off(most: Share, warmed: &[Warmed]) -> Result<Vec<(Explain, String)>> {
    let mut off: Vec<(Explain, String)> = Vec::new();
    for Warmed { name, level, overhead } in warmed {
        let base = Overhead { explain_ns: Vec::new(), ..overhead.clone() };
        let kinds = match overhead.decide(most.0) {
            Decision::Keep => continue,
            Decision::Drop(kinds) => kinds,
            Decision::Refuse => bail!(
                "the probes cost {} of the CPU time of `{name}` and load in a warm-up at {level}, \
                 more than the {most} of `max_overhead`: raise it, or take client numbers alone \
                 with `--no-observe`",
                shown(base.ratio())
            ),
        };
        let why = format!(
            "taken off for the whole run: with it the probes cost {} of the CPU time of `{name}` \
             and load in a warm-up at {level}, more than the {most} of `max_overhead`",
            shown(overhead.ratio())
        );
        for kind in kinds {
            if !off.iter().any(|(known, _)| *known == kind) {
                off.push((kind, why.clone()));
            }
        }
    }
    Ok(off)
}

/// In percent, to two decimals.
fn shown(ratio: Option<f64>) -> String {
    ratio.map_or("an unknown share".into(), |ratio| Share((ratio * 1e4).round() / 1e4).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A target with 1,000 ns of CPU time.
    fn warmed(name: &str, base_ns: u64, explain_ns: &[(Explain, u64)]) -> Warmed {
        let explain_ns = explain_ns.to_vec();
        Warmed {
            name: name.into(),
            level: Level { connections: 10, offered_rps: None },
            overhead: Overhead { base_ns, explain_ns, busy_ns: 1000 },
        }
    }

    #[test]
    fn what_one_target_cannot_afford_is_taken_off_all_of_them() {
        use Explain::{OffCpu, Softirq, Stacks};
        let frugal = warmed("frugal", 2, &[(OffCpu, 3), (Stacks, 4), (Softirq, 1)]);
        let dear = warmed("dear", 10, &[(OffCpu, 30), (Stacks, 4), (Softirq, 1)]);
        let dearer = warmed("dearer", 10, &[(OffCpu, 9), (Stacks, 8), (Softirq, 1)]);
        let off = taken_off(Share(0.02), &[frugal, dear, dearer]).unwrap();
        let [(kind, why)] = &off[..] else { panic!("{off:?}") };
        assert_eq!(*kind, OffCpu);
        let said = "4.5% of the CPU time of `dear` and load in a warm-up at 10 connections";
        assert!(why.contains(said) && why.contains("2% of `max_overhead`"), "{why}");
    }

    #[test]
    fn a_base_that_is_too_dear_at_any_target_refuses_the_run() {
        let cheap = warmed("cheap", 1, &[]);
        assert!(taken_off(Share(0.02), std::slice::from_ref(&cheap)).unwrap().is_empty());
        let why = taken_off(Share(0.02), &[cheap, warmed("dear", 30, &[])]).unwrap_err();
        assert!(why.to_string().starts_with("the probes cost 3% of the CPU time of `dear`"));
    }
}
